"""The float remainder, exact at any quotient, as a function that generated code calls.

No GPU has one (NVPTX expands `frem` to `a - trunc(a / b) * b`, which is wrong once the quotient does not fit the
mantissa), so it is done on the mantissas, in integers: with a = ma * 2**ea and b = mb * 2**eb, the remainder is
((ma * 2**(ea - eb)) mod mb) * 2**eb, and the power of two is taken as many bits at a time as fit in 64.
"""

from __future__ import annotations

from ... import dtypes
from ...dtypes import DType
from .text import Writer, scalar_type, suffix


def fmod(w: Writer, t: DType, a: str, b: str) -> str:
    """The remainder of a / b truncated, with the sign of a; NaN where a is infinite or b is 0."""
    ty = scalar_type(t)
    if t == dtypes.f16:  # f16 values are f32 values, and so is their remainder
        wide = fmod(w, dtypes.f32, *(w.let(f"fpext half {x} to float") for x in (a, b)))
        return w.let(f"fptrunc float {wide} to half")
    copysign = f"llvm.copysign.{suffix(ty)}"
    w.declarations[copysign] = f"declare {ty} @{copysign}({ty}, {ty})"
    w.library.add(_FMOD.format(**_facts(t)))
    return w.let(f"call {ty} @lanewise.fmod.{suffix(ty)}({ty} {a}, {ty} {b})")


def _facts(t: DType) -> dict[str, str | int]:
    """What the template says of a float type."""
    mantissa = {32: 23, 64: 52}[t.bits]
    bits = f"i{t.bits}"
    infinity = ((1 << (t.bits - 1 - mantissa)) - 1) << mantissa
    return {
        "T": scalar_type(t),
        "S": suffix(scalar_type(t)),
        "I": bits,
        "mantissa": mantissa,
        "hidden": 1 << mantissa,
        "fraction": (1 << mantissa) - 1,
        "magnitude": (1 << (t.bits - 1)) - 1,
        "infinity": infinity,
        "nan": infinity | 1 << (mantissa - 1),
        "step": 63 - mantissa,  # a remainder is below 2**(mantissa + 1)
        "widen": f"zext {bits}" if t.bits < 64 else "bitcast i64",
        "narrow": "trunc" if t.bits < 64 else "bitcast",
    }


# |a| < |b|, and the special values, end at once.  A subnormal has exponent field 0 and no hidden bit, and counts as 1.
# The loop runs once for quotients below 2**40 in f32, 2**11 in f64.  Its result is brought to its exponent by a
# multiplication that is exact, as the remainder is a multiple of b's last place and smaller than b.
_FMOD = """
define internal {T} @lanewise.fmod.{S}({T} %a, {T} %b) alwaysinline nounwind {{
entry:
  %a.bits = bitcast {T} %a to {I}
  %b.bits = bitcast {T} %b to {I}
  %x = and {I} %a.bits, {magnitude}
  %y = and {I} %b.bits, {magnitude}
  %a.special = icmp uge {I} %x, {infinity}
  %b.nan = icmp ugt {I} %y, {infinity}
  %b.zero = icmp eq {I} %y, 0
  %invalid.0 = or i1 %a.special, %b.nan
  %invalid = or i1 %invalid.0, %b.zero
  br i1 %invalid, label %no.answer, label %valid
no.answer:
  %nan = bitcast {I} {nan} to {T}
  ret {T} %nan
valid:
  %smaller = icmp ult {I} %x, %y
  br i1 %smaller, label %unchanged, label %divide
unchanged:
  ret {T} %a
divide:
  %x.field = lshr {I} %x, {mantissa}
  %y.field = lshr {I} %y, {mantissa}
  %x.subnormal = icmp eq {I} %x.field, 0
  %y.subnormal = icmp eq {I} %y.field, 0
  %x.exp = select i1 %x.subnormal, {I} 1, {I} %x.field
  %y.exp = select i1 %y.subnormal, {I} 1, {I} %y.field
  %x.hidden = select i1 %x.subnormal, {I} 0, {I} {hidden}
  %y.hidden = select i1 %y.subnormal, {I} 0, {I} {hidden}
  %x.fraction = and {I} %x, {fraction}
  %y.fraction = and {I} %y, {fraction}
  %x.mantissa = or {I} %x.fraction, %x.hidden
  %y.mantissa = or {I} %y.fraction, %y.hidden
  %r.first = {widen} %x.mantissa to i64
  %divisor = {widen} %y.mantissa to i64
  %left.first = sub {I} %x.exp, %y.exp
  br label %reduce
reduce:
  %r = phi i64 [ %r.first, %divide ], [ %r.out, %reduce ]
  %left = phi {I} [ %left.first, %divide ], [ %left.out, %reduce ]
  %short = icmp ult {I} %left, {step}
  %shift = select i1 %short, {I} %left, {I} {step}
  %shift.wide = {widen} %shift to i64
  %shifted = shl i64 %r, %shift.wide
  %r.out = urem i64 %shifted, %divisor
  %left.out = sub {I} %left, %shift
  %more = icmp ne {I} %left.out, 0
  br i1 %more, label %reduce, label %scale
scale:
  %large = icmp ugt {I} %y.exp, {mantissa}
  %exp.normal = sub {I} %y.exp, {mantissa}
  %scale.normal = shl {I} %exp.normal, {mantissa}
  %exp.subnormal = sub {I} %y.exp, 1
  %exp.bounded = select i1 %large, {I} 0, {I} %exp.subnormal
  %scale.subnormal = shl {I} 1, %exp.bounded
  %scale.bits = select i1 %large, {I} %scale.normal, {I} %scale.subnormal
  %scale.value = bitcast {I} %scale.bits to {T}
  %r.bits = {narrow} i64 %r.out to {I}
  %r.float = uitofp {I} %r.bits to {T}
  %magnitude = fmul {T} %r.float, %scale.value
  %result = call {T} @llvm.copysign.{S}({T} %magnitude, {T} %a)
  ret {T} %result
}}
"""
