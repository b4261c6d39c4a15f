"""Barriers of subgroups, fences, and the clock."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import block, grid, subgroup

from .harness import values


@lw.kernel
def swap_through_memory(
    x: lw.types.ndarray(dtype=lw.i64), kept: lw.types.ndarray(dtype=lw.i64), block_dim: lw.template()
):
    """Each lane reads what the opposite one of its subgroup wrote: to shared memory, then to the array."""
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        tile = block.SharedArray((block_dim,), lw.i64)
        opposite = i ^ (subgroup.group_size() - 1)
        tile[block.thread_idx()] = x[i]
        subgroup.sync()
        v = tile[opposite % block_dim]
        subgroup.sync()
        x[i] = v + 1
        subgroup.sync()
        kept[i] = x[opposite]


def test_subgroup_sync(device: lw.Device) -> None:
    size = device.subgroup_size
    given = values(lw.i64, 8 * size)
    x, kept = given.copy(), np.zeros_like(given)
    swap_through_memory(x, kept, 2 * size)
    with np.errstate(over="ignore"):
        assert (x == given.reshape(-1, size)[:, ::-1].reshape(-1) + 1).all()
        assert (kept == given + 1).all()


@lw.kernel
def last_block_sums(
    x: lw.types.ndarray(dtype=lw.u32),
    partial: lw.types.ndarray(dtype=lw.u32),
    done: lw.types.ndarray(dtype=lw.i32),
    total: lw.types.ndarray(dtype=lw.u32),
):
    """Each block publishes its sum; whichever ends last adds them up, and must see them all."""
    lw.loop_config(block_dim=64)
    for i in range(x.shape[0]):
        own = block.reduce_add(x[i])
        if block.thread_idx() == 0:
            partial[block.block_idx()] = own
            grid.mem_fence()
            if lw.atomic_add(done[0], 1) == grid.num_blocks() - 1:
                grid.mem_fence()
                r = lw.cast(0, lw.u32)
                for b in range(grid.num_blocks()):
                    r += partial[b]
                total[0] = r


def test_grid_fence(few_devices: lw.Device) -> None:
    x = values(lw.u32, 64 * 50 - 3)
    partial, done, total = np.zeros(50, np.uint32), np.zeros(1, np.int32), np.zeros(1, np.uint32)
    last_block_sums(x, partial, done, total)
    assert done[0] == 50
    assert int(total[0]) == int(x.astype(np.uint64).sum()) % (1 << 32)


@lw.kernel
def fenced(x: lw.types.ndarray(dtype=lw.i32), out: lw.types.ndarray(dtype=lw.i32), scope: lw.template()):
    for i in range(x.shape[0]):
        out[i] = x[i]
        subgroup.mem_fence(scope)
        if x[i] > 0:
            block.mem_fence(scope)
            out[i] += 1
        grid.mem_fence()


@pytest.mark.parametrize("scope", ["all", "buffer", "shared"])
def test_fences_stand_anywhere(few_devices: lw.Device, scope: str) -> None:
    x, out = np.arange(-50, 50, dtype=np.int32), np.zeros(100, np.int32)
    fenced(x, out, scope)
    assert (out == x + (x > 0)).all()


@lw.kernel
def timed(out: lw.types.ndarray()):
    for i in range(out.shape[1]):
        start = lw.simt.clock()
        k = 0
        while k < 100 + i:
            k += 1
        out[1, i] = lw.simt.clock()
        out[0, i] = start


def test_clock(few_devices: lw.Device) -> None:
    out = np.zeros((2, 64), np.uint64)
    timed(out)
    assert (out[0] > 0).all()
    assert (out[1] >= out[0]).all()
    before = out[1].max()
    timed(out)
    assert (out[0] >= before).all()
