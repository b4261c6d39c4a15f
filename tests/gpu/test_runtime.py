"""The run time that GPUs share, with makers' libraries that are made up: arrays, copies, launches and errors."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise import dlpack
from lanewise.backends.gpu.launch import SMALL

from .emulate import MULTIPROCESSORS, Fake, Launch
from .kernels import affine, copy2, first, lanes, plus, told

ENOUGH = SMALL * MULTIPROCESSORS  # blocks from which on a launch is split


# ---- launches -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [0, 1, 100, 128, 128 * ENOUGH, 128 * ENOUGH + 7])
def test_arrays_of_numpy_are_copied_there_and_back(n: int, device: lw.Device) -> None:
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    affine(y, x, 2.0)
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_full_blocks_run_the_regular_code(device: lw.Device, fake: Fake) -> None:
    out = lw.ndarray(lw.i32, 128 * ENOUGH + 7)
    lanes(out)
    np.testing.assert_array_equal(out.to_numpy(), np.arange(out.size) % device.subgroup_size)
    assert [(run.regular, run.first, run.end) for run in fake.launches] == [
        (True, 0, ENOUGH),
        (False, ENOUGH, ENOUGH + 1),
    ]


def test_a_small_launch_is_not_split(device: lw.Device, fake: Fake) -> None:
    lanes(lw.ndarray(lw.i32, 128 * (ENOUGH - 1) + 7))
    assert fake.launches == [Launch(False, 0, ENOUGH, ENOUGH, 0)]


def test_rows_that_split_subgroups_run_the_general_code(device: lw.Device, fake: Fake) -> None:
    for columns, regular in ((64, True), (48, False)):
        source, target = np.arange(64.0 * columns).reshape(64, columns), np.zeros((64, columns))
        fake.launches.clear()
        copy2(target, source)
        np.testing.assert_array_equal(target, source)
        assert [run.regular for run in fake.launches] == [regular]


def test_scalars_that_are_passed_on_and_scalars_that_shape(device: lw.Device) -> None:
    out = lw.ndarray(lw.f32, 40)
    for n, value in ((40, 1.0), (40, 2.0), (7, 3.0), (0, 9.0), (3, -0.0)):
        first(out, n, value)
        assert (out.to_numpy()[:n] == value).all()
        assert np.signbit(out.to_numpy()[:n]).all() == (str(value)[0] == "-" or not n)
    assert out[39] == 2.0


def test_streams(device: lw.Device, fake: Fake) -> None:
    x = lw.ndarray(lw.f32, 5)
    affine(x, x, 1.0)
    affine(x, x, 1.0, stream=5)  # type: ignore[call-arg]
    affine(x, np.ones(5, np.float32), 1.0, stream=6)  # type: ignore[call-arg]
    assert [run.stream for run in fake.launches] == [0, 5, 6]
    assert (x.to_numpy() == 1).all()
    with pytest.raises(lw.LanewiseTypeError, match="expected a stream, got"):
        affine(x, x, 1.0, stream="main")  # type: ignore[call-arg]


def test_the_same_arrays_again(device: lw.Device, fake: Fake) -> None:
    plus._again.clear()
    a, b, c = (lw.from_numpy(np.full(50, k, np.float32)) for k in range(3))
    for _ in range(5):
        plus(a, b)
        plus(c, a)
    assert (a[3], c[3]) == (5, 2 + 1 + 2 + 3 + 4 + 5)
    assert [bool(known) for known in plus._again.values()] == [True, True]
    a = lw.from_numpy(np.full(50, 100, np.float32))  # perhaps where the other one was
    plus(a, b)
    assert a[3] == 101
    with lw.profile() as times:
        plus(a, b)
    assert times.timings[0].launches == 1


def test_threads_do_not_share_argument_blocks(device: lw.Device) -> None:
    outs = [lw.ndarray(lw.f32, 64) for _ in range(6)]
    one = lw.from_numpy(np.ones(64, np.float32))

    def work(out: lw.ndarray, factor: float) -> None:
        for _ in range(20):
            affine(out, one, factor)

    threads = [threading.Thread(target=work, args=(out, float(k))) for k, out in enumerate(outs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [out[5] for out in outs] == [20.0 * k for k in range(6)]


# ---- copies -------------------------------------------------------------------------------------------------------
def test_views_of_one_array_stay_views_of_one_array(device: lw.Device) -> None:
    x = np.arange(100, dtype=np.float32)
    affine(x[1:], x[:-1], 0.0)  # overlapping: both are in one span
    np.testing.assert_array_equal(x, np.arange(100))
    affine(x, x, 1.0)
    np.testing.assert_array_equal(x, 2 * np.arange(100))


def test_strided_views(device: lw.Device) -> None:
    source = np.arange(12, dtype=np.int16).reshape(3, 4)
    target = np.full((8, 3), 9, np.int16)
    copy2(target.T[:, ::-2], source)
    np.testing.assert_array_equal(target.T[:, ::-2], source)
    assert (target[::2] == 9).all()


def test_read_only_arrays_are_not_copied_back(device: lw.Device) -> None:
    x = np.ones(9, np.float32)
    x.setflags(write=False)
    y = np.zeros(9, np.float32)
    affine(y, x, 3.0)
    assert (y == 3).all()
    with pytest.raises(lw.LanewiseTypeError, match="read-only"):
        affine(x, y, 3.0)


def test_large_arrays_go_in_pieces(device: lw.Device) -> None:
    values = np.random.default_rng(0).integers(0, 255, (9 << 20) + 5, np.uint8)
    np.testing.assert_array_equal(lw.from_numpy(values).to_numpy(), values)


# ---- arrays -------------------------------------------------------------------------------------------------------
def test_elements_from_the_host(device: lw.Device) -> None:
    a = lw.from_numpy(np.arange(12.0).reshape(3, 4))
    assert a.device is device
    assert (a[1, 2], a[-1, -1]) == (6.0, 11.0)
    assert isinstance(a[1, 2], np.float64)
    assert a[:, 1].tolist() == [1, 5, 9]
    assert a[[0, 2], 1].tolist() == [1, 9]
    assert a[np.array([True, False, False])].tolist() == [[0, 1, 2, 3]]
    a[:, 1] = 7
    a[0] = [1, 2, 3, 4]
    a[[1, 2], 3] = -1
    assert a.to_numpy().tolist() == [[1, 2, 3, 4], [4, 7, 6, -1], [8, 7, 10, -1]]
    a.fill(2)
    assert (np.asarray(a) == 2).all()
    scalar = lw.ndarray(lw.i64, ())
    scalar[None] = 5
    assert (scalar[None], scalar.to_numpy().shape) == (5, ())
    with pytest.raises(IndexError):
        a[3, 0]


def test_new_arrays_are_zero(device: lw.Device) -> None:
    assert not lw.ndarray(lw.f64, (3, 5)).to_numpy().any()
    assert lw.ndarray(lw.f64, (0, 5)).to_numpy().shape == (0, 5)


def test_memory_is_given_back(device: lw.Device, fake: Fake) -> None:
    before = fake.live
    a = lw.ndarray(lw.f32, 100)
    affine(a, a, 1.0)
    assert fake.live > before
    del a
    gc.collect()
    assert fake.live == before


def test_protocols_of_the_memory(device: lw.Device, fake: Fake) -> None:
    a = lw.from_numpy(np.arange(6.0).reshape(2, 3))
    facts = a.__cuda_array_interface__
    assert (facts["shape"], facts["typestr"], facts["stream"]) == ((2, 3), "<f8", fake.default_stream)
    assert not hasattr(a, "__array_interface__")
    assert not hasattr(lw.ndarray(lw.f32, 2, device=lw.init(lw.cpu)), "__cuda_array_interface__")
    assert a.__dlpack_device__() == (fake.device_type, 0)
    with pytest.raises(ValueError, match="only a copy"):
        np.asarray(a, copy=False)


class LendsInterface:
    def __init__(self, array: lw.ndarray, **changes: Any) -> None:
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


class LendsCapsule:
    def __init__(self, array: lw.ndarray, version: tuple[int, int] | None) -> None:
        self.array = array
        self.version = version

    def __dlpack__(self, stream: int, max_version: tuple[int, int]) -> Any:
        return self.array.__dlpack__(max_version=self.version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_memory_of_other_libraries(device: lw.Device, fake: Fake) -> None:
    a = lw.from_numpy(np.ones(6, np.float32))
    for lent in (LendsInterface(a), LendsCapsule(a, None), LendsCapsule(a, (1, 0))):
        affine(lent, lent, 1.0)
        wrapped = lw.from_dlpack(lent)
        assert (wrapped.device, wrapped.view.address) == (device, a.view.address)
    assert (a.to_numpy() == 8).all()
    affine(LendsInterface(a, stream=9), a, 1.0)
    assert fake.launches[-1].stream == 9
    frozen = LendsInterface(a, data=(a.view.address, True))
    with pytest.raises(lw.LanewiseTypeError, match="read-only"):
        affine(frozen, a, 1.0)


def test_exported_tensors_live_as_long_as_they_are_used(device: lw.Device) -> None:
    given: dict[int, Any] = dlpack._given
    a = lw.ndarray(lw.f32, 6)
    capsule = a.__dlpack__()
    assert len(given) == 1
    del capsule
    assert not given
    taken = dlpack.take(LendsCapsule(a, (1, 0)), 0)
    assert len(given) == 1
    del taken
    assert not given


def test_streams_of_their_own_find_the_work_done(device: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A consumer's stream that does not wait for the default one, as DLPack hands it over."""
    waited: list[lw.Device] = []

    def sync(device: lw.Device) -> None:
        waited.append(device)

    monkeypatch.setattr(lw.Device, "sync", sync)
    a = lw.ndarray(lw.f32, 6)
    for stream in (None, -1, 0, 1):
        a.__dlpack__(stream=stream)
    assert not waited
    a.__dlpack__(stream=0x5500)
    assert waited == [device]


def test_the_device_follows_lent_memory(device: lw.Device, fake: Fake) -> None:
    a = lw.ndarray(lw.i32, 40)
    with lw.use(lw.init(lw.cpu, subgroup_size=8)):
        lanes(LendsInterface(a))
        host, there = lw.ndarray(lw.f32, 6), lw.ndarray(lw.f32, 6, device=device)
        words = rf"expected an array on cpu\[W=8\], got one in the memory of {fake.arch.value}"
        with pytest.raises(lw.DeviceError, match=words):
            affine(host, LendsInterface(there), 1.0)
    own = lw.init(fake.arch).subgroup_size  # the lent array's device is in nobody's use: it has its own size
    np.testing.assert_array_equal(a.to_numpy(), np.arange(40) % own)


# ---- times and errors ---------------------------------------------------------------------------------------------
def test_profile(device: lw.Device) -> None:
    x = lw.ndarray(lw.f32, 5)
    with lw.profile() as times:
        affine(x, x, 1.0)
        affine(x, x, 1.0)
        lanes(np.zeros(3, np.int32))
    found = {timing.kernel: timing for timing in times.timings}
    assert (found["affine"].launches, found["lanes"].launches) == (2, 1)
    assert all(timing.total > 0 for timing in times.timings)
    assert "affine" in str(times)


def test_too_little_memory(device: lw.Device) -> None:
    with pytest.raises(lw.DeviceError, match=r"8589934592 bytes for an array of f32, shape \(2147483648,\)"):
        lw.ndarray(lw.f32, 1 << 31)


def test_a_launch_that_fails_names_kernel_and_sizes(device: lw.Device, fake: Fake) -> None:
    name = fake.fail("launch", "invalid value")
    x = lw.ndarray(lw.f32, 1000)
    words = rf"kernel affine: a launch of \d blocks of 128 threads failed: {name}"
    with pytest.raises(lw.DeviceError, match=words) as caught:
        affine(x, x, 1.0)
    assert "a smaller launch or block_dim" in str(caught.value)


def test_a_lost_context_names_the_last_launch(device: lw.Device, fake: Fake) -> None:
    x = lw.ndarray(lw.f32, 1000)
    affine(x, x, 1.0)
    fake.fail("wait", "illegal address")
    with pytest.raises(lw.DeviceError, match=r"kernel affine: .*, or one before it, failed") as caught:
        lw.sync()
    assert "debug=True" in str(caught.value)


def test_a_subgroup_size_that_it_does_not_have(fake: Fake) -> None:
    words = rf"expected a subgroup_size of .*{fake.subgroup_size}.*, got {fake.other_size}"
    with pytest.raises(lw.DeviceError, match=words):
        fake.init(subgroup_size=fake.other_size)


def test_the_number_of_a_device(fake: Fake) -> None:
    assert fake.init(device=0).properties.number == 0
    with pytest.raises(lw.DeviceError, match="expected device to be 0 to 0, got 3"):
        fake.init(device=3)


def test_debug_waits_and_tells(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    with lw.use(fake.init(debug=True)):
        a, b = lw.from_numpy(np.zeros(30, np.float32)), lw.ndarray(lw.f32, 20)
        for _ in range(4):
            with pytest.raises(lw.KernelAssertionError, match=r"index 20 of x is outside axis 0") as caught:
                plus(a, b)
            assert "9 more records" in str(caught.value)
        told(b)
        assert capsys.readouterr().out == "".join(f"{i} 0.0\n" for i in range(20))
