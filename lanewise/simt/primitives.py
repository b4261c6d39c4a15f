"""The primitives between lanes: what a backend must supply, and all that expansions are made of.

`subgroup.sort` alone is for those who ask for it: it only comes from a backend's own expansion of the sorts.

They are never called by users and never see a mask: the convergence pass has put them where every lane of the subgroup
runs, and expansions apply masks to their operands and results.  They act on all lanes, active or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..ir.opcodes import Effect, Level, Opcode, always, register, same, to
from .op import BARRIER, CROSS_LANE, Arr, Lanes, uniform_if_whole


def lane_map(kind: str, amount: int | tuple[int, ...], log2_size: int, subgroup_size: int) -> tuple[int, ...]:
    """The lane that each lane reads in a `permute`: xor, up, down, rotate or broadcast within tiles.

    Kind "map" is the general one: its amount is the tuple of source lanes.  Past a tile's edge, `up` and `down` read
    the reader's own lane.
    """
    if isinstance(amount, tuple):
        return amount
    size = 1 << log2_size
    sources: list[int] = []
    for lane in range(subgroup_size):
        mine, base = lane % size, lane - lane % size
        other = {
            "xor": mine ^ amount,
            "up": mine - amount,
            "down": mine + amount,
            "rotate": (mine + amount) % size,
            "broadcast": amount,
        }[kind]
        sources.append(base + other if 0 <= other < size else lane)
    return tuple(sources)


def _permute(lanes: Lanes, value: Arr, *, kind: str, amount: int | tuple[int, ...], log2_size: int) -> Arr:
    return value[..., list(lane_map(kind, amount, log2_size, lanes.W))]


def _gather(lanes: Lanes, value: Arr, index: Arr) -> Arr:
    return np.take_along_axis(value, index.astype(np.int64), axis=-1)


def _ballot(lanes: Lanes, predicate: Arr) -> Arr:
    bits = predicate.astype(np.uint64) << lanes.lane.astype(np.uint64)
    return np.broadcast_to(np.bitwise_or.reduce(bits, axis=-1, keepdims=True), predicate.shape)


def _any(lanes: Lanes, predicate: Arr) -> Arr:
    return np.broadcast_to(predicate.any(axis=-1, keepdims=True), predicate.shape)


def _permute_level(attrs: Any, subgroup_size: int) -> Level:
    return uniform_if_whole(attrs, subgroup_size) if attrs["kind"] == "broadcast" else Level.VARYING


PERMUTE = register(  # attrs: kind, amount, log2_size (see lane_map)
    Opcode("subgroup.permute", same, CROSS_LANE, _permute, _permute_level)
)
GATHER = register(Opcode("subgroup.gather", same, CROSS_LANE, _gather))  # operands: value, i32 lane in [0, W)
BALLOT = register(Opcode("subgroup.ballot_bits", to(dtypes.u64), CROSS_LANE, _ballot, always(Level.SUBGROUP)))
ANY = register(Opcode("subgroup.any", to(dtypes.bool_), CROSS_LANE, _any, always(Level.SUBGROUP)))
# Operands: the words of a number, the high one first; attrs: number (its type), log2_size.  The tile's numbers in
# ascending order, in words again; where the number is a float, none is a NaN or -0.
SORT = register(Opcode("subgroup.sort", lambda types, attrs: types, CROSS_LANE, level=always(Level.VARYING)))
CONVERGE = register(  # every lane of the subgroup arrives, and sees what the others wrote before
    Opcode("subgroup.barrier", lambda types, attrs: (), CROSS_LANE | Effect.WRITES)
)
SYNC = register(Opcode("block.barrier", lambda types, attrs: (), BARRIER))  # every thread of the block arrives
FENCE = register(Opcode("fence", lambda types, attrs: (), Effect.WRITES))  # attrs: level (subgroup, block, grid), scope
