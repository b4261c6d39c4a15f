"""Threads that carry several logical blocks: the same results, with many groups, few, and one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.backends.gpu import schedule
from lanewise.backends.vulkan.pipelines import SpirvCompiler
from lanewise.simt import block, subgroup

Arr = np.ndarray[Any, Any]
LINE = lw.types.ndarray(dtype=lw.f32, ndim=1)
SIZES = (1, 127, 128, 4 * 128, 5 * 128 + 3, 40 * 128 - 1, 97 * 128)


@pytest.fixture(params=[(2, 1 << 31), (4, 1), (8, 3)], ids=lambda param: f"{param[0]} blocks, {param[1]} groups a unit")
def carried(
    request: pytest.FixtureRequest, vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, int]]:
    """Compiles for GPUs' schedules on any device; the blocks that each kernel's threads carry, by its name."""
    chosen = schedule.Schedule(*request.param)
    monkeypatch.setattr(schedule, "ONE_BY_ONE", chosen)
    monkeypatch.setattr(schedule, "schedule", lambda kernel: chosen)
    monkeypatch.setenv("LANEWISE_CACHE_DIR", "")
    found: dict[str, int] = {"asked": chosen.items}
    make = SpirvCompiler.function

    def function(self: Any, *args: Any, **options: Any) -> Any:
        made = make(self, *args, **options)
        found[args[0].name] = made.items
        return made

    monkeypatch.setattr(SpirvCompiler, "function", function)
    device = lw.init(lw.vulkan)
    lw.reset()
    with lw.use(device):
        yield found


@lw.kernel
def scans(x: LINE, out: LINE):
    for i in range(x.shape[0]):
        out[i] = subgroup.inclusive_add(x[i])


@lw.kernel
def counts(x: LINE, out: LINE, total: lw.types.ndarray(dtype=lw.i32, ndim=1)):
    """Lanes leave a loop at different times; an atomic; the number of the block."""
    for i in range(x.shape[0]):
        steps = 0
        while steps < i % 5:
            steps += 1
            if x[i] < 0:
                break
        out[i] = subgroup.reduce_all_add(steps) + block.block_idx()
        lw.atomic_add(total[0], steps)


@lw.kernel
def local_sums(x: LINE, out: LINE):
    for i in range(x.shape[0]):
        mine = lw.local_array((4,), lw.f32)
        for k in range(4):
            mine[k] = x[i] * k
        out[i] = mine[1] + mine[i % 4]


@pytest.mark.parametrize("n", SIZES)
def test_scans(carried: dict[str, int], n: int) -> None:
    x, out = np.arange(n, dtype=np.float32) % 7, np.zeros(n, np.float32)
    scans(x, out)
    width = lw.current_device().subgroup_size
    rows = np.concatenate([x, np.zeros(-n % width, np.float32)]).reshape(-1, width)
    np.testing.assert_array_equal(out, rows.cumsum(1).reshape(-1)[:n])
    assert carried["scans"] == carried["asked"]


@pytest.mark.parametrize("n", SIZES)
def test_control_flow(carried: dict[str, int], n: int) -> None:
    i = np.arange(n)
    x = np.where(i % 3 == 0, -1, 1).astype(np.float32)
    out, total = np.zeros(n, np.float32), np.zeros(1, np.int32)
    counts(x, out, total)
    steps = np.where(x < 0, np.minimum(i % 5, 1), i % 5)
    width = lw.current_device().subgroup_size
    sums = np.add.reduceat(steps, np.arange(0, n, width)).repeat(width)[:n]
    np.testing.assert_array_equal(out, sums + i // 128)
    assert total[0] == steps.sum()


def test_local_arrays_are_not_shared(carried: dict[str, int]) -> None:
    """They would be, as a thread has them once: such a kernel runs block by block."""
    n = 40 * 128
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    local_sums(x, out)
    np.testing.assert_array_equal(out, x + x * (np.arange(n) % 4))
    assert carried["local_sums"] == 1


def test_rows(carried: dict[str, int]) -> None:
    @lw.kernel
    def transposed(x: lw.types.ndarray(dtype=lw.i32, ndim=2), out: lw.types.ndarray(dtype=lw.i32, ndim=2)):
        for i, j in lw.ndrange(x.shape[0], x.shape[1]):
            out[j, i] = x[i, j] + subgroup.broadcast_first(x[i, j])

    x = np.arange(96 * 64, dtype=np.int32).reshape(96, 64)
    out = np.zeros((64, 96), np.int32)
    transposed(x, out)
    width = lw.current_device().subgroup_size
    first = x.reshape(-1, width)[:, :1].repeat(width, 1).reshape(x.shape)
    np.testing.assert_array_equal(out, (x + first).T)
