"""How long an operation takes for each element, from memory to memory, beside a plain copy; and how long it compiles.

    python benchmarks/operations.py [--arch cpu] [--size 4194304] [W ...]

The arrays are float32.  Times are the best of several launches; a copy shows what the memory alone costs.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import lanewise as lw
from lanewise.simt import subgroup

Line = lw.types.ndarray(dtype=lw.f32, ndim=1)


@lw.kernel
def apply(operation: lw.template(), x: Line, out: Line):
    for i in range(x.shape[0]):
        out[i] = operation(x[i])


@lw.func
def copy(x):
    return x


@lw.func
def next_lane(x):
    return subgroup.shuffle_down(x, 1)


@lw.func
def butterfly(x):
    return subgroup.shuffle_xor(x, 1)


@lw.func
def any_lane(x):
    return subgroup.shuffle(x, lw.cast(x, lw.i32))


@lw.func
def count_positive(x):
    return lw.cast(subgroup.ballot_bit_count(subgroup.ballot(x > 0.0)), lw.f32)


@lw.func
def count_equal(x):
    return lw.cast(subgroup.ballot_bit_count(subgroup.match_any(x)), lw.f32)


@lw.func
def sort_pairs(x):
    key, _ = subgroup.bitonic_sort_kv(x, subgroup.invocation_id())
    return key


OPERATIONS: dict[str, Any] = {
    "copy": copy,
    "shuffle_down": next_lane,
    "shuffle_xor": butterfly,
    "shuffle, run-time index": any_lane,
    "ballot, bit count": count_positive,
    "match_any, 50 values": count_equal,
    "reduce_all_add": subgroup.reduce_all_add,
    "reduce_all_max": subgroup.reduce_all_max,
    "inclusive_add": subgroup.inclusive_add,
    "exclusive_add": subgroup.exclusive_add,
    "bitonic_sort": subgroup.bitonic_sort,
    "bitonic_sort_kv": sort_pairs,
}


def best(call: Callable[[], None], runs: int) -> float:
    times: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        lw.sync()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", metavar="W", nargs="*", type=int, default=[8, 16, 32, 64], help="subgroup sizes")
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--size", type=int, default=1 << 22, help="elements")
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()

    os.environ["LANEWISE_CACHE_DIR"] = ""  # so that the first launch does compile
    x = np.random.default_rng(1).integers(0, 50, arguments.size).astype(np.float32)
    out = np.empty_like(x)
    devices = [lw.init(arch=arguments.arch, subgroup_size=W) for W in arguments.sizes]

    table = Table(title=f"ns an element (ms to the first result), {arguments.size:,} float32, {devices[0].name}")
    table.add_column("operation")
    for W in arguments.sizes:
        table.add_column(f"W = {W}", justify="right")
    for name, operation in OPERATIONS.items():
        cells: list[str] = []
        for device in devices:
            with lw.use(device):
                first = best(lambda operation=operation: apply(operation, x, out), 1)
                again = best(lambda operation=operation: apply(operation, x, out), arguments.runs)
            cells.append(f"{again / x.size * 1e9:.2f} ({(first - again) * 1e3:.0f})")
        table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
