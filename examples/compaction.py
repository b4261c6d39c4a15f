"""Keep some elements of an array, in order and without gaps (stream compaction), by ballots.

A lane's place among those kept is the number of set bits below its own in the subgroup's ballot.  Where a subgroup's
output starts comes from a scan over the subgroups' counts, so the order is that of the input, in every run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import subgroup

Ints = lw.types.NDArray[lw.i32, 1]


@lw.func
def is_wanted(value):
    """The condition: change it, and nothing else."""
    return value % 3 == 0


@lw.kernel
def compact(x: Ints, starts: Ints, out: Ints, length: Ints):
    """out[: length[0]] = the wanted elements of x; `starts` has room for one number a subgroup."""
    W = subgroup.group_size()
    n = x.shape[0]
    subgroups = (n + W - 1) // W

    for i in range(n):
        kept = subgroup.ballot(is_wanted(x[i]))
        if subgroup.elect():
            starts[i // W] = lw.popcnt(kept)

    for lane in range(W):  # one subgroup scans the counts, W at a time
        before = 0
        for first in range(0, subgroups, W):
            k = first + lane
            count = starts[k] if k < subgroups else 0
            if k < subgroups:
                starts[k] = before + subgroup.exclusive_add(count)
            before += subgroup.reduce_all_add(count)
        if subgroup.elect():
            length[0] = before

    for i in range(n):
        kept = subgroup.ballot(is_wanted(x[i]))
        if is_wanted(x[i]):
            out[starts[i // W] + subgroup.ballot_exclusive_bit_count(kept)] = x[i]


def main(arguments: Sequence[str] | None = None) -> None:
    """Keep the multiples of three."""
    options = start(__doc__, arguments, size=100_000)
    x = options.random.integers(0, 1000, options.size, dtype=np.int32)
    starts = np.empty(-(-x.size // options.W), np.int32)
    out, length = np.full_like(x, -1), np.zeros(1, np.int32)
    compact(x, starts, out, length)
    wanted = x[x % 3 == 0]
    compare("how many are kept", length[0], wanted.size)
    compare("which ones, in order", out[: wanted.size], wanted)


if __name__ == "__main__":
    main()
