"""Bitonic sorts within a subgroup or its tiles, by the network of `network.py`.

Both lanes of a pair evaluate the same comparison, "is what the keeper of the larger has less than what the keeper of
the smaller has?", so that whatever the keys are, NaN included, they agree: either both swap or neither does.  Lanes
that are not active sort behind all others.  What fits into one integer is sorted as one (`packed.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..ir import Builder, Op, Value
from ..ir.opcodes import Level, always, same
from . import emit, folds, trees
from .folds import Leaves
from .network import keeps_large, network
from .op import CROSS_LANE, Arr, Kind, Lanes, Param, SimtOp, declare, paragraphs
from .packed import Quickly, sort_packed
from .trees import Values


# ---- meaning ------------------------------------------------------------------------------------------------------
def _less(x: Leaves, y: Leaves) -> Arr:
    """x < y, lexicographically."""
    less = x[-1] < y[-1]
    for a, b in zip(x[-2::-1], y[-2::-1], strict=True):
        less = (a < b) | ((a == b) & less)
    return less


def _sort(lanes: Lanes, pairs: Leaves, log2_size: int) -> Leaves:
    size = 1 << log2_size
    mine = lanes.lane % size
    absent = ~lanes.mask
    for run, distance in network(log2_size):
        keeps_small = ((mine & distance) == 0) == ((mine & run & (size - 1)) == 0)
        *other, other_absent = folds.take((*pairs, absent), lanes.lane ^ distance)
        small, large = folds.choose(keeps_small, pairs, tuple(other)), folds.choose(keeps_small, tuple(other), pairs)
        small_absent, large_absent = np.where(keeps_small, (absent, other_absent), (other_absent, absent))
        swap = ~large_absent & (small_absent | _less(large, small))
        pairs = folds.choose(swap, tuple(other), pairs)
        absent = np.where(swap, other_absent, absent)
    rank = np.cumsum(lanes.mask.reshape(*lanes.mask.shape[:-1], -1, size), axis=-1).reshape(lanes.mask.shape) - 1
    return folds.take(pairs, lanes.lane - mine + np.maximum(rank, 0))


# ---- expansion ----------------------------------------------------------------------------------------------------
def _emit_less(b: Builder, x: Values, y: Values) -> Value:
    less = b.lt(x[-1], y[-1])
    for a, c in zip(x[-2::-1], y[-2::-1], strict=True):
        less = b.or_(b.lt(a, c), b.and_(b.eq(a, c), less))
    return less


def exchanged(b: Builder, keeps_large: Value, own: Values, other: Values, *, absent: bool = False) -> Values:
    """What a lane has after it met another; with `absent` the last leaf says that there is nothing to sort."""
    large, small = trees.choose(b, keeps_large, own, other), trees.choose(b, keeps_large, other, own)
    count = len(own) - absent
    swap = _emit_less(b, large[:count], small[:count])
    if absent:
        swap = b.and_(b.not_(large[-1]), b.or_(small[-1], swap))
    return trees.choose(b, swap, other, own)


def expand_sort(b: Builder, active: Value | None, pairs: Values, log2_size: int) -> Values:
    """Of values of any type and number.  `absent`, true in lanes that are not active, goes along as the last leaf."""
    size, mine = 1 << log2_size, emit.lane_in_tile(b, log2_size)
    carried = pairs if active is None else (*pairs, b.not_(active))
    for run, distance in network(log2_size):
        keeper = keeps_large(b, run, distance, log2_size)
        other = trees.each(carried, lambda v, d=distance: emit.permute(b, v, "xor", d, log2_size))
        carried = exchanged(b, keeper, carried, other, absent=active is not None)
    pairs = carried[: len(pairs)]
    if active is None:
        return pairs
    bits = emit.own_tile(b, emit.ballot(b, active), log2_size)
    rank = b("popcnt", b.and_(bits, emit.bits_below(b, mine, bits.type)))
    source = emit.from_base(b, emit.wrapped(b, rank, size), log2_size)
    return trees.each(pairs, lambda v: emit.gather(b, v, source))


def _expand(b: Builder, active: Value | None, pairs: Values, log2_size: int, quickly: Quickly = sort_packed) -> Values:
    def usually() -> Values:
        return expand_sort(b, active, pairs, log2_size)

    made = quickly(b, pairs, log2_size, usually) if active is None and log2_size else None
    return usually() if made is None else made


def expansions(quickly: Quickly) -> dict[str, Callable[[Builder, Op, Value | None, Values], Values]]:
    """Expansions for a device that sorts in a way of its own where all lanes are active."""

    def expand(b: Builder, op: Op, active: Value | None, pairs: Values) -> Values:
        return _expand(b, active, pairs, op.attrs["log2_size"], quickly)

    return dict.fromkeys(("subgroup.bitonic_sort", "subgroup.bitonic_sort_kv"), expand)


# ---- declarations -------------------------------------------------------------------------------------------------
def _declare(name: str, params: tuple[Param, ...], infer: Callable[..., tuple[DType, ...]], doc: str) -> None:
    def meaning(lanes: Lanes, *pairs: Arr, log2_size: int) -> Leaves:
        return _sort(lanes, pairs, log2_size)

    def expand(b: Builder, active: Value | None, /, *pairs: Value, log2_size: int) -> Values:
        return _expand(b, active, pairs, log2_size)

    declare(
        SimtOp(
            f"subgroup.{name}",
            infer,
            CROSS_LANE,
            meaning,
            always(Level.VARYING),
            params=params,
            doc=paragraphs(
                doc,
                """Defined in every active lane: the r-th active lane of each tile gets the r-th.  Takes numeric types.
                +0 and -0 are equal; what compares equal comes out in the order of the network.  With NaN among the
                keys everything still comes out exactly once, in an unspecified order.""",
                "log2(size) * (log2(size) + 1) / 2 exchanges.  No vendor has an instruction for it.",
            ),
            expand=expand,
            uses_log2_size=True,
        ),
        tiled=True,
    )


_declare(
    "bitonic_sort_kv",
    (Param("key", Kind.VALUE, dtypes.NUMERIC), Param("value", Kind.VALUE, dtypes.NUMERIC)),
    lambda types, attrs: types,
    "key, value = the pairs of the tile in ascending order of (key, value)",
)
_declare(
    "bitonic_sort", (Param("key", Kind.VALUE, dtypes.NUMERIC),), same, "key = the keys of the tile in ascending order"
)
