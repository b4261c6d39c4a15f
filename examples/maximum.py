"""The largest value of an array and where it stands, by a reduction with a function of one's own.

The pair (value, place) is reduced as a whole; of equal values the first one wins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import block

Floats = lw.types.NDArray[lw.f32, 1]
Ints = lw.types.NDArray[lw.i32, 1]
THREADS = 128


@lw.dataclass
class Found:
    """A value and its place."""

    value: lw.f32
    place: lw.i32


@lw.func
def better(a, b):
    """The larger of two, of equal ones that which comes first."""
    first = a.value > b.value or (a.value == b.value and a.place < b.place)
    return lw.select(first, a, b)


@lw.kernel
def largest(x: Floats, values: Floats, places: Ints):
    """One candidate a block."""
    blocks = values.shape[0]
    lw.loop_config(block_dim=THREADS)
    for thread in range(blocks * THREADS):
        best = Found(-math.inf, 2147483647)
        i = thread
        while i < x.shape[0]:
            best = better(best, Found(x[i], i))
            i += blocks * THREADS
        best = block.reduce(best, better, Found(-math.inf, 2147483647))
        if block.thread_idx() == 0:
            values[block.block_idx()] = best.value
            places[block.block_idx()] = best.place


def main(arguments: Sequence[str] | None = None) -> None:
    """Find the largest of many values, several of which are equal."""
    options = start(__doc__, arguments, size=100_000)
    x = options.random.integers(-1000, 1000, options.size).astype(np.float32)
    values, places = np.empty(50, np.float32), np.empty(50, np.int32)
    largest(x, values, places)
    winner = np.lexsort((places, -values))[0]
    compare("the largest value", values[winner], x.max())
    compare("its place", places[winner], x.argmax())


if __name__ == "__main__":
    main()
