"""Calls: arguments are bound and checked, the device follows the data, and code is compiled once for each signature."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise import cache, dtypes

from .conftest import SIZES_OF

F32 = lw.types.ndarray(lw.f32, 1)
I32 = lw.types.ndarray(lw.i32, 1)


@lw.kernel
def affine(y: F32, x: F32, scale: lw.f32, offset: lw.i32 = 0):
    """y = scale * x + offset"""
    for i in range(x.shape[0]):
        y[i] = scale * x[i] + offset


@lw.kernel()
def put(out: lw.types.ndarray(ndim=1), value: lw.i32):
    for i in range(out.shape[0]):
        out[i] = value


@lw.kernel
def put_i64(out: lw.types.ndarray(lw.i64, 1), value: lw.i64):
    for i in range(out.shape[0]):
        out[i] = value


@lw.kernel
def put_u64(out: lw.types.ndarray(lw.u64, 1), value: lw.u64):
    for i in range(out.shape[0]):
        out[i] = value


@lw.kernel
def put_f16(out: lw.types.ndarray(lw.f16, 1), value: lw.f16):
    for i in range(out.shape[0]):
        out[i] = value


@lw.kernel
def put_f64(out: lw.types.ndarray(lw.f64, 1), value: lw.f64):
    for i in range(out.shape[0]):
        out[i] = value


@lw.kernel
def put_bool(out: lw.types.ndarray(lw.bool, 1), value: bool):
    for i in range(out.shape[0]):
        out[i] = value


@lw.kernel
def lanes(out: I32):
    for i in range(out.shape[0]):
        out[i] = lw.simt.subgroup.invocation_id()


@lw.kernel
def power(out: I32, n: lw.template()):
    for i in range(out.shape[0]):
        out[i] = i**n


def lane_numbers(n: int, W: int) -> np.ndarray[Any, Any]:
    return np.arange(n) % 128 % W


# ---- binding ------------------------------------------------------------------------------------------------------
def test_positional_keyword_and_default_arguments(device: lw.Device) -> None:
    x = np.arange(300, dtype=np.float32)
    y = np.zeros_like(x)
    affine(y, x, 2.0)
    np.testing.assert_array_equal(y, 2 * x)
    affine(offset=5, x=x, scale=0.5, y=y)
    np.testing.assert_array_equal(y, 0.5 * x + 5)
    affine(y, x, scale=3, offset=-1)
    np.testing.assert_array_equal(y, 3 * x - 1)


X = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, r"expected 4 arguments \(y, x, scale, offset\), got 0: 'y', 'x', 'scale' missing"),
        ((X, X), {}, r"got 2: 'scale' missing"),
        ((X, X, 1.0, 2, 3), {}, r"got 5: too many"),
        ((X, X), {"scale": 1.0, "bias": 2}, r"got 4: no parameter is named 'bias'"),
        ((X, X, 1.0), {"x": X}, r"got 4: 'x' twice"),
    ],
)
def test_wrong_arguments(args: Any, kwargs: Any, words: str) -> None:
    with pytest.raises(lw.LanewiseTypeError, match=rf"affine\(\): .*{words}"):
        affine(*args, **kwargs)


def test_a_wrong_dtype_names_both() -> None:
    with pytest.raises(lw.LanewiseTypeError) as caught:
        affine(X, X.astype(np.float64), 1.0)
    text = str(caught.value)
    assert "affine(), argument 'x': expected ndarray(f32, 1), got an array of f64, ndim 1" in text
    assert "write instead: x.astype(np.float32)" in text


def test_a_kernel_looks_like_its_function() -> None:
    assert vars(affine)["__name__"] == "affine"
    assert affine.__doc__ == "y = scale * x + offset"
    assert list(inspect.signature(affine).parameters) == ["y", "x", "scale", "offset"]
    assert repr(affine).startswith("<kernel affine(y: ")
    assert "y = scale * x + offset" in pydoc.render_doc(affine)


def test_a_parameter_without_a_type() -> None:
    @lw.kernel
    def untyped(a):  # type: ignore[no-untyped-def]
        for i in range(4):
            a[i] = 0

    with pytest.raises(lw.LanewiseTypeError, match=r"untyped\(\), parameter 'a': expected an annotation") as caught:
        untyped(X)
    assert "def untyped(a)" in str(caught.value)


def test_a_kernel_decorates_functions_only() -> None:
    with pytest.raises(lw.LanewiseTypeError, match="above a function"):
        lw.kernel(3)  # type: ignore[call-overload]


# ---- scalars ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kernel", "dtype", "value", "expected"),
    [
        (put, np.int32, 7, 7),
        (put, np.int32, -(2**31), -(2**31)),
        (put, np.int32, True, 1),
        (put, np.int32, np.uint8(200), 200),
        (put, np.int32, np.int64(-5), -5),
        (put, np.int32, np.array(6), 6),
        (put, np.float32, 3, 3.0),
        (put_i64, np.int64, -(2**63), -(2**63)),
        (put_i64, np.int64, 2**40, 2**40),
        (put_u64, np.uint64, 2**64 - 1, 2**64 - 1),
        (put_f16, np.float16, 65519, np.float16(65504)),
        (put_f16, np.float16, float("inf"), np.float16("inf")),
        (put_f16, np.float16, np.float32(0.1), np.float16(0.1)),
        (put_f64, np.float64, 0.1, 0.1),
        (put_f64, np.float64, 10**30, 1e30),
        (put_bool, np.bool_, True, True),
        (put_bool, np.bool_, 0, False),
        (put_bool, np.bool_, np.bool_(True), True),
    ],
)
def test_scalars_arrive(kernel: Any, dtype: Any, value: Any, expected: Any, few_devices: lw.Device) -> None:
    out = np.zeros(3, dtype)
    kernel(out, value)
    np.testing.assert_array_equal(out, np.full(3, expected, dtype))


@pytest.mark.parametrize(
    ("kernel", "dtype", "value", "words"),
    [
        (put, np.int32, 2**40, r"expected i32, -2147483648 to 2147483647, got 1099511627776"),
        (put, np.int32, -(2**31) - 1, r"expected i32"),
        (put, np.int32, 1.0, r"expected i32, got the scalar 1.0"),
        (put, np.int32, np.float32(1), r"expected i32, got the NumPy scalar"),
        (put, np.int32, "1", r"expected i32, got an object of type 'str'"),
        (put, np.int32, None, r"expected i32, got None"),
        (put, np.int32, np.zeros(1, np.int32), r"expected i32, got a NumPy array"),
        (put_u64, np.uint64, -1, r"expected u64"),
        (put_f16, np.float16, 65520, r"expected f16, up to 65504, got 65520"),
        (put_f64, np.float64, 10**400, r"expected f64"),
        (put_f64, np.float64, 1j, r"expected f64, got the scalar 1j"),
        (put_bool, np.bool_, 2, r"expected bool, 0 to 1, got 2"),
        (put_bool, np.bool_, 1.0, r"expected bool"),
    ],
)
def test_scalars_that_do_not_fit(kernel: Any, dtype: Any, value: Any, words: str) -> None:
    out = np.full(3, 1, dtype)
    with pytest.raises(lw.LanewiseTypeError, match=rf"argument 'value': .*{words}"):
        kernel(out, value)
    assert (out == 1).all()


# ---- templates and closures ---------------------------------------------------------------------------------------
def test_templates_have_code_of_their_own(few_devices: lw.Device) -> None:
    out = np.zeros(9, np.int32)
    for n in (2, 3, 2):
        power(out, n)
        np.testing.assert_array_equal(out, np.arange(9) ** n)


def test_equal_templates_of_different_types_are_told_apart(few_devices: lw.Device) -> None:
    @lw.kernel
    def half(out: F32, one: lw.template()):
        for i in range(out.shape[0]):
            out[i] = one * i // 2  # an integer quotient, or a float one

    @lw.func
    def double(x):  # type: ignore[no-untyped-def]
        return x + x

    @lw.func
    def square(x):  # type: ignore[no-untyped-def]
        return x * x

    @lw.kernel
    def apply(out: F32, f: lw.template()):
        for i in range(out.shape[0]):
            out[i] = f(out[i])

    out = np.full(4, 3, np.float32)
    for f, expected in ((double, 6), (square, 36), (double, 72)):
        apply(out, f)
        np.testing.assert_array_equal(out, expected)

    @lw.kernel
    def is_float(out: I32, value: lw.template()):
        for i in range(out.shape[0]):
            x = value
            out[i] = lw.cast(x * 0.5 * 2, lw.i32)

    ints = np.zeros(2, np.int32)
    for value in (1, 1.0, True):
        is_float(ints, value)
    half(out, 1)
    np.testing.assert_array_equal(out, [0, 0, 1, 1])
    compiled = [{id(loaded.executable) for loaded in k._recent[1].values()} for k in (half, apply, is_float)]
    assert [len(each) for each in compiled] == [1, 2, 3]


def test_a_template_is_hashable(few_devices: lw.Device) -> None:
    with pytest.raises(lw.LanewiseTypeError, match=r"argument 'n': expected a compile-time value that is hashable"):
        power(np.zeros(3, np.int32), [1])


def test_closed_over_arrays_and_numbers(device: lw.Device) -> None:
    total = lw.field(dtype=lw.i32, shape=4)
    step = 3

    @lw.kernel
    def count(n: lw.i32):
        for i in range(n):
            total[i % 4] += step

    count(40)
    count(4)
    np.testing.assert_array_equal(total.to_numpy(), [33] * 4)


def test_the_device_follows_closed_over_arrays() -> None:
    there = lw.init(lw.interpreter, subgroup_size=4)
    out = lw.field(dtype=lw.i32, shape=16)

    @lw.kernel
    def write():
        for i in range(16):
            out[i] = lw.simt.subgroup.invocation_id()

    lw.init(lw.interpreter, subgroup_size=8)
    write()
    assert out.device is there
    np.testing.assert_array_equal(out.to_numpy(), np.arange(16) % 4)


class Cells:
    def __init__(self, n: int, step: int) -> None:
        self.n, self.step = n, step
        self.values = lw.field(lw.i32, n)

    @lw.kernel
    def advance(self, times: lw.i32):
        for i in range(self.n):
            self.values[i] += times * self.step

    @staticmethod
    @lw.kernel
    def clear(a: I32):
        for i in range(a.shape[0]):
            a[i] = 0


def test_methods_take_their_instance_at_compile_time(few_devices: lw.Device) -> None:
    few, many = Cells(3, 5), Cells(7, -1)
    few.advance(2)
    many.advance(times=3)
    few.advance(1)
    np.testing.assert_array_equal(few.values.to_numpy(), [15] * 3)
    np.testing.assert_array_equal(many.values.to_numpy(), [-3] * 7)
    Cells.clear(few.values)
    many.clear(many.values)  # pyright: ignore[reportCallIssue]  taken for a method
    assert not few.values.to_numpy().any()
    assert not many.values.to_numpy().any()


# ---- devices ------------------------------------------------------------------------------------------------------
def test_lanes_are_w_wide(device: lw.Device, W: int) -> None:
    out = np.zeros(300, np.int32)
    lanes(out)
    np.testing.assert_array_equal(out, lane_numbers(300, W))


def test_the_cpu_with_32_lanes_is_the_default() -> None:
    out = np.zeros(100, np.int32)
    lanes(out)
    np.testing.assert_array_equal(out, lane_numbers(100, 32))
    assert lw.current_device().arch is lw.cpu


def test_several_devices_in_turn(arch: str) -> None:
    devices = [lw.init(arch, subgroup_size=n) for n in SIZES_OF.get(arch, (4, 16))]
    out = np.zeros(40, np.int32)
    for device in devices + devices:
        with lw.use(device):
            assert lw.current_device() is device
            lanes(out)
        np.testing.assert_array_equal(out, lane_numbers(40, device.subgroup_size))
    assert lw.current_device() is devices[-1]
    lanes(out)
    np.testing.assert_array_equal(out, lane_numbers(40, devices[-1].subgroup_size))


def test_the_device_follows_device_arrays() -> None:
    first = lw.init(lw.interpreter, subgroup_size=4)
    out = lw.ndarray(lw.i32, 40)
    lw.init(lw.interpreter, subgroup_size=16)
    lanes(out)
    assert out.device is first
    np.testing.assert_array_equal(out.to_numpy(), lane_numbers(40, 4))


def test_devices_are_not_mixed() -> None:
    lw.init(lw.interpreter, subgroup_size=4)
    a = lw.ndarray(lw.f32, 4)
    lw.init(lw.interpreter, subgroup_size=16)
    b = lw.ndarray(lw.f32, 4)
    with pytest.raises(
        lw.DeviceError, match=r"argument 'x': expected an array on interpreter\[W=4\], got one on inter"
    ):
        affine(a, b, 1.0)


def test_use_is_of_one_thread() -> None:
    outer = lw.init(lw.interpreter, subgroup_size=8)
    inner = lw.init(lw.interpreter, subgroup_size=2)
    seen: list[lw.Device] = []
    with lw.use(outer):
        thread = threading.Thread(target=lambda: seen.append(lw.current_device()))
        thread.start()
        thread.join()
        assert lw.current_device() is outer
    assert seen == [inner]


@pytest.mark.parametrize("size", [0, -1, 3, 48, 128, 2.0, True])
def test_subgroup_sizes_that_are_none(size: Any) -> None:
    with pytest.raises(lw.DeviceError, match="expected a subgroup_size among 1, 2, 4, 8, 16, 32, 64, got"):
        lw.init(lw.cpu, subgroup_size=size)


@pytest.mark.parametrize("name", ["cuda", "amdgpu", "vulkan", "metal"])
def test_backends_to_come_say_so(name: str) -> None:
    if isinstance(lw.devices()[lw.Arch(name)], lw.Device):
        pytest.skip(f"this machine has a {name} device")
    with pytest.raises(lw.DeviceError):
        lw.init(name)


def test_no_gpu_gives_every_reason() -> None:
    if any(isinstance(lw.devices()[a], lw.Device) for a in (lw.cuda, lw.amdgpu, lw.vulkan, lw.metal)):
        pytest.skip("this machine has a GPU")
    with pytest.raises(lw.DeviceError, match="expected a GPU, found none") as caught:
        lw.init(lw.gpu)
    for name in ("cuda", "amdgpu", "vulkan", "metal"):
        assert f"{name}: " in str(caught.value)


def test_init_options() -> None:
    device = lw.init("interpreter", subgroup_size=8, debug=True, default_fp=lw.f64, default_ip=lw.i64)
    assert (device.debug, device.default_fp, device.default_ip) == (True, lw.f64, lw.i64)
    assert lw.current_device() is device
    lw.sync()
    lw.reset()
    assert lw.current_device() is not device
    with pytest.raises(lw.LanewiseTypeError, match="expected default_fp among f16, f32, f64, got i32"):
        lw.init("interpreter", default_fp=lw.i32)
    with pytest.raises(lw.LanewiseTypeError, match="expected default_ip among"):
        lw.init("interpreter", default_ip=lw.f32)
    with pytest.raises(lw.DeviceError, match="expected threads"):
        lw.init("cpu", threads=0)
    with pytest.raises(lw.DeviceError, match="expected an arch among"):
        lw.init("tpu")


def test_default_types_shape_the_code() -> None:
    @lw.kernel
    def third(out: lw.types.ndarray(lw.f64, 1)):
        for i in range(out.shape[0]):
            x = 1 / 3
            out[i] = x

    out = np.zeros(2)
    for fp in (dtypes.f64, dtypes.f32):
        with lw.use(lw.init(lw.interpreter, default_fp=fp)):
            third(out)
        assert out[0] == fp.np.type(1) / fp.np.type(3)


# ---- compiled code ------------------------------------------------------------------------------------------------
def counting(monkeypatch: pytest.MonkeyPatch, device: lw.Device) -> list[str]:
    """The names of the programs that the device's engine loads from now on."""
    loaded: list[str] = []
    load = type(device.engine).load

    def counted(self: Any, program: Any, debug: bool) -> Any:
        loaded.append(program.name)
        return load(self, program, debug)

    monkeypatch.setattr(type(device.engine), "load", counted)
    return loaded


def test_each_signature_is_compiled_once(few_devices: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    @lw.kernel
    def fill(out: lw.types.ndarray(), value: lw.i32):
        for i in range(out.shape[0]):
            out[i] = value

    loaded = counting(monkeypatch, few_devices)
    for n in (3, 4, 1000):
        fill(np.zeros(n, np.int32), n)
        fill(lw.ndarray(lw.i32, n), n)
    assert len(loaded) == 1
    fill(np.zeros(8, np.int32)[::2], 1)
    fill(np.zeros(8, np.int64), 1)
    fill(np.zeros(8, np.int64), 2)
    assert len(loaded) == 3


def test_many_threads_compile_once(few_devices: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    @lw.kernel
    def square(out: I32):
        for i in range(out.shape[0]):
            out[i] = i * i

    loaded = counting(monkeypatch, few_devices)
    arrays = [np.zeros(500, np.int32) for _ in range(16)]

    def work(out: Any) -> None:
        with lw.use(few_devices):
            for _ in range(5):
                square(out)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, arrays))
    for out in arrays:
        np.testing.assert_array_equal(out, np.arange(500) ** 2)
    assert loaded == ["square"]


def test_a_program_that_fails_to_compile_fails_again() -> None:
    @lw.kernel
    def wrong(out: F32):
        for i in range(out.shape[0]):
            out[i] = unknown_name  # type: ignore[name-defined]  # noqa: F821

    for _ in range(2):
        with pytest.raises(lw.CompileError, match="unknown_name"):
            wrong(X)


def test_a_loop_above_the_limit_gets_64_bit_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanewise import extents

    monkeypatch.setattr(extents, "INDEX_LIMIT", 100)
    device = lw.init(lw.interpreter, subgroup_size=8)
    types: list[lw.DType] = []
    load = type(device.engine).load

    def noted(self: Any, program: Any, debug: bool) -> Any:
        types.append(program.index_type)
        return load(self, program, debug)

    monkeypatch.setattr(type(device.engine), "load", noted)

    @lw.kernel
    def grid(out: lw.types.ndarray(lw.i32, 1), n: lw.i32, m: lw.i32):
        for _i, _j in lw.ndrange(n, m):
            lw.atomic_add(out[0], 1)

    @lw.kernel
    def line(out: lw.types.ndarray(lw.i32, 1), n: lw.i64):
        for _i in range(n):
            lw.atomic_add(out[0], 1)

    @lw.kernel
    def along(out: lw.types.ndarray(lw.i32, 1)):
        for i in range(out.shape[0]):
            out[i] += 1

    out = np.zeros(1, np.int32)
    grid(out, 10, 10)
    assert types == [lw.i32]
    grid(out, 10, 11)
    grid(out, 11, 10)
    assert types == [lw.i32, lw.i64]
    line(out, 100)
    line(out, 101)
    assert types == [lw.i32, lw.i64] * 2
    along(np.zeros(100, np.int32))
    assert types[-1] == lw.i32
    assert out[0] == 100 + 110 + 110 + 100 + 101


def test_an_array_above_the_limit_gets_64_bit_indices(few_devices: lw.Device) -> None:
    @lw.kernel
    def extent(out: lw.types.ndarray(lw.i64, 1), a: lw.types.ndarray(lw.i8, 1)):
        for i in range(1):
            out[i] = a.shape[0]

    out = np.zeros(1, np.int64)
    for n in (5, 2**31 + 5, 5):
        extent(out, np.broadcast_to(np.zeros(1, np.int8), n))
        assert out[0] == n


# ---- the same arrays again ------------------------------------------------------------------------------------------
@lw.kernel
def add_twice(y: F32, x: F32):
    for i in range(y.shape[0]):
        y[i] += x[i]
    for i in range(x.shape[0]):
        y[i] += x[i]


def host(values: Any) -> lw.ndarray:
    return lw.from_numpy(np.asarray(values, np.float32))


def plain(values: Any) -> Any:
    return np.array(values, np.float32)


@pytest.mark.parametrize("n", [0, 1, 64, 131, 5000])
@pytest.mark.parametrize("make", [host, plain])
def test_the_same_arrays_in_a_row(make: Any, n: int, few_devices: lw.Device) -> None:
    y, x = make(np.zeros(n)), make(np.arange(n))
    for turn in range(1, 6):
        add_twice(y, x)
        assert (np.asarray(y) == 2 * turn * np.arange(n)).all()
    x.fill(1)  # what they hold may change
    add_twice(y, x)
    assert (np.asarray(y) == 10 * np.arange(n) + 2).all()


@pytest.mark.parametrize("size", [1, 8, 64])
def test_an_array_that_changes_and_stays_the_same_object(size: int) -> None:
    """On the CPU: memory that a driver has imported NumPy does not resize."""
    lw.init(lw.cpu, subgroup_size=size)
    y, x = np.zeros(48, np.float32), np.ones(48, np.float32)
    for _ in range(4):
        add_twice(y, x)
    y.resize(20000, refcheck=False)  # moves
    x.resize(20000, refcheck=False)
    add_twice(y, x)
    assert y[:48].tolist() == [10] * 48
    assert not y[48:].any()
    y.resize(48, refcheck=False)
    x.resize(48, refcheck=False)
    add_twice(y, x)
    assert y.tolist() == [12] * 48
    y.setflags(write=False)
    with pytest.raises(lw.LanewiseTypeError, match="read-only"):
        add_twice(y, x)


def test_scalars_in_arrays_are_read_at_every_launch(few_devices: lw.Device) -> None:
    out = np.zeros(5, np.int32)
    values: list[Any] = [np.array(1), lw.from_numpy(np.array(2))]
    for value in values:
        for turn in range(4):
            value[()] = turn
            put(out, value)
            assert out.tolist() == [turn] * 5


def test_numpy_arrays_go_to_the_current_device() -> None:
    devices = [lw.init(lw.cpu, subgroup_size=size) for size in (8, 16)]

    @lw.kernel
    def widths(out: I32):
        for i in range(out.shape[0]):
            out[i] = lw.simt.subgroup.group_size()

    out = np.zeros(16, np.int32)
    for _ in range(4):
        for device in devices:
            with lw.use(device):
                widths(out)
            assert out.tolist() == [device.subgroup_size] * 16


def test_other_arrays_in_between(few_devices: lw.Device) -> None:
    sets = [(host(np.zeros(n)), host(np.full(n, n))) for n in (3, 70, 70, 500)]
    for turn in range(1, 5):
        for y, x in sets:
            add_twice(y, x)
            assert (y.to_numpy() == 2 * turn * x.shape[0]).all()
    shared = sets[1][0]
    for _ in range(3):
        add_twice(shared, shared)
    assert (shared.to_numpy() == 8 * 70 * 64).all()


def test_new_arrays_at_the_old_place(few_devices: lw.Device) -> None:
    """An object may have the identity of one that is gone."""
    x = host(np.ones(40))
    for turn in range(200):
        for make in (host, plain):
            y = make(np.full(40, turn))
            for _ in range(turn % 4):
                add_twice(y, x)
            assert (np.asarray(y) == turn + 2 * (turn % 4)).all()
            del y


def test_devices_and_threads_know_the_same_arrays() -> None:
    devices = [lw.init(lw.cpu, subgroup_size=8, threads=threads) for threads in (1, 2)]
    given = [(lw.ndarray(lw.f32, 900, device=device), lw.ndarray(lw.f32, 900, device=device)) for device in devices]

    def work(number: int) -> None:
        y, x = given[number % 2]
        mine = lw.ndarray(lw.f32, 900, device=devices[number % 2])
        for _ in range(50):
            add_twice(mine, x)
        assert (mine.to_numpy() == 100).all()
        assert (y.to_numpy() == 0).all()

    for _, x in given:
        x.fill(1)
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(16)]:
            done.result()


def test_asserts_are_seen_in_every_launch() -> None:
    lw.init(lw.cpu, subgroup_size=8, debug=True)

    @lw.kernel
    def positive(x: F32):
        for i in range(x.shape[0]):
            assert x[i] > 0

    x = host(np.ones(20))
    for _ in range(4):
        positive(x)
    x[7] = -1
    for _ in range(3):
        with pytest.raises(lw.KernelAssertionError):
            positive(x)


# ---- generated code without a device ------------------------------------------------------------------------------
@pytest.mark.parametrize(("target", "word"), [("ir", "program affine"), ("cpu", "define"), ("asm", "ret")])
def test_source(target: str, word: str) -> None:
    assert word in affine.source(target)
    assert affine.source(target, subgroup_size=8) != affine.source(target, subgroup_size=16)


def test_source_of_templates_and_open_annotations() -> None:
    assert power.source("ir", n=2) != power.source("ir", n=5)
    with pytest.raises(lw.LanewiseTypeError, match="argument 'n': expected a value, got none"):
        power.source("ir")
    with pytest.raises(lw.LanewiseTypeError, match="argument 'out': expected a dtype and a number of axes"):
        put.source("ir")
    assert "f64" in put.source("ir", out=lw.types.ndarray(lw.f64))
    assert "strided" in put.source("ir", np.zeros(8)[::2])


def test_shapes_of_shared_and_local_arrays_are_in_the_text() -> None:
    @lw.kernel
    def scratch(out: F32, n: lw.template(), m: lw.template()):
        for i in range(out.shape[0]):
            shared = lw.simt.block.SharedArray((n, 4), lw.f32)
            own = lw.local_array(m, lw.f32)
            own[0] = out[i]
            shared[0, i % 4] = own[0]

    texts = {scratch.source("ir", n=n, m=m) for n in (8, 16) for m in (1, 2)}
    assert len(texts) == 4  # the disk cache looks compiled code up by this text


def test_unknown_targets_are_listed() -> None:
    with pytest.raises(lw.DeviceError, match="expected a target among ir, cpu, asm"):
        affine.source("fortran")


# ---- the disk cache -----------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def entry(made: list[int]) -> cache.Entry:
    made.append(1)
    return cache.Entry(b"object" * 100, {"size": 6, "names": ["a", "b"]})


def test_an_entry_is_made_once_and_found_again(folder: Path) -> None:
    made: list[int] = []
    first = cache.fetch(["text", "cpu"], lambda: entry(made))
    assert cache.fetch(["text", "cpu"], lambda: entry(made)) == first
    assert len(made) == 1
    cache.fetch(["tex", "tcpu"], lambda: entry(made))
    assert len(made) == 2
    assert not list(folder.rglob(".new-*"))


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:200] + b"?" + b[201:], lambda b: b + b"x"]
)
def test_a_damaged_entry_is_made_again(folder: Path, damage: Any) -> None:
    made: list[int] = []
    cache.fetch(["text"], lambda: entry(made))
    (path,) = (p for p in folder.rglob("*") if p.is_file())
    path.write_bytes(damage(path.read_bytes()))
    assert cache.fetch(["text"], lambda: entry(made)).code == b"object" * 100
    cache.fetch(["text"], lambda: entry(made))
    assert len(made) == 2


def test_a_folder_that_cannot_be_written_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path / "file" / "below"))
    made: list[int] = []
    with pytest.warns(RuntimeWarning, match="compiled kernels cannot be kept"):
        cache.fetch(["a"], lambda: entry(made))
    cache.fetch(["b"], lambda: entry(made))
    assert len(made) == 2


def test_no_disk_cache_where_its_name_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_DIR", "")
    made: list[int] = []
    for _ in range(2):
        cache.fetch(["nowhere"], lambda: entry(made))
    assert len(made) == 2


def test_threads_wait_for_the_first(folder: Path) -> None:
    made: list[int] = []
    started = threading.Barrier(8)

    def work(_: int) -> cache.Entry:
        started.wait()
        return cache.fetch(["one"], lambda: entry(made))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert len(made) == 1
    assert all(r == results[0] for r in results)


PROGRAM = """
import sys
import numpy as np
import lanewise as lw
from lanewise import cache

@lw.kernel
def triple(a: lw.types.ndarray(lw.i32, 1)):
    for i in range(a.shape[0]):
        a[i] = a[i] * 3

made = []
fetch = cache.fetch
cache.fetch = lambda parts, make: fetch(parts, lambda: made.append(1) or make())
a = np.arange(1000, dtype=np.int32)
triple(a)
assert (a == 3 * np.arange(1000)).all()
print(len(made))
"""


def test_processes_share_compiled_code(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(script)]
    first = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in first:
        process.communicate()
        assert process.returncode == 0
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == "0"
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-10])
    damaged = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(damaged.stdout) > 0


def test_importing_lanewise_does_not_import_llvm() -> None:
    command = [sys.executable, "-c", "import sys, lanewise; print('llvmlite' in sys.modules)"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"
