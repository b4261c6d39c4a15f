"""Atomics of every type and kind under contention, on arrays and shared arrays, at addresses of every alignment."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import block

Arr = np.ndarray[Any, Any]
INTEGERS = [lw.i8, lw.i16, lw.i32, lw.i64, lw.u8, lw.u16, lw.u32, lw.u64]
FLOATS = [lw.f16, lw.f32, lw.f64]
ROWS, CELLS, N = 7, 5, 1000
"""A row of cells for each kind: elements of every alignment, whose words hold elements of other cells too."""
FOLDS = (np.add, np.subtract, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)


@lw.func
def update(cells, cell, value, bits: lw.template()):
    lw.atomic_add(cells[0, cell], value)
    lw.atomic_sub(cells[1, cell], value)
    lw.atomic_min(cells[2, cell], value)
    lw.atomic_max(cells[3, cell], value)
    if lw.static(bits):
        lw.atomic_and(cells[4, cell], value)
        lw.atomic_or(cells[5, cell], value)
        lw.atomic_xor(cells[6, cell], value)


def on_an_array(dtype: lw.DType) -> Any:
    bits = not dtype.is_float

    @lw.kernel
    def kernel(
        values: lw.types.ndarray(dtype=dtype, ndim=1),
        cells: lw.types.ndarray(dtype=lw.i32, ndim=1),
        out: lw.types.ndarray(dtype=dtype, ndim=2),
    ):
        for i in range(values.shape[0]):
            update(out, cells[i], values[i], bits)

    return kernel


def on_a_shared_array(dtype: lw.DType) -> Any:
    bits = not dtype.is_float

    @lw.kernel
    def kernel(
        values: lw.types.ndarray(dtype=dtype, ndim=1),
        cells: lw.types.ndarray(dtype=lw.i32, ndim=1),
        out: lw.types.ndarray(dtype=dtype, ndim=2),
    ):
        lw.loop_config(block_dim=64)
        for i in range(64):
            tile = block.SharedArray((7, 5), dtype)
            if i < 35:
                tile[i // 5, i % 5] = out[i // 5, i % 5]
            block.sync()
            for step in range((values.shape[0] - i + 63) // 64):
                update(tile, cells[i + 64 * step], values[i + 64 * step], bits)
            block.sync()
            if i < 35:
                out[i // 5, i % 5] = tile[i // 5, i % 5]

    return kernel


def runs(device: lw.Device, dtype: lw.DType, kernel: Any, *args: Any) -> bool:
    """Launch; whether the device can.  One that has not the type says so."""
    if dtype in device.properties.dtypes:
        kernel(*args)
        return True
    with pytest.raises(lw.CompileError, match=f"has no {dtype}"):
        kernel(*args)
    return False


@pytest.mark.parametrize("make", [on_an_array, on_a_shared_array])
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_updates(vulkan: lw.Device, dtype: lw.DType, make: Callable[[lw.DType], Any]) -> None:
    """The order changes nothing: the values are small, and floats are whole numbers."""
    rng = np.random.default_rng(1)
    cells = rng.integers(0, CELLS, N).astype(np.int32)
    values = rng.integers(0, 3, N).astype(dtype.np)
    got = np.tile(np.arange(1, CELLS + 1), (ROWS, 1)).astype(dtype.np)
    want = got.copy()
    if not runs(vulkan, dtype, make(dtype), values, cells, got):
        return
    for row, fold in enumerate(FOLDS[:4] if dtype.is_float else FOLDS):
        fold.at(want[row], cells, values)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_exchange_hands_every_value_on(vulkan: lw.Device, dtype: lw.DType) -> None:
    """What was written is given out once, or is still there."""
    line = lw.types.ndarray(dtype=dtype, ndim=1)

    @lw.kernel
    def kernel(cell: line, old: line):
        for i in range(old.shape[0]):
            old[i] = lw.atomic_exchange(cell[1], lw.cast(i + 1, dtype))

    cell, old = np.zeros(3, dtype.np), np.zeros(100, dtype.np)
    if not runs(vulkan, dtype, kernel, cell, old):
        return
    assert sorted([*old, cell[1]]) == list(range(101))
    assert (cell[0], cell[2]) == (0, 0)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_one_thread_wins_a_compare_and_swap(vulkan: lw.Device, dtype: lw.DType) -> None:
    line = lw.types.ndarray(dtype=dtype, ndim=1)

    @lw.kernel
    def kernel(cells: line, old: line):
        for i in range(old.shape[0]):
            old[i] = lw.atomic_cas(cells[i % 3], lw.cast(5, dtype), lw.cast(i, dtype))

    cells, old = np.full(3, 5, dtype.np), np.zeros(96, dtype.np)
    if not runs(vulkan, dtype, kernel, cells, old):
        return
    for cell in range(3):
        winners = [i for i in range(cell, 96, 3) if old[i] == 5 and cells[cell] == i]
        assert len(winners) == 1
        assert all(old[i] == cells[cell] for i in range(cell, 96, 3) if i not in winners)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_extremes(vulkan: lw.Device, dtype: lw.DType) -> None:
    """min and max skip NaN and put -0 below +0; a compare and swap compares bits."""
    line = lw.types.ndarray(dtype=dtype, ndim=1)

    @lw.kernel
    def kernel(out: line, zero: dtype, nan: dtype):
        for _ in range(1):
            lw.atomic_min(out[0], -zero)
            lw.atomic_max(out[1], zero)
            lw.atomic_min(out[2], nan)
            lw.atomic_max(out[3], lw.cast(2, dtype))
            lw.atomic_cas(out[4], nan, lw.cast(3, dtype))
            lw.atomic_cas(out[5], zero, lw.cast(3, dtype))

    out = np.array([0.0, -0.0, 1.0, np.nan, np.nan, -0.0], dtype.np)
    if not runs(vulkan, dtype, kernel, out, 0.0, float("nan")):
        return
    assert np.signbit(out[0])
    assert not np.signbit(out[1])
    assert (out[2], out[3], out[4]) == (1, 2, 3)
    assert out[5] == 0
