"""lanewise on an NVIDIA GPU beside a device copy, CUDA C++, Quadrants, torch and CuPy, in one run.

    python benchmarks/gpu.py [--size 268435456] [--json FILE]

Times are medians of device times between two events; the host's times are the best of several rounds.  CUDA C++ is
measured where nvcc is found; torch, CuPy and Quadrants (with torch, whose tensors it takes) where they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import lanewise as lw
from lanewise.simt import block, grid, subgroup

Floats = lw.types.ndarray(dtype=lw.f32, ndim=1)
Ints = lw.types.ndarray(dtype=lw.i32, ndim=1)
Longs = lw.types.ndarray(dtype=lw.i64, ndim=1)
BLOCK = 256
UNROLL = 8  # of the loops whose rounds are timed
ROUNDS = 1024


# ---- kernels --------------------------------------------------------------------------------------------------------
@lw.kernel
def reduce_add(x: Floats, out: Floats):
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        total = subgroup.reduce_add(x[i])
        if subgroup.invocation_id() == 0:
            out[i // subgroup.group_size()] = total


@lw.kernel
def inclusive_add(x: Floats, out: Floats):
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        out[i] = subgroup.inclusive_add(x[i])


@lw.kernel
def bitonic_sort_kv(keys: Floats, values: Ints, keys_out: Floats, values_out: Ints):
    lw.loop_config(block_dim=256)
    for i in range(keys.shape[0]):
        key, value = subgroup.bitonic_sort_kv(keys[i], values[i])
        keys_out[i] = key
        values_out[i] = value


@lw.kernel
def sum_all(x: Floats, out: Floats, partial: Floats, done: Ints, threads: lw.i32, loads: lw.template()):
    """Blocks take turns at runs of `loads * BLOCK` elements, of which each thread has `loads` in flight.

    The block that ends last hands over the sum and leaves `partial` and `done` as it found them: zero.
    """
    lw.loop_config(block_dim=BLOCK)
    for t in range(threads):
        sums = lw.Vector([0.0] * loads)
        i = t // BLOCK * (loads * BLOCK) + t % BLOCK
        while i < x.shape[0] - (loads - 1) * BLOCK:
            for k in lw.static(range(loads)):
                sums[k] += x[i + k * BLOCK]
            i += loads * threads
        for k in lw.static(range(loads)):  # the last run, where it is a part of one
            if i + k * BLOCK < x.shape[0]:
                sums[k] += x[i + k * BLOCK]
        total = 0.0
        for k in lw.static(range(loads)):
            total += sums[k]
        total = block.reduce_add(total)
        if block.thread_idx() == 0:
            lw.atomic_add(partial[0], total)
            grid.mem_fence()
            if lw.atomic_add(done[0], 1) == grid.num_blocks() - 1:
                out[0] = lw.atomic_exchange(partial[0], 0.0)
                done[0] = 0


@lw.kernel
def cycles(operation: lw.template(), values: Ints, taken: Longs, rounds: lw.i32):
    lw.loop_config(block_dim=32)  # of one warp, so that no lane is missing
    for i in range(values.shape[0]):
        v = values[i]
        start = lw.simt.clock()
        for r in range(rounds // UNROLL):
            for k in lw.static(range(UNROLL)):
                v += operation(v, r + k)
        taken[i] = lw.cast(lw.simt.clock() - start, lw.i64)
        values[i] = v


@lw.func
def ballot_low(v, r):
    return lw.cast(subgroup.ballot_first_n(v > r, 32), lw.i32)


@lw.func
def match_low(v, r):
    return lw.cast(subgroup.match_any(v), lw.i32)


@lw.func
def add_all(v, r):
    return subgroup.reduce_all_add(v)


@lw.func
def max_all(v, r):
    return subgroup.reduce_all_max(v)


CYCLES = {"reduce_all_add": add_all, "reduce_all_max": max_all, "match_any": match_low, "ballot": ballot_low}


@lw.kernel
def add(c: Floats, a: Floats, b: Floats):
    for i in range(c.shape[0]):
        c[i] = a[i] + b[i]


# ---- measuring ------------------------------------------------------------------------------------------------------
def seconds(launch: Callable[[], object], runs: int = 15) -> float:
    """The median device time of a launch on the default stream, in a queue that is never empty."""
    engine: Any = lw.current_device().engine
    for _ in range(3):
        launch()
    marks: list[tuple[Any, Any]] = []
    for _ in range(runs):
        start = engine.mark()
        launch()
        marks.append((start, engine.mark()))
    lw.sync()
    return statistics.median(engine.seconds(start, end) for start, end in marks)


def host_microseconds(
    launches: dict[str, Callable[[], object]], calls: int = 500, rounds: int = 15
) -> dict[str, float]:
    """The time of each call on the host while the GPU keeps up: the best of rounds in which they take turns."""
    best = dict.fromkeys(launches, float("inf"))
    for _ in range(15):
        for name, launch in launches.items():
            lw.sync()
            start = time.perf_counter()
            for _ in range(calls):
                launch()
            best[name] = min(best[name], (time.perf_counter() - start) / calls * 1e6)
    lw.sync()
    return best


@dataclass(frozen=True)
class Row:
    """One figure, and those beside it."""

    work: str
    unit: str
    ours: float
    others: dict[str, float]
    more_is_better: bool = True

    def ratio(self, other: float) -> float:
        """How many times as good as the other."""
        return self.ours / other if self.more_is_better else other / self.ours


def naive(size: int, pairs: int) -> dict[str, Any]:
    """What CUDA C++ takes, where it can be compiled."""
    compiler = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if compiler is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "naive"
        source = Path(__file__).with_name("naive.cu")
        subprocess.run([compiler, "-O3", "-std=c++17", "-arch=native", source, "-o", program], check=True)
        done = subprocess.run([program, str(size), str(pairs)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def library(name: str) -> Any:
    """A module that may be missing, itself or what it imports."""
    try:
        return __import__(name)
    except ImportError:
        return None


def quadrants_seconds(quadrants: Any, torch: Any, work: str, *arrays: lw.ndarray) -> dict[str, float]:
    """What Quadrants takes for the kernel of the same name, where it is installed."""
    if quadrants is None:
        return {}
    tensors = [torch.as_tensor(array, device="cuda") for array in arrays]
    return {"Quadrants": seconds(lambda: getattr(quadrants, work)(*tensors))}


def rows(size: int, pairs: int) -> Iterator[Row]:
    cpp, torch, cupy = naive(size, pairs), library("torch"), library("cupy")
    quadrants = library("quadrants_kernels") if torch else None
    rng = np.random.default_rng(1)
    x, out = lw.from_numpy(rng.random(size, np.float32)), lw.ndarray(lw.f32, size)
    values, values_out = lw.from_numpy(rng.integers(0, 1 << 16, pairs, np.int32)), lw.ndarray(lw.i32, pairs)
    keys, keys_out = lw.from_numpy(rng.random(pairs, np.float32)), lw.ndarray(lw.f32, pairs)

    def rate(count: float, took: float) -> float:
        return count / took * 1e-9

    def beside(name: str, count: float) -> dict[str, float]:
        took = {"CUDA C++": cpp[name]} if cpp else {}
        took |= quadrants_seconds(quadrants, torch, name, x, out)
        return {other: rate(count, one) for other, one in took.items()}

    copies: dict[str, float] = {}
    if cupy is not None:
        source, target = cupy.asarray(x), cupy.asarray(out)
        copies["device copy"] = rate(8 * size, seconds(lambda: cupy.copyto(target, source)))
    elif cpp:
        copies["device copy"] = rate(8 * size, cpp["copy"])

    read = 4 * size + size // 8
    yield Row(
        "reduce_add f32", "GB/s", rate(read, seconds(lambda: reduce_add(x, out))), copies | beside("reduce_add", read)
    )
    both = 8 * size
    took = seconds(lambda: inclusive_add(x, out))
    yield Row("inclusive_add f32", "GB/s", rate(both, took), copies | beside("inclusive_add", both))
    took = seconds(lambda: bitonic_sort_kv(keys, values, keys_out, values_out))
    others = {"CUDA C++": cpp["bitonic_sort_kv"]} if cpp else {}
    others |= quadrants_seconds(quadrants, torch, "bitonic_sort_kv", keys, values, keys_out, values_out)
    others = {other: one * 1e3 for other, one in others.items()}
    yield Row(f"bitonic_sort_kv f32 / i32, {pairs >> 20} Mi", "ms", took * 1e3, others, more_is_better=False)

    threads = 64 * BLOCK * lw.current_device().engine.card.limits.multiprocessors  # type: ignore[attr-defined]

    one, partial, done = lw.ndarray(lw.f32, 1), lw.ndarray(lw.f32, 1), lw.ndarray(lw.i32, 1)
    others = {"CUB": rate(4 * size, cpp["cub_sum"])} if cpp else {}
    if torch is not None:
        tensor = torch.as_tensor(x, device="cuda")
        others["torch.sum"] = rate(4 * size, seconds(tensor.sum))
    if cupy is not None:
        others["cupy.sum"] = rate(4 * size, seconds(cupy.asarray(x).sum))
    yield Row(
        "sum to one value", "GB/s", rate(4 * size, seconds(lambda: sum_all(x, one, partial, done, threads, 32))), others
    )
    expected = float(x.to_numpy().sum(dtype=np.float64))
    assert abs(one[0] - expected) < 1e-4 * expected, (one[0], expected)

    taken, lanes = lw.ndarray(lw.i64, 32), lw.from_numpy(rng.integers(0, 1 << 16, 32, np.int32))
    for name, operation in CYCLES.items():
        for _ in range(3):
            cycles(operation, lanes, taken, ROUNDS)
        others = {"CUDA C++": cpp["cycles"][name]} if cpp else {}
        yield Row(f"{name} i32, a round of a loop", "cycles", taken[0] / ROUNDS, others, more_is_better=False)

    yield from launches(torch, cupy, quadrants)
    for name, took in first_calls().items():
        yield Row(name, "ms", took, {}, more_is_better=False)


def launches(torch: Any, cupy: Any, quadrants: Any) -> Iterator[Row]:
    """The host's time of small launches, all in turn."""
    small = [lw.ndarray(lw.f32, 256) for _ in range(3)]
    many = cycle([[lw.ndarray(lw.f32, 256) for _ in range(3)] for _ in range(500)])
    ours = {"lw.ndarray": lambda: add(*small), "lw.ndarray, others each time": lambda: add(*next(many))}
    others = {"bare cuLaunchKernel": bare_launch(small)}
    if torch is not None:
        tensors = [torch.zeros(256, device="cuda") for _ in range(3)]
        ours["torch tensors"] = lambda: add(*tensors)
    if cupy is not None:
        raw = cupy.RawKernel(
            'extern "C" __global__ void add(float *c, float *a, float *b, int n)'
            "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }",
            "add",
        )
        arguments = (*(cupy.asarray(a) for a in small), np.int32(256))
        others["CuPy RawKernel"] = lambda: raw((2,), (128,), arguments)
    if quadrants is not None:
        own = [quadrants.qd.ndarray(quadrants.qd.f32, 256) for _ in range(3)]
        others["Quadrants, its arrays"] = lambda: quadrants.add(*own)
        others["Quadrants, torch tensors"] = lambda: quadrants.add(*tensors)
    took = host_microseconds(ours | others)
    for name in ours:
        yield Row(f"launch, 3 {name}", "us", took[name], {other: took[other] for other in others}, more_is_better=False)


def bare_launch(arrays: list[lw.ndarray]) -> Callable[[], object]:
    """The driver's part of the same launch, with arguments made before."""
    add(*arrays)
    (loaded,) = [found for found in lw.current_device().compiled[add].values() if found.plans]
    (plan,) = loaded.plans.values()
    (send,) = plan.sends
    return lambda: send._launch(*send.call)


FIRST_CALL = """
import time, numpy as np, lanewise as lw, gpu
import lanewise.frontend.translate, lanewise.passes
from lanewise.backends.cuda import modules
device = lw.init(lw.cuda)
x, out = lw.ndarray(lw.f32, 1024), lw.ndarray(lw.f32, 1024)
lw.sync()
assembled = []
assemble = modules.PtxCompiler.assemble

def timed(self, ptx):
    start = time.perf_counter()
    try:
        return assemble(self, ptx)
    finally:
        assembled.append(time.perf_counter() - start)

modules.PtxCompiler.assemble = timed
start = time.perf_counter()
gpu.reduce_add(x, out)
lw.sync()
print((time.perf_counter() - start) * 1e3, sum(assembled) * 1e3)
"""


def first_calls() -> dict[str, float]:
    """The first call of a kernel in a new process, without and with its code in the disk cache."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(__file__).parent
        path = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "LANEWISE_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1", "PYTHONPATH": path}
        command = [sys.executable, "-c", FIRST_CALL]

        def run() -> list[float]:
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            return [float(word) for word in done.stdout.split()[-2:]]

        cold, assembler = run()
        warm = statistics.median(run()[0] for _ in range(5))
        return {
            "first call, cold, without the driver's assembler": cold - assembler,
            "the driver's assembler": assembler,
            "first call, new process, warm cache": warm,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1 << 28, help="elements of the arrays")
    parser.add_argument("--pairs", type=int, default=1 << 26, help="pairs to sort")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    device = lw.init(lw.cuda)
    found = list(rows(arguments.size, arguments.pairs))
    table = Table(title=f"{device.name}, {arguments.size * 4 >> 20} MiB of f32")
    for name, side in (("work", "left"), ("unit", "left"), ("lanewise", "right"), ("beside (times as good)", "left")):
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for row in found:
        others = ", ".join(f"{name} {other:.4g} ({row.ratio(other):.2f})" for name, other in row.others.items())
        table.add_row(row.work, row.unit, f"{row.ours:.4g}", others)
    Console(width=150).print(table)
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(row) for row in found], indent=2))


if __name__ == "__main__":
    main()
