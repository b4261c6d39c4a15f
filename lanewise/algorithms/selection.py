"""Some elements of an array, in order and without gaps."""

from __future__ import annotations

from typing import Any

import lanewise as lw
from lanewise.simt import block

from ..dtypes import i32, i64
from ..errors import LanewiseTypeError
from .arrays import Line, first, source
from .scan import exclusive_scan

CHUNK = 256


@lw.kernel
def _count(keep: Line, counts: Line, total: Line):
    """counts[b] = how many of block b's elements are kept, total[0] of all."""
    lw.loop_config(block_dim=CHUNK)
    for i in range(keep.shape[0]):
        count = block.sync_count_nonzero(keep[i] != 0)
        if block.thread_idx() == 0:
            counts[block.block_idx()] = count
            lw.atomic_add(total[0], count)


@lw.kernel
def _gather(x: Line, keep: Line, starts: Line, out: Line):
    lw.loop_config(block_dim=CHUNK)
    for i in range(x.shape[0]):
        place = block.exclusive_add(lw.select(keep[i] != 0, 1, 0))
        if keep[i] != 0:
            out[starts[i // CHUNK] + place] = x[i]


def select(x: Any, keep: Any) -> Any:
    """The elements x[i] for which keep[i] is not 0, in their order, as a new array."""
    given, flags = source(x), source(keep)
    if flags.length != given.length:
        raise LanewiseTypeError(f"expected as many flags as elements, got {flags.length} and {given.length}")
    place = i32 if given.length < 1 << 31 else i64
    counts = given.like(-(-given.length // CHUNK), place)
    total = given.like(1, place)
    total[0] = 0
    _count(flags.array, counts, total)
    out = given.like(int(first(total)))
    _gather(given.array, flags.array, exclusive_scan(counts, out=counts), out)
    return out
