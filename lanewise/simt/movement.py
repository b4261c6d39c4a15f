"""Data movement: shuffles, rotation, broadcasts, and the swaps within quads.

Reading a lane that is not active gives the reader its own value.  Lane indices may be of any integer type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..ir import Builder, Value
from ..ir.opcodes import Level, always, same
from . import emit
from .op import CROSS_LANE, VALUE, Arr, Kind, Lanes, Param, SimtOp, declare, paragraphs

_TYPES = "Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole."
_INACTIVE = "Reading a lane that is not active gives the reader its own value."


# ---- meanings -----------------------------------------------------------------------------------------------------
def _moved(lanes: Lanes, value: Arr, source: Arr) -> Arr:
    source = lanes.spread(source)
    readable = np.take_along_axis(lanes.mask, source, axis=-1)
    return np.where(readable, np.take_along_axis(value, source, axis=-1), value)


def _modulo(index: Arr | int, size: int) -> Arr:
    index = np.asarray(index)
    return np.mod(index, index.dtype.type(size)).astype(np.int64)


def _bounded(offset: Arr | int, size: int) -> Arr:
    """The offset as it is, if it is within a tile; else something that leads out of it."""
    offset = np.asarray(offset)
    return np.maximum(np.minimum(offset, offset.dtype.type(size)).astype(np.int64), -size)


def _at(lanes: Lanes, place: Callable[[Arr, int], Arr], log2_size: int) -> Arr:
    """The lane at a place in its tile; the reader itself where the place is past the tile's edge."""
    size = 1 << log2_size
    mine = lanes.lane % size
    wanted = place(mine, size)
    return lanes.lane - mine + np.where((wanted >= 0) & (wanted < size), wanted, mine)


def _shuffle(lanes: Lanes, value: Arr, index: Arr | int, *, log2_size: int) -> Arr:
    return _moved(lanes, value, _at(lanes, lambda mine, size: _modulo(index, size), log2_size))


def _shuffle_up(lanes: Lanes, value: Arr, offset: Arr | int, *, log2_size: int) -> Arr:
    return _moved(lanes, value, _at(lanes, lambda mine, size: mine - _bounded(offset, size), log2_size))


def _shuffle_down(lanes: Lanes, value: Arr, offset: Arr | int, *, log2_size: int) -> Arr:
    return _moved(lanes, value, _at(lanes, lambda mine, size: mine + _bounded(offset, size), log2_size))


def _shuffle_xor(lanes: Lanes, value: Arr, mask: Arr | int, *, log2_size: int) -> Arr:
    return _moved(lanes, value, _at(lanes, lambda mine, size: mine ^ _modulo(mask, size), log2_size))


def _rotate(lanes: Lanes, value: Arr, delta: Arr | int, *, log2_size: int) -> Arr:
    return _moved(lanes, value, _at(lanes, lambda mine, size: (mine + _modulo(delta, size)) % size, log2_size))


def _broadcast_first(lanes: Lanes, value: Arr) -> Arr:
    first = lanes.mask.argmax(axis=-1)[..., None]
    return lanes.spread(np.take_along_axis(value, first, axis=-1))


# ---- expansions ---------------------------------------------------------------------------------------------------
def _fixed(b: Builder, active: Value | None, value: Value, kind: str, amount: int, log2_size: int) -> Value:
    return emit.read(b, active, value, lambda v: emit.permute(b, v, kind, amount, log2_size))


def _from(b: Builder, active: Value | None, value: Value, source: Value) -> Value:
    return emit.read(b, active, value, lambda v: emit.gather(b, v, source))


def _expand_shuffle(b: Builder, active: Value | None, /, value: Value, index: Value | int, *, log2_size: int) -> Value:
    if isinstance(index, int):
        return _fixed(b, active, value, "broadcast", index, log2_size)
    return _from(b, active, value, emit.from_base(b, emit.wrapped(b, index, 1 << log2_size), log2_size))


def _expand_shift(kind: str, direction: str) -> Callable[..., Value]:
    """`direction` is the opcode that takes the reader's place to the source's."""

    def expand(b: Builder, active: Value | None, /, value: Value, offset: Value | int, *, log2_size: int) -> Value:
        if isinstance(offset, int):
            return _fixed(b, active, value, kind, offset, log2_size)
        size, mine = 1 << log2_size, emit.lane_in_tile(b, log2_size)
        place = b(direction, mine, _within_i32(b, offset, size))
        inside = b.lt(b.cast(place, dtypes.u32), b.const(size, dtypes.u32))
        return _from(b, active, value, emit.from_base(b, b.select(inside, place, mine), log2_size))

    return expand


def _within_i32(b: Builder, offset: Value, size: int) -> Value:
    """The offset as an i32; one that an i32 cannot hold still leads out of the tile."""
    dtype = offset.type
    if dtype.bits + (not dtype.is_signed) > 32:
        offset = b("min", offset, b.const(size, dtype))
        if dtype.is_signed:
            offset = b("max", offset, b.const(-size, dtype))
    return b.cast(offset, dtypes.i32)


def _expand_xor(b: Builder, active: Value | None, /, value: Value, mask: Value | int, *, log2_size: int) -> Value:
    if isinstance(mask, int):
        return _fixed(b, active, value, "xor", mask, log2_size)
    return _from(b, active, value, b("xor", b.lane(), emit.wrapped(b, mask, 1 << log2_size)))


def _expand_rotate(b: Builder, active: Value | None, /, value: Value, delta: Value | int, *, log2_size: int) -> Value:
    size = 1 << log2_size
    if isinstance(delta, int):
        return _fixed(b, active, value, "rotate", delta % size, log2_size)
    place = emit.wrapped(b, b.add(b.lane(), b.cast(delta, dtypes.i32)), size)
    return _from(b, active, value, emit.from_base(b, place, log2_size))


def _expand_broadcast_first(b: Builder, active: Value | None, /, value: Value) -> Value:
    width = emit.log2_width(b)
    if active is None:
        return emit.permute(b, value, "broadcast", 0, width)
    return emit.gather(b, value, emit.first_active(b, active, width))


# ---- declarations -------------------------------------------------------------------------------------------------
def _movement(name: str, param: Param, meaning: Any, expand: Any, doc: str) -> SimtOp:
    return SimtOp(
        f"subgroup.{name}",
        same,
        CROSS_LANE,
        meaning,
        params=(VALUE, param),
        doc=paragraphs(doc, f"{_TYPES} {_INACTIVE}", "In the `_tiled` form lanes never see another tile."),
        expand=expand,
        fieldwise=True,
        uses_log2_size=True,
    )


def _index(name: str, limit: str | None = "tile") -> Param:
    return Param(name, Kind.INDEX, dtypes.INTEGERS, limit)


declare(
    _movement(
        "shuffle",
        _index("index"),
        _shuffle,
        _expand_shuffle,
        """r[l] = v[index[l] % size]

        A constant index outside [0, size) is a compile-time error.  One shuffle; a constant index costs a broadcast.
        PTX shfl.sync.idx, SPIR-V OpGroupNonUniformShuffle, AMD ds_bpermute_b32.""",
    ),
    tiled=True,
)
declare(
    _movement(
        "shuffle_up",
        _index("offset"),
        _shuffle_up,
        _expand_shift("up", "sub"),
        """r[l] = v[l - offset]; v[l] where that is past the edge

        A constant offset outside [0, size) is a compile-time error.  One shuffle.
        PTX shfl.sync.up, SPIR-V OpGroupNonUniformShuffleUp.""",
    ),
    tiled=True,
)
declare(
    _movement(
        "shuffle_down",
        _index("offset"),
        _shuffle_down,
        _expand_shift("down", "add"),
        """r[l] = v[l + offset]; v[l] where that is past the edge

        A constant offset outside [0, size) is a compile-time error.  One shuffle.
        PTX shfl.sync.down, SPIR-V OpGroupNonUniformShuffleDown.""",
    ),
    tiled=True,
)
declare(
    _movement(
        "shuffle_xor",
        _index("mask"),
        _shuffle_xor,
        _expand_xor,
        """r[l] = v[l ^ (mask % size)]

        A constant mask outside [0, size) is a compile-time error.  One shuffle.
        PTX shfl.sync.bfly, SPIR-V OpGroupNonUniformShuffleXor.""",
    ),
    tiled=True,
)
declare(
    _movement(
        "rotate",
        _index("delta", limit=None),
        _rotate,
        _expand_rotate,
        """r[l] = v[(l + delta) % size]

        Any delta, also a negative one.  One shuffle.  SPIR-V OpGroupNonUniformRotateKHR.""",
    ),
    tiled=True,
)
declare(
    _movement(
        "broadcast",
        _index("index"),
        _shuffle,
        _expand_shuffle,
        """r[l] = v[index % size], for an index that is the same in every lane

        Where it is not, each lane reads the lane it names.  A constant index outside [0, size) is a compile-time
        error.  SPIR-V OpGroupNonUniformBroadcast, AMD v_readlane_b32.""",
    ),
    tiled=True,
)
declare(
    SimtOp(
        "subgroup.broadcast_first",
        same,
        CROSS_LANE,
        _broadcast_first,
        always(Level.SUBGROUP),
        params=(VALUE,),
        doc=paragraphs(
            "The value of the lowest active lane, in every active lane.",
            f"{_TYPES}  SPIR-V OpGroupNonUniformBroadcastFirst, AMD v_readfirstlane_b32.",
        ),
        expand=_expand_broadcast_first,
        fieldwise=True,
    )
)


# ---- quads: the four lanes with one lane // 4 ---------------------------------------------------------------------
def _quad(name: str, params: tuple[Param, ...], meaning: Any, expand: Any, doc: str) -> SimtOp:
    return SimtOp(
        f"quad.{name}",
        same,
        CROSS_LANE,
        meaning,
        params=params,
        group="quad",
        doc=paragraphs(doc, f"{_TYPES} {_INACTIVE}", "A subgroup of fewer than four lanes is a compile-time error."),
        expand=expand,
        fieldwise=True,
        min_subgroup_size=4,
    )


def _swap(name: str, mask: int, doc: str) -> SimtOp:
    def meaning(lanes: Lanes, value: Arr) -> Arr:
        return _moved(lanes, value, lanes.lane ^ mask)

    def expand(b: Builder, active: Value | None, /, value: Value) -> Value:
        return _fixed(b, active, value, "xor", mask, 2)

    return _quad(name, (VALUE,), meaning, expand, doc)


declare(
    _quad(
        "broadcast",
        (VALUE, Param("index", Kind.CONST, limit=(0, 3))),
        lambda lanes, value, *, index: _moved(lanes, value, (lanes.lane & ~3) + index),
        lambda b, active, value, *, index: _fixed(b, active, value, "broadcast", index, 2),
        """The value of the quad's lane `index`, a constant 0 ... 3; any other is a compile-time error.

        SPIR-V OpGroupNonUniformQuadBroadcast.""",
    )
)
declare(_swap("swap_horizontal", 1, "r[l] = v[l ^ 1]\n\nSPIR-V OpGroupNonUniformQuadSwap, direction 0."))
declare(_swap("swap_vertical", 2, "r[l] = v[l ^ 2]\n\nSPIR-V OpGroupNonUniformQuadSwap, direction 1."))
declare(_swap("swap_diagonal", 3, "r[l] = v[l ^ 3]\n\nSPIR-V OpGroupNonUniformQuadSwap, direction 2."))
