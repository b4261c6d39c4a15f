"""Barriers on the CPU: a block's subgroups as coroutines, beside the same work split at the barriers into loops.

    python benchmarks/barriers.py

Both exchange 4-byte values in blocks of 256, three times; the split one keeps in arrays what the other one shares.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import lanewise as lw
from lanewise.simt import block

Floats = lw.types.ndarray(dtype=lw.f32, ndim=1)
ITEMS = 1 << 16


@lw.kernel
def coroutines(x: Floats, out: Floats):
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        first = block.SharedArray(256, lw.f32)
        second = block.SharedArray(256, lw.f32)
        k = block.thread_idx()
        first[k] = x[i]
        block.sync()
        second[k] = first[k] + first[(k + 1) & 255]
        block.sync()
        first[k] = second[k] + second[(k + 2) & 255]
        block.sync()
        out[i] = first[k] + first[(k + 4) & 255]


@lw.kernel
def split(x: Floats, first: Floats, second: Floats, out: Floats):
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        first[i] = x[i]
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        k = block.thread_idx()
        second[i] = first[i] + first[i - k + ((k + 1) & 255)]
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        k = block.thread_idx()
        first[i] = second[i] + second[i - k + ((k + 2) & 255)]
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        k = block.thread_idx()
        out[i] = first[i] + first[i - k + ((k + 4) & 255)]


def best_of_pairs(one: Callable[[], None], other: Callable[[], None]) -> tuple[float, float]:
    """The best time of each, in ns an item, taken in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(300):
        for function, taken in zip((one, other), times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return min(times[0]) / ITEMS * 1e9, min(times[1]) / ITEMS * 1e9


def main() -> None:
    """Print one line a subgroup size."""
    x = np.random.default_rng(0).random(ITEMS, np.float32)
    first, second, out, again = (np.zeros_like(x) for _ in range(4))
    for size in (8, 32, 64):
        lw.init(lw.cpu, subgroup_size=size, threads=1)
        coroutines(x, out)
        split(x, first, second, again)
        assert (out == again).all()
        a, b = best_of_pairs(lambda: coroutines(x, out), lambda: split(x, first, second, again))
        print(f"W={size}: coroutines {a:.2f} ns an item, split into loops {b:.2f} ({b / a:.2f} times as long)")


if __name__ == "__main__":
    main()
