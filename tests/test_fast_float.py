"""`init(fast_float=True)`: products are fused with the sums that read them, the same ones on every device."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw

Floats = lw.types.ndarray(lw.f32, 1)


@lw.kernel
def sums(x: Floats, y: Floats, added: Floats, less: Floats, from_y: Floats, kept: Floats):
    for i in range(x.shape[0]):
        added[i] = x[i] * y[i] + 1.0
        less[i] = x[i] * y[i] - y[i]
        from_y[i] = y[i] - x[i] * x[i]
        product = x[i] * y[i]  # read twice: it has to be there
        kept[i] = product + product


@pytest.mark.parametrize("fast", [False, True])
def test_contraction(fast: bool, arch: str) -> None:
    lw.init(arch, fast_float=fast)
    x, y = np.random.default_rng(2).random((2, 1001), np.float32)
    added, less, from_y, kept = np.empty((4, 1001), np.float32)
    sums(x, y, added, less, from_y, kept)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)  # in f64 the products are exact, and the sums nearly
    once = [wide_x * wide_y + 1, wide_x * wide_y - wide_y, wide_y - wide_x * wide_x]
    twice = [x * y + np.float32(1), x * y - y, y - x * x]
    for got, fused, rounded in zip((added, less, from_y), once, twice, strict=True):
        expected = fused.astype(np.float32) if fast else rounded
        if fast and arch == "vulkan":  # an API that lets a driver make two operations of an fma
            expected = np.where(got == rounded, rounded, expected)
        np.testing.assert_array_equal(got, expected)
        assert (fused.astype(np.float32) != rounded).any()  # or this test could not fail
    np.testing.assert_array_equal(kept, x * y + x * y)
