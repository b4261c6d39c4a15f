"""Arrays: what lies where, what is taken as an argument, and what is refused before anything can be misread."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lanewise as lw
from lanewise.dtypes import ALL

F32 = lw.types.ndarray(lw.f32, 1)


@lw.kernel
def copy(a: lw.types.ndarray(), b: lw.types.ndarray()):
    for i in range(a.shape[0]):
        b[i] = a[i]


@lw.kernel
def copy2(a: lw.types.ndarray(ndim=2), b: lw.types.ndarray(ndim=2)):
    for i, j in lw.ndrange(a.shape[0], a.shape[1]):
        b[i, j] = a[i, j]


@lw.kernel
def increment(a: F32):
    for i in range(a.shape[0]):
        a[i] = a[i] + 1.0


class Lends:
    """Memory behind one protocol only."""

    def __init__(self, array: NDArray[Any], *protocols: str) -> None:
        self._array = array
        self._protocols = protocols

    def __getattr__(self, name: str) -> Any:
        if name in self._protocols:
            return getattr(self._array, name)
        raise AttributeError(name)


class OnAnotherDevice:
    def __dlpack__(self, **options: Any) -> Any:
        raise AssertionError("its memory must not be asked for")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)  # kDLCUDA


# ---- device arrays ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_every_dtype_goes_there_and_back(dtype: lw.DType, few_devices: lw.Device) -> None:
    values = np.arange(-3, 7).astype(dtype.np)
    a, b = lw.from_numpy(values), lw.ndarray(dtype, 10)
    copy(a, b)
    assert b.to_numpy().dtype == dtype.np
    np.testing.assert_array_equal(b.to_numpy(), values)


def test_a_new_array_is_zero_and_says_what_it_is(few_devices: lw.Device) -> None:
    a = lw.ndarray(lw.f32, (3, 4))
    assert (a.shape, a.ndim, a.size, a.nbytes, a.dtype) == ((3, 4), 2, 12, 48, lw.f32)
    assert a.device is few_devices
    assert len(a) == 3
    assert not a.to_numpy().any()
    assert repr(a) == f"lw.ndarray(f32, (3, 4), device={few_devices})"


def test_elements_and_slices_from_the_host(few_devices: lw.Device) -> None:
    a = lw.field(dtype=lw.i32, shape=(4, 5))
    a[1, 2] = 7
    a[-1] = np.arange(5)
    a[0, 1:3] = -1
    expected = np.zeros((4, 5), np.int32)
    expected[1, 2], expected[3], expected[0, 1:3] = 7, np.arange(5), -1
    np.testing.assert_array_equal(np.asarray(a), expected)
    assert a[1, 2] == 7
    row = a[3]
    row[:] = 100  # a copy
    np.testing.assert_array_equal(a.to_numpy(), expected)
    a[1:3] += 1
    np.testing.assert_array_equal(a[1:3], expected[1:3] + 1)
    a.fill(3)
    assert [list(r) for r in a] == [[3] * 5] * 4


def test_out_of_range_from_the_host(few_devices: lw.Device) -> None:
    a = lw.ndarray(lw.i8, 3)
    with pytest.raises(IndexError):
        a[3]
    with pytest.raises(OverflowError):
        a[0] = 200


def test_an_array_without_axes(few_devices: lw.Device) -> None:
    a = lw.field(lw.f64)
    a[None] = 2.5
    assert a.shape == ()
    assert a[None] == a[()] == 2.5


def test_to_numpy_is_a_copy_and_asarray_is_not(few_devices: lw.Device) -> None:
    a = lw.ndarray(lw.u16, 4)
    copied, shared = a.to_numpy(), np.asarray(a)
    shared[0] = 9
    assert a[0] == (9 if few_devices.properties.host_memory else 0)
    assert copied[0] == 0


def test_from_numpy_copies(few_devices: lw.Device) -> None:
    source = np.arange(6, dtype=">i4").reshape(2, 3).T
    a = lw.from_numpy(source)
    np.testing.assert_array_equal(a.to_numpy(), source)
    assert a.dtype == lw.i32
    a.from_numpy(source + 1)
    assert a[0, 0] == 1
    assert source[0, 0] == 0
    with pytest.raises(lw.LanewiseTypeError, match=r"expected values of shape \(3, 2\), got shape \(2, 3\)"):
        a.from_numpy(source.T)


def test_dlpack_both_ways_without_a_copy(few_devices: lw.Device) -> None:
    a = lw.from_numpy(np.arange(5, dtype=np.float32))
    if few_devices.arch is lw.vulkan:
        with pytest.raises(BufferError, match=r"no other library takes memory of vulkan\[W=\d+\]"):
            np.from_dlpack(a)
        with pytest.raises(lw.DeviceError, match=r"expected an array on vulkan.*, got one in host memory"):
            lw.from_dlpack(np.zeros(5, np.float32))
        return
    seen = np.from_dlpack(a)
    a[0] = 40
    assert seen[0] == 40
    source = np.arange(5, dtype=np.float32)
    b = lw.from_dlpack(Lends(source, "__dlpack__", "__dlpack_device__"))
    b[1] = 41
    assert source[1] == 41
    increment(b)
    assert source[1] == 42


@pytest.mark.parametrize("shape", [-1, (2, -3), 2.5, (1, "a"), None])
def test_bad_shapes(shape: Any, few_devices: lw.Device) -> None:
    with pytest.raises(lw.LanewiseTypeError, match="expected a shape of extents"):
        lw.ndarray(lw.f32, shape)


@pytest.mark.parametrize("dtype", ["f32", 5, np.complex64, None])
def test_bad_dtypes(dtype: Any, few_devices: lw.Device) -> None:
    with pytest.raises(lw.LanewiseTypeError, match="expected a scalar type"):
        lw.ndarray(dtype, 4)


def test_arrays_start_on_a_cache_line(few_devices: lw.Device) -> None:
    for n in range(5):
        assert lw.ndarray(lw.i8, n + 1).view.address % 64 == 0


# ---- host arrays as arguments -------------------------------------------------------------------------------------
def test_numpy_arrays_are_used_in_place(device: lw.Device) -> None:
    a = np.zeros(100, np.float32)
    increment(a)
    np.testing.assert_array_equal(a, np.ones(100, np.float32))


BASE = np.arange(240, dtype=np.int32)
VIEWS = {
    "every third": BASE[::3],
    "backwards": BASE[::-1],
    "backwards by two": BASE[200:3:-2],
    "offset": BASE[7:],
    "one column": BASE.reshape(24, 10)[:, 3],
    "one element": BASE[5:6:4],
    "stride zero": np.broadcast_to(BASE[4:5], (50,)),
    "read-only": np.frombuffer(BASE.tobytes(), np.int32),
    "empty": BASE[:0],
    "empty, backwards": BASE[3:3:-1],
}


@pytest.mark.parametrize("name", VIEWS)
def test_strided_views_read(name: str, few_devices: lw.Device) -> None:
    source = VIEWS[name]
    target = np.full(source.shape, -1, np.int32)
    copy(source, target)
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("name", [n for n, v in VIEWS.items() if v.flags.writeable])
def test_strided_views_written(name: str, few_devices: lw.Device) -> None:
    places = VIEWS[name]  # BASE counts, so a view of it says which elements it has
    base, expected = BASE.copy(), BASE.copy()
    target = base[0:0] if not places.size else np.lib.stride_tricks.as_strided(
        base[places[0] :], places.shape, places.strides
    )  # fmt: skip
    values = np.arange(1000, 1000 + places.size, dtype=np.int32)
    expected[places] = values
    copy(values, target)
    np.testing.assert_array_equal(base, expected)


@pytest.mark.parametrize("transform", [lambda a: a.T, lambda a: a[::-1, ::2], lambda a: a[:, ::-1], np.asfortranarray])
def test_two_axes(transform: Any, few_devices: lw.Device) -> None:
    source = transform(np.arange(6 * 35, dtype=np.float64).reshape(6, 35))
    target = np.zeros(source.shape)
    copy2(source, target)
    np.testing.assert_array_equal(target, source)
    mirrored = np.zeros(source.shape[::-1]).T
    copy2(source, mirrored)
    np.testing.assert_array_equal(mirrored, source)


def test_zero_sized_arrays_do_nothing(few_devices: lw.Device) -> None:
    increment(np.zeros(0, np.float32))
    increment(lw.ndarray(lw.f32, 0))
    for shape in ((0, 5), (5, 0)):
        copy2(np.zeros(shape, np.int8), np.zeros(shape, np.int8))


def test_a_field_of_records_is_refused(few_devices: lw.Device) -> None:
    records = np.zeros(8, np.dtype([("x", "f4"), ("tag", "u1")]))
    with pytest.raises(lw.LanewiseTypeError, match=r"'a': expected strides of whole elements") as caught:
        increment(records["x"])
    assert "np.ascontiguousarray" in str(caught.value)


def test_a_field_of_records_of_whole_elements_is_not(few_devices: lw.Device) -> None:
    records = np.zeros(8, np.dtype([("x", "f4"), ("y", "f4"), ("tag", "u4")]))
    increment(records["y"])
    assert records.tolist() == [(0, 1, 0)] * 8


def test_strides_of_single_elements_do_not_matter(few_devices: lw.Device) -> None:
    source = np.lib.stride_tricks.as_strided(np.arange(20.0), (1, 4), (3, 16))
    target = np.zeros((1, 4))
    copy2(source, target)
    np.testing.assert_array_equal(target, [[0, 2, 4, 6]])


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(4, ">f4"), "expected native byte order"),
        (np.zeros(17, np.uint8)[1:].view(np.float32), "expected aligned elements"),
        (np.zeros(4, np.complex64), "expected an array of a scalar type"),
        (np.zeros(4, "U3"), "expected an array of a scalar type"),
        (np.zeros(4, object), "expected an array of a scalar type"),
        (np.zeros(4, "M8[s]"), "expected an array of a scalar type"),
        (np.ma.masked_array(np.zeros(4, np.float32)), "got a masked array"),
        ([1.0, 2.0], "expected an array, got an object of type 'list'"),
        (3.0, "expected an array, got the scalar 3.0"),
        (np.float32(3), "expected an array, got the NumPy scalar"),
        (None, "expected an array, got None"),
        (np.zeros(4), r"expected ndarray\(f32, 1\), got an array of f64, ndim 1"),
        (np.zeros((4, 1), np.float32), r"expected ndarray\(f32, 1\), got an array of f32, ndim 2"),
    ],
)
def test_refused_before_the_launch(array: Any, words: str, few_devices: lw.Device) -> None:
    with pytest.raises(lw.LanewiseTypeError, match=rf"increment\(\), argument 'a': .*{words}"):
        increment(array)


@pytest.mark.parametrize("protocols", [("__array_interface__",), ("__dlpack__", "__dlpack_device__")])
def test_memory_lent_by_a_protocol(protocols: tuple[str, ...], few_devices: lw.Device) -> None:
    a = np.zeros(9, np.float32)
    increment(Lends(a, *protocols))
    np.testing.assert_array_equal(a, 1)


def test_subclasses_of_numpy_arrays(few_devices: lw.Device, tmp_path: Path) -> None:
    a = np.memmap(tmp_path / "values", np.float32, "w+", shape=(9,))
    increment(a)
    a.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "values", np.float32), 1)


def test_memory_elsewhere_is_refused(few_devices: lw.Device) -> None:
    with pytest.raises(lw.DeviceError, match=r"argument 'a': expected an array in host memory"):
        increment(OnAnotherDevice())


def test_a_read_only_array_may_not_be_written(few_devices: lw.Device) -> None:
    a = np.zeros(5, np.float32)
    a.setflags(write=False)
    with pytest.raises(lw.LanewiseTypeError, match="read-only"):
        increment(a)
    assert not a.any()


def test_a_launch_keeps_nothing_alive(few_devices: lw.Device) -> None:
    a = lw.ndarray(lw.f32, 16)
    increment(a)
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None
