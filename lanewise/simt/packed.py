"""Sorts of keys and pairs of at most 64 bits: every key, with its value, as one integer of the same order.

One integer meets its partner in one comparison, where a pair of key and value takes comparisons of both.  Two such
integers are equal only where all their bits are, so "the other's is less" decides for both lanes of an exchange: the
keeper of the smaller one swaps where it holds, the keeper of the larger one where it does not.

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

Fields: TypeAlias = tuple[Value, ...]
"""A key, or a key and its value."""

Quickly: TypeAlias = Callable[[Builder, Fields, int, Callable[[], Fields]], "Fields | None"]
"""A sort of tiles of 2**n lanes, all of them active, as a device does it best; None where it is not for these types.

The last argument emits the sort that takes anything, for subgroups in which the values are `in_doubt`.
"""


def width(fields: Fields) -> int:
    """The bits of the integers that these are sorted as; more than 64 where they are not."""
    bits = sum(v.type.bits for v in fields)
    return bits if len(fields) == 1 else max(bits, WORD.bits)


# ---- one field ------------------------------------------------------------------------------------------------------
def signs_flipped(b: Builder, key: Value) -> Value:
    return b("xor", key, b.const(key.type.lowest, key.type))


def key_of(b: Builder, value: Value) -> Value:
    """A signed integer of the same order."""
    t = value.type
    if t.is_signed and not t.is_float:
        return value
    bits = b("bitcast", value, dtype=dtypes.signed_of(t.bits))
    return emit.ordered(b, bits) if t.is_float else signs_flipped(b, bits)


def value_of(b: Builder, key: Value, t: DType) -> Value:
    """The way back."""
    if t.is_signed and not t.is_float:
        return key
    return b("bitcast", emit.ordered(b, key) if t.is_float else signs_flipped(b, key), dtype=t)


# ---- the fields as one ----------------------------------------------------------------------------------------------
def _pack(b: Builder, keys: list[Value]) -> Value:
    """The first key above the second; what lies below counts without a sign."""
    if len(keys) == 1:
        return keys[0]
    packed = b.cast(keys[0], WORD)
    for key in keys[1:]:
        low = b("bitcast", signs_flipped(b, key), dtype=dtypes.unsigned_of(key.type.bits))
        packed = b.or_(b("shl", packed, b.const(key.type.bits, WORD)), b.cast(low, WORD))
    return packed


def _unpack(b: Builder, packed: Value, types: list[DType]) -> list[Value]:
    keys: list[Value] = []
    for t in reversed(types[1:]):
        keys.append(signs_flipped(b, b.cast(packed, dtypes.signed_of(t.bits))))
        packed = b("shr", packed, b.const(t.bits, WORD))
    return [b.cast(packed, dtypes.signed_of(types[0].bits)), *reversed(keys)]


def in_doubt(b: Builder, fields: Fields, *, nan_keys: bool = False) -> Value | None:
    """Where integers would order a float otherwise; with `nan_keys`, also where the key is a NaN."""
    found: Value | None = None
    for place, value in enumerate(fields):
        if value.type.is_float:
            bits = b("bitcast", value, dtype=dtypes.signed_of(value.type.bits))
            doubt = b.eq(bits, b.const(bits.type.lowest, bits.type))
            if place or nan_keys:
                doubt = b.or_(doubt, b("ne", value, value))
            found = doubt if found is None else b.or_(found, doubt)
    return found


# ---- the whole ------------------------------------------------------------------------------------------------------
def sort_packed(
    b: Builder, fields: Fields, log2_size: int, usually: Callable[[], Fields], widest: int = WORD.bits
) -> Fields | None:
    """By the network, in integers of up to `widest` bits."""
    types = [v.type for v in fields]
    if width(fields) > widest:
        return None

    def quickly() -> Fields:
        number = _pack(b, [key_of(b, v) for v in fields])
        for run, distance in network(log2_size):
            other = emit.permute(b, number, "xor", distance, log2_size)
            swap = b("xor", b.lt(other, number), keeps_large(b, run, distance, log2_size))
            number = b.select(swap, other, number)
        return tuple(value_of(b, key, t) for key, t in zip(_unpack(b, number, types), types, strict=True))

    doubt = in_doubt(b, fields)
    return quickly() if doubt is None else emit.rarely(b, doubt, usually, quickly)
