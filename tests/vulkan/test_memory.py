"""Memory: small arrays share allocations, limits are errors, NumPy arrays are used in place or copied."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.backends.vulkan.heap import ALIGNMENT, CHUNK, SMALL, Buffer, Heap, Use

from .cards import another, card_of

F32 = lw.types.ndarray(lw.f32, 1)
DISCRETE, CPU = 2, 4


@lw.kernel
def increment(x: lw.types.ndarray(ndim=1)):
    for i in range(x.shape[0]):
        x[i] += 1


@lw.kernel
def add2(target: lw.types.ndarray(lw.f32, 2), source: lw.types.ndarray(lw.f32, 2)):
    for i, j in lw.ndrange(source.shape[0], source.shape[1]):
        target[i, j] = target[i, j] + source[i, j]


@pytest.fixture(params=["in place", "copied", "discrete"])
def device(vulkan: lw.Device, request: pytest.FixtureRequest) -> Iterator[lw.Device]:
    """The device as it is; without imports of host memory; as if its memory were its own, reached by copies alone."""
    choices: dict[str, dict[str, Any]] = {
        "in place": {},
        "copied": {"host_alignment": 0},
        "discrete": {"host_alignment": 0, "kind": DISCRETE},
    }
    with lw.use(another(vulkan, **choices[request.param])) as chosen:
        yield chosen


# ---- arrays on the device --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [0, 1, 3, 1000, SMALL // 4 + 1, 3 * CHUNK // 4 + 5])
def test_arrays_go_there_and_back(device: lw.Device, n: int) -> None:
    values = np.random.default_rng(n).random(n, np.float32)
    a = lw.from_numpy(values)
    increment(a)
    np.testing.assert_array_equal(a.to_numpy(), values + np.float32(1))
    if n > 2:
        a[1:3] = 5
        assert a[0] == values[0] + np.float32(1)
        assert list(a[1:3]) == [5, 5]


def test_arrays_are_zero_also_where_others_were(device: lw.Device) -> None:
    for n in (100, SMALL):
        for _ in range(3):
            a = lw.ndarray(lw.i32, n)
            assert not a.to_numpy().any()
            a.fill(-1)
            increment(a)
            a.fill(7)
            del a


def test_an_array_freed_at_once_is_not_used_again_too_soon(device: lw.Device) -> None:
    total = lw.ndarray(lw.f32, 256)

    @lw.kernel
    def add(y: F32, x: F32):
        for i in range(y.shape[0]):
            y[i] = y[i] + x[i]

    for k in range(200):
        add(total, lw.from_numpy(np.full(256, k, np.float32)))
    np.testing.assert_array_equal(total.to_numpy(), np.full(256, sum(range(200)), np.float32))


def test_many_arrays_need_few_allocations(vulkan: lw.Device) -> None:
    with lw.use(another(vulkan)) as device:
        arrays = [lw.ndarray(lw.f32, 64) for _ in range(6000)]
        assert len({a.view.address for a in arrays}) == 6000
        assert card_of(device)._buffers._count < 10
        del arrays
        gc.collect()
        lw.sync()
        assert card_of(device)._buffers._count < 10


class MadeUp:
    """Buffers of a driver that gives any memory away, and notes which is there."""

    def __init__(self) -> None:
        self.alive: set[Buffer] = set()
        self._next = 1 << 30

    def make(self, size: int, use: Use, doing: str) -> Buffer:
        made = Buffer(0, 0, size, self._next, 0, 0)
        self._next += size + ALIGNMENT
        self.alive.add(made)
        return made

    def free(self, buffer: Buffer) -> None:
        self.alive.remove(buffer)


def test_no_two_arrays_overlap() -> None:
    buffers: Any = MadeUp()
    heap = Heap(buffers, Use.DEVICE)
    rng = np.random.default_rng(4)
    held: dict[int, int] = {}
    for _ in range(4000):
        if held and rng.random() < 0.5:
            address = int(rng.choice(list(held)))
            heap.free(address)
            del held[address]
        else:
            size = int(rng.choice([1, 256, 257, 4000, 70_000, SMALL, SMALL + 1, CHUNK]))
            address = heap.malloc(size, "")
            assert address % ALIGNMENT == 0
            assert all(address + size <= a or a + s <= address for a, s in held.items())
            buffer, start = heap.place(address + size - 1)
            assert buffer.address + start == address + size - 1
            assert start < buffer.size
            held[address] = size
    for address in held:
        heap.free(address)
    assert len(buffers.alive) == 1  # kept for the next small array
    assert heap.malloc(SMALL, "") == next(iter(buffers.alive)).address


# ---- limits ----------------------------------------------------------------------------------------------------------
def test_an_array_beyond_the_largest_allocation(vulkan: lw.Device) -> None:
    device = another(vulkan, max_allocation=1 << 20)
    with pytest.raises(lw.DeviceError, match=r"4194304 bytes for an array of f32, shape .*: expected 1048576"):
        lw.ndarray(lw.f32, 1 << 20, device=device)


def test_an_array_beyond_the_devices_memory(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device = another(vulkan)
    card = card_of(device)
    heaps = card.facts.memory.heaps
    monkeypatch.setattr(card._buffers, "_used", [heap.size - 5000 for heap in heaps])
    with pytest.raises(lw.DeviceError, match=r"an array of f32.*: the device has .* bytes, of which") as caught:
        lw.ndarray(lw.f32, SMALL, device=device)
    assert "free arrays" in str(caught.value)
    assert card._buffers._count == 0


def test_no_more_allocations(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device = another(vulkan)
    buffers = card_of(device)._buffers
    monkeypatch.setattr(buffers, "_count", card_of(device).facts.limits.maxMemoryAllocationCount)
    with pytest.raises(lw.DeviceError, match="allocations of the device are in use"):
        lw.ndarray(lw.f32, SMALL, device=device)


def test_the_driver_has_no_memory_left(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device = another(vulkan)
    card = card_of(device)
    before = card._buffers._count, list(card._buffers._used)
    with monkeypatch.context() as patch:
        patch.setattr(card.functions, "AllocateMemory", lambda *args: -2)
        with pytest.raises(lw.DeviceError, match=r"bytes for an array of f32.*: VK_ERROR_OUT_OF_DEVICE_MEMORY"):
            lw.ndarray(lw.f32, 1 << 20, device=device)
    assert (card._buffers._count, list(card._buffers._used)) == before
    assert lw.ndarray(lw.f32, 4, device=device)[0] == 0


# ---- NumPy arrays as arguments ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 1000, 1 << 18])
def test_numpy_arrays(device: lw.Device, n: int) -> None:
    for dtype in (np.int32, np.float64, np.uint8):
        if lw.dtypes.BY_NUMPY[np.dtype(dtype)] in device.properties.dtypes:
            x = np.arange(n).astype(dtype)
            for _ in range(3):
                increment(x)
            np.testing.assert_array_equal(x, np.arange(n).astype(dtype) + dtype(3))


def test_strided_and_overlapping_numpy_arrays(device: lw.Device) -> None:
    room = np.arange(600 * 600, dtype=np.float32).reshape(600, 600)
    features = card_of(device).facts.features
    if features.buffer_device_address and not features.int64:
        with pytest.raises(lw.CompileError, match="the device has no shaderInt64"):
            add2(room[:, ::2], room[:, 1::2])
        return
    expected = room.copy()
    pairs = [
        (np.s_[1:599:2, ::3], np.s_[0:598:2, ::3]),
        (np.s_[::-2, 5:500], np.s_[::2, 5:500]),
        (np.s_[:300, :300], np.s_[300:, 300:]),
    ]
    for target, source in pairs:
        shape = np.minimum(room[target].shape, room[source].shape)
        cut = np.s_[: shape[0], : shape[1]]
        if np.shares_memory(room[target][cut], room[source][cut]):
            continue
        add2(room[target][cut], room[source][cut])
        expected[target][cut] += expected[source][cut]
        np.testing.assert_array_equal(room, expected)
    moved = room[1:], room[:-1]  # the same memory under other indices: what is not written stays

    @lw.kernel
    def copy_some(target: lw.types.ndarray(lw.f32, 2), source: lw.types.ndarray(lw.f32, 2)):
        for j in range(source.shape[1]):
            target[10, j] = source[300, j]

    copy_some(*moved)
    expected[11] = expected[300]
    np.testing.assert_array_equal(room, expected)


def test_read_only_numpy_arrays(device: lw.Device) -> None:
    source = np.arange(1 << 16, dtype=np.float32)
    source.flags.writeable = False

    @lw.kernel
    def copy(target: F32, source: F32):
        for i in range(source.shape[0]):
            target[i] = source[i]

    target = np.zeros_like(source)
    copy(target, source)
    np.testing.assert_array_equal(target, source)


def test_large_numpy_arrays_are_imported_once_while_they_live(vulkan: lw.Device) -> None:
    card = card_of(vulkan)
    if not card._imports.usable:
        pytest.skip(f"{vulkan.name} cannot use host memory")
    x = np.zeros(1 << 18, np.float32)
    increment(x)
    before = dict(card._imports._kept)
    increment(x)
    increment(x[7:])  # a part of the same pages, to their end
    assert all(card._imports._kept.get(pages) is found for pages, found in before.items())
    assert len(card._imports._kept) <= len(before) + 1
    assert x[0] == 2
    assert x[-1] == 3
    kept = set(card._imports._kept.values())
    del x
    gc.collect()
    y = np.zeros(1 << 17, np.float32)
    increment(y)
    assert len(kept & set(card._imports._kept.values())) < len(kept)
    assert (y == 1).all()
    foreign = np.frombuffer(bytearray(1 << 18), np.float32)  # not NumPy's memory: imported for one launch
    kept = len(card._imports._kept)
    increment(foreign)
    assert (foreign == 1).all()
    assert len(card._imports._kept) == kept
    assert not card._imports._lent


def test_the_driver_may_refuse_an_import(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device = another(vulkan)
    card = card_of(device)
    if not card._imports.usable:
        pytest.skip(f"{vulkan.name} cannot use host memory")
    count = card._buffers._count
    monkeypatch.setattr(card.functions, "GetMemoryHostPointerPropertiesEXT", lambda *args: -1000072003)
    x = np.zeros(1 << 18, np.float32)
    with lw.use(device):
        increment(x)
    assert (x == 1).all()
    assert card._buffers._count <= count + 2  # the arena, the arguments
