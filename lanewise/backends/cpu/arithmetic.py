"""Arithmetic: one row an opcode, emitted at either width exactly as `ir/arith.py` defines it.

No fast-math flag is ever set and LLVM fuses nothing unasked, so floats come out as IEEE 754 says.  No instruction that
traps or gives poison sees an operand for which it would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...dtypes import DType
from ...ir import Op
from .conversions import convert, half_fma
from .division import float_floordiv, float_mod, int_divide
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
    "clz": _bit_count("ctlz", ", i1 false"),
    "ctz": _bit_count("cttz", ", i1 false"),
    "bitrev": _bitrev,
}
