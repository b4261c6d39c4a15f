"""A stable sort by digits: for every digit of the keys, from the lowest, one pass that counts and one that moves."""

from __future__ import annotations

from typing import Any

import lanewise as lw
from lanewise.simt import block, subgroup

from ..dtypes import DType, i32, unsigned_of
from ..errors import LanewiseTypeError
from .arrays import Line, source
from .scan import exclusive_scan

CHUNK = 256
BITS = 4
DIGITS = 1 << BITS


@lw.func
def _ordered(key, word: lw.types.Template):
    """A key's bits as an unsigned integer of the same width that sorts as the key does."""
    if lw.static(key.dtype.is_bool):
        return lw.cast(key, word)
    bits = lw.bit_cast(key, word)
    top = lw.cast(1, word) << (word.bits - 1)
    if lw.static(key.dtype.is_float):  # the magnitude of a negative number counts downwards
        bits = lw.select((bits & top) != 0, ~bits, bits | top)
    elif lw.static(key.dtype.is_signed):
        bits = bits ^ top
    return bits


@lw.func
def _digit(key, word: lw.types.Template, shift):
    return lw.cast((_ordered(key, word) >> lw.cast(shift, word)) & lw.cast(DIGITS - 1, word), lw.i32)


@lw.kernel
def _count(keys: Line, word: lw.types.Template, shift: lw.i32, counts: lw.types.NDArray[lw.i32, 1]):
    """counts[digit * blocks + b] = how often block b has the digit."""
    n = keys.shape[0]
    blocks = counts.shape[0] // DIGITS
    lw.loop_config(block_dim=CHUNK)
    for i in range(n):
        of_block = block.SharedArray(DIGITS, lw.i32)
        thread = block.thread_idx()
        if thread == 0:  # the last block may have fewer threads than there are digits
            for d in range(DIGITS):
                of_block[d] = 0
        block.sync()
        digit = _digit(keys[i], word, shift)
        peers = subgroup.match_any(digit)
        if subgroup.ballot_find_lsb(peers) == subgroup.invocation_id():
            lw.atomic_add(of_block[digit], subgroup.ballot_bit_count(peers))
        block.sync()
        if thread == 0:
            for d in range(DIGITS):
                counts[d * blocks + block.block_idx()] = of_block[d]


@lw.kernel
def _move(
    keys: Line,
    values: Line,
    word: lw.types.Template,
    shift: lw.i32,
    starts: lw.types.NDArray[lw.i32, 1],
    keys_out: Line,
    values_out: Line,
):
    """Each pair to its place: where its digit starts for this block, plus its rank among those of the block."""
    n = keys.shape[0]
    blocks = starts.shape[0] // DIGITS
    lw.loop_config(block_dim=CHUNK)
    for i in range(n):
        of_subgroups = block.SharedArray((CHUNK, DIGITS), lw.i32)
        mine = subgroup.subgroup_id()
        if subgroup.elect():
            for d in range(DIGITS):
                of_subgroups[mine, d] = 0
        subgroup.sync()
        digit = _digit(keys[i], word, shift)
        peers = subgroup.match_any(digit)
        if subgroup.ballot_find_lsb(peers) == subgroup.invocation_id():
            of_subgroups[mine, digit] = subgroup.ballot_bit_count(peers)
        block.sync()
        place = starts[digit * blocks + block.block_idx()] + subgroup.ballot_exclusive_bit_count(peers)
        for below in range(mine):
            place += of_subgroups[below, digit]
        keys_out[place] = keys[i]
        values_out[place] = values[i]


def sort(keys: Any, values: Any = None) -> Any:
    """The keys in ascending order, as a new array; with `values`, a pair: the keys and, in their order, the values.

    The sort is stable.  -0 comes before +0; NaN keys come last, those with the sign bit first.  One pass for every four
    bits of a key, so narrow keys sort faster.
    """
    given = source(keys)
    carried = given if values is None else source(values)
    if carried.length != given.length:
        raise LanewiseTypeError(f"expected as many values as keys, got {carried.length} and {given.length}")
    if given.length >= 1 << 31:
        raise LanewiseTypeError(f"expected fewer than 2**31 keys, got {given.length}")
    width = 8 if given.dtype.is_bool else given.dtype.bits
    word: DType = unsigned_of(width)
    counts = given.like(-(-given.length // CHUNK) * DIGITS, i32)
    source_keys, source_values = given.array, carried.array
    for shift in range(0, 1 if given.dtype.is_bool else width, BITS):
        keys_out, values_out = given.like(given.length), carried.like(given.length)
        _count(source_keys, word, shift, counts)
        _move(source_keys, source_values, word, shift, exclusive_scan(counts, out=counts), keys_out, values_out)
        source_keys, source_values = keys_out, values_out
    return source_keys if values is None else (source_keys, source_values)
