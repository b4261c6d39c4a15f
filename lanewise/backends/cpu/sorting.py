"""Sorts by the processor's min and max: a key with its value becomes one integer of the same order.

One integer meets its partner in a permute, a min and a max, where a pair of key and value takes comparisons of both.
The order of integers is not quite that of floats: -0 is below +0, though they are equal as keys.  So a subgroup that
holds a -0 (or a NaN as value) sorts as usual; a NaN as key may come out anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from ... import dtypes
from ...dtypes import DType
from ...ir import OPCODES, Builder, Op, Value
from ...passes import Expansion
from ...simt import emit
from ...simt.op import SimtOp
from ...simt.sorting import network

WORD = dtypes.i64


def _key_of(b: Builder, value: Value) -> Value:
    """A signed integer of the same order."""
    t = value.type
    key = dtypes.signed_of(t.bits)
    if t.is_float:
        bits = b("bitcast", value, dtype=key)
        return b("xor", bits, b.and_(b("shr", bits, b.const(t.bits - 1, key)), b.const(key.highest, key)))
    return value if t.is_signed else b("xor", b("bitcast", value, dtype=key), b.const(key.lowest, key))


def _value_of(b: Builder, key: Value, t: DType) -> Value:
    """The way back."""
    if t.is_float:
        negative = b("shr", key, b.const(t.bits - 1, key.type))
        return b("bitcast", b("xor", key, b.and_(negative, b.const(key.type.highest, key.type))), dtype=t)
    return key if t.is_signed else b("bitcast", b("xor", key, b.const(key.type.lowest, key.type)), dtype=t)


def _pack(b: Builder, keys: list[Value]) -> Value:
    """The first key above the second; what lies below counts without a sign."""
    packed = b.cast(keys[0], WORD)
    for key in keys[1:]:
        unsigned = dtypes.unsigned_of(key.type.bits)
        low = b("bitcast", b("xor", key, b.const(key.type.lowest, key.type)), dtype=unsigned)
        packed = b.or_(b("shl", packed, b.const(key.type.bits, WORD)), b.cast(low, WORD))
    return packed


def _unpack(b: Builder, packed: Value, types: list[DType]) -> list[Value]:
    keys: list[Value] = []
    for t in reversed(types[1:]):
        key = dtypes.signed_of(t.bits)
        keys.append(b("xor", b.cast(packed, key), b.const(key.lowest, key)))
        packed = b("shr", packed, b.const(t.bits, WORD))
    return [b.cast(packed, dtypes.signed_of(types[0].bits)), *reversed(keys)]


def _in_doubt(b: Builder, pairs: tuple[Value, ...]) -> Value | None:
    """Where integers would order a float otherwise."""
    found: Value | None = None
    for place, value in enumerate(pairs):
        t = value.type
        if t.is_float:
            bits = dtypes.signed_of(t.bits)
            doubt = b.eq(b("bitcast", value, dtype=bits), b.const(bits.lowest, bits))
            if place:
                doubt = b.or_(doubt, b("ne", value, value))
            found = doubt if found is None else b.or_(found, doubt)
    return found


def _network(b: Builder, packed: Value, log2_size: int) -> Value:
    size, mine = 1 << log2_size, emit.lane_in_tile(b, log2_size)
    for run, distance in network(log2_size):
        keeps_large = emit.is_nonzero(b, b.and_(mine, b.i32(distance)))
        if run < size:
            keeps_large = b("xor", keeps_large, emit.is_nonzero(b, b.and_(mine, b.i32(run))))
        other = emit.permute(b, packed, "xor", distance, log2_size)
        packed = b.select(keeps_large, b("max", packed, other), b("min", packed, other))
    return packed


def _sort(b: Builder, op: Op, active: Value | None, pairs: tuple[Value, ...]) -> tuple[Value, ...] | None:
    types = [v.type for v in pairs]
    log2_size: int = op.attrs["log2_size"]
    if active is not None or not log2_size or sum(t.bits for t in types) > WORD.bits:
        return None

    def quickly() -> tuple[Value, ...]:
        keys = [_key_of(b, v) for v in pairs]
        if len(keys) == 1:
            return (_value_of(b, _network(b, keys[0], log2_size), types[0]),)
        sorted_keys = _unpack(b, _network(b, _pack(b, keys), log2_size), types)
        return tuple(_value_of(b, key, t) for key, t in zip(sorted_keys, types, strict=True))

    def usually() -> tuple[Value, ...]:
        row = OPCODES[op.opcode]
        assert isinstance(row, SimtOp)
        assert row.expand is not None
        return tuple(row.expand(b, None, *pairs, **op.attrs))

    doubt = _in_doubt(b, pairs)
    return quickly() if doubt is None else b.if_(b("subgroup.any", doubt), usually, quickly)


SORTS: Mapping[str, Expansion] = {"subgroup.bitonic_sort": _sort, "subgroup.bitonic_sort_kv": _sort}
