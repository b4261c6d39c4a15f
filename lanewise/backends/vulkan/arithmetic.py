"""Arithmetic rows as SPIR-V, with the meanings of `ir/arith.py`.

What one instruction does is a row of `ONE_INSTRUCTION`; what takes more is a function in `EXPANDED`.  Vulkan leaves
undefined, and we therefore never let happen: a division by zero or of the smallest integer by -1, a remainder of
negative numbers, a shift by the width or more, a conversion of a float that does not fit, bit counting of anything but
32 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from ... import dtypes
from ...dtypes import DType, bool_, f32, u32
from ...ir import Op
from .code import Code
from .spirv import Glsl, Id

Emit: TypeAlias = Callable[[Code, Op], Id]

# ---- rows of one instruction, by the kind of the first operand: int signed, unsigned, float, bool --------------------
_BITWISE = {"and": "And", "or": "Or", "xor": "Xor"}
_ORDER = {"lt": "LessThan", "le": "LessThanEqual", "gt": "GreaterThan", "ge": "GreaterThanEqual"}
ONE_INSTRUCTION: dict[tuple[str, str], str] = {
    **{(name, kind): f"I{op}" for name, op in {"add": "Add", "sub": "Sub", "mul": "Mul"}.items() for kind in "iu"},
    ("mul", "f"): "FMul",
    **{(name, kind): f"Bitwise{op}" for name, op in _BITWISE.items() for kind in "iu"},
    **{("not", kind): "Not" for kind in "iu"},
    **{("neg", kind): "SNegate" for kind in "iu"},
    ("neg", "f"): "FNegate",
    ("and", "b"): "LogicalAnd",
    ("or", "b"): "LogicalOr",
    ("xor", "b"): "LogicalNotEqual",
    ("not", "b"): "LogicalNot",
    ("eq", "b"): "LogicalEqual",
    ("ne", "b"): "LogicalNotEqual",
    **{("eq", kind): "IEqual" for kind in "iu"},
    **{("ne", kind): "INotEqual" for kind in "iu"},
    **{
        (name, kind): f"{prefix}{op}" for name, op in _ORDER.items() for kind, prefix in {"u": "U", "f": "FOrd"}.items()
    },
}
GLSL: dict[tuple[str, str], Glsl] = {
    ("abs", "i"): Glsl.SAbs,
    ("abs", "f"): Glsl.FAbs,
    ("min", "i"): Glsl.SMin,
    ("min", "u"): Glsl.UMin,
    ("max", "i"): Glsl.SMax,
    ("max", "u"): Glsl.UMax,
    ("fma", "f"): Glsl.Fma,
}


def arithmetic(c: Code, op: Op) -> Id:
    """Emit an arithmetic row."""
    if op.opcode in EXPANDED:
        return EXPANDED[op.opcode](c, op)
    row = (op.opcode, op.operands[0].type.kind)
    if row in ONE_INSTRUCTION:
        return c.m.emit(ONE_INSTRUCTION[row], op.result.type, *c.values(op), hint=op.result.hint)
    if row in GLSL:
        return c.m.glsl(GLSL[row], op.result.type, *c.values(op))
    return PER_KIND[row](c, op)


# ---- floats: zeros, NaNs, division -----------------------------------------------------------------------------------
def _is_zero_constant(c: Code, value: Id, *, negative: bool) -> bool:
    known = c.m.value_of(value)
    return known == 0 and str(float(known)).startswith("-") is negative


def _plus_zero(c: Code, value: Id, dtype: DType) -> Id:
    """`value + 0.0`, which changes -0 alone.  Drivers drop the addition of a literal zero, even when told not to."""
    zero = c.m.const(0.0, dtype)
    return c.m("Select", dtype, c.m("FOrdEqual", bool_, value, zero), zero, value)


def _float_add(c: Code, op: Op) -> Id:
    (a, b), dtype = c.values(op), op.result.type
    for literal, other in ((a, b), (b, a)):
        if _is_zero_constant(c, literal, negative=False):
            return _plus_zero(c, other, dtype)
    return c.m.emit("FAdd", dtype, a, b, hint=op.result.hint)


def _float_equal(c: Code, op: Op) -> Id:
    """Comparisons with 0 by the bits."""
    (a, b), dtype = c.values(op), op.operands[0].type
    for literal, other in ((a, b), (b, a)):
        if c.m.value_of(literal) == 0:
            nonzero = c.nonzero(other, dtype)
            return nonzero if op.opcode == "ne" else c.m("LogicalNot", bool_, nonzero)
    return c.m("FUnordNotEqual" if op.opcode == "ne" else "FOrdEqual", bool_, a, b)


def _float_sub(c: Code, op: Op) -> Id:
    (a, b), dtype = c.values(op), op.result.type
    if _is_zero_constant(c, a, negative=False):
        return _plus_zero(c, c.m("FNegate", dtype, b), dtype)
    if _is_zero_constant(c, b, negative=True):
        return _plus_zero(c, a, dtype)
    return c.m.emit("FSub", dtype, a, b, hint=op.result.hint)


def sign_bit(c: Code, value: Id, dtype: DType) -> Id:
    """Whether the sign is set, of a float that is not NaN; needs no integer type but u32."""
    if dtype.bits == 16:
        value = c.m("FConvert", f32, value)
    if dtype.bits == 64:
        bits = c.m("CompositeExtract", u32, c.m("Bitcast", c.m.vector(u32, 2), value), 1)
    else:
        bits = c.m("Bitcast", u32, value)
    return c.m("SLessThan", bool_, bits, c.m.u32(0))


def pick(c: Code, dtype: DType, a: Id, b: Id, *, largest: bool) -> Id:
    """minimumNumber or maximumNumber: NaN is skipped, -0 is below +0.  No instruction promises either."""
    m = c.m
    strictly = m("FOrdGreaterThan" if largest else "FOrdLessThan", bool_, a, b)
    sign = sign_bit(c, a, dtype)
    tie = m("LogicalAnd", bool_, m("FOrdEqual", bool_, a, b), m("LogicalNot", bool_, sign) if largest else sign)
    takes_a = m("LogicalOr", bool_, m("LogicalOr", bool_, strictly, tie), m("IsNan", bool_, b))
    return m("Select", dtype, takes_a, a, b)


def _in_f32(emit: Callable[[Code, DType, Id, Id], Id]) -> Emit:
    """A binary float row; f16 goes through f32, where the second rounding changes nothing."""

    def row(c: Code, op: Op) -> Id:
        dtype = op.result.type
        if dtype.bits != 16:
            return emit(c, dtype, *c.values(op))
        wide = (c.m("FConvert", f32, value) for value in c.values(op))
        return c.m("FConvert", dtype, emit(c, f32, *wide))

    return row


_divided = _in_f32(lambda c, dtype, a, b: c.m("FDiv", dtype, a, b))


def _div(c: Code, op: Op) -> Id:
    """SPIR-V leaves a division by zero undefined, and drivers make use of it where they see the zero."""
    a, b = c.values(op)
    divisor = c.m.value_of(b)
    if divisor is None or divisor:
        return _divided(c, op)
    dtype = op.result.type
    return c.m("FMul", dtype, a, c.m.const(math.copysign(math.inf, divisor), dtype))


def _sqrt(c: Code, op: Op) -> Id:
    dtype, (value,) = op.result.type, c.values(op)
    working = f32 if dtype.bits == 16 else dtype
    wide = value if working == dtype else c.m("FConvert", working, value)
    result = c.m.glsl(Glsl.Sqrt, working, wide)
    if op.opcode == "rsqrt":
        result = c.m("FDiv", working, c.m.const(1.0, working), result)
    return result if working == dtype else c.m("FConvert", dtype, result)


def _signed_as(c: Code, dtype: DType, result: Id, value: Id) -> Id:
    """The result with the sign of `value`: of a zero, Mesa loses it where vectors are wider than the processor's."""
    negative = c.m("FNegate", dtype, c.m.glsl(Glsl.FAbs, dtype, result))
    return c.m("Select", dtype, sign_bit(c, value, dtype), negative, result)


def _whole(instruction: Glsl) -> Emit:
    """Rounding to a whole number, whose sign is that of what is rounded."""

    def row(c: Code, op: Op) -> Id:
        (value,), dtype = c.values(op), op.result.type
        return _signed_as(c, dtype, c.m.glsl(instruction, dtype, value), value)

    return row


def _trunc(c: Code, op: Op) -> Id:
    """In f64 not GLSL's Trunc, but of Ceil and Floor the one nearer to zero."""
    (value,), dtype = c.values(op), op.result.type
    if dtype.bits < 64:
        return _whole(Glsl.Trunc)(c, op)
    negative = c.m("FOrdLessThan", bool_, value, c.m.const(0.0, dtype))
    up, down = c.m.glsl(Glsl.Ceil, dtype, value), c.m.glsl(Glsl.Floor, dtype, value)
    return _signed_as(c, dtype, c.m("Select", dtype, negative, up, down), value)


def _round(c: Code, op: Op) -> Id:
    """To even.  By RoundEven in f16 alone, as on Mesa it takes 1.5 to 1 or 2.5 to 3: a magnitude to which 2**52 (2**23
    in f32) is added has no bits left for a fraction.
    """
    m, (value,), dtype = c.m, c.values(op), op.result.type
    if dtype.bits == 16:
        return _whole(Glsl.RoundEven)(c, op)
    magic = m.const(2.0 ** (52 if dtype.bits == 64 else 23), dtype)
    magnitude = m.glsl(Glsl.FAbs, dtype, value)
    rounded = m("FSub", dtype, m("FAdd", dtype, magnitude, magic), magic)
    return m("Select", dtype, m("FOrdLessThan", bool_, magnitude, magic), _signed_as(c, dtype, rounded, value), value)


# ---- integers: division, shifts --------------------------------------------------------------------------------------
def _divide(c: Code, op: Op) -> tuple[Id, Id]:
    """Quotient rounded down and remainder of the divisor's sign; both 0 for a zero divisor; min // -1 wraps."""
    m, (a, b), dtype = c.m, c.values(op), op.result.type
    zero, one = m.const(0, dtype), m.const(1, dtype)
    by_zero = c.is_zero(b, dtype)
    unsafe = by_zero
    if dtype.is_signed:
        overflow = m(
            "LogicalAnd",
            bool_,
            m("IEqual", bool_, a, m.const(int(dtype.lowest), dtype)),
            m("IEqual", bool_, b, m.const(-1, dtype)),
        )
        unsafe = m("LogicalOr", bool_, by_zero, overflow)  # by 1 instead: the wrapped quotient, and no remainder
    divisor = m("Select", dtype, unsafe, one, b)
    quotient = m("SDiv" if dtype.is_signed else "UDiv", dtype, a, divisor)
    # Not SRem: Vulkan leaves the remainder of a negative number undefined.
    remainder = m("ISub", dtype, a, m("IMul", dtype, quotient, divisor))
    if dtype.is_signed:
        signs = m("SLessThan", bool_, m("BitwiseXor", dtype, remainder, divisor), zero)
        down = m("LogicalAnd", bool_, m("INotEqual", bool_, remainder, zero), signs)
        quotient = m("ISub", dtype, quotient, m("Select", dtype, down, one, zero))
        remainder = m("IAdd", dtype, remainder, m("Select", dtype, down, divisor, zero))
    return m("Select", dtype, by_zero, zero, quotient), m("Select", dtype, by_zero, zero, remainder)


def _shift(c: Code, op: Op) -> Id:
    (a, n), dtype = c.values(op), op.result.type
    known, width = c.m.value_of(n), dtype.bits
    if known is None:
        amount = c.m("BitwiseAnd", dtype, n, c.m.const(width - 1, dtype))
    else:
        amount = c.m.const(int(known) % width, dtype)
    kinds = {"shl": "ShiftLeftLogical", "shr": "ShiftRightArithmetic" if dtype.is_signed else "ShiftRightLogical"}
    return c.m.emit(kinds[op.opcode], dtype, a, amount, hint=op.result.hint)


def _integer_fma(c: Code, op: Op) -> Id:
    a, b, addend = c.values(op)
    return c.m("IAdd", op.result.type, c.m("IMul", op.result.type, a, b), addend)


# ---- the order of signed integers ------------------------------------------------------------------------------------
def _signed_order(c: Code, op: Op) -> Id:
    """Compare; an extended integer and a constant in the shorter type.

    Mesa 22 takes such an operand for unsigned: `i64(-4) < 0` is false there.
    """
    values = c.values(op)
    for place, value in enumerate(values):
        known = c.m.value_of(values[1 - place])
        if value in c.extended and known is not None:
            shorter, source = c.extended[value]
            constant = int(known) - ((int(known) >> 63) << 64)
            if not source.lowest <= constant <= source.highest:  # then every value is on one side of it
                below = (constant > 0) is (place == 0)
                return c.m.const(below is (op.opcode in ("lt", "le")), bool_)
            short = c.m.const(constant, source)
            values = (short, shorter) if place else (shorter, short)
            break
    return c.m.emit(f"S{_ORDER[op.opcode]}", op.result.type, *values, hint=op.result.hint)


# ---- bool comparisons, as of 0 and 1 ---------------------------------------------------------------------------------
def _bool_compare(c: Code, op: Op) -> Id:
    a, b = c.values(op)
    if op.opcode in ("gt", "ge"):
        a, b = b, a
    not_a = c.m("LogicalNot", bool_, a)
    return c.m("LogicalAnd" if op.opcode in ("lt", "gt") else "LogicalOr", bool_, not_a, b)


# ---- conversions -----------------------------------------------------------------------------------------------------
def _cast(c: Code, op: Op) -> Id:
    (value,), source, target = c.values(op), op.operands[0].type, op.result.type
    m = c.m
    if op.operands[0] in c.low_words:
        source = u32
    if target.is_bool:
        return c.nonzero(value, source)
    if source.is_bool:
        return c.from_bool(value, target)
    if source.is_int and target.is_int:
        return c.resize(value, source, target)
    if source.is_int:
        return m("ConvertSToF" if source.is_signed else "ConvertUToF", target, value)
    if target.is_float:
        if source.bits == 64 and target.bits == 16:
            value = _to_odd(c, value)
        return value if source == target else m("FConvert", target, value)
    return _saturate(c, value, source, target)


def _to_odd(c: Code, value: Id) -> Id:
    """f64 to f32, rounded so that rounding once more, to f16, gives what rounding once would.

    Drivers go from f64 to f16 by way of f32, or to NaN where that overflows.  What is inexact is rounded towards zero
    and made odd, so it is never mistaken for a tie.
    """
    m, f64 = c.m, dtypes.f64
    nearest = m("FConvert", f32, value)
    back = m("FConvert", f64, nearest)
    inexact = m("FUnordNotEqual", bool_, back, value)  # a NaN remains one
    beyond = m("FOrdGreaterThan", bool_, c.m.glsl(Glsl.FAbs, f64, back), c.m.glsl(Glsl.FAbs, f64, value))
    bits = m("Bitcast", u32, nearest)
    bits = m("Select", u32, beyond, m("ISub", u32, bits, m.u32(1)), bits)
    bits = m("Select", u32, inexact, m("BitwiseOr", u32, bits, m.u32(1)), bits)
    return m("Bitcast", f32, bits)


def _saturate(c: Code, value: Id, source: DType, target: DType) -> Id:
    """Truncated; limits outside become the limits, NaN becomes 0.  The conversion itself never sees what does not fit.

    The bounds are powers of two, exact in `source`, or infinite where its range is smaller than the integer's.
    """
    m = c.m
    low = m.const(-_power(target.bits - 1, source) if target.is_signed else 0.0, source)
    high = m.const(_power(target.bits - target.is_signed, source), source)
    too_low = m("FOrdLessThanEqual", bool_, value, low)
    too_high = m("FOrdGreaterThanEqual", bool_, value, high)
    inside = m("LogicalAnd", bool_, m("FOrdGreaterThan", bool_, value, low), m("FOrdLessThan", bool_, value, high))
    safe = m("Select", source, inside, value, m.const(0.0, source))
    result = m("ConvertFToS" if target.is_signed else "ConvertFToU", target, safe)
    result = m("Select", target, too_high, m.const(int(target.highest), target), result)
    return m("Select", target, too_low, m.const(int(target.lowest), target), result)


def _power(exponent: int, dtype: DType) -> float:
    largest = {16: 15, 32: 127, 64: 1023}[dtype.bits]
    return float("inf") if exponent > largest else 2.0**exponent


def _bitcast(c: Code, op: Op) -> Id:
    return c.bitcast(c.values(op)[0], op.operands[0].type, op.result.type)


# ---- bits: Vulkan counts and reverses 32 of them ---------------------------------------------------------------------
def halves(c: Code, value: Id) -> tuple[Id, Id]:
    """The low and the high word of 64 bits."""
    pair = c.m("Bitcast", c.m.vector(u32, 2), value)
    return c.m("CompositeExtract", u32, pair, 0), c.m("CompositeExtract", u32, pair, 1)


def joined(c: Code, low: Id, high: Id, dtype: DType) -> Id:
    return c.m("Bitcast", dtype, c.m("CompositeConstruct", c.m.vector(u32, 2), low, high))


def in_word(c: Code, value: Id, dtype: DType) -> Id:
    """A value of up to 32 bits as a u32, with zeros above; no 16-bit integer is needed for an f16."""
    if dtype.is_bool:
        return c.from_bool(value, u32)
    if dtype.is_float and dtype.bits == 16:
        return c.m("Bitcast", u32, c.m("CompositeConstruct", c.m.vector(dtype, 2), value, c.m.const(0.0, dtype)))
    return c.bitcast(value, dtype, u32) if dtype.bits == 32 else c.m("UConvert", u32, value)


def out_of_word(c: Code, word: Id, dtype: DType) -> Id:
    """The value in the low bits of a u32, whatever lies above; a bool is a byte that is not 0."""
    if dtype.is_bool:
        return c.nonzero(c.m("BitwiseAnd", u32, word, c.m.u32(0xFF)), u32)
    if dtype.is_float and dtype.bits == 16:
        return c.m("CompositeExtract", dtype, c.m("Bitcast", c.m.vector(dtype, 2), word), 0)
    return c.bitcast(word, u32, dtype) if dtype.bits == 32 else c.m("UConvert", dtype, word)


def _word(c: Code, value: Id, dtype: DType) -> Id:
    """Up to 32 bits, in u32 with zeros above."""
    return c.resize(value, dtypes.unsigned_of(dtype.bits), u32)


def _popcnt(c: Code, op: Op) -> Id:
    (value,), dtype = c.values(op), op.operands[0].type
    if dtype.bits < 64:
        return c.m("BitCount", u32, _word(c, value, dtype))
    low, high = halves(c, value)
    return c.m("IAdd", u32, c.m("BitCount", u32, low), c.m("BitCount", u32, high))


def _clz_word(c: Code, word: Id, bits: int) -> Id:
    """FindUMsb of 0 is -1, so `bits - 1 - msb` is the width there."""
    return c.m("ISub", u32, c.m.u32(bits - 1), c.m.glsl(Glsl.FindUMsb, u32, word))


def _clz(c: Code, op: Op) -> Id:
    (value,), dtype = c.values(op), op.operands[0].type
    if dtype.bits < 64:
        return _clz_word(c, _word(c, value, dtype), dtype.bits)
    low, high = halves(c, value)
    return c.m("Select", u32, c.is_zero(high, u32), _clz_word(c, low, 64), _clz_word(c, high, 32))


def _ctz(c: Code, op: Op) -> Id:
    m, (value,), dtype = c.m, c.values(op), op.operands[0].type
    if dtype.bits < 64:
        word = _word(c, value, dtype)
        return m("Select", u32, c.is_zero(word, u32), m.u32(dtype.bits), m.glsl(Glsl.FindILsb, u32, word))
    low, high = halves(c, value)
    above = m("IAdd", u32, m.glsl(Glsl.FindILsb, u32, high), m.u32(32))
    above = m("Select", u32, c.is_zero(high, u32), m.u32(64), above)
    return m("Select", u32, c.is_zero(low, u32), above, m.glsl(Glsl.FindILsb, u32, low))


def _bitrev(c: Code, op: Op) -> Id:
    m, (value,), dtype = c.m, c.values(op), op.result.type
    if dtype.bits == 64:
        low, high = halves(c, value)
        return joined(c, m("BitReverse", u32, high), m("BitReverse", u32, low), dtype)
    word = m("BitReverse", u32, _word(c, value, dtype))
    if dtype.bits == 32:
        return word
    return m("UConvert", dtype, m("ShiftRightLogical", u32, word, m.u32(32 - dtype.bits)))


EXPANDED: dict[str, Emit] = {
    "shl": _shift,
    "shr": _shift,
    "sqrt": _sqrt,
    "rsqrt": _sqrt,
    "floor": _whole(Glsl.Floor),
    "ceil": _whole(Glsl.Ceil),
    "trunc": _trunc,
    "round": _round,
    "div": _div,
    "select": lambda c, op: c.m.emit("Select", op.result.type, *c.values(op), hint=op.result.hint),
    "cast": _cast,
    "bitcast": _bitcast,
    "popcnt": _popcnt,
    "clz": _clz,
    "ctz": _ctz,
    "bitrev": _bitrev,
}
PER_KIND: dict[tuple[str, str], Emit] = {
    ("add", "f"): _float_add,
    ("sub", "f"): _float_sub,
    ("eq", "f"): _float_equal,
    ("ne", "f"): _float_equal,
    ("min", "f"): lambda c, op: pick(c, op.result.type, *c.values(op), largest=False),
    ("max", "f"): lambda c, op: pick(c, op.result.type, *c.values(op), largest=True),
    ("abs", "u"): lambda c, op: c.values(op)[0],
    **{("floordiv", kind): lambda c, op: _divide(c, op)[0] for kind in "iu"},
    **{("mod", kind): lambda c, op: _divide(c, op)[1] for kind in "iu"},
    **{("fma", kind): _integer_fma for kind in "iu"},
    ("min", "b"): lambda c, op: c.m("LogicalAnd", bool_, *c.values(op)),
    ("max", "b"): lambda c, op: c.m("LogicalOr", bool_, *c.values(op)),
    **{(name, "b"): _bool_compare for name in _ORDER},
    **{(name, "i"): _signed_order for name in _ORDER},
}
