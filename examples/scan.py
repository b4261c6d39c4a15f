"""The exclusive prefix sum of a large array: out[i] = x[0] + ... + x[i - 1].

Three loops of one kernel: the sum of each chunk; an exclusive scan of those sums by a single block, which carries its
total from one round to the next; and the scan of each chunk from where it starts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import block

Ints = lw.types.NDArray[lw.i32, 1]
CHUNK = 256


@lw.kernel
def exclusive_scan(x: Ints, sums: Ints, out: Ints):
    """`sums` has room for one number a chunk of 256 elements."""
    n = x.shape[0]
    chunks = (n + CHUNK - 1) // CHUNK

    lw.loop_config(block_dim=CHUNK)
    for i in range(n):
        total = block.reduce_add(x[i])
        if block.thread_idx() == 0:
            sums[block.block_idx()] = total

    lw.loop_config(block_dim=CHUNK)
    for thread in range(CHUNK):
        carry = 0
        for first in range(0, chunks, CHUNK):
            k = first + thread
            value = sums[k] if k < chunks else 0
            below = block.exclusive_add(value)
            if k < chunks:
                sums[k] = carry + below
            carry += block.reduce_all_add(value)

    lw.loop_config(block_dim=CHUNK)
    for i in range(n):
        below = block.exclusive_add(x[i])
        out[i] = sums[i // CHUNK] + below


def main(arguments: Sequence[str] | None = None) -> None:
    """Scan an array that is no multiple of anything."""
    options = start(__doc__, arguments, size=1_000_003)
    x = options.random.integers(-100, 100, options.size, dtype=np.int32)
    sums = np.empty(-(-x.size // CHUNK), np.int32)
    out = np.empty_like(x)
    exclusive_scan(x, sums, out)
    compare("exclusive prefix sum", out, np.cumsum(x) - x)


if __name__ == "__main__":
    main()
