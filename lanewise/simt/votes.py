"""Ballots, votes and matches: what the active lanes say, as bits or as one answer.

Predicates are tested `!= 0`.  A lane that is not active has bit 0 in a ballot and no vote.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..ir import Builder, Value
from ..ir.opcodes import Level, always, to
from . import emit
from .op import (
    CROSS_LANE,
    PREDICATE,
    VALUE,
    Arr,
    Kind,
    Lanes,
    Param,
    SimtOp,
    declare,
    declare_tiled,
    deprecate,
    paragraphs,
    uniform_if_whole,
)

_TILED = "The `_tiled` form asks the lanes of the caller's own tile."


# ---- meanings -----------------------------------------------------------------------------------------------------
def _in_tiles(value: Arr, log2_size: int) -> Arr:
    """(..., W) as (..., tiles, lanes of a tile)."""
    return value.reshape(*value.shape[:-1], -1, 1 << log2_size)


def _per_tile(lanes: Lanes, answers: Any, log2_size: int) -> Arr:
    """One answer a tile, in every lane of it."""
    return np.repeat(answers, 1 << log2_size, axis=-1).reshape(lanes.mask.shape)


def _bits(predicate: Arr) -> Arr:
    """The last axis as the bits of a u64."""
    numbers = np.arange(predicate.shape[-1], dtype=np.uint64)
    return np.bitwise_or.reduce(predicate.astype(np.uint64) << numbers, axis=-1)


def _ballot(lanes: Lanes, predicate: Arr) -> Arr:
    return lanes.spread(_bits(predicate & lanes.mask)[..., None])


def _ballot_first_n(lanes: Lanes, predicate: Arr, *, n: int) -> Arr:
    return _ballot(lanes, predicate & (lanes.lane < n)).astype(np.uint32)


def _ballot_tiled(lanes: Lanes, predicate: Arr, *, log2_size: int) -> Arr:
    bits = _per_tile(lanes, _bits(_in_tiles(predicate & lanes.mask, log2_size)), log2_size)
    return bits.astype(_tile_word(log2_size).np)


def _all_true(lanes: Lanes, predicate: Arr, *, log2_size: int) -> Arr:
    return _per_tile(lanes, _in_tiles(predicate | ~lanes.mask, log2_size).all(-1), log2_size).astype(np.int32)


def _any_true(lanes: Lanes, predicate: Arr, *, log2_size: int) -> Arr:
    return _per_tile(lanes, _in_tiles(predicate & lanes.mask, log2_size).any(-1), log2_size).astype(np.int32)


def _all_equal(lanes: Lanes, value: Arr, *, log2_size: int) -> Arr:
    tiles, mask = _in_tiles(value, log2_size), _in_tiles(lanes.mask, log2_size)
    first = np.take_along_axis(tiles, mask.argmax(axis=-1)[..., None], axis=-1)
    return _per_tile(lanes, ((tiles == first) | ~mask).all(-1), log2_size).astype(np.int32)


def _match(lanes: Lanes, value: Arr, log2_size: int) -> Arr:
    tiles, mask = _in_tiles(value, log2_size), _in_tiles(lanes.mask, log2_size)
    same = (tiles[..., :, None] == tiles[..., None, :]) & mask[..., None, :]
    return _bits(same | np.eye(1 << log2_size, dtype=bool)).reshape(lanes.mask.shape)


def _match_any(lanes: Lanes, value: Arr) -> Arr:
    return _match(lanes, value, lanes.W.bit_length() - 1)


def _match_any_tiled(lanes: Lanes, value: Arr, *, log2_size: int) -> Arr:
    return _match(lanes, value, log2_size).astype(_tile_word(log2_size).np)


def _elect(lanes: Lanes) -> Arr:
    return lanes.lane == lanes.mask.argmax(axis=-1)[..., None]


def _quad_all(lanes: Lanes, predicate: Arr) -> Arr:
    return _per_tile(lanes, _in_tiles(predicate & lanes.mask, 2).all(-1), 2).astype(np.int32)


def _quad_any(lanes: Lanes, predicate: Arr) -> Arr:
    return _any_true(lanes, predicate, log2_size=2)


# ---- expansions ---------------------------------------------------------------------------------------------------
def _tile_word(log2_size: int) -> DType:
    """The type of a tile's ballot."""
    return dtypes.u32 if log2_size <= 5 else dtypes.u64


def _expand_ballot(b: Builder, active: Value | None, /, predicate: Value) -> Value:
    return b("subgroup.ballot_bits", emit.both(b, active, predicate))


def _expand_ballot_first_n(b: Builder, active: Value | None, /, predicate: Value, *, n: int) -> Value:
    bits = b.cast(_expand_ballot(b, active, predicate), dtypes.u32)
    return bits if n >= b.subgroup_size or n == 32 else b.and_(bits, b.const((1 << n) - 1, dtypes.u32))


def _expand_ballot_tiled(b: Builder, active: Value | None, /, predicate: Value, *, log2_size: int) -> Value:
    bits = emit.ballot(b, emit.both(b, active, predicate))
    return b.cast(emit.own_tile(b, bits, log2_size), _tile_word(log2_size))


def _vote(b: Builder, hits: Value, log2_size: int) -> Value:
    """Whether a bool is true in any lane, active or not, of the tile."""
    if emit.is_whole(b, log2_size):
        return b("subgroup.any", hits)
    return emit.is_nonzero(b, emit.own_tile(b, emit.ballot(b, hits), log2_size))


def _expand_any_true(b: Builder, active: Value | None, /, predicate: Value, *, log2_size: int) -> Value:
    return b.cast(_vote(b, emit.both(b, active, predicate), log2_size), dtypes.i32)


def _expand_all_true(b: Builder, active: Value | None, /, predicate: Value, *, log2_size: int) -> Value:
    misses = emit.both(b, active, b.not_(predicate))
    return b.cast(b.not_(_vote(b, misses, log2_size)), dtypes.i32)


def _expand_all_equal(b: Builder, active: Value | None, /, value: Value, *, log2_size: int) -> Value:
    if active is None:
        first = emit.permute(b, value, "broadcast", 0, log2_size)
    else:
        first = emit.gather(b, value, emit.first_active(b, active, log2_size))
    return _expand_all_true(b, active, b.eq(value, first), log2_size=log2_size)


def _peers(b: Builder, active: Value | None, value: Value) -> Value:
    """One round for each distinct value: the lowest lane not served yet shows its value, those that equal it are done.

    A NaN equals nothing, itself included: its lane keeps its own bit.
    """
    dtype = emit.word(b.subgroup_size)
    own = emit.one_bit(b, b.lane(), dtype)

    def unserved(todo: Value, result: Value) -> tuple[Value, tuple[Value, Value]]:
        return emit.is_nonzero(b, todo), (todo, result)

    def serve(todo: Value, result: Value) -> tuple[Value, Value]:
        leader = emit.lowest(b, todo)
        shown = emit.gather(b, value, emit.wrapped(b, leader, b.subgroup_size))
        equal = b.eq(value, shown)
        peers = emit.ballot(b, emit.both(b, active, equal))
        served = b.or_(peers, emit.one_bit(b, leader, dtype))
        return b.and_(todo, b.not_(served)), b.select(equal, peers, result)

    _, result = b.loop((emit.active_bits(b, active), own), unserved, serve)
    return b.or_(result, own)


def _expand_match_any(b: Builder, active: Value | None, /, value: Value) -> Value:
    return b.cast(_peers(b, active, value), dtypes.u64)


def _expand_match_any_tiled(b: Builder, active: Value | None, /, value: Value, *, log2_size: int) -> Value:
    return b.cast(emit.own_tile(b, _peers(b, active, value), log2_size), _tile_word(log2_size))


def _expand_elect(b: Builder, active: Value | None, /) -> Value:
    if active is None:
        return b.eq(b.lane(), b.i32(0))
    return b.eq(b.lane(), emit.lowest(b, emit.ballot(b, active)))


def _expand_active_mask(b: Builder, active: Value | None, /) -> Value:
    if active is None:
        return b.const((1 << b.subgroup_size) - 1, dtypes.u64)
    return b("subgroup.ballot_bits", active)


def _quad_bits(b: Builder, active: Value | None, predicate: Value) -> Value:
    return emit.own_tile(b, emit.ballot(b, emit.both(b, active, predicate)), 2)


def _expand_quad_all(b: Builder, active: Value | None, /, predicate: Value) -> Value:
    bits = _quad_bits(b, active, predicate)
    return b.cast(b.eq(bits, b.const(0b1111, bits.type)), dtypes.i32)


def _expand_quad_any(b: Builder, active: Value | None, /, predicate: Value) -> Value:
    return b.cast(emit.is_nonzero(b, _quad_bits(b, active, predicate)), dtypes.i32)


# ---- ballots ------------------------------------------------------------------------------------------------------
def _tile_bits(types: tuple[DType, ...], attrs: Any) -> tuple[DType, ...]:
    return (_tile_word(attrs["log2_size"]),)


declare(
    SimtOp(
        "subgroup.ballot",
        to(dtypes.u64),
        CROSS_LANE,
        _ballot,
        always(Level.SUBGROUP),
        params=(PREDICATE,),
        doc=paragraphs(
            """bit l of r = lane l is active and its predicate is not 0

            A u64 over the whole subgroup, the same in every lane.  One ballot.
            PTX vote.sync.ballot, SPIR-V OpGroupNonUniformBallot, AMD v_cmp."""
        ),
        expand=_expand_ballot,
    )
)
deprecate("subgroup.ballot_full_subgroup", "ballot")
declare(
    SimtOp(
        "subgroup.ballot_first_n",
        to(dtypes.u32),
        CROSS_LANE,
        _ballot_first_n,
        always(Level.SUBGROUP),
        params=(PREDICATE, Param("n", Kind.CONST, limit=(1, 32))),
        doc=paragraphs(
            """The ballot of the lanes [0, n), as a u32

            `n` is a constant 1 ... 32; any other is a compile-time error.  One ballot."""
        ),
        expand=_expand_ballot_first_n,
    )
)
declare_tiled(
    SimtOp(
        "subgroup.ballot_tiled",
        _tile_bits,
        CROSS_LANE,
        _ballot_tiled,
        uniform_if_whole,
        params=(PREDICATE,),
        doc=paragraphs(
            """bit j of r = lane j of my tile is active and its predicate is not 0

            A u32 for tiles of up to 32 lanes (log2_size <= 5), a u64 for 64.  One ballot and a shift."""
        ),
        expand=_expand_ballot_tiled,
        uses_log2_size=True,
    )
)
declare(
    SimtOp(
        "subgroup.active_mask",
        to(dtypes.u64),
        CROSS_LANE,
        lambda lanes: _ballot(lanes, lanes.mask),
        always(Level.SUBGROUP),
        doc="bit l of r = lane l is active\n\nA u64 over the whole subgroup.  Nothing where all lanes are known to be.",
        expand=_expand_active_mask,
    )
)


# ---- votes --------------------------------------------------------------------------------------------------------
def _vote_op(name: str, param: Param, meaning: Any, expand: Callable[..., Value], doc: str) -> SimtOp:
    return SimtOp(
        f"subgroup.{name}",
        to(dtypes.i32),
        CROSS_LANE,
        meaning,
        uniform_if_whole,
        params=(param,),
        doc=paragraphs(doc, f"An i32, 0 or 1, in every active lane.  {_TILED}"),
        expand=expand,
        uses_log2_size=True,
    )


declare(
    _vote_op(
        "all_true",
        PREDICATE,
        _all_true,
        _expand_all_true,
        "Whether the predicate is not 0 in every active lane.\n\nPTX vote.sync.all, SPIR-V OpGroupNonUniformAll.",
    ),
    tiled=True,
)
declare(
    _vote_op(
        "any_true",
        PREDICATE,
        _any_true,
        _expand_any_true,
        "Whether the predicate is not 0 in some active lane.\n\nPTX vote.sync.any, SPIR-V OpGroupNonUniformAny.",
    ),
    tiled=True,
)
declare(
    _vote_op(
        "all_equal",
        VALUE,
        _all_equal,
        _expand_all_equal,
        """Whether the value of every active lane `==` that of the first active one: a NaN makes it 0, -0 equals +0.

        Takes every scalar type.  SPIR-V OpGroupNonUniformAllEqual.""",
    ),
    tiled=True,
)

declare(
    SimtOp(
        "subgroup.elect",
        to(dtypes.bool_),
        CROSS_LANE,
        _elect,
        always(Level.VARYING),
        doc="r[l] = l is the lowest active lane\n\nSPIR-V OpGroupNonUniformElect.",
        expand=_expand_elect,
    )
)

# ---- matches ------------------------------------------------------------------------------------------------------
_MATCH_DOC = """
    Takes every scalar type.  A lane's own bit is always set; NaN matches nothing else, -0 matches +0.  One round of a
    broadcast and a ballot for each distinct value.  PTX match.any.sync, SPIR-V OpGroupNonUniformPartitionNV."""
declare(
    SimtOp(
        "subgroup.match_any",
        to(dtypes.u64),
        CROSS_LANE,
        _match_any,
        always(Level.VARYING),
        params=(VALUE,),
        doc=paragraphs("bit j of r[l] = lane j is active and v[j] == v[l]", _MATCH_DOC, "A u64, like `ballot`."),
        expand=_expand_match_any,
    )
)
declare_tiled(
    SimtOp(
        "subgroup.match_any_tiled",
        _tile_bits,
        CROSS_LANE,
        _match_any_tiled,
        always(Level.VARYING),
        params=(VALUE,),
        doc=paragraphs(
            "bit j of r[l] = lane j of my tile is active and its value == v[l]",
            _MATCH_DOC,
            "A u32 for tiles of up to 32 lanes (log2_size <= 5), a u64 for 64, like `ballot_tiled`.",
        ),
        expand=_expand_match_any_tiled,
        uses_log2_size=True,
    )
)


# ---- votes within quads -------------------------------------------------------------------------------------------
def _quad_vote(name: str, meaning: Any, expand: Callable[..., Value], doc: str) -> SimtOp:
    return SimtOp(
        f"quad.{name}",
        to(dtypes.i32),
        CROSS_LANE,
        meaning,
        always(Level.VARYING),
        params=(PREDICATE,),
        group="quad",
        doc=paragraphs(
            doc,
            "An i32, 0 or 1, in every active lane.  A lane that is not active reads as false.",
            "A subgroup of fewer than four lanes is a compile-time error.  SPV_KHR_quad_control.",
        ),
        expand=expand,
        min_subgroup_size=4,
    )


declare(_quad_vote("all", _quad_all, _expand_quad_all, "Whether the predicate is not 0 in all four lanes of the quad."))
declare(_quad_vote("any", _quad_any, _expand_quad_any, "Whether the predicate is not 0 in any lane of the quad."))
