"""Sorts of keys and pairs of at most 64 bits: every key, with its value, as one integer of the same order.

One integer meets its partner in one comparison, or in a min and a max, where a pair of key and value takes comparisons
of both.  Two such integers are equal only where all their bits are, so "the other's is less" decides for both lanes of
an exchange: the keeper of the smaller one swaps where it holds, the keeper of the larger one where it does not.

The order of integers is not quite that of floats: -0 is below +0, though they are equal as keys.  So a subgroup that
holds a -0 (or a NaN as value) sorts as usual; a NaN as key may come out anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .. import dtypes
from ..dtypes import DType
from ..ir import Builder, Value
from . import emit
from .network import keeps_large, network

WORD = dtypes.i64

Exchange: TypeAlias = Callable[[Builder, Value, Value, Value], Value]
"""What a lane has after it met its partner: given whether it keeps the larger one, its own and the other's."""


def by_comparison(b: Builder, large: Value, own: Value, other: Value) -> Value:
    return b.select(b("xor", b.lt(other, own), large), other, own)


def by_extremes(b: Builder, large: Value, own: Value, other: Value) -> Value:
    return b.select(large, b("max", own, other), b("min", own, other))


# ---- one field ------------------------------------------------------------------------------------------------------
def _signs_flipped(b: Builder, key: Value) -> Value:
    return b("xor", key, b.const(key.type.lowest, key.type))


def _key_of(b: Builder, value: Value) -> Value:
    """A signed integer of the same order."""
    t = value.type
    if t.is_signed and not t.is_float:
        return value
    bits = b("bitcast", value, dtype=dtypes.signed_of(t.bits))
    return emit.ordered(b, bits) if t.is_float else _signs_flipped(b, bits)


def _value_of(b: Builder, key: Value, t: DType) -> Value:
    """The way back."""
    if t.is_signed and not t.is_float:
        return key
    return b("bitcast", emit.ordered(b, key) if t.is_float else _signs_flipped(b, key), dtype=t)


# ---- the fields as one ----------------------------------------------------------------------------------------------
def _pack(b: Builder, keys: list[Value]) -> Value:
    """The first key above the second; what lies below counts without a sign."""
    if len(keys) == 1:
        return keys[0]
    packed = b.cast(keys[0], WORD)
    for key in keys[1:]:
        low = b("bitcast", _signs_flipped(b, key), dtype=dtypes.unsigned_of(key.type.bits))
        packed = b.or_(b("shl", packed, b.const(key.type.bits, WORD)), b.cast(low, WORD))
    return packed


def _unpack(b: Builder, packed: Value, types: list[DType]) -> list[Value]:
    keys: list[Value] = []
    for t in reversed(types[1:]):
        keys.append(_signs_flipped(b, b.cast(packed, dtypes.signed_of(t.bits))))
        packed = b("shr", packed, b.const(t.bits, WORD))
    return [b.cast(packed, dtypes.signed_of(types[0].bits)), *reversed(keys)]


def _in_doubt(b: Builder, pairs: tuple[Value, ...]) -> Value | None:
    """Where integers would order a float otherwise."""
    found: Value | None = None
    for place, value in enumerate(pairs):
        if value.type.is_float:
            bits = b("bitcast", value, dtype=dtypes.signed_of(value.type.bits))
            doubt = b.eq(bits, b.const(bits.type.lowest, bits.type))
            if place:
                doubt = b.or_(doubt, b("ne", value, value))
            found = doubt if found is None else b.or_(found, doubt)
    return found


# ---- the whole ------------------------------------------------------------------------------------------------------
def width(pairs: tuple[Value, ...]) -> int:
    """The bits of the integers that these are sorted as; more than 64 where they are not."""
    bits = sum(v.type.bits for v in pairs)
    return bits if len(pairs) == 1 else max(bits, WORD.bits)


def sort_packed(
    b: Builder,
    pairs: tuple[Value, ...],
    log2_size: int,
    usually: Callable[[], tuple[Value, ...]],
    exchange: Exchange = by_comparison,
) -> tuple[Value, ...]:
    """The sorted pairs of a subgroup in which all lanes are active; `usually` emits the sort that takes any float."""
    types = [v.type for v in pairs]

    def quickly() -> tuple[Value, ...]:
        number = _pack(b, [_key_of(b, v) for v in pairs])
        for run, distance in network(log2_size):
            other = emit.permute(b, number, "xor", distance, log2_size)
            number = exchange(b, keeps_large(b, run, distance, log2_size), number, other)
        return tuple(_value_of(b, key, t) for key, t in zip(_unpack(b, number, types), types, strict=True))

    doubt = _in_doubt(b, pairs)
    return quickly() if doubt is None else b.if_(b("subgroup.any", doubt), usually, quickly)
