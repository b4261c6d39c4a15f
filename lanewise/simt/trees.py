"""Trees over the lanes as IR: what the expansions of reductions and scans are made of.

Each function has its counterpart in `folds.py`, which says the same in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..ir import Builder, Value
from . import emit
from .algebra import Algebra

Values: TypeAlias = tuple[Value, ...]


def each(values: Values, function: Callable[[Value], Value]) -> Values:
    return tuple(function(v) for v in values)


def choose(b: Builder, cond: Value, x: Values, y: Values) -> Values:
    return tuple(b.select(cond, v, w) for v, w in zip(x, y, strict=True))


def neutralised(b: Builder, active: Value | None, values: Values, algebra: Algebra[Value]) -> Values:
    """The neutral value in the lanes that are left out."""
    return values if active is None else choose(b, active, values, algebra.neutral)


def _halving(b: Builder, kind: str, values: Values, algebra: Algebra[Value], log2_size: int) -> Values:
    for step in reversed(range(log2_size)):
        other = each(values, lambda v, amount=1 << step: emit.permute(b, v, kind, amount, log2_size))
        last_of_all = kind == "xor" and not step and 1 << log2_size == b.subgroup_size
        values = (algebra.combine_alike if last_of_all else algebra.combine)(values, other)
    return values


def fold(b: Builder, values: Values, algebra: Algebra[Value], log2_size: int) -> Values:
    """The tree v[l] op v[l + d] over all lanes: each tile's result in its first lane."""
    return _halving(b, "down", values, algebra, log2_size)


def fold_all(b: Builder, values: Values, algebra: Algebra[Value], log2_size: int, *, commutes: bool = True) -> Values:
    """The tree's result in every lane: by the butterfly l ^ d, or where `combine` may not commute, by a broadcast."""
    if commutes:
        return _halving(b, "xor", values, algebra, log2_size)
    return each(fold(b, values, algebra, log2_size), lambda v: emit.permute(b, v, "broadcast", 0, log2_size))


def scan(b: Builder, values: Values, algebra: Algebra[Value], log2_size: int, distance: Value | None = None) -> Values:
    """v[l - d] op v[l] for d = 1, 2, 4 ..., in lanes at least d above where their run begins (their tile)."""
    if distance is None:
        distance = emit.lane_in_tile(b, log2_size)
    for step in range(log2_size):
        below = each(values, lambda v, amount=1 << step: emit.permute(b, v, "up", amount, log2_size))
        reached = b.ge(distance, b.i32(1 << step))
        values = choose(b, reached, algebra.combine(below, values), values)
    return values


def active_below(b: Builder, active: Value, log2_size: int) -> tuple[Value, Value]:
    """Whether the tile has an active lane below mine, and the nearest one (any lane where it has none)."""
    bits = emit.own_tile(b, emit.ballot(b, active), log2_size)
    below = b.and_(bits, emit.bits_below(b, emit.lane_in_tile(b, log2_size), bits.type))
    place = emit.wrapped(b, emit.highest(b, below), 1 << log2_size)
    return emit.is_nonzero(b, below), emit.from_base(b, place, log2_size)


def below_or(
    b: Builder, active: Value | None, values: Values, otherwise: Values, log2_size: int, *, exact: bool = False
) -> Values:
    """The values of the nearest active lane below in the tile; `otherwise` where there is none.

    With `exact`, lanes that are not active hold what the nearest active lane below them does.
    """
    if active is None or exact:
        found = b("gt", emit.lane_in_tile(b, log2_size), b.i32(0))
        moved = each(values, lambda v: emit.permute(b, v, "up", 1, log2_size))
    else:
        found, source = active_below(b, active, log2_size)
        moved = each(values, lambda v: emit.gather(b, v, source))
    return choose(b, found, moved, otherwise)


def last_active(b: Builder, active: Value | None, values: Values, algebra: Algebra[Value]) -> Values:
    """A scan's values in the subgroup's highest active lane, in every lane; neutral where none is active."""
    width = emit.log2_width(b)
    if active is None or algebra.exact:
        return each(values, lambda v: emit.permute(b, v, "broadcast", b.subgroup_size - 1, width))
    bits = emit.ballot(b, active)
    source = emit.wrapped(b, emit.highest(b, bits), b.subgroup_size)
    return choose(b, emit.is_nonzero(b, bits), each(values, lambda v: emit.gather(b, v, source)), algebra.neutral)
