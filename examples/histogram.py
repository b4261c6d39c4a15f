"""A histogram by ballots: one atomic a subgroup and bin, instead of one a value.

For each bin the subgroup votes which of its values fall into it.  Lane b keeps the count of bin b while the subgroup
walks along its values, so the counts go to memory once, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import subgroup

Floats = lw.types.NDArray[lw.f32, 1]
Ints = lw.types.NDArray[lw.i32, 1]
STEPS = 32


@lw.kernel
def histogram(x: Floats, edges: Floats, counts: Ints):
    """counts[b] += how many values lie in [edges[b], edges[b + 1])."""
    W = subgroup.group_size()
    n = x.shape[0]
    bins = counts.shape[0]
    runs = (n + STEPS * W - 1) // (STEPS * W)  # a run of values for each subgroup
    for item in range(runs * W):
        lane = subgroup.invocation_id()
        first = (item - lane) * STEPS
        for base in range(0, bins, W):  # W bins at a time
            count = 0
            for step in range(STEPS):
                i = first + step * W + lane
                for b in range(base, min(base + W, bins)):
                    mask = subgroup.ballot(i < n and edges[b] <= x[i] and x[i] < edges[b + 1])
                    if lane == b - base:
                        count += lw.popcnt(mask)
            if base + lane < bins:
                lw.atomic_add(counts[base + lane], count)


def main(arguments: Sequence[str] | None = None) -> None:
    """Count heights in twelve ranges of unequal width."""
    options = start(__doc__, arguments, size=50_000)
    heights = options.random.normal(170, 12, options.size).astype(np.float32)
    edges = np.array([0, 130, 140, 150, 155, 160, 165, 170, 175, 180, 190, 200, 300], np.float32)
    counts = np.zeros(edges.size - 1, np.int32)
    histogram(heights, edges, counts)
    compare(f"{counts.size} bins", counts, np.histogram(heights, edges)[0])
    print(f"  {counts.tolist()}")


if __name__ == "__main__":
    main()
