"""Whole arrays: beside NumPy, at sizes about a block's, on every backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

import lanewise as lw
from lanewise import algorithms

from .conftest import ARCHES, SIZES_OF, made

SIZES = (0, 1, 255, 1100)


FEW_SIZES = {"cpu": (8,), "interpreter": (64,)} | SIZES_OF


@pytest.fixture(
    params=[(arch, W) for arch in ARCHES for W in FEW_SIZES[arch]], ids=lambda param: f"{param[0]}-{param[1]}"
)
def device(request: pytest.FixtureRequest) -> Iterator[lw.Device]:
    """Fewer than for a single operation: these are made of those."""
    with lw.use(made(*request.param)) as chosen:
        yield chosen


def values(n: int, dtype: Any = np.int32) -> np.ndarray:
    numbers = np.random.default_rng(n).integers(-60, 60, n)
    return (numbers > 0 if dtype is np.bool_ else numbers.astype(np.int8)).astype(dtype)


@lw.func
def latest(a, b):
    """Associative, but a and b must not change places."""
    return a if b == 0 else b


@lw.func
def bits_of_both(a, b):
    return a | b


@pytest.mark.parametrize("n", SIZES)
def test_reduce(device: lw.Device, n: int) -> None:
    x = values(n)
    assert algorithms.reduce(x) == x.sum()
    assert algorithms.reduce(x, "min") == (x.min() if n else 2**31 - 1)
    assert algorithms.reduce(x, "max") == (x.max() if n else -(2**31))
    assert algorithms.reduce(x, bits_of_both, identity=0) == np.bitwise_or.reduce(x)
    assert algorithms.reduce(np.ones(n, np.float16), "mul") == 1


def test_reduce_of_floats() -> None:
    x = np.random.default_rng(0).normal(size=100_000).astype(np.float32)
    results = set()
    for arch in (lw.cpu, lw.interpreter):
        lw.init(arch, subgroup_size=16)
        results.add(algorithms.reduce(x).tobytes())
    assert len(results) == 1  # the same bits
    assert np.frombuffer(results.pop(), np.float32)[0] == pytest.approx(x.sum(dtype=np.float64), abs=0.01)
    x[::3] = np.nan
    assert algorithms.reduce(x, "max") == np.nanmax(x)
    assert algorithms.reduce(x[:1], "min") == np.inf


@pytest.mark.parametrize("n", SIZES)
def test_scans(device: lw.Device, n: int) -> None:
    x = values(n)
    np.testing.assert_array_equal(algorithms.inclusive_scan(x), np.cumsum(x))
    np.testing.assert_array_equal(algorithms.exclusive_scan(x), np.cumsum(x) - x)
    np.testing.assert_array_equal(algorithms.inclusive_scan(x, "max"), np.maximum.accumulate(x))
    sparse = np.where(x % 5 == 0, x, 0)
    filled = sparse[np.maximum.accumulate(np.where(sparse != 0, np.arange(n), 0))] if n else sparse
    np.testing.assert_array_equal(algorithms.inclusive_scan(sparse, latest, identity=0), filled)
    in_place = x.copy()
    assert algorithms.exclusive_scan(in_place, out=in_place) is in_place
    np.testing.assert_array_equal(in_place, np.cumsum(x) - x)


def test_a_long_scan() -> None:
    """More chunks than one round of the block that scans their sums takes."""
    x = values(256 * 256 * 2 + 77)
    np.testing.assert_array_equal(algorithms.inclusive_scan(x), np.cumsum(x))


@pytest.mark.parametrize("n", SIZES)
def test_select(device: lw.Device, n: int) -> None:
    x = values(n)
    for keep in (x > 0, np.zeros(n, bool), np.ones(n, np.int8), x % 7):
        np.testing.assert_array_equal(algorithms.select(x, keep), x[keep != 0])


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int32, np.uint64, np.float16, np.float64])
def test_sort(device: lw.Device, dtype: Any) -> None:
    for n in (1, 300):
        keys, places = values(n, dtype), np.arange(n, dtype=np.int32)
        order = np.argsort(keys, kind="stable")
        got_keys, got_places = algorithms.sort(keys, places)
        np.testing.assert_array_equal(got_keys, keys[order])
        np.testing.assert_array_equal(got_places, order)


def test_sort_of_special_floats() -> None:
    keys = np.array([np.nan, 1, -np.inf, 0.0, np.inf, -0.0, -1e-40, 5e-324, -3], np.float64)
    result = algorithms.sort(keys)
    np.testing.assert_array_equal(result, [-np.inf, -3, -1e-40, -0.0, 0.0, 5e-324, 1, np.inf, np.nan])
    assert np.signbit(result[3:5]).tolist() == [True, False]


def test_arrays_on_the_device_stay_there(device: lw.Device) -> None:
    x = values(600)
    on_device = lw.from_numpy(x)
    results = (
        algorithms.inclusive_scan(on_device),
        algorithms.select(on_device, lw.from_numpy(x > 0)),
        algorithms.sort(on_device),
    )
    wanted = (np.cumsum(x, dtype=np.int32), x[x > 0], np.sort(x))
    for got, want in zip(results, wanted, strict=True):
        assert isinstance(got, lw.ndarray)
        np.testing.assert_array_equal(got.to_numpy(), want)
    assert algorithms.reduce(on_device) == x.sum()
    assert algorithms.reduce(on_device).dtype == np.int32


class Lent:
    """Lends memory, and is no array of NumPy's."""

    def __init__(self, array: np.ndarray) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array = array


def test_strided_and_lent_arrays() -> None:
    x = values(999)
    assert algorithms.reduce(x[::-3]) == x[::-3].sum()
    np.testing.assert_array_equal(algorithms.sort(x[1::2]), np.sort(x[1::2]))
    lent = Lent(x)
    np.testing.assert_array_equal(algorithms.inclusive_scan(lent).to_numpy(), np.cumsum(x))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: algorithms.reduce(np.zeros((2, 2))), "expected an array of one axis"),
        (lambda: algorithms.reduce(np.zeros(2), "sum"), "expected op among add, mul, min, max"),
        (lambda: algorithms.reduce(np.zeros(2), latest), "expected the identity"),
        (lambda: algorithms.select(np.zeros(2), np.zeros(3, bool)), "expected as many flags as elements"),
        (lambda: algorithms.sort(np.zeros(2), np.zeros(3)), "expected as many values as keys"),
        (lambda: algorithms.reduce(np.zeros(2, complex)), "scalar type"),
        (lambda: algorithms.reduce([1, 2]), "list"),
        (lambda: algorithms.reduce(np.zeros(2), cast(Any, None)), "expected op among add, mul, min, max"),
        (lambda: algorithms.inclusive_scan(np.zeros(600), out=np.zeros(2)), "an `out` of 600 elements, got 2"),
        (lambda: algorithms.exclusive_scan(np.zeros(2), out=np.zeros(600)), "an `out` of 2 elements, got 600"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(lw.LanewiseError, match=message):
        call()
