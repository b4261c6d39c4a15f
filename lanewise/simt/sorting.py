"""Bitonic sorts within a subgroup or its tiles.

The network is fixed: for runs of 2, 4 ... size lanes, pairs l, l ^ d with d = run/2 ... 1 meet, and the lower lane
keeps the smaller pair, or the larger where the run's bit of l is set.  Both lanes of a pair evaluate the same
comparison, "is what the keeper of the larger has less than what the keeper of the smaller has?", so that whatever the
keys are, NaN included, they agree: either both swap or neither does.  Lanes that are not active sort behind all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..ir import Builder, Value
from ..ir.opcodes import Level, always, same
from . import emit, folds, trees
from .folds import Leaves
from .op import CROSS_LANE, Arr, Kind, Lanes, Param, SimtOp, declare, paragraphs
from .trees import Values


def network(log2_size: int) -> Iterator[tuple[int, int]]:
    """The steps of the network: (run, distance)."""
    for stage in range(1, log2_size + 1):
        for step in reversed(range(stage)):
            yield 1 << stage, 1 << step


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


def _has(b: Builder, mine: Value, bit: int) -> Value:
    return emit.is_nonzero(b, b.and_(mine, b.i32(bit)))


def _expand_sort(b: Builder, active: Value | None, pairs: Values, log2_size: int) -> Values:
    """`absent`, true in lanes that are not active, is carried along as the last of the leaves."""
    size, mine = 1 << log2_size, emit.lane_in_tile(b, log2_size)
    count = len(pairs)
    carried = pairs if active is None else (*pairs, b.not_(active))
    exact = active is None and all(v.type.is_int for v in pairs)
    for run, distance in network(log2_size):
        keeps_large = _has(b, mine, distance)
        if run < size:
            keeps_large = b("xor", keeps_large, _has(b, mine, run))
        other = trees.each(carried, lambda v, d=distance: emit.permute(b, v, "xor", d, log2_size))
        if exact:  # what is neither less nor greater is the same, and may be exchanged
            swap = b("xor", _emit_less(b, other, carried), keeps_large)
        else:
            large, small = trees.choose(b, keeps_large, carried, other), trees.choose(b, keeps_large, other, carried)
            swap = _emit_less(b, large[:count], small[:count])
            if active is not None:
                swap = b.and_(b.not_(large[-1]), b.or_(small[-1], swap))
        carried = trees.choose(b, swap, other, carried)
    pairs = carried[:count]
    if active is None:
        return pairs
    bits = emit.own_tile(b, emit.ballot(b, active), log2_size)
    rank = b("popcnt", b.and_(bits, emit.bits_below(b, mine, bits.type)))
    source = emit.from_base(b, emit.wrapped(b, rank, size), log2_size)
    return trees.each(pairs, lambda v: emit.gather(b, v, source))


# ---- declarations -------------------------------------------------------------------------------------------------
def _declare(name: str, params: tuple[Param, ...], infer: Callable[..., tuple[DType, ...]], doc: str) -> None:
    def meaning(lanes: Lanes, *pairs: Arr, log2_size: int) -> Leaves:
        return _sort(lanes, pairs, log2_size)

    def expand(b: Builder, active: Value | None, /, *pairs: Value, log2_size: int) -> Values:
        return _expand_sort(b, active, pairs, log2_size)

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
