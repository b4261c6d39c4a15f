"""Segmented reductions: runs of lanes that begin where a flag is set.

The first active lane of a tile begins a segment whatever its flag says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import Builder, Value
from ..ir.opcodes import Level, always, same
from . import emit, folds, trees
from .algebra import MONOIDS, Algebra, Monoid
from .op import CROSS_LANE, Arr, Kind, Lanes, Param, SimtOp, declare, paragraphs
from .reductions import dtype_of

_OPERATIONS = tuple(MONOIDS[name] for name in ("add", "min", "max"))
_HEAD = Param("head_flag", Kind.PREDICATE)


# ---- meanings -----------------------------------------------------------------------------------------------------
def _heads(lanes: Lanes, head_flag: Arr, size: int) -> Arr:
    """The lane where each lane's segment begins: the last head at or below it, or its tile's first lane."""
    head = folds.latest(head_flag & lanes.mask, size)
    return np.where(head < 0, lanes.lane - lanes.lane % size, head)


def _running(lanes: Lanes, value: Arr, head_flag: Arr, algebra: Algebra[Arr], size: int) -> Arr:
    values = folds.neutralised(lanes.mask, (value,), algebra)
    return folds.scan(values, algebra, size, _heads(lanes, head_flag, size))[0]


def _whole(lanes: Lanes, value: Arr, head_flag: Arr, algebra: Algebra[Arr], size: int) -> Arr:
    """The running value of the segment's last active lane: lanes of a segment share their head."""
    running = _running(lanes, value, head_flag, algebra, size)
    head = _heads(lanes, head_flag, size)
    together = (head[..., :, None] == head[..., None, :]) & lanes.mask[..., None, :]
    last = np.where(together, lanes.lane, -1).max(axis=-1)
    return folds.take((running,), np.maximum(last, 0))[0]


# ---- expansions ---------------------------------------------------------------------------------------------------
def _head_bits(b: Builder, active: Value | None, head_flag: Value, log2_size: int) -> Value:
    return emit.own_tile(b, emit.ballot(b, emit.both(b, active, head_flag)), log2_size)


def _expand_running(
    b: Builder, active: Value | None, value: Value, heads: Value, algebra: Algebra[Value], log2_size: int
) -> Value:
    """A scan in which a lane reaches down to its head: the highest of the heads at or below it, and bit 0."""
    mine = emit.lane_in_tile(b, log2_size)
    own = emit.one_bit(b, mine, heads.type)
    up_to = b.or_(own, b.sub(own, b.const(1, heads.type)))
    head = emit.highest(b, b.or_(b.and_(heads, up_to), b.const(1, heads.type)))
    values = trees.neutralised(b, active, (value,), algebra)
    return trees.scan(b, values, algebra, log2_size, b.sub(mine, head))[0]


def _expand_whole(
    b: Builder, active: Value | None, value: Value, heads: Value, algebra: Algebra[Value], log2_size: int
) -> Value:
    running = _expand_running(b, active, value, heads, algebra, log2_size)
    mine, one = emit.lane_in_tile(b, log2_size), b.const(1, heads.type)
    own = emit.one_bit(b, mine, heads.type)
    above = b.and_(heads, b.not_(b.or_(own, b.sub(own, one))))
    # The lowest bit of `above`, less one: all lanes below the next head, or every bit where none follows.
    segment = b.sub(b.and_(above, b("neg", above)), one)
    members = b.and_(segment, emit.own_tile(b, emit.active_bits(b, active), log2_size))
    last = emit.wrapped(b, emit.highest(b, members), 1 << log2_size)
    return emit.gather(b, running, emit.from_base(b, last, log2_size))


# ---- declarations -------------------------------------------------------------------------------------------------
def _declare(prefix: str, meaning_of: Any, expansion_of: Any, formula: str, cost: str, monoid: Monoid) -> None:
    def meaning(lanes: Lanes, value: Arr, head_flag: Arr, *, log2_size: int) -> Arr:
        return meaning_of(lanes, value, head_flag, monoid.numeric(dtype_of(value)), 1 << log2_size)

    def expand(b: Builder, active: Value | None, /, value: Value, head_flag: Value, *, log2_size: int) -> Value:
        heads = _head_bits(b, active, head_flag, log2_size)
        keyed = monoid.keyed(b, value)
        return keyed.decode(expansion_of(b, active, keyed.value, heads, keyed.algebra, log2_size))

    declare(
        SimtOp(
            f"subgroup.{prefix}_{monoid.name}",
            same,
            CROSS_LANE,
            meaning,
            always(Level.VARYING),
            params=(Param("value", dtypes=monoid.dtypes), _HEAD),
            doc=paragraphs(
                formula.format(op=monoid.symbol),
                """Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
                at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
                TypeError.""",
                cost,
            ),
            expand=expand,
            uses_log2_size=True,
        ),
        tiled=True,
    )


for _monoid in _OPERATIONS:
    _declare(
        "segmented_reduce",
        _running,
        _expand_running,
        "r[l] = v[h] {op} ... {op} v[l], h being the last head at or below l",
        "A ballot and log2(size) shuffles.",
        _monoid,
    )
    _declare(
        "segmented_reduce_all",
        _whole,
        _expand_whole,
        "r[l] = v[h] {op} ... {op} v[e], the whole of l's segment [h, e]",
        "Two ballots and log2(size) + 1 shuffles.",
        _monoid,
    )
