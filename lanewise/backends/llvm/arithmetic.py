"""Arithmetic rows as scalar LLVM IR, each with exactly the meaning of its row in `ir/arith.py`.

LLVM's own division traps on zero and its shifts are poison past the width, so both are guarded; LLVM never contracts
`a * b + c` unless told to.  Half-precision division, roots, minima and remainders go through f32: f32 has more than
twice the digits of f16, so rounding twice gives the same as rounding once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ... import dtypes
from ...dtypes import DType
from ...ir import Op
from .library import fmod
from .text import Writer, literal, scalar_type, suffix

Row: TypeAlias = Callable[[Writer, Op, Sequence[str]], str]
"""Emits one operation on operands already named; the result's name."""

Unary: TypeAlias = Callable[[Writer, DType, str], str]
Binary: TypeAlias = Callable[[Writer, DType, str, str], str]


# ---- shapes of rows -----------------------------------------------------------------------------------------------
def _unary(emit: Unary) -> Row:
    return lambda w, op, args: emit(w, op.operands[0].type, args[0])


def _binary(emit: Binary) -> Row:
    return lambda w, op, args: emit(w, op.operands[0].type, args[0], args[1])


def _instruction(signed: str, unsigned: str, floating: str = "") -> Row:
    """One instruction, by the kind of the operands."""
    by_kind = {"i": signed, "u": unsigned, "b": unsigned, "f": floating}
    return _binary(lambda w, t, a, b: w.let(f"{by_kind[t.kind]} {scalar_type(t)} {a}, {b}"))


def _intrinsic(name: str) -> Unary:
    return lambda w, t, a: w.call(scalar_type(t), f"llvm.{name}.{suffix(scalar_type(t))}", f"{scalar_type(t)} {a}")


def widened(emit: Callable[..., str]) -> Callable[..., str]:
    """The same on f16 through f32, rounded at the end."""

    def through_f32(w: Writer, t: DType, *args: str) -> str:
        if t != dtypes.f16:
            return emit(w, t, *args)
        wide = [w.let(f"fpext half {a} to float") for a in args]
        return w.let(f"fptrunc float {emit(w, dtypes.f32, *wide)} to half")

    return through_f32


# ---- integers -----------------------------------------------------------------------------------------------------
def _power_of_two(text: str) -> int | None:
    """The exponent, where an operand is a literal power of two."""
    if not text.isdigit() or (value := int(text)) & (value - 1) or not value:
        return None
    return value.bit_length() - 1


def _safe_divisor(w: Writer, t: DType, a: str, b: str) -> tuple[str, str]:
    """`b`, or 1 where dividing by it would trap (zero, and the lowest value by -1); whether it is zero."""
    ty = scalar_type(t)
    zero = w.let(f"icmp eq {ty} {b}, 0")
    bad = zero
    if t.is_signed:
        lowest = w.let(f"icmp eq {ty} {a}, {t.lowest}")
        minus_one = w.let(f"icmp eq {ty} {b}, -1")
        bad = w.let(f"or i1 {zero}, {w.let(f'and i1 {lowest}, {minus_one}')}")
    return w.let(f"select i1 {bad}, {ty} 1, {ty} {b}"), zero


def _signed_remainder(w: Writer, ty: str, a: str, b: str, quotient: str) -> tuple[str, str]:
    """a - b * quotient, and whether flooring must go one lower: it is not zero and differs from `b` in sign."""
    remainder = w.let(f"sub {ty} {a}, {w.let(f'mul {ty} {b}, {quotient}')}")
    nonzero = w.let(f"icmp ne {ty} {remainder}, 0")
    differs = w.let(f"icmp slt {ty} {w.let(f'xor {ty} {remainder}, {b}')}, 0")
    return remainder, w.let(f"and i1 {nonzero}, {differs}")


def _floordiv(w: Writer, t: DType, a: str, b: str) -> str:
    if t.is_float:
        return _float_floordiv(w, t, a, b)
    ty = scalar_type(t)
    if (exponent := _power_of_two(b)) is not None:
        return w.let(f"{'ashr' if t.is_signed else 'lshr'} {ty} {a}, {exponent}")
    divisor, zero = _safe_divisor(w, t, a, b)
    quotient = w.let(f"{'sdiv' if t.is_signed else 'udiv'} {ty} {a}, {divisor}")
    if t.is_signed:
        _, lower = _signed_remainder(w, ty, a, divisor, quotient)
        quotient = w.let(f"add {ty} {quotient}, {w.let(f'sext i1 {lower} to {ty}')}")
    return w.let(f"select i1 {zero}, {ty} 0, {ty} {quotient}")


def _mod(w: Writer, t: DType, a: str, b: str) -> str:
    if t.is_float:
        return _float_mod(w, t, a, b)
    ty = scalar_type(t)
    if (exponent := _power_of_two(b)) is not None:
        return w.let(f"and {ty} {a}, {(1 << exponent) - 1}")
    divisor, zero = _safe_divisor(w, t, a, b)
    if t.is_signed:
        quotient = w.let(f"sdiv {ty} {a}, {divisor}")
        remainder, lower = _signed_remainder(w, ty, a, divisor, quotient)
        moved = w.let(f"add {ty} {remainder}, {divisor}")
        remainder = w.let(f"select i1 {lower}, {ty} {moved}, {ty} {remainder}")
    else:
        remainder = w.let(f"urem {ty} {a}, {divisor}")
    return w.let(f"select i1 {zero}, {ty} 0, {ty} {remainder}")


def _shift(signed: str, unsigned: str) -> Row:
    def emit(w: Writer, t: DType, a: str, n: str) -> str:
        ty = scalar_type(t)
        amount = w.let(f"and {ty} {n}, {t.bits - 1}")
        return w.let(f"{signed if t.is_signed else unsigned} {ty} {a}, {amount}")

    return _binary(emit)


def _not(w: Writer, t: DType, a: str) -> str:
    return w.let(f"xor {scalar_type(t)} {a}, {'true' if t.is_bool else -1}")


# ---- both -----------------------------------------------------------------------------------------------------------
def _extreme(name: str) -> Row:
    @widened
    def emit(w: Writer, t: DType, a: str, b: str) -> str:
        ty = scalar_type(t)
        # LLVM's minimumnum is IEEE 754-2019's: NaN is skipped and -0 is below +0.
        function = f"{name}imumnum" if t.is_float else f"{'s' if t.is_signed else 'u'}{name}"
        return w.call(ty, f"llvm.{function}.{suffix(ty)}", f"{ty} {a}", f"{ty} {b}")

    return _binary(emit)


def _fma(w: Writer, op: Op, args: Sequence[str]) -> str:
    t = op.result.type
    ty = scalar_type(t)
    if t.is_float:
        return w.call(ty, f"llvm.fma.{suffix(ty)}", *(f"{ty} {a}" for a in args))
    return w.let(f"add {ty} {w.let(f'mul {ty} {args[0]}, {args[1]}')}, {args[2]}")


def _neg(w: Writer, t: DType, a: str) -> str:
    return w.let(f"fneg {scalar_type(t)} {a}" if t.is_float else f"sub {scalar_type(t)} 0, {a}")


def _abs(w: Writer, t: DType, a: str) -> str:
    ty = scalar_type(t)
    if t.is_float:
        return _intrinsic("fabs")(w, t, a)
    return w.call(ty, f"llvm.abs.{ty}", f"{ty} {a}", "i1 false") if t.is_signed else a


def _compare(signed: str, unsigned: str, floating: str) -> Row:
    by_kind = {"i": f"icmp {signed}", "u": f"icmp {unsigned}", "b": f"icmp {unsigned}", "f": f"fcmp {floating}"}
    return _binary(lambda w, t, a, b: w.let(f"{by_kind[t.kind]} {scalar_type(t)} {a}, {b}"))


def _select(w: Writer, op: Op, args: Sequence[str]) -> str:
    ty = scalar_type(op.result.type)
    return w.let(f"select i1 {args[0]}, {ty} {args[1]}, {ty} {args[2]}")


# ---- floats -------------------------------------------------------------------------------------------------------
@widened
def _div(w: Writer, t: DType, a: str, b: str) -> str:
    return w.let(f"fdiv {scalar_type(t)} {a}, {b}")


_sqrt = widened(_intrinsic("sqrt"))


def _rsqrt(w: Writer, t: DType, a: str) -> str:
    return _div(w, t, literal(1.0, t), _sqrt(w, t, a))


def _below_zero(w: Writer, ty: str, a: str, zero: str) -> str:
    return w.let(f"fcmp olt {ty} {a}, {zero}")


def _crosses(w: Writer, t: DType, r: str, b: str) -> str:
    """Whether the truncated remainder `r` is not zero and differs from `b` in sign, so that flooring goes lower."""
    ty, zero = scalar_type(t), literal(0.0, t)
    nonzero = w.let(f"fcmp une {ty} {r}, {zero}")
    differs = w.let(f"xor i1 {_below_zero(w, ty, r, zero)}, {_below_zero(w, ty, b, zero)}")
    return w.let(f"and i1 {nonzero}, {differs}")


def _copysign(w: Writer, ty: str, magnitude: str, sign: str) -> str:
    return w.call(ty, f"llvm.copysign.{suffix(ty)}", f"{ty} {magnitude}", f"{ty} {sign}")


def _float_mod(w: Writer, t: DType, a: str, b: str) -> str:
    """The exact fmod, moved into the divisor's sign; a zero result has the divisor's sign."""
    ty, zero = scalar_type(t), literal(0.0, t)
    r = fmod(w, t, a, b)
    moved = w.let(f"select i1 {_crosses(w, t, r, b)}, {ty} {w.let(f'fadd {ty} {r}, {b}')}, {ty} {r}")
    is_zero = w.let(f"fcmp oeq {ty} {moved}, {zero}")
    return w.let(f"select i1 {is_zero}, {ty} {_copysign(w, ty, zero, b)}, {ty} {moved}")


def _float_floordiv(w: Writer, t: DType, a: str, b: str) -> str:
    """Python's float floor division: the exact remainder is taken off first; by zero it is a / b."""
    ty, zero, one = scalar_type(t), literal(0.0, t), literal(1.0, t)
    plain = _div(w, t, a, b)
    r = fmod(w, t, a, b)
    q = _div(w, t, w.let(f"fsub {ty} {a}, {r}"), b)
    q = w.let(f"select i1 {_crosses(w, t, r, b)}, {ty} {w.let(f'fsub {ty} {q}, {one}')}, {ty} {q}")
    down = _intrinsic("floor")(w, t, q)
    far = w.let(f"fcmp ogt {ty} {w.let(f'fsub {ty} {q}, {down}')}, {literal(0.5, t)}")
    down = w.let(f"select i1 {far}, {ty} {w.let(f'fadd {ty} {down}, {one}')}, {ty} {down}")
    q_zero = w.let(f"fcmp oeq {ty} {q}, {zero}")
    result = w.let(f"select i1 {q_zero}, {ty} {_copysign(w, ty, zero, plain)}, {ty} {down}")
    b_zero = w.let(f"fcmp oeq {ty} {b}, {zero}")
    return w.let(f"select i1 {b_zero}, {ty} {plain}, {ty} {result}")


# ---- conversions --------------------------------------------------------------------------------------------------
def _cast(w: Writer, op: Op, args: Sequence[str]) -> str:
    return convert(w, args[0], op.operands[0].type, op.result.type)


def convert(w: Writer, value: str, source: DType, target: DType) -> str:
    """`cast`: to bool is `!= 0`, float to integer truncates and saturates (NaN gives 0), integers wrap."""
    old, new = scalar_type(source), scalar_type(target)
    if source == target or (source.is_int and target.is_int and source.bits == target.bits):
        return value
    if target.is_bool:
        zero = literal(0, source)
        return w.let(f"fcmp une {old} {value}, {zero}" if source.is_float else f"icmp ne {old} {value}, 0")
    if source.is_float and target.is_float:
        return w.let(f"{'fpext' if target.bits > source.bits else 'fptrunc'} {old} {value} to {new}")
    if source.is_float:
        if source == dtypes.f16:
            value, old = w.let(f"fpext half {value} to float"), "float"
        function = f"llvm.fpto{'si' if target.is_signed else 'ui'}.sat.{new}.{suffix(old)}"
        return w.call(new, function, f"{old} {value}")
    if target.is_float:
        return w.let(f"{'sitofp' if source.is_signed else 'uitofp'} {old} {value} to {new}")
    if target.bits < source.bits:
        return w.let(f"trunc {old} {value} to {new}")
    return w.let(f"{'sext' if source.is_signed else 'zext'} {old} {value} to {new}")


def _bit_cast(w: Writer, op: Op, args: Sequence[str]) -> str:
    old, new = scalar_type(op.operands[0].type), scalar_type(op.result.type)
    return args[0] if old == new else w.let(f"bitcast {old} {args[0]} to {new}")


# ---- bits ---------------------------------------------------------------------------------------------------------
def _count(name: str, *flags: str) -> Row:
    def emit(w: Writer, t: DType, a: str) -> str:
        ty = scalar_type(t)
        count = w.call(ty, f"llvm.{name}.{ty}", f"{ty} {a}", *flags)
        return convert(w, count, dtypes.unsigned_of(t.bits), dtypes.i32)

    return _unary(emit)


ROWS: dict[str, Row] = {
    "add": _instruction("add", "add", "fadd"),
    "sub": _instruction("sub", "sub", "fsub"),
    "mul": _instruction("mul", "mul", "fmul"),
    "div": _binary(_div),
    "floordiv": _binary(_floordiv),
    "mod": _binary(_mod),
    "min": _extreme("min"),
    "max": _extreme("max"),
    "fma": _fma,
    "and": _instruction("and", "and"),
    "or": _instruction("or", "or"),
    "xor": _instruction("xor", "xor"),
    "shl": _shift("shl", "shl"),
    "shr": _shift("ashr", "lshr"),
    "neg": _unary(_neg),
    "abs": _unary(_abs),
    "not": _unary(_not),
    "sqrt": _unary(_sqrt),
    "rsqrt": _unary(_rsqrt),
    "floor": _unary(_intrinsic("floor")),
    "ceil": _unary(_intrinsic("ceil")),
    "trunc": _unary(_intrinsic("trunc")),
    "round": _unary(_intrinsic("roundeven")),
    "eq": _compare("eq", "eq", "oeq"),
    "ne": _compare("ne", "ne", "une"),
    "lt": _compare("slt", "ult", "olt"),
    "le": _compare("sle", "ule", "ole"),
    "gt": _compare("sgt", "ugt", "ogt"),
    "ge": _compare("sge", "uge", "oge"),
    "select": _select,
    "cast": _cast,
    "bitcast": _bit_cast,
    "popcnt": _count("ctpop"),
    "clz": _count("ctlz", "i1 false"),
    "ctz": _count("cttz", "i1 false"),
    "bitrev": _unary(_intrinsic("bitreverse")),
}
