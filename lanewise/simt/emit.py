"""Pieces that expansions are made of: lane arithmetic and masks as bits, in the IR.

`active` is the mask of an expansion: None where all lanes are active.  Bits of a subgroup are held in a `word`, which
has one bit a lane: 64-bit arithmetic on varying values costs twice as much on most devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import dtypes
from ..dtypes import DType
from ..ir import Builder, Value


def word(subgroup_size: int) -> DType:
    """The unsigned type with a bit for each lane."""
    return dtypes.u32 if subgroup_size <= 32 else dtypes.u64


def log2_width(b: Builder) -> int:
    """log2 W."""
    return b.subgroup_size.bit_length() - 1


def is_whole(b: Builder, log2_size: int) -> bool:
    """Whether the tile is the subgroup."""
    return 1 << log2_size == b.subgroup_size


# ---- lanes --------------------------------------------------------------------------------------------------------
def lane_in_tile(b: Builder, log2_size: int) -> Value:
    """lane % 2**log2_size"""
    return b.lane() if is_whole(b, log2_size) else b.and_(b.lane(), b.i32((1 << log2_size) - 1))


def from_base(b: Builder, offset: Value, log2_size: int) -> Value:
    """The lane at `offset`, which is below 2**log2_size, in the caller's tile."""
    if is_whole(b, log2_size):
        return offset
    return b.or_(b.and_(b.lane(), b.i32(-(1 << log2_size))), offset)


def wrapped(b: Builder, index: Value, size: int) -> Value:
    """index % size as an i32, for a power of two and an index of any integer type."""
    return b.and_(b.cast(index, dtypes.i32), b.i32(size - 1))


def ordered(b: Builder, bits: Value) -> Value:
    """The bits of a float as a signed integer that is greater where the float is (-0 below +0), and the way back.

    A negative float's magnitude bits are flipped; doing it twice changes nothing.
    """
    t = bits.type
    negative = b("shr", bits, b.const(t.bits - 1, t))
    return b("xor", bits, b.and_(negative, b.const(t.highest, t)))


def read(b: Builder, active: Value | None, value: Value, fetch: Callable[[Value], Value]) -> Value:
    """What `fetch` moves from other lanes; from an inactive lane, the reader's own value."""
    fetched = fetch(value)
    return fetched if active is None else b.select(fetch(active), fetched, value)


def permute(b: Builder, value: Value, kind: str, amount: int, log2_size: int) -> Value:
    """The primitive with a constant pattern (see `primitives.lane_map`)."""
    return b("subgroup.permute", value, kind=kind, amount=amount, log2_size=log2_size)


def gather(b: Builder, value: Value, index: Value) -> Value:
    """value[index], for an i32 index in [0, W)."""
    return b("subgroup.gather", value, index)


def rarely(
    b: Builder, doubt: Value, then: Callable[[], Sequence[Value]], otherwise: Callable[[], Sequence[Value]]
) -> tuple[Value, ...]:
    """`then` in subgroups in which a lane is in doubt, which is seldom; `otherwise` in all others."""
    return b.if_(b("subgroup.any", doubt), then, otherwise, rare=True)


def if_active(b: Builder, active: Value | None, value: Value, otherwise: Value) -> Value:
    """The value in active lanes."""
    return value if active is None else b.select(active, value, otherwise)


# ---- bits: one a lane, in a `word` --------------------------------------------------------------------------------
def zero(b: Builder, like: Value) -> Value:
    return b.const(0, like.type)


def is_nonzero(b: Builder, value: Value) -> Value:
    return b("ne", value, zero(b, value))


def ballot(b: Builder, predicate: Value) -> Value:
    """The lanes, inactive ones too, in which a bool is true."""
    return b.cast(b("subgroup.ballot_bits", predicate), word(b.subgroup_size))


def active_bits(b: Builder, active: Value | None) -> Value:
    """The active lanes."""
    return b.const((1 << b.subgroup_size) - 1, word(b.subgroup_size)) if active is None else ballot(b, active)


def own_tile(b: Builder, bits: Value, log2_size: int) -> Value:
    """The bits of the caller's tile, shifted down to bit 0."""
    if is_whole(b, log2_size):
        return bits
    base = b.cast(b.and_(b.lane(), b.i32(-(1 << log2_size))), bits.type)
    return b.and_(b("shr", bits, base), b.const((1 << (1 << log2_size)) - 1, bits.type))


def one_bit(b: Builder, number: Value, dtype: DType) -> Value:
    """1 << number, the number being taken modulo the type's width."""
    return b("shl", b.const(1, dtype), b.cast(number, dtype))


def bits_below(b: Builder, number: Value, dtype: DType) -> Value:
    """The bits 0 ... number - 1."""
    return b.sub(one_bit(b, number, dtype), b.const(1, dtype))


def lowest(b: Builder, bits: Value) -> Value:
    """The number of the lowest bit set; the width for 0."""
    return b("ctz", bits)


def highest(b: Builder, bits: Value) -> Value:
    """The number of the highest bit set; -1 for 0."""
    return b.sub(b.i32(bits.type.bits - 1), b("clz", bits))


def first_active(b: Builder, active: Value, log2_size: int) -> Value:
    """The lane of the lowest active lane of the caller's tile; some lane of the tile where none is active."""
    bits = own_tile(b, ballot(b, active), log2_size)
    return from_base(b, wrapped(b, lowest(b, bits), 1 << log2_size), log2_size)


def both(b: Builder, active: Value | None, predicate: Value) -> Value:
    """The predicate, false in lanes that are not active."""
    return predicate if active is None else b.and_(active, predicate)
