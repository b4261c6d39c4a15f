"""The primitives between lanes, as SPIR-V's group operations on full subgroups.

Which lane a shuffle reads past an edge differs between drivers, so edge lanes get their value by a select.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ... import dtypes
from ...dtypes import DType, bool_, u32
from ...ir import Op
from ...simt.primitives import lane_map
from .arithmetic import halves, in_word, joined, out_of_word
from .code import Code
from .spirv import Capability, Id, Scope, StorageClass

QUAD = 2
"""The log2_size of a quad."""

_Shuffle: TypeAlias = Callable[[DType, Id], Id]
"""Moves a value of this type, of 32 bits, between lanes."""


def _moved(c: Code, value: Id, dtype: DType, shuffle: _Shuffle) -> Id:
    """`shuffle` applied to a value of any type, in words.

    Hardware moves words too, so nothing is lost; and no shuffle needs shaderSubgroupExtendedTypes, or meets what a
    driver makes of a 64-bit one (Mesa 22 crashes).
    """
    if dtype.bits == 64:
        low, high = halves(c, value)
        return joined(c, shuffle(u32, low), shuffle(u32, high), dtype)
    if dtype.is_bool:
        return c.nonzero(shuffle(u32, c.from_bool(value, u32)), u32)
    if dtype.bits == 32:
        return shuffle(dtype, value)
    return out_of_word(c, shuffle(u32, in_word(c, value, dtype)), dtype)


def _group(c: Code, name: str, capability: Capability, *operands: Id) -> _Shuffle:
    """A shuffle by one group instruction: `operands` come after the value."""
    c.m.require(capability)
    return lambda dtype, value: c.m(f"GroupNonUniform{name}", dtype, c.scope(Scope.Subgroup), value, *operands)


def _by_index(c: Code, index: Id) -> _Shuffle:
    return _group(c, "Shuffle", Capability.GroupNonUniformShuffle, index)


def gather(c: Code, op: Op) -> Id:
    """`value` of the lane that `index` names, in [0, W)."""
    value, index = c.values(op)
    return _moved(c, value, op.result.type, _by_index(c, index))


# ---- permute: one function a kind; amount and tile are constants -----------------------------------------------------
def _tile_base(c: Code, log2_size: int) -> Id:
    """The first lane of the tile."""
    return c.m.at_entry("BitwiseAnd", u32, c.lane(), c.m.u32(-(1 << log2_size)))


def _within(c: Code, log2_size: int) -> Id:
    """The lane's place in the tile."""
    if 1 << log2_size == c.kernel.subgroup_size:
        return c.lane()
    return c.m.at_entry("BitwiseAnd", u32, c.lane(), c.m.u32((1 << log2_size) - 1))


def _xor(c: Code, value: Id, dtype: DType, amount: int, log2_size: int) -> Id:
    if log2_size == QUAD and amount and c.m.features.subgroup_quad:
        # Swaps are numbered horizontal (lane ^ 1), vertical (^ 2), diagonal (^ 3).
        direction = c.m.u32(amount - 1)
        return _moved(c, value, dtype, _group(c, "QuadSwap", Capability.GroupNonUniformQuad, direction))
    return _moved(c, value, dtype, _group(c, "ShuffleXor", Capability.GroupNonUniformShuffle, c.m.u32(amount)))


def _relative(c: Code, value: Id, dtype: DType, amount: int, log2_size: int, *, up: bool) -> Id:
    m, delta = c.m, c.m.u32(amount)
    name = "ShuffleUp" if up else "ShuffleDown"
    moved = _moved(c, value, dtype, _group(c, name, Capability.GroupNonUniformShuffleRelative, delta))
    mine = _within(c, log2_size)
    edge = m.u32(amount if up else (1 << log2_size) - amount)
    inside = m("UGreaterThanEqual" if up else "ULessThan", bool_, mine, edge)
    return m("Select", dtype, inside, moved, value)


def _rotate(c: Code, value: Id, dtype: DType, amount: int, log2_size: int) -> Id:
    m, features, size = c.m, c.m.features, 1 << log2_size
    whole = size == c.kernel.subgroup_size
    if features.subgroup_rotate and (whole or features.subgroup_rotate_clustered):
        m.need("shaderSubgroupRotate" if whole else "shaderSubgroupRotateClustered")
        operands = [m.u32(amount % size)] if whole else [m.u32(amount % size), m.u32(size)]
        return _moved(c, value, dtype, _group(c, "RotateKHR", Capability.GroupNonUniformRotateKHR, *operands))
    mine = m("IAdd", u32, c.lane(), m.u32(amount % size))
    index = m("BitwiseOr", u32, m("BitwiseAnd", u32, mine, m.u32(size - 1)), _tile_base(c, log2_size))
    return _moved(c, value, dtype, _by_index(c, index))


def _broadcast(c: Code, value: Id, dtype: DType, amount: int, log2_size: int) -> Id:
    lane = c.m.u32(amount)
    if 1 << log2_size == c.kernel.subgroup_size:
        return _moved(c, value, dtype, _group(c, "Broadcast", Capability.GroupNonUniformBallot, lane))
    if log2_size == QUAD and c.m.features.subgroup_quad:
        return _moved(c, value, dtype, _group(c, "QuadBroadcast", Capability.GroupNonUniformQuad, lane))
    index = c.m("BitwiseOr", u32, _tile_base(c, log2_size), lane)
    return _moved(c, value, dtype, _by_index(c, index))


_KINDS: dict[str, Callable[[Code, Id, DType, int, int], Id]] = {
    "xor": _xor,
    "up": lambda c, *args: _relative(c, *args, up=True),
    "down": lambda c, *args: _relative(c, *args, up=False),
    "rotate": _rotate,
    "broadcast": _broadcast,
}


def permute(c: Code, op: Op) -> Id:
    """A shuffle by a rule that is known at compile time; any other rule reads its lane from a table."""
    (value,), dtype = c.values(op), op.result.type
    kind, amount, log2_size = op.attrs["kind"], op.attrs["amount"], op.attrs["log2_size"]
    sources = lane_map(kind, amount, log2_size, c.kernel.subgroup_size)
    if sources == tuple(range(c.kernel.subgroup_size)):
        return value
    relative = kind in ("up", "down") and not c.m.features.subgroup_shuffle_relative
    if kind in _KINDS and not relative:
        return _KINDS[kind](c, value, dtype, amount, log2_size)
    m, word = c.m, c.m.type(u32)
    table = m.variable(m.array(word, len(sources)), "sources", m.constant_array(sources))
    at = m("AccessChain", m.pointer(StorageClass.Function, word), table, c.lane())
    return _moved(c, value, dtype, _by_index(c, m("Load", word, at)))


# ---- votes -----------------------------------------------------------------------------------------------------------
def ballot(c: Code, op: Op) -> Id:
    """Bit l is lane l's predicate.  The instruction's four words have zeros from W on."""
    m = c.m
    m.require(Capability.GroupNonUniformBallot)
    bits = m("GroupNonUniformBallot", m.vector(u32, 4), c.scope(Scope.Subgroup), *c.values(op))
    low = m("CompositeExtract", u32, bits, 0)
    if op.result in c.low_words:
        return low
    if c.kernel.subgroup_size <= 32:
        return m.emit("UConvert", dtypes.u64, low, hint=op.result.hint)
    return joined(c, low, m("CompositeExtract", u32, bits, 1), dtypes.u64)


def any_lane(c: Code, op: Op) -> Id:
    c.m.require(Capability.GroupNonUniformVote)
    return c.m("GroupNonUniformAny", bool_, c.scope(Scope.Subgroup), *c.values(op))


EMIT: dict[str, Callable[[Code, Op], Id]] = {
    "subgroup.permute": permute,
    "subgroup.gather": gather,
    "subgroup.ballot_bits": ballot,
    "subgroup.any": any_lane,
}
