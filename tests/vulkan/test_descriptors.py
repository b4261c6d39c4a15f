"""A device without buffer addresses: arrays are bound by descriptors, with the same results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.backends.vulkan.queue import LAUNCHES

from .cards import another, card_of

DISCRETE = 2


@pytest.fixture(params=["in place", "copied", "discrete"])
def device(vulkan: lw.Device, request: pytest.FixtureRequest) -> Iterator[lw.Device]:
    """The first device as if it had no addresses, each way of handing it NumPy arrays."""
    choices: dict[str, dict[str, Any]] = {
        "in place": {},
        "copied": {"host_alignment": 0},
        "discrete": {"host_alignment": 0, "kind": DISCRETE},
    }
    with lw.use(without_addresses(vulkan, **choices[request.param])) as chosen:
        yield chosen


def without_addresses(vulkan: lw.Device, **facts: Any) -> lw.Device:
    features = replace(card_of(vulkan).facts.features, buffer_device_address=False)
    return another(vulkan, **{"features": features, **facts})


@lw.kernel
def add(target: lw.types.ndarray(ndim=1), source: lw.types.ndarray(ndim=1)):
    for i in range(source.shape[0]):
        target[i] = target[i] + source[i]


@lw.kernel
def count(totals: lw.types.ndarray(ndim=1), bins: lw.types.ndarray(lw.i32, 1)):
    for i in range(bins.shape[0]):
        lw.atomic_add(totals[bins[i]], 1)


@lw.kernel
def transpose(target: lw.types.ndarray(lw.i32, 2), source: lw.types.ndarray(lw.i32, 2)):
    for i, j in lw.ndrange(source.shape[0], source.shape[1]):
        target[j, i] = source[i, j]


def test_arrays_are_bound_from_any_element_on(device: lw.Device) -> None:
    for n in (100, 20_000):  # below and above the size from which arrays are used in place
        a, b = np.arange(5 * n, dtype=np.int32), np.arange(5 * n, dtype=np.int32)
        expected = np.arange(5 * n)
        for start, other in ((0, 1), (1, 0), (3, 71), (63, 64), (64, 63), (99, 65)):
            add(a[start : start + n], b[other : other + n])
            expected[start : start + n] += np.arange(other, other + n)
        np.testing.assert_array_equal(a, expected)
        np.testing.assert_array_equal(b, np.arange(5 * n))


@pytest.mark.parametrize("n", [1, 1000, 1 << 18])
def test_an_array_may_be_bound_twice(device: lw.Device, n: int) -> None:
    x = np.arange(n, dtype=np.int32)
    add(x, x)
    np.testing.assert_array_equal(x, 2 * np.arange(n))
    there = lw.from_numpy(x)
    add(there, there)
    np.testing.assert_array_equal(there.to_numpy(), 4 * np.arange(n))


def test_strides_need_no_64_bit_integers(device: lw.Device) -> None:
    room = np.arange(400 * 300, dtype=np.int32).reshape(400, 300)
    expected = room.copy()
    for target, source in (
        (np.s_[:100, 99::-1], np.s_[::-4, 200:]),
        (np.s_[50:250:2, :200:2], np.s_[399:299:-1, 200:]),
    ):
        transpose(room[target], room[source])
        expected[target] = expected[source].T.copy()
        np.testing.assert_array_equal(room, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32], ids=lambda t: t.__name__)
def test_atomics_on_arrays_from_any_element_on(device: lw.Device, dtype: type[np.integer[Any]]) -> None:
    if lw.dtypes.BY_NUMPY[np.dtype(dtype)] not in device.properties.dtypes:
        pytest.skip(f"{device.name} has no arrays of {np.dtype(dtype)}")
    bins = np.random.default_rng(1).integers(0, 37, 2000).astype(np.int32)
    for start in range(5):
        room = np.full(50, 3, dtype)
        count(room[start : start + 37], bins)
        expected = np.full(50, 3, dtype)
        expected[start : start + 37] += np.bincount(bins, minlength=37).astype(dtype)
        np.testing.assert_array_equal(room, expected)


def test_no_elements(device: lw.Device) -> None:
    @lw.kernel
    def extent(out: lw.types.ndarray(lw.i32, 1), x: lw.types.ndarray(lw.i32, 1)):
        for i in range(out.shape[0]):
            out[i] = x.shape[0]
            if x.shape[0] > 0:
                x[i] = 1

    out = np.ones(9, np.int32)
    for empty in (np.zeros(0, np.int32), lw.ndarray(lw.i32, 0), np.zeros(64, np.int32)[64:]):
        out[:] = 1
        extent(out, empty)
        assert not out.any()


def test_more_launches_than_a_batch_takes(device: lw.Device) -> None:
    arrays = [lw.from_numpy(np.full(100 + k, k, np.int32)) for k in range(20)]
    total = lw.ndarray(lw.i32, 200)
    rounds = 5 * LAUNCHES
    for k in range(rounds):
        add(total, arrays[k % 20])
        if k == LAUNCHES + 7:
            lw.sync()
    expected = np.zeros(200, np.int32)
    for k in range(rounds):
        expected[: 100 + k % 20] += k % 20
    np.testing.assert_array_equal(total.to_numpy(), expected)


def test_arrays_that_come_and_go(device: lw.Device) -> None:
    """No launch binds what was freed, or finds a new array where an old one was."""
    total = lw.ndarray(lw.i32, 300_000)
    for k in range(30):
        add(total, lw.from_numpy(np.full(300_000 if k % 2 else 10, k, np.int32)))
    found = total.to_numpy()
    assert (found[:10] == sum(range(30))).all()
    assert (found[10:] == sum(range(1, 30, 2))).all()


def test_wide_indices(device: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not card_of(device).facts.features.int64:
        pytest.skip(f"{device.name} has no 64-bit integers")
    monkeypatch.setattr("lanewise.extents.INDEX_LIMIT", 100)
    x = np.arange(3000, dtype=np.int32).reshape(50, 60)
    out = np.zeros((60, 50), np.int32)
    transpose(out, x)
    np.testing.assert_array_equal(out, x.T)
    transpose(out[::2, 1:], x[1:, ::2])
    np.testing.assert_array_equal(out[::2, 1:], x[1:, ::2].T)


# ---- limits ----------------------------------------------------------------------------------------------------------
def limited(vulkan: lw.Device, **limits: int) -> lw.Device:
    known = card_of(vulkan).facts.limits
    made = type(known).from_buffer_copy(known)
    for name, value in limits.items():
        setattr(made, name, value)
    return without_addresses(vulkan, limits=made)


def test_an_array_larger_than_what_can_be_bound(vulkan: lw.Device) -> None:
    with lw.use(limited(vulkan, maxStorageBufferRange=1 << 16)):
        x, small = np.ones(1 << 15, np.int32), np.ones(8, np.int32)
        with pytest.raises(lw.DeviceError, match=r"kernel add: the array target takes 1\d{5} bytes") as caught:
            add(x, small)
        assert "65536 bytes at most (maxStorageBufferRange)" in str(caught.value)
        add(x[7 : 7 + (1 << 13)], small)  # a part of it
        assert list(x[5:17]) == [1, 1, *[2] * 8, 1, 1]
        there = lw.from_numpy(x)
        with pytest.raises(lw.DeviceError, match="the array source"):
            add(lw.from_numpy(small), there)


def test_more_arrays_than_can_be_bound(vulkan: lw.Device) -> None:
    with lw.use(limited(vulkan, maxPerStageDescriptorStorageBuffers=2)):
        x = np.ones(8, np.int32)
        with pytest.raises(lw.DeviceError, match="kernel add: it uses 2 arrays") as caught:
            add(x, x)
        assert "binds 1 arrays at most besides the arguments (maxPerStageDescriptorStorageBuffers)" in str(caught.value)

        @lw.kernel
        def double(x: lw.types.ndarray(lw.i32, 1)):
            for i in range(x.shape[0]):
                x[i] = 2 * x[i]

        double(x)
        assert list(x) == [2] * 8
