"""The sum of a million values in two passes, right for any number of blocks.

Each thread strides over the array by the number of threads there are, so no element is missed however few blocks are
launched.  A subgroup then adds up its lanes without memory; the subgroups of a block meet in shared memory; the second
pass is the same kernel over the blocks' sums, with one block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import block, subgroup

Floats = lw.types.NDArray[lw.f32, 1]
THREADS = 256


@lw.kernel
def add_up(x: Floats, sums: Floats):
    """sums[b] = what the threads of block b found; as many blocks as `sums` is long."""
    W = subgroup.group_size()
    blocks = sums.shape[0]
    lw.loop_config(block_dim=THREADS)
    for thread in range(blocks * THREADS):
        partial_sums = block.SharedArray(THREADS, lw.f32)  # room for subgroups of one lane

        mine = 0.0
        i = thread
        while i < x.shape[0]:
            mine += x[i]
            i += blocks * THREADS

        of_subgroup = subgroup.reduce_add(mine)
        if subgroup.elect():
            partial_sums[subgroup.subgroup_id()] = of_subgroup
        block.sync()

        if subgroup.subgroup_id() == 0:  # the first subgroup adds up the others' sums, W at a time
            of_block = 0.0
            for first in range(0, subgroup.num_subgroups(), W):
                place = first + subgroup.invocation_id()
                part = partial_sums[place] if place < subgroup.num_subgroups() else 0.0
                of_block += subgroup.reduce_add(part)
            if subgroup.elect():
                sums[block.block_idx()] = of_block


def total(x: np.ndarray, blocks: int) -> float:
    """Both passes."""
    sums = np.empty(blocks, np.float32)
    result = np.empty(1, np.float32)
    add_up(x, sums)
    add_up(sums, result)
    return float(result[0])


def main(arguments: Sequence[str] | None = None) -> None:
    """Sum ones, whose sum is their number, and random values, with several numbers of blocks."""
    options = start(__doc__, arguments, size=1_000_000)
    ones = np.ones(options.size, np.float32)
    values = options.random.random(options.size, np.float32)
    for blocks in (1, 7, 64, 1024):
        compare(f"{options.size} ones, {blocks} blocks", total(ones, blocks), options.size)
        compare("    random values", total(values, blocks), values.sum(dtype=np.float64), tolerance=1e-5)


if __name__ == "__main__":
    main()
