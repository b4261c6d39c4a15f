"""lanewise on the CPU beside NumPy and Numba, in one run.

    python benchmarks/cpu.py [NAME ...]

Every row times both in turn (benchmarks/pairs.py); NAME picks rows by a part of their names.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numba
import numpy as np
from first_calls import F32, I32, scan, sort_rows
from pairs import Row, compare, show

import lanewise as lw
from lanewise.simt import block, subgroup

W = 32
MI = 1 << 20
HERE = Path(__file__).parent
rng = np.random.default_rng(0)


# ---- kernels --------------------------------------------------------------------------------------------------------
LOADS = 8


@lw.kernel
def sum_of(x: F32, out: F32, blocks: lw.i32, run: lw.i32):
    """Each block of one subgroup adds up a run of elements, in LOADS sums that do not wait for one another."""
    lw.loop_config(block_dim=W)
    for t in range(blocks * W):
        lane = t % W
        at = t // W * run
        end = lw.min(at + run, x.shape[0])
        sums = lw.Vector([0.0] * LOADS)
        while at <= end - LOADS * W:
            for k in lw.static(range(LOADS)):
                sums[k] += x[at + k * W + lane]
            at += LOADS * W
        while at < end:
            if at + lane < end:
                sums[0] += x[at + lane]
            at += W
        total = 0.0
        for k in lw.static(range(LOADS)):
            total += sums[k]
        total = subgroup.reduce_all_add(total)
        if subgroup.elect():
            out[0] += total


@lw.kernel
def fold_rows(x: F32, out: F32, op: lw.template()):
    for i in range(x.shape[0]):
        total = op(x[i])
        if subgroup.invocation_id() == 0:
            out[i // W] = total


@lw.kernel
def min_max_rows(x: F32, low: F32, high: F32):
    for i in range(x.shape[0]):
        least, most = subgroup.reduce_min(x[i]), subgroup.reduce_max(x[i])
        if subgroup.invocation_id() == 0:
            low[i // W] = least
            high[i // W] = most


@lw.kernel
def mandelbrot(out: I32, size: lw.i32, limit: lw.i32):
    for i in range(size * size):
        cx = lw.cast(i % size, lw.f32) * 3.0 / lw.cast(size, lw.f32) - 2.0
        cy = lw.cast(i // size, lw.f32) * 3.0 / lw.cast(size, lw.f32) - 1.5
        x, y = 0.0, 0.0
        n = 0
        while n < limit and x * x + y * y < 4.0:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            n += 1
        out[i] = n


@lw.kernel
def gather(x: F32, index: I32, out: F32):
    for i in range(out.shape[0]):
        out[i] = x[index[i]]


BLOCK = 256


@lw.kernel
def smooth(x: F32, out: F32):
    """Three rounds of a blur within blocks, each behind a barrier."""
    lw.loop_config(block_dim=BLOCK)
    for i in range(x.shape[0]):
        here = block.SharedArray(BLOCK, lw.f32)
        there = block.SharedArray(BLOCK, lw.f32)
        t = block.thread_idx()
        left, right = lw.max(t - 1, 0), lw.min(t + 1, BLOCK - 1)
        here[t] = x[i]
        block.sync()
        there[t] = (here[left] + here[t] + here[right]) / 3.0
        block.sync()
        here[t] = (there[left] + there[t] + there[right]) / 3.0
        block.sync()
        out[i] = (here[left] + here[t] + here[right]) / 3.0


@lw.kernel
def add(c: F32, a: F32):
    for i in range(c.shape[0]):
        c[i] = c[i] + a[i]


# ---- the same in Numba ----------------------------------------------------------------------------------------------
jit = partial(numba.njit, parallel=True, cache=False)


@jit
def numba_sum(x):
    total = np.float32(0)
    for i in numba.prange(x.size):
        total += x[i]
    return total


@jit
def numba_fold_rows(x, out):
    for row in numba.prange(out.size):
        total = np.float32(0)
        for k in range(W):
            total += x[row * W + k]
        out[row] = total


@jit
def numba_scan_rows(x, out):
    for row in numba.prange(x.size // W):
        total = np.float32(0)
        for k in range(W):
            total += x[row * W + k]
            out[row * W + k] = total


@jit
def numba_min_max_rows(x, low, high):
    for row in numba.prange(low.size):
        least = most = x[row * W]
        for k in range(1, W):
            least = min(least, x[row * W + k])
            most = max(most, x[row * W + k])
        low[row], high[row] = least, most


@jit
def numba_mandelbrot(out, size, limit):
    for i in numba.prange(size * size):
        cx = np.float32(i % size) * np.float32(3) / np.float32(size) - np.float32(2)
        cy = np.float32(i // size) * np.float32(3) / np.float32(size) - np.float32(1.5)
        x = y = np.float32(0)
        n = 0
        while n < limit and x * x + y * y < np.float32(4):
            x, y = x * x - y * y + cx, np.float32(2) * x * y + cy
            n += 1
        out[i] = n


@jit
def numba_gather(x, index, out):
    for i in numba.prange(out.size):
        out[i] = x[index[i]]


@jit
def numba_smooth(x, here, there, out):
    third = np.float32(3)
    for source, target in ((x, here), (here, there), (there, out)):
        for b in numba.prange(x.size // BLOCK):
            for t in range(BLOCK):
                left, right = max(t - 1, 0), min(t + 1, BLOCK - 1)
                s = b * BLOCK
                target[s + t] = (source[s + left] + source[s + t] + source[s + right]) / third


@numba.njit
def numba_nothing(c, a):
    pass


# ---- rows -----------------------------------------------------------------------------------------------------------
def scan_row() -> Row:
    x = rng.random(16 * MI, np.float32)
    out, copied = np.empty_like(x), np.empty_like(x)
    row = compare(
        "inclusive_add, 64 MiB, all cores",
        lambda: scan(x, out),
        {"np.copyto": lambda: np.copyto(copied, x)},
        items=x.size,
        wanted={"np.copyto": 1 / 1.3},
    )
    np.testing.assert_allclose(out.reshape(-1, W), np.cumsum(x.reshape(-1, W), axis=1), rtol=1e-5)
    return row


def sum_row() -> Row:
    x = rng.random(64 * MI, np.float32)
    out, run = np.zeros(1, np.float32), 1 << 18

    def ours() -> None:
        out[0] = 0
        sum_of(x, out, -(-x.size // run), run)

    row = compare(
        "sum of 256 MiB by reduce_all_add",
        ours,
        {"np.sum": lambda: np.sum(x), "Numba prange": lambda: numba_sum(x)},
        items=x.size,
        wanted={"np.sum": 1, "Numba prange": 1},
    )
    np.testing.assert_allclose(out[0], x.sum(dtype=np.float64), rtol=1e-5)
    return row


def sort_row() -> Row:
    keys, values = rng.random(2 * MI, np.float32), np.arange(2 * MI, dtype=np.int32)
    keys_out, values_out = np.empty_like(keys), np.empty_like(values)
    with lw.use(lw.init(lw.cpu, subgroup_size=W, threads=1)):
        row = compare(
            "bitonic_sort_kv, rows of 32, one thread",
            lambda: sort_rows(keys, values, keys_out, values_out),
            {"np.argsort": lambda: np.argsort(keys.reshape(-1, W), axis=1)},
            items=keys.size,
            wanted={"np.argsort": 5},
        )
    np.testing.assert_array_equal(keys_out.reshape(-1, W), np.sort(keys.reshape(-1, W), axis=1))
    np.testing.assert_array_equal(keys[values_out], keys_out)
    return row


def fold_row() -> Row:
    x = rng.random(2 * MI, np.float32)
    out, other = np.empty((2, x.size // W), np.float32)
    row = compare(
        "reduce_add of rows of 32, 8 MiB",
        lambda: fold_rows(x, out, subgroup.reduce_add),
        {"Numba prange": lambda: numba_fold_rows(x, other)},
        items=x.size,
        wanted={"Numba prange": 2},
    )
    np.testing.assert_allclose(out, other, rtol=1e-5)
    return row


def row_scan_row() -> Row:
    x = rng.random(2 * MI, np.float32)
    out, other = np.empty((2, x.size), np.float32)
    row = compare(
        "inclusive_add of rows of 32, 8 MiB",
        lambda: scan(x, out),
        {"Numba prange": lambda: numba_scan_rows(x, other)},
        items=x.size,
        wanted={"Numba prange": 2},
    )
    np.testing.assert_allclose(out, other, rtol=1e-5)
    return row


def min_max_row() -> Row:
    x = rng.random(2 * MI, np.float32)
    low, high, low2, high2 = np.empty((4, x.size // W), np.float32)
    row = compare(
        "reduce_min and reduce_max of rows of 32, 8 MiB",
        lambda: min_max_rows(x, low, high),
        {"Numba prange": lambda: numba_min_max_rows(x, low2, high2)},
        items=x.size,
        wanted={"Numba prange": 2},
    )
    np.testing.assert_array_equal((low, high), (low2, high2))
    return row


def mandelbrot_row(size: int = 2048, limit: int = 256) -> Row:
    out, other = np.empty((2, size * size), np.int32)
    row = compare(
        f"Mandelbrot set, {size} x {size}",
        lambda: mandelbrot(out, size, limit),
        {"Numba prange": lambda: numba_mandelbrot(other, size, limit)},
        items=size * size,
        wanted={"Numba prange": 2},
        rounds=5,
    )
    assert (out != other).mean() < 0.01  # Numba may contract
    return row


def gather_row() -> Row:
    x, index = rng.random(4 * MI, np.float32), rng.integers(0, 4 * MI, 4 * MI, np.int32)
    out, other = np.empty_like(x), np.empty_like(x)
    row = compare(
        "gather from 16 MiB",
        lambda: gather(x, index, out),
        {"Numba prange": lambda: numba_gather(x, index, other)},
        items=x.size,
        wanted={"Numba prange": 1},
    )
    np.testing.assert_array_equal(out, other)
    return row


def barrier_row() -> Row:
    x = rng.random(4 * MI, np.float32)
    here, there, out, other = np.empty((4, x.size), np.float32)
    row = compare(
        "block of 256, shared memory, three barriers",
        lambda: smooth(x, out),
        {"three Numba loops": lambda: numba_smooth(x, here, there, other)},
        items=x.size,
        wanted={},
    )
    np.testing.assert_allclose(out, other, rtol=1e-5)
    return row


def _calls(call: Callable[[], object], count: int = 1000) -> Callable[[], None]:
    def run() -> None:
        for _ in range(count):
            call()

    return run


def launch_rows() -> Iterator[Row]:
    c, a = np.zeros((2, 1024), np.float32)
    of_ours = lw.from_numpy(c), lw.from_numpy(a)
    for name, arrays in (("lw.ndarray", of_ours), ("NumPy", (c, a))):
        yield compare(
            f"launch of 1,024 items, 2 {name}, a call",
            _calls(lambda arrays=arrays: add(*arrays)),
            {"an empty Numba call": _calls(lambda: numba_nothing(c, a))},
            items=1000,
            wanted={},
        )


def as_a_user_has_it() -> dict[str, str]:
    """The environment of a process whose modules are compiled once."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def first_call_rows() -> Iterator[Row]:
    """In new processes; their times are printed by themselves."""
    for name, code in FIRST_CALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            environment = as_a_user_has_it() | {"LANEWISE_CACHE_DIR": folder}

            def once(code: str = code, environment: dict[str, str] = environment) -> float:
                done = subprocess.run(
                    [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
                )
                return float(done.stdout)

            cold = [once(environment=environment | {"LANEWISE_CACHE_DIR": ""}) for _ in range(5)]
            once()
            warm = [once() for _ in range(5)]
        yield Row(f"first call of {name}, cold (median of 5)", sorted(cold)[2], 1, {}, {})
        yield Row(f"first call of {name}, from the disk cache", sorted(warm)[2], 1, {}, {})


_FIRST = """
import sys, time, numpy as np, lanewise as lw
sys.path.insert(0, {folder!r})
from first_calls import {kernel}
lw.init(lw.cpu, subgroup_size={width})
arrays = [np.zeros(1024, t) for t in {types}]
start = time.perf_counter()
{kernel}(*arrays)
print(time.perf_counter() - start)
"""
FIRST_CALLS = {
    "a small kernel": _FIRST.format(folder=str(HERE), kernel="scan", width=32, types="('f4', 'f4')"),
    "the W = 64 bitonic sort": _FIRST.format(folder=str(HERE), kernel="sort_rows", width=64, types="('f4', 'i4') * 2"),
}


def import_row() -> Iterator[Row]:
    def once(module: str) -> float:
        code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=as_a_user_has_it(), check=True, capture_output=True, text=True)
        return float(done.stdout)

    for module in ("numpy", "lanewise"):
        yield Row(f"import {module} (median of 9)", sorted(once(module) for _ in range(9))[4], 1, {}, {})


def rows(names: list[str]) -> Iterator[Row]:
    single = (
        scan_row, sum_row, sort_row, fold_row, row_scan_row, min_max_row, mandelbrot_row, gather_row, barrier_row
    )  # fmt: skip
    several = (launch_rows, first_call_rows, import_row)

    def wanted(function: Callable[..., object]) -> bool:
        return not names or any(name in function.__name__ for name in names)

    for row in single:
        if wanted(row):
            yield row()
    for made in several:
        if wanted(made):
            yield from made()


if __name__ == "__main__":
    device = lw.init(lw.cpu, subgroup_size=W)
    threads = device.properties.threads
    numba.set_num_threads(threads)
    with lw.use(device):  # also after a row that makes another one
        show(f"{device.name}, {threads} threads, W = {W}, f32", list(rows(sys.argv[1:])))
