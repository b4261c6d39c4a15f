"""The sum of a group of lanes, three ways: by hand, as one operation, and in every lane at once.

`log2_size` splits the subgroup into tiles of 2, 4, 8 ... lanes, each of which sums for itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import subgroup

Floats = lw.types.NDArray[lw.f32, 1]


@lw.kernel
def by_hand(x: Floats, out: Floats):
    """A tree: each step adds what lies half as far away; lane 0 ends with the sum of all."""
    W = subgroup.group_size()
    for i in range(x.shape[0]):
        total = x[i]
        for step in lw.static(range(1, subgroup.log2_group_size() + 1)):
            total += subgroup.shuffle_down(total, W >> step)
        if subgroup.elect():
            out[i // W] = total


@lw.kernel
def of_tiles(x: Floats, log2_size: lw.types.Template[int], out: Floats):
    """The same tree in each tile of 2**log2_size lanes, as one operation."""
    for i in range(x.shape[0]):
        total = subgroup.reduce_add_tiled(x[i], log2_size)
        if i % (1 << log2_size) == 0:
            out[i >> log2_size] = total


@lw.kernel
def normalise(x: Floats, out: Floats):
    """Every lane needs the sum here, so every lane gets it."""
    for i in range(x.shape[0]):
        out[i] = x[i] / subgroup.reduce_all_add(x[i])


@lw.kernel
def running_totals(x: Floats, out: Floats):
    """Each lane gets the sum of the lanes up to its own."""
    for i in range(x.shape[0]):
        out[i] = subgroup.inclusive_add(x[i])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run each, and compare; sums of 64 floats differ from NumPy's in the last bits."""
    options = start(__doc__, arguments, size=4096)
    W = options.W
    rows = max(options.size // W, 1)
    x = options.random.random(rows * W, np.float32)
    exact = x.reshape(rows, W).astype(np.float64)

    sums = np.empty(rows, np.float32)
    by_hand(x, sums)
    compare("a tree of shuffles", sums, exact.sum(axis=1), tolerance=1e-5)
    by_operation = np.empty_like(sums)
    of_tiles(x, W.bit_length() - 1, by_operation)
    compare("reduce_add gives the same bits", by_operation, sums)
    for log2_size in range(W.bit_length() - 1):
        tiles = np.empty(x.size >> log2_size, np.float32)
        of_tiles(x, log2_size, tiles)
        wanted = exact.reshape(-1, 1 << log2_size).sum(axis=1)
        compare(f"tiles of {1 << log2_size}", tiles, wanted, tolerance=1e-5)

    out = np.empty_like(x)
    normalise(x, out)
    compare("normalised", out, (exact / exact.sum(axis=1, keepdims=True)).ravel(), tolerance=1e-5)
    running_totals(x, out)
    compare("running totals", out, exact.cumsum(axis=1).ravel(), tolerance=1e-5)


if __name__ == "__main__":
    main()
