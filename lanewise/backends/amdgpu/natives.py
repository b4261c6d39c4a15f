"""Reductions and scans of 32-bit integers along the rows, where the order of folding is free.

gfx9: a scan within each row by row_shr, then each row's last lane is added to the rows above it (row_bcast:15 and :31);
the last lane holds the sum.  gfx10 and later: butterflies within rows by row_xmask, rows joined by permlanex16 and
permlane64.  Every move has the neutral value as `old`, so that LLVM folds it into the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...dtypes import DType
from ...ir import Op, Value
from ...simt.algebra import MONOIDS, Monoid
from ..llvm.arithmetic import ROWS
from ..llvm.target import Native
from ..llvm.text import Writer, literal
from . import dpp
from .arch import Features
from .permutes import permute, read_lane

Combine: TypeAlias = Callable[[str, str], str]
ROW_STEPS = (1, 2, 4, 8)
ODD_ROWS, UPPER_HALF = 0b1010, 0b1100
"""Row masks: the rows that take the row below them, and those that take the lower half's."""


def natives_of(features: Features, subgroup_size: int) -> dict[str, Native]:
    """Whole-subgroup reductions and inclusive scans of 32-bit integers."""
    whole = subgroup_size.bit_length() - 1

    def accepts(op: Op) -> bool:
        t = op.operands[0].type
        return t.is_int and t.bits == 32 and op.attrs["log2_size"] == whole

    def native(monoid: Monoid, fold: Callable[..., str]) -> Native:
        def emit(w: Writer, op: Op, args: Sequence[str], mask: str | None) -> str:
            t = op.result.type
            neutral = literal(monoid.neutral(t), t)
            value = args[0] if mask is None else w.let(f"select i1 {mask}, i32 {args[0]}, i32 {neutral}")
            return fold(w, features, subgroup_size, value, neutral, _combine(w, monoid, t))

        return Native(accepts, emit)

    folds = {"reduce": _reduce, "reduce_all": _reduce, "inclusive": _inclusive}
    return {
        f"subgroup.{form}_{monoid.name}": native(monoid, fold)
        for form, fold in folds.items()
        for monoid in MONOIDS.values()
    }


def _combine(w: Writer, monoid: Monoid, t: DType) -> Combine:
    operands, result = (Value(t), Value(t)), (Value(t),)
    return lambda a, b: ROWS[monoid.opcode](w, Op(monoid.opcode, operands, result), (a, b))


def _inclusive(w: Writer, features: Features, size: int, v: str, neutral: str, combine: Combine) -> str:
    for step in ROW_STEPS:
        v = combine(dpp.move(w, neutral, v, dpp.ROW_SHR | step), v)
    if features.wave_shifts:
        v = combine(dpp.move(w, neutral, v, dpp.ROW_BCAST15, ODD_ROWS), v)
        return combine(dpp.move(w, neutral, v, dpp.ROW_BCAST31, UPPER_HALF), v)
    last_of_neighbour = tuple((lane // dpp.ROW ^ 1) * dpp.ROW + dpp.ROW - 1 for lane in range(size))
    below = permute(w, features, v, last_of_neighbour, "0")
    v = combine(dpp.move(w, neutral, below, dpp.IDENTITY, ODD_ROWS), v)
    if size == 64:
        v = combine(dpp.move(w, neutral, read_lane(w, v, 31), dpp.IDENTITY, UPPER_HALF), v)
    return v


def _reduce(w: Writer, features: Features, size: int, v: str, neutral: str, combine: Combine) -> str:
    if features.wave_shifts:
        return read_lane(w, _inclusive(w, features, size, v, neutral, combine), size - 1)
    for step in (*ROW_STEPS, dpp.ROW, *((32,) if size == 64 else ())):
        v = combine(v, permute(w, features, v, tuple(lane ^ step for lane in range(size)), "0"))
    return v
