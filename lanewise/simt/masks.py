"""Arithmetic on lane masks: what a ballot tells about a lane, and the closed forms below, at and above a lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..ir import OPCODES, Builder, Value
from ..ir.opcodes import Effect, Level, always, to
from . import emit
from .op import Arr, Kind, Lanes, Param, SimtOp, declare, paragraphs

_MASK = Param("mask", Kind.BITS, dtypes.INTEGERS)
_IGNORED = "Bits above the subgroup's lanes are ignored."


# ---- masks of lanes -----------------------------------------------------------------------------------------------
def _popcount(bits: Arr) -> Arr:
    return np.bitwise_count(bits).astype(np.int32)


def _valid(lanes: Lanes, mask: Arr) -> Arr:
    """The mask's bits that stand for lanes of the subgroup."""
    return mask & np.uint64((1 << lanes.W) - 1)


def _up_to(lanes: Lanes) -> Arr:
    """The bits of the lanes up to and including each."""
    return np.array([(2 << l) - 1 for l in range(lanes.W)], np.uint64)


def _own(lanes: Lanes, mask: Arr) -> Arr:
    return (mask >> lanes.lane.astype(np.uint64)) & np.uint64(1) != 0


def _find(lanes: Lanes, mask: Arr, opcode: str, place: Callable[[Arr], Arr]) -> Arr:
    """Where a count of zeros ends, -1 for 0."""
    mask, count = _valid(lanes, mask), OPCODES[opcode].meaning
    assert count is not None
    return np.where(mask == 0, np.int32(-1), place(count(mask)).astype(np.int32))


def _bits(b: Builder, mask: Value) -> Value:
    """The valid bits of a u64."""
    dtype = emit.word(b.subgroup_size)
    bits = b.cast(mask, dtype)
    full = (1 << b.subgroup_size) - 1
    return bits if full == dtype.highest else b.and_(bits, b.const(full, dtype))


def _expand_own(b: Builder, active: Value | None, /, mask: Value) -> Value:
    bits = b.cast(mask, emit.word(b.subgroup_size))
    return emit.is_nonzero(b, b.and_(bits, emit.one_bit(b, b.lane(), bits.type)))


def _expand_count(b: Builder, active: Value | None, /, mask: Value) -> Value:
    return b("popcnt", _bits(b, mask))


def _expand_count_below(b: Builder, active: Value | None, /, mask: Value) -> Value:
    bits = b.cast(mask, emit.word(b.subgroup_size))
    return b("popcnt", b.and_(bits, emit.bits_below(b, b.lane(), bits.type)))


def _expand_count_up_to(b: Builder, active: Value | None, /, mask: Value) -> Value:
    bits = b.cast(mask, emit.word(b.subgroup_size))
    own = emit.one_bit(b, b.lane(), bits.type)
    return b("popcnt", b.and_(bits, b.or_(own, b.sub(own, b.const(1, bits.type)))))


def _expand_lowest(b: Builder, active: Value | None, /, mask: Value) -> Value:
    bits = _bits(b, mask)
    return b.select(emit.is_nonzero(b, bits), emit.lowest(b, bits), b.i32(-1))


def _expand_highest(b: Builder, active: Value | None, /, mask: Value) -> Value:
    return emit.highest(b, _bits(b, mask))


def _mask_op(name: str, dtype: DType, meaning: Any, expand: Any, doc: str, *, varying: bool = False) -> None:
    declare(
        SimtOp(
            f"subgroup.{name}",
            to(dtype),
            Effect.NONE,
            meaning,
            always(Level.VARYING) if varying else None,
            params=(_MASK,),
            doc=paragraphs(doc),
            expand=expand,
        )
    )


_mask_op(
    "inverse_ballot",
    dtypes.bool_,
    _own,
    _expand_own,
    "r[l] = bit l of the mask\n\nSPIR-V OpGroupNonUniformInverseBallot.",
    varying=True,
)
_mask_op(
    "ballot_bit_count",
    dtypes.i32,
    lambda lanes, mask: _popcount(_valid(lanes, mask)),
    _expand_count,
    f"How many lanes the mask holds, an i32.\n\n{_IGNORED}  SPIR-V OpGroupNonUniformBallotBitCount, Reduce.",
)
_mask_op(
    "ballot_inclusive_bit_count",
    dtypes.i32,
    lambda lanes, mask: _popcount(mask & _up_to(lanes)),
    _expand_count_up_to,
    "How many lanes up to and including mine the mask holds, an i32.\n\n"
    "SPIR-V OpGroupNonUniformBallotBitCount, InclusiveScan.",
    varying=True,
)
_mask_op(
    "ballot_exclusive_bit_count",
    dtypes.i32,
    lambda lanes, mask: _popcount(mask & (_up_to(lanes) >> np.uint64(1))),
    _expand_count_below,
    "How many lanes below mine the mask holds, an i32.\n\n"
    "SPIR-V OpGroupNonUniformBallotBitCount, ExclusiveScan; AMD v_mbcnt.",
    varying=True,
)
_mask_op(
    "ballot_find_lsb",
    dtypes.i32,
    lambda lanes, mask: _find(lanes, mask, "ctz", lambda zeros: zeros),
    _expand_lowest,
    f"The lowest lane in the mask, an i32; -1 for none.\n\n{_IGNORED}  SPIR-V OpGroupNonUniformBallotFindLSB.",
)
_mask_op(
    "ballot_find_msb",
    dtypes.i32,
    lambda lanes, mask: _find(lanes, mask, "clz", lambda zeros: 63 - zeros),
    _expand_highest,
    f"The highest lane in the mask, an i32; -1 for none.\n\n{_IGNORED}  SPIR-V OpGroupNonUniformBallotFindMSB.",
)


# ---- closed forms -------------------------------------------------------------------------------------------------
_FORMS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "lt": ("below", lambda l, full: (1 << l) - 1),
    "le": ("up to and including", lambda l, full: (2 << l) - 1),
    "eq": ("at", lambda l, full: 1 << l),
    "gt": ("above", lambda l, full: full ^ ((2 << l) - 1)),
    "ge": ("from", lambda l, full: full ^ ((1 << l) - 1)),
}
"""Each comparison: the words for it, and its mask for a lane."""


def _expand_form(b: Builder, relation: str, own: Value) -> Value:
    """The mask of a relation, from the lane's own bit."""
    if relation == "eq":
        return own
    below = b.sub(own, b.const(1, own.type))
    mask = below if relation in ("lt", "ge") else b.or_(below, own)
    return b.not_(mask) if relation in ("gt", "ge") else mask


def _lane_mask(relation: str, bits: int) -> None:
    dtype, (words, closed) = dtypes.unsigned_of(bits), _FORMS[relation]
    full = (1 << bits) - 1
    table = np.array([closed(l, full) for l in range(bits)], dtype.np)

    def meaning(lanes: Lanes, lane: Arr | int) -> Arr:
        return lanes.spread(table[np.asarray(lane).astype(np.int64) & (bits - 1)])

    def expand(b: Builder, active: Value | None, /, lane: Value | int) -> Value:
        if isinstance(lane, int):
            return b.const(closed(lane, full), dtype)
        return _expand_form(b, relation, emit.one_bit(b, lane, dtype))

    declare(
        SimtOp(
            f"subgroup.lanemask{'64' if bits == 64 else ''}_{relation}",
            to(dtype),
            Effect.NONE,
            meaning,
            params=(Param("lane", Kind.INDEX, dtypes.INTEGERS, (0, bits - 1)),),
            doc=paragraphs(
                f"The bits {words} `lane`, a {dtype}: a closed form over {bits} bits, whatever the subgroup's size.",
                f"A constant lane outside 0 ... {bits - 1} is a compile-time error; others are taken modulo {bits}.",
            ),
            expand=expand,
        )
    )


for _width in (32, 64):
    for _relation in _FORMS:
        _lane_mask(_relation, _width)
