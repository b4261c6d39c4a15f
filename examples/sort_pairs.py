"""Short lists sorted in registers: the nearest neighbours of many points, one list a subgroup.

Each list has a length of its own, up to W.  Lanes past its end take part with a key that sorts last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import subgroup

Distances = lw.types.NDArray[lw.f32, 2]
Neighbours = lw.types.NDArray[lw.i32, 2]
Lengths = lw.types.NDArray[lw.i32, 1]


@lw.kernel
def sort_lists(distances: Distances, neighbours: Neighbours, lengths: Lengths):
    """Each row's first lengths[row] pairs, by ascending distance and, where equal, ascending neighbour."""
    W = subgroup.group_size()
    for row, k in lw.ndrange(distances.shape[0], W):
        distance = lw.f32(math.inf)
        neighbour = -1
        if k < lengths[row]:
            distance = distances[row, k]
            neighbour = neighbours[row, k]
        distance, neighbour = subgroup.bitonic_sort_kv(distance, neighbour)
        if k < lengths[row]:
            distances[row, k] = distance
            neighbours[row, k] = neighbour


def main(arguments: Sequence[str] | None = None) -> None:
    """Sort lists of random lengths, with many equal distances among them."""
    options = start(__doc__, arguments, size=2000)
    W, rows = options.W, max(options.size // options.W, 1)
    distances = options.random.integers(0, 10, (rows, W)).astype(np.float32)
    neighbours = options.random.permuted(np.tile(np.arange(W, dtype=np.int32), (rows, 1)), axis=1)
    lengths = options.random.integers(0, W + 1, rows, dtype=np.int32)

    wanted = [sorted(zip(d[:n], k[:n], strict=True)) for d, k, n in zip(distances, neighbours, lengths, strict=True)]
    sort_lists(distances, neighbours, lengths)
    got = [list(zip(d[:n], k[:n], strict=True)) for d, k, n in zip(distances, neighbours, lengths, strict=True)]
    compare(f"{rows} lists of up to {W} pairs", [p for row in got for p in row], [p for row in wanted for p in row])


if __name__ == "__main__":
    main()
