"""Arithmetic: one row an opcode, emitted at either width exactly as `ir/arith.py` defines it.

No fast-math flag is ever set and LLVM fuses nothing unasked, so floats come out as IEEE 754 says.  No instruction that
traps or gives poison sees an operand for which it would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ... import dtypes
from ...dtypes import DType
from ...ir import Op
from .forms import Width
from .text import float_literal, literal, scalar_type

Row: TypeAlias = Callable[[Width, Op, Sequence[str]], str]
"""Emits the op for operands given by name, in their width's types; the result's name."""


# ---- helpers ------------------------------------------------------------------------------------------------------
def _compare(w: Width, dtype: DType, predicate: str, a: str, b: str) -> str:
    """`i1`s; `predicate` is LLVM's, with its signedness or ordering."""
    return w.do(f"{'fcmp' if dtype.is_float else 'icmp'} {predicate} {w.type(dtype)} {a}, {b}")


def _choose(w: Width, element: str, cond: str, a: str, b: str) -> str:
    return w.do(f"select {w.of('i1')} {cond}, {w.of(element)} {a}, {w.of(element)} {b}")


def _arith(w: Width, dtype: DType, name: str, a: str, b: str) -> str:
    return w.do(f"{name} {w.type(dtype)} {a}, {b}")


def _number(w: Width, dtype: DType, value: int | float) -> str:
    return w.const(scalar_type(dtype), literal(value, dtype))


def _constant_value(name: str) -> int | None:
    """The integer that a constant operand holds, None for a register."""
    number = name.removesuffix(")").split()[-1]
    return int(number) if number.removeprefix("-").isdigit() else None


def widen_half(w: Width, a: str) -> str:
    return w.do(f"fpext {w.of('half')} {a} to {w.of('float')}")


def narrow_to_half(w: Width, a: str) -> str:
    return w.do(f"fptrunc {w.of('float')} {a} to {w.of('half')}")


def _in_single(w: Width, dtype: DType, emit: Callable[[str, list[str]], str], operands: Sequence[str]) -> str:
    """`emit(element, operands)`, done in f32 where the type is f16; for operations that are exact there."""
    if dtype.bits != 16:
        return emit(scalar_type(dtype), list(operands))
    return narrow_to_half(w, emit("float", [widen_half(w, a) for a in operands]))


# ---- rows made of one instruction ---------------------------------------------------------------------------------
def _simple(on_int: str, on_float: str = "") -> Row:
    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        return _arith(w, dtype, on_float if dtype.is_float else on_int, ops[0], ops[1])

    return row


def _comparison(signed: str, unsigned: str, on_float: str) -> Row:
    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        predicate = on_float if dtype.is_float else signed if dtype.is_signed else unsigned
        return w.boolean(_compare(w, dtype, predicate, ops[0], ops[1]))

    return row


def _extremum(on_int: str, on_float: str) -> Row:
    """`llvm.minimumnum` skips NaN and puts -0 below +0, as IEEE 754-2019 minimumNumber does."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        if dtype.is_float:
            return _in_single(w, dtype, lambda e, xs: w.intrinsic(on_float, e, *xs), ops)
        return w.intrinsic(("s" if dtype.is_signed else "u") + on_int, scalar_type(dtype), *ops)

    return row


def _float_intrinsic(name: str) -> Row:
    """An exact function of floats (integers pass)."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        if not dtype.is_float:
            return ops[0]
        return _in_single(w, dtype, lambda e, xs: w.intrinsic(name, e, *xs), ops)

    return row


def _select(w: Width, op: Op, ops: Sequence[str]) -> str:
    type_ = w.type(op.result.type)
    return w.do(f"select {w.of('i1')} {w.cond(ops[0])}, {type_} {ops[1]}, {type_} {ops[2]}")


def _not(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    ones = "true" if dtype.is_bool and not w.lanes else "-1"
    element = "i32" if dtype.is_bool and w.lanes else scalar_type(dtype)
    return _arith(w, dtype, "xor", ops[0], w.const(element, ones))


def _neg(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    if dtype.is_float:
        return w.do(f"fneg {w.type(dtype)} {ops[0]}")
    return _arith(w, dtype, "sub", _number(w, dtype, 0), ops[0])


def _abs(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    if dtype.is_float:
        return w.intrinsic("fabs", scalar_type(dtype), ops[0])
    if not dtype.is_signed:
        return ops[0]
    return w.intrinsic("abs", scalar_type(dtype), ops[0], extra=", i1 false")


def _shift(signed: str, unsigned: str) -> Row:
    """Amounts are taken modulo the width."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.result.type
        amount = _arith(w, dtype, "and", ops[1], _number(w, dtype, dtype.bits - 1))
        return _arith(w, dtype, signed if dtype.is_signed else unsigned, ops[0], amount)

    return row


def _bit_count(name: str, extra: str = "") -> Row:
    """Counts are i32, whatever the operand."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        count = w.intrinsic(name, scalar_type(dtype), ops[0], extra=extra)
        if dtype.bits == 32:
            return count
        how = "trunc" if dtype.bits > 32 else "zext"
        return w.do(f"{how} {w.type(dtype)} {count} to {w.of('i32')}")

    return row


def _bitrev(w: Width, op: Op, ops: Sequence[str]) -> str:
    return w.intrinsic("bitreverse", scalar_type(op.result.type), ops[0])


# ---- division -----------------------------------------------------------------------------------------------------
def _int_divide(w: Width, dtype: DType, a: str, b: str) -> tuple[str, str]:
    """Floor division and its remainder: both 0 where `b` is 0; the smallest integer // -1 wraps.

    A divisor that would trap is replaced by 1, which gives the wrapped quotient and the zero remainders as they are.
    """
    element, type_ = scalar_type(dtype), w.type(dtype)
    zero, one = w.const(element, "0"), w.const(element, "1")
    constant = _constant_value(b)
    by_zero = None
    if constant is None or constant in (0, -1):
        by_zero = _compare(w, dtype, "eq", b, zero)
        replace = by_zero
        if dtype.is_signed:
            lowest = _compare(w, dtype, "eq", a, w.const(element, str(dtype.lowest)))
            overflow = w.do(
                f"and {w.of('i1')} {lowest}, {_compare(w, dtype, 'eq', b, w.const(element, '-1'))}"
            )
            replace = w.do(f"or {w.of('i1')} {by_zero}, {overflow}")
        b = _choose(w, element, replace, one, b)
    if w.lanes and constant is None and dtype.bits <= 32:
        quotient = _divide_in_floats(w, dtype, a, b)
        remainder = _arith(w, dtype, "sub", a, _arith(w, dtype, "mul", quotient, b))
    else:
        quotient = _arith(w, dtype, "sdiv" if dtype.is_signed else "udiv", a, b)
        remainder = _arith(w, dtype, "sub", a, _arith(w, dtype, "mul", quotient, b))
        if dtype.is_signed:
            inexact = _compare(w, dtype, "ne", remainder, zero)
            mixed = _compare(w, dtype, "slt", _arith(w, dtype, "xor", remainder, b), zero)
            down = w.do(f"and {w.of('i1')} {inexact}, {mixed}")
            step = w.do(f"sext {w.of('i1')} {down} to {type_}")
            quotient = _arith(w, dtype, "add", quotient, step)
            remainder = _arith(w, dtype, "add", remainder, _arith(w, dtype, "and", step, b))
    if by_zero is not None:
        quotient = _choose(w, element, by_zero, zero, quotient)
    return quotient, remainder


def _divide_in_floats(w: Width, dtype: DType, a: str, b: str) -> str:
    """The floor of a / b by one float division.

    A quotient of n-bit integers that is no integer is at least 2**-n away from one, so a float of 2 n bits or more
    rounds it to the right side: f64 for 32-bit integers, f32 for narrower ones (there by the same argument, 24 bits
    against the 16 of the quotient and the divisor together).
    """
    type_ = w.type(dtype)
    wide = "double" if dtype.bits == 32 else "float"
    to_float = "sitofp" if dtype.is_signed else "uitofp"
    numerator, denominator = (w.do(f"{to_float} {type_} {x} to {w.of(wide)}") for x in (a, b))
    quotient = w.do(f"fdiv {w.of(wide)} {numerator}, {denominator}")
    if dtype.is_signed:
        quotient = w.intrinsic("floor", wide, quotient)
    to_int = "fptoui" if dtype == dtypes.u32 else "fptosi"
    whole = w.do(f"{to_int} {w.of(wide)} {quotient} to {w.of('i32')}")
    return whole if dtype.bits == 32 else w.do(f"trunc {w.of('i32')} {whole} to {type_}")


def _fmod(w: Width, dtype: DType, a: str, b: str) -> str:
    """The exact remainder, of the dividend's sign; `frem` is C's fmod."""
    return _in_single(w, dtype, lambda e, xs: w.do(f"frem {w.of(e)} {xs[0]}, {xs[1]}"), (a, b))


def _sign_differs(w: Width, dtype: DType, r: str, b: str) -> str:
    """r is not 0 and (r < 0) != (b < 0)."""
    zero = _number(w, dtype, 0.0)
    i1 = w.of("i1")
    mixed = w.do(f"xor {i1} {_compare(w, dtype, 'olt', r, zero)}, {_compare(w, dtype, 'olt', b, zero)}")
    return w.do(f"and {i1} {_compare(w, dtype, 'une', r, zero)}, {mixed}")


def _float_mod(w: Width, dtype: DType, a: str, b: str) -> str:
    element = scalar_type(dtype)
    r = _fmod(w, dtype, a, b)
    moved = _choose(w, element, _sign_differs(w, dtype, r, b), _arith(w, dtype, "fadd", r, b), r)
    zero = _number(w, dtype, 0.0)
    signed_zero = w.intrinsic("copysign", element, zero, b)
    return _choose(w, element, _compare(w, dtype, "oeq", moved, zero), signed_zero, moved)


def _float_floordiv(w: Width, dtype: DType, a: str, b: str) -> str:
    element = scalar_type(dtype)
    zero, one, half = (_number(w, dtype, x) for x in (0.0, 1.0, 0.5))
    r = _fmod(w, dtype, a, b)
    ratio = _arith(w, dtype, "fdiv", a, b)
    q = _arith(w, dtype, "fdiv", _arith(w, dtype, "fsub", a, r), b)
    q = _choose(w, element, _sign_differs(w, dtype, r, b), _arith(w, dtype, "fsub", q, one), q)
    down = _in_single(w, dtype, lambda e, xs: w.intrinsic("floor", e, *xs), (q,))
    far = _compare(w, dtype, "ogt", _arith(w, dtype, "fsub", q, down), half)
    down = _choose(w, element, far, _arith(w, dtype, "fadd", down, one), down)
    signed_zero = w.intrinsic("copysign", element, zero, ratio)
    result = _choose(w, element, _compare(w, dtype, "oeq", q, zero), signed_zero, down)
    return _choose(w, element, _compare(w, dtype, "oeq", b, zero), ratio, result)


def _floordiv(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    return _float_floordiv(w, dtype, *ops) if dtype.is_float else _int_divide(w, dtype, ops[0], ops[1])[0]


def _mod(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    return _float_mod(w, dtype, *ops) if dtype.is_float else _int_divide(w, dtype, ops[0], ops[1])[1]


# ---- fused multiply-add and roots ---------------------------------------------------------------------------------
def _fma(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    if not dtype.is_float:
        return _arith(w, dtype, "add", _arith(w, dtype, "mul", ops[0], ops[1]), ops[2])
    if dtype.bits > 16:
        return w.intrinsic("fma", scalar_type(dtype), *ops)
    # The product of two halves is exact in f64; the sum is rounded to odd there, which keeps the second rounding right.
    a, b, c = (w.do(f"fpext {w.of('half')} {x} to {w.of('double')}") for x in ops)
    f64 = dtypes.f64
    product = _arith(w, f64, "fmul", a, b)
    total = _arith(w, f64, "fadd", product, c)
    rest = _arith(w, f64, "fsub", total, c)
    error = _arith(
        w, f64, "fadd", _arith(w, f64, "fsub", product, rest), _arith(w, f64, "fsub", c, _arith(w, f64, "fsub", total, rest))
    )
    zero = _number(w, f64, 0.0)
    # Not where the total is infinite or NaN: there `error` is NaN, and the ordered comparison says no.
    inexact = _compare(w, f64, "one", error, zero)
    opposite = w.do(f"xor {w.of('i1')} {_compare(w, f64, 'olt', error, zero)}, {_compare(w, f64, 'olt', total, zero)}")
    return _double_to_half(w, _to_odd(w, dtypes.f64, total, inexact, opposite))


def _to_odd(w: Width, dtype: DType, value: str, inexact: str, too_large: str) -> str:
    """`value`, rounded to nearest before, as rounding to odd would have given it.

    `inexact` says where it was rounded, `too_large` where (if it was) away from zero.
    """
    bits = dtypes.signed_of(dtype.bits)
    type_ = w.type(bits)
    pattern = w.do(f"bitcast {w.type(dtype)} {value} to {type_}")
    i1 = w.of("i1")
    back = w.do(f"sext {i1} {w.do(f'and {i1} {inexact}, {too_large}')} to {type_}")
    lowered = _arith(w, bits, "add", pattern, back)
    # With the last bit set it is odd already; lowering it by one and setting the bit again leaves it as it was.
    odd = _arith(w, bits, "or", lowered, w.do(f"zext {i1} {inexact} to {type_}"))
    return w.do(f"bitcast {type_} {odd} to {w.type(dtype)}")


def _double_to_half(w: Width, value: str) -> str:
    """f64 to f16 by way of f32, rounded to odd there: the hardware has no direct conversion."""
    single = w.do(f"fptrunc {w.of('double')} {value} to {w.of('float')}")
    back = w.do(f"fpext {w.of('float')} {single} to {w.of('double')}")
    inexact = _compare(w, dtypes.f64, "one", back, value)
    larger = _compare(
        w, dtypes.f64, "ogt", w.intrinsic("fabs", "double", back), w.intrinsic("fabs", "double", value)
    )
    return narrow_to_half(w, _to_odd(w, dtypes.f32, single, inexact, larger))


def _rsqrt(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    root = _float_intrinsic("sqrt")(w, op, ops)
    return _arith(w, dtype, "fdiv", _number(w, dtype, 1.0), root)


# ---- conversions --------------------------------------------------------------------------------------------------
def convert(w: Width, value: str, source: DType, target: DType) -> str:
    """`cast`: to bool is `!= 0`, float to integer truncates and saturates (NaN gives 0), integers wrap."""
    if source == target:
        return value
    if target.is_bool:
        zero = _number(w, source, 0)
        return w.boolean(_compare(w, source, "une" if source.is_float else "ne", value, zero))
    if source.is_bool:
        return _from_bool(w, value, target)
    if source.is_float:
        return _float_to_int(w, value, source, target) if target.is_int else _float_to_float(w, value, source, target)
    if target.is_float:
        # A half holds no integer that f32 does not: the detour rounds once.
        element = "float" if target.bits == 16 else scalar_type(target)
        how = "sitofp" if source.is_signed else "uitofp"
        result = w.do(f"{how} {w.type(source)} {value} to {w.of(element)}")
        return narrow_to_half(w, result) if target.bits == 16 else result
    if source.bits == target.bits:
        return value
    how = "trunc" if source.bits > target.bits else "sext" if source.is_signed else "zext"
    return w.do(f"{how} {w.type(source)} {value} to {w.type(target)}")


def _from_bool(w: Width, value: str, target: DType) -> str:
    i1 = w.cond(value)
    if target.is_int:
        return w.do(f"zext {w.of('i1')} {i1} to {w.type(target)}")
    return _choose(w, scalar_type(target), i1, _number(w, target, 1.0), _number(w, target, 0.0))


def _float_to_float(w: Width, value: str, source: DType, target: DType) -> str:
    if source.bits == 64 and target.bits == 16:
        return _double_to_half(w, value)
    how = "fptrunc" if source.bits > target.bits else "fpext"
    return w.do(f"{how} {w.type(source)} {value} to {w.type(target)}")


def _float_to_int(w: Width, value: str, source: DType, target: DType) -> str:
    """Out of range the conversion instructions give poison, so they see 0 there and the limit is put in afterwards."""
    if source.bits == 16:
        value, source = widen_half(w, value), dtypes.f32
    element, result, i1 = scalar_type(source), scalar_type(target), w.of("i1")
    above = float(1 << (target.bits - target.is_signed))  # the first value too large: a power of two, exact
    low = w.const(element, float_literal(float(target.lowest), source.bits))
    high = w.const(element, float_literal(above, source.bits))
    over = _compare(w, source, "oge", value, high)
    under = _compare(w, source, "ole", value, low)
    inside = w.do(
        f"and {i1} {_compare(w, source, 'ogt', value, low)}, {_compare(w, source, 'olt', value, high)}"
    )
    safe = _choose(w, element, inside, value, w.const(element, float_literal(0.0, source.bits)))
    middle = "i32" if target.bits < 32 else result
    how = "fptosi" if target.is_signed or target.bits < 32 else "fptoui"
    whole = w.do(f"{how} {w.of(element)} {safe} to {w.of(middle)}")
    if middle != result:
        whole = w.do(f"trunc {w.of(middle)} {whole} to {w.of(result)}")
    whole = _choose(w, result, over, w.const(result, str(target.highest)), whole)
    return whole if not target.is_signed else _choose(w, result, under, w.const(result, str(target.lowest)), whole)


def _cast(w: Width, op: Op, ops: Sequence[str]) -> str:
    return convert(w, ops[0], op.operands[0].type, op.result.type)


def _bitcast(w: Width, op: Op, ops: Sequence[str]) -> str:
    return w.do(f"bitcast {w.type(op.operands[0].type)} {ops[0]} to {w.type(op.result.type)}")


ROWS: dict[str, Row] = {
    "add": _simple("add", "fadd"),
    "sub": _simple("sub", "fsub"),
    "mul": _simple("mul", "fmul"),
    "div": _simple("", "fdiv"),
    "floordiv": _floordiv,
    "mod": _mod,
    "min": _extremum("min", "minimumnum"),
    "max": _extremum("max", "maximumnum"),
    "fma": _fma,
    "and": _simple("and"),
    "or": _simple("or"),
    "xor": _simple("xor"),
    "shl": _shift("shl", "shl"),
    "shr": _shift("ashr", "lshr"),
    "neg": _neg,
    "abs": _abs,
    "not": _not,
    "sqrt": _float_intrinsic("sqrt"),
    "rsqrt": _rsqrt,
    "floor": _float_intrinsic("floor"),
    "ceil": _float_intrinsic("ceil"),
    "trunc": _float_intrinsic("trunc"),
    "round": _float_intrinsic("roundeven"),
    "eq": _comparison("eq", "eq", "oeq"),
    "ne": _comparison("ne", "ne", "une"),
    "lt": _comparison("slt", "ult", "olt"),
    "le": _comparison("sle", "ule", "ole"),
    "gt": _comparison("sgt", "ugt", "ogt"),
    "ge": _comparison("sge", "uge", "oge"),
    "select": _select,
    "cast": _cast,
    "bitcast": _bitcast,
    "popcnt": _bit_count("ctpop"),
    "clz": _bit_count("ctlz", ", i1 false"),
    "ctz": _bit_count("cttz", ", i1 false"),
    "bitrev": _bitrev,
}
