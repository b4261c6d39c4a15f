"""Memory that LLVM seldom leaves in registers: scratch, LDS, atomics of every kind, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import block
from tests.amdgpu.isa.engine import device

from .test_isa_lanes import GENERATIONS

N = 200

each_generation = pytest.mark.parametrize(("arch", "size"), GENERATIONS, ids=str)


@lw.kernel
def histogram(x: lw.types.ndarray(lw.i32, 1), out: lw.types.ndarray(lw.i32, 1)):
    """A private array with indices known at run time, which lies in scratch."""
    for i in range(out.shape[0]):
        seen = lw.local_array(8, lw.i32)
        for k in range(8):
            seen[k] = 0
        for j in range(i % 5 + 3):
            seen[x[i + j] % 8] += j + 1
        total = 0
        for k in range(8):
            total = total * 3 + seen[k]
        out[i] = total


@each_generation
def test_scratch(arch: str, size: int) -> None:
    x = np.random.default_rng(1).integers(0, 100, N + 8).astype(np.int32)
    out = np.zeros(N, np.int32)
    with lw.use(device(arch, size)):
        histogram(x, out)
    for i in range(N):
        seen = [0] * 8
        for j in range(i % 5 + 3):
            seen[x[i + j] % 8] += j + 1
        total = 0
        for k in range(8):
            total = total * 3 + seen[k]
        assert out[i] == total, i


@lw.kernel
def atomics(x: lw.types.ndarray(), out: lw.types.ndarray(), old: lw.types.ndarray(), shared: lw.template()):
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        if lw.static(shared):
            cells = block.SharedArray(4, x.dtype)
            if block.thread_idx() < 4:
                cells[block.thread_idx()] = out[block.thread_idx()]
            block.sync()
            old[i] = lw.atomic_add(cells[0], x[i])
            lw.atomic_min(cells[1], x[i])
            lw.atomic_max(cells[2], x[i])
            lw.atomic_sub(cells[3], x[i])
            block.sync()
            if block.thread_idx() < 4:
                out[block.thread_idx()] = cells[block.thread_idx()]
        else:
            old[i] = lw.atomic_add(out[0], x[i])
            lw.atomic_min(out[1], x[i])
            lw.atomic_max(out[2], x[i])
            lw.atomic_sub(out[3], x[i])


@each_generation
@pytest.mark.parametrize("shared", [False, True], ids=["global", "shared"])
@pytest.mark.parametrize("dtype", [lw.i32, lw.u32, lw.i64, lw.f32, lw.f64], ids=str)
def test_atomics(arch: str, size: int, shared: bool, dtype: lw.DType) -> None:
    x = np.random.default_rng(2).integers(1, 100, N).astype(dtype.np)  # sums are exact in any order
    out, old = np.full(4, 50, dtype.np), np.zeros(N, dtype.np)
    with lw.use(device(arch, size)):
        atomics(x, out, old, shared)
    with np.errstate(over="ignore"):
        want = np.array([50, 50, 50, 50], dtype.np) + np.array([x.sum(), 0, 0, 0], dtype.np)
        want[1:] = min(50, x.min()), max(50, x.max()), want[3] - x.sum(dtype=dtype.np)
    np.testing.assert_array_equal(out, want)
    first = np.sort(old)
    np.testing.assert_array_equal(np.diff(np.append(first, out[0])).sum(), x.sum())
    assert sorted(np.diff(np.append(first, out[0]))) == sorted(x)  # each took the sum of those before it
