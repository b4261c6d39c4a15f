"""Arithmetic: one row an opcode, emitted at either width exactly as `ir/arith.py` defines it.

No fast-math flag is ever set and LLVM fuses nothing unasked, so floats come out as IEEE 754 says.  No instruction that
traps or gives poison sees an operand for which it would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...dtypes import DType, i32
from ...ir import Op
from .conversions import convert, half_fma
from .division import float_floordiv, float_mod, int_divide
from .host import host
from .text import lane_type, scalar_type
from .width import Width

Row: TypeAlias = Callable[[Width, Op, Sequence[str]], str]
"""Emits the op for operands given by name, in their width's types; the result's name."""


def _simple(on_int: str, on_float: str = "") -> Row:
    """One instruction."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        return w.binary(on_float if dtype.is_float else on_int, dtype, *ops)

    return row


def _comparison(signed: str, unsigned: str, on_float: str) -> Row:
    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        predicate = on_float if dtype.is_float else signed if dtype.is_signed else unsigned
        return w.boolean(w.compare(dtype, predicate, *ops))

    return row


def _extremum(on_int: str, on_float: str) -> Row:
    """`llvm.minimumnum` skips NaN and puts -0 below +0, as IEEE 754-2019 minimumNumber does."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        if dtype.is_float:
            return w.in_single(dtype, lambda e, xs: w.intrinsic(on_float, e, *xs), ops)
        return w.intrinsic(("s" if dtype.is_signed else "u") + on_int, scalar_type(dtype), *ops)

    return row


def _float_intrinsic(name: str) -> Row:
    """An exact function of floats (integers pass)."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        if not dtype.is_float:
            return ops[0]
        return w.in_single(dtype, lambda e, xs: w.intrinsic(name, e, *xs), ops)

    return row


def _by_kind(on_int: Callable[[Width, DType, str, str], str], on_float: Callable[[Width, DType, str, str], str]) -> Row:
    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.result.type
        return (on_float if dtype.is_float else on_int)(w, dtype, ops[0], ops[1])

    return row


def _shift(signed: str, unsigned: str) -> Row:
    """Amounts are taken modulo the width."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.result.type
        amount = w.binary("and", dtype, ops[1], w.number(dtype, dtype.bits - 1))
        return w.binary(signed if dtype.is_signed else unsigned, dtype, ops[0], amount)

    return row


def _bit_count(name: str, extra: str = "") -> Row:
    """Counts are i32, whatever the operand."""

    def row(w: Width, op: Op, ops: Sequence[str]) -> str:
        dtype = op.operands[0].type
        element = scalar_type(dtype)
        count = w.intrinsic(name, element, ops[0], extra=extra)
        return count if dtype.bits == 32 else w.change("trunc" if dtype.bits > 32 else "zext", element, count, "i32")

    return row


def _leading_zeros(w: Width, op: Op, ops: Sequence[str]) -> str:
    """Strips take the exponent of a conversion to f32 where no instruction counts: LLVM would look up nibbles."""
    dtype = op.operands[0].type
    if not w.lanes or dtype.bits < 32 or host().counts_zeros:
        return _bit_count("ctlz", ", i1 false")(w, op, ops)
    return _zeros_above(w, dtype, ops[0])


def _trailing_zeros(w: Width, op: Op, ops: Sequence[str]) -> str:
    """The width less the leading zeros of the bits below the lowest one."""
    dtype = op.operands[0].type
    if not w.lanes or dtype.bits < 32 or host().counts_zeros:
        return _bit_count("cttz", ", i1 false")(w, op, ops)
    less = w.binary("sub", dtype, ops[0], w.number(dtype, 1))
    below = w.binary("and", dtype, less, w.binary("xor", dtype, ops[0], w.number(dtype, -1)))
    return w.binary("sub", i32, w.number(i32, dtype.bits), _zeros_above(w, dtype, below))


def _zeros_above(w: Width, dtype: DType, x: str) -> str:
    """158 less the biased exponent of x as a float, in [0, 32]; of 64 bits, that of the high half if it is not 0."""
    if dtype.bits == 64:
        element = scalar_type(dtype)
        high = w.change("trunc", element, w.binary("lshr", dtype, x, w.number(dtype, 32)), "i32")
        low = _zeros_above(w, i32, w.change("trunc", element, x, "i32"))
        in_low = w.binary("add", i32, low, w.number(i32, 32))
        return w.choose("i32", w.compare(i32, "eq", high, w.number(i32, 0)), in_low, _zeros_above(w, i32, high))
    # Without the bit below the highest one, no rounding reaches the next power of two.
    above = w.binary("xor", i32, w.binary("lshr", i32, x, w.number(i32, 1)), w.number(i32, -1))
    single = w.change("sitofp", "i32", w.binary("and", i32, x, above), "float")
    # The sign stands above the exponent: with the highest bit set the difference is negative.
    exponent = w.binary("lshr", i32, w.change("bitcast", "float", single, "i32"), w.number(i32, 23))
    zeros = w.binary("sub", i32, w.number(i32, 158), exponent)
    return w.intrinsic("smax", "i32", w.intrinsic("smin", "i32", zeros, w.number(i32, 32)), w.number(i32, 0))


def _bitrev(w: Width, op: Op, ops: Sequence[str]) -> str:
    return w.intrinsic("bitreverse", scalar_type(op.result.type), ops[0])


def _select(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    return w.choose(lane_type(dtype) if w.lanes else scalar_type(dtype), w.cond(ops[0]), ops[1], ops[2])


def _not(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    ones = w.const(lane_type(dtype), "-1") if w.lanes else "true" if dtype.is_bool else "-1"
    return w.binary("xor", dtype, ops[0], ones)


def _neg(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    if dtype.is_float:
        return w.do(f"fneg {w.type(dtype)} {ops[0]}")
    return w.binary("sub", dtype, w.number(dtype, 0), ops[0])


def _abs(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    if dtype.is_float:
        return w.intrinsic("fabs", scalar_type(dtype), ops[0])
    return w.intrinsic("abs", scalar_type(dtype), ops[0], extra=", i1 false") if dtype.is_signed else ops[0]


def _fma(w: Width, op: Op, ops: Sequence[str]) -> str:
    """Rounded once; on integers it wraps."""
    dtype = op.result.type
    if not dtype.is_float:
        return w.binary("add", dtype, w.binary("mul", dtype, ops[0], ops[1]), ops[2])
    return half_fma(w, *ops) if dtype.bits == 16 else w.intrinsic("fma", scalar_type(dtype), *ops)


def _rsqrt(w: Width, op: Op, ops: Sequence[str]) -> str:
    dtype = op.result.type
    return w.binary("fdiv", dtype, w.number(dtype, 1.0), _float_intrinsic("sqrt")(w, op, ops))


def _cast(w: Width, op: Op, ops: Sequence[str]) -> str:
    return convert(w, ops[0], op.operands[0].type, op.result.type)


def _bitcast(w: Width, op: Op, ops: Sequence[str]) -> str:
    return w.change("bitcast", scalar_type(op.operands[0].type), ops[0], scalar_type(op.result.type))


ROWS: dict[str, Row] = {
    "add": _simple("add", "fadd"),
    "sub": _simple("sub", "fsub"),
    "mul": _simple("mul", "fmul"),
    "div": _simple("", "fdiv"),
    "floordiv": _by_kind(lambda w, t, a, b: int_divide(w, t, a, b)[0], float_floordiv),
    "mod": _by_kind(lambda w, t, a, b: int_divide(w, t, a, b)[1], float_mod),
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
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "bitrev": _bitrev,
}
