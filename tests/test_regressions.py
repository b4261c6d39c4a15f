"""Faults that were found once, each as the smallest kernel that showed it."""

from __future__ import annotations

import importlib
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import lanewise as lw
from lanewise.simt import block, subgroup


@lw.kernel
def inverse_product(x: lw.types.ndarray(lw.i32, 1), out: lw.types.ndarray(lw.i32, 1)):
    for i in range(x.shape[0]):
        tripled = i * 3
        out[i] = x[tripled * -1431655765]  # that wraps to i


@lw.kernel
def shifted_out(x: lw.types.ndarray(lw.i32, 1), out: lw.types.ndarray(lw.i32, 1)):
    for i in range(out.shape[0]):
        if i % 4 == 0:
            out[i] = x[i << 30]


def test_linear_index_that_wraps(device: lw.Device) -> None:
    x = np.arange(1, 78, dtype=np.int32)
    out = np.zeros_like(x)
    inverse_product(x, out)
    assert out.tolist() == x.tolist()
    shifted_out(x, out)
    assert out[::4].tolist() == [1] * 20


@lw.kernel
def barrier_after_loop(rounds: lw.i32, out: lw.types.ndarray(lw.i32, 1)):
    lw.loop_config(block_dim=64)
    for i in range(out.shape[0]):
        shared = block.SharedArray(64, lw.i32)
        count = 0
        for _ in range(rounds):
            count += 2
        if count > 5:
            shared[block.thread_idx()] = i
            block.sync()
            out[i] = shared[block.thread_idx() ^ 1 if i < 64 else 0]


@lw.kernel
def barrier_after_load(flag: lw.types.ndarray(lw.i32, 1), out: lw.types.ndarray(lw.i32, 1)):
    lw.loop_config(block_dim=64)
    for i in range(out.shape[0]):
        shared = block.SharedArray(64, lw.i32)
        if flag[0] > 0:
            shared[block.thread_idx()] = i
            block.sync()
            out[i] = shared[block.thread_idx() ^ 1 if i < 64 else 0]


def test_barrier_under_a_uniform_value_in_a_partial_block(device: lw.Device) -> None:
    expected = [i ^ 1 if i < 64 else 64 for i in range(101)]
    out = np.zeros(101, np.int32)
    barrier_after_loop(3, out)
    assert out.tolist() == expected
    out[:] = 0
    barrier_after_load(np.ones(1, np.int32), out)
    assert out.tolist() == expected


@lw.kernel
def symmetric(a: lw.types.ndarray(lw.i32, 2)):
    for i, j in lw.ndrange(a.shape[0], a.shape[1]):
        a[i, j] += 1
        a[j, i] += 1


@lw.kernel
def own(a: lw.types.ndarray(lw.i32, 2)):
    for i, j in lw.ndrange(a.shape[0], a.shape[1]):
        a[j, i] += 1


def test_update_of_the_mirrored_element_is_atomic() -> None:
    a = lw.types.ndarray(lw.i32, 2)
    assert "atomic" in symmetric.source("ir", a)
    assert "atomic" not in own.source("ir", a)


@lw.kernel
def count(a: lw.types.ndarray(lw.i32, 1)):
    for i in range(a.shape[0]):
        a[i] += 1


@lw.kernel
def count_windows(a: lw.types.ndarray(lw.i32, 2)):
    for i, j in lw.ndrange(a.shape[0], a.shape[1]):
        a[i, j] += 1


def test_updates_of_elements_in_one_place(few_devices: lw.Device) -> None:
    one = np.zeros(1, np.int32)
    count(as_strided(one, (100,), (0,)))
    assert one[0] == 100
    a = np.zeros(20, np.int32)
    count_windows(sliding_window_view(a, 5, writeable=True))
    assert a.tolist() == [1, 2, 3, 4, *[5] * 12, 4, 3, 2, 1]


@lw.kernel
def reciprocal(x: lw.template(), out: lw.types.ndarray(lw.f32, 1)):
    for i in range(out.shape[0]):
        out[i] = 1.0 / lw.f32(x)


@dataclass(frozen=True)
class Setting:
    x: float


@lw.kernel
def reciprocal_of(setting: lw.template(), out: lw.types.ndarray(lw.f32, 1)):
    for i in range(out.shape[0]):
        out[i] = 1.0 / lw.f32(setting.x)


def test_templates_that_differ_in_the_sign_of_zero() -> None:
    out = np.zeros(1, np.float32)
    for run, make in ((reciprocal, np.float32), (reciprocal_of, Setting)):
        for zero in (0.0, -0.0):
            run(make(zero), out)
            assert out[0] == np.copysign(np.inf, zero)


@lw.kernel
def indices(start: lw.i64, stop: lw.i64, out: lw.types.ndarray(lw.i64, 1)):
    for i in range(start, stop):
        out[lw.atomic_add(out[10], 1)] = i


@lw.kernel
def constant_indices(out: lw.types.ndarray(lw.i64, 1)):
    for i in range(3_000_000_000, 3_000_000_005):
        out[lw.atomic_add(out[10], 1)] = i


@lw.kernel
def far_apart(start: lw.i32, stop: lw.i32, out: lw.types.ndarray(lw.i64, 1)):
    for i in range(start, stop, 1_000_000_000):
        out[lw.atomic_add(out[10], 1)] = i


@pytest.mark.parametrize(
    "bounds", [(3_000_000_000, 3_000_000_005), (-(2**40), 5 - 2**40), (2**31 - 3, 2**31 + 3), (0, 5 - 2**32), (5, 2)]
)
def test_parallel_loop_beyond_i32(few_devices: lw.Device, bounds: tuple[int, int]) -> None:
    out = np.zeros(11, np.int64)
    indices(*bounds, out)
    assert sorted(out[: out[10]]) == list(range(*bounds))


def test_parallel_loop_with_far_bounds(few_devices: lw.Device) -> None:
    out = np.zeros(11, np.int64)
    constant_indices(out)
    assert sorted(out[: out[10]]) == list(range(3_000_000_000, 3_000_000_005))
    out[:] = 0
    far_apart(-2_000_000_000, 2_000_000_000, out)
    assert sorted(out[: out[10]]) == [-2_000_000_000, -1_000_000_000, 0, 1_000_000_000]


@lw.kernel
def rounds(x: lw.types.ndarray(lw.u32, 1), out: lw.types.ndarray(lw.i32, 2)):
    for i in range(x.shape[0]):
        for _ in range(x[i]):
            out[0, i] += 1
            if out[0, i] == 3:
                break
        for _ in range(3_000_000_000):
            out[1, i] += 1
            if out[1, i] == 3:
                break
        for _ in range(2_147_483_640, 2_147_483_647, 3):
            out[2, i] += 1
            if out[2, i] == 9:
                break


def test_serial_loop_beyond_i32(few_devices: lw.Device) -> None:
    out = np.zeros((3, 3), np.int32)
    rounds(np.array([0, 2, 3_000_000_000], np.uint32), out)
    assert out.tolist() == [[0, 2, 3], [3, 3, 3], [3, 3, 3]]


MODULE = """
import lanewise as lw

@lw.func
def number():
    return {}

@lw.kernel
def fill(out: lw.types.ndarray(lw.i32, 1)):
    for i in range(out.shape[0]):
        out[i] = number()
"""


def test_a_file_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    path = tmp_path / "changing_kernels.py"
    path.write_text(MODULE.format(1))
    module = importlib.import_module(path.stem)
    path.write_text(MODULE.format(222))
    out = np.zeros(1, np.int32)
    module.fill(out)
    assert out[0] == 1  # what Python would run
    importlib.reload(module)
    module.fill(out)
    assert out[0] == 222


@lw.kernel
def barrier_of_some(out: lw.types.ndarray(lw.i32, 1)):
    for i in range(out.shape[0]):
        if i < 3:
            block.sync()
        out[i] = 1


def test_misplaced_barrier_on_every_backend(few_devices: lw.Device) -> None:
    with pytest.raises(lw.CompileError, match="not block-uniform"):
        barrier_of_some(np.zeros(10, np.int32))


@lw.kernel
def much_shared(out: lw.types.ndarray(lw.i32, 1), half: lw.template()):
    for i in range(out.shape[0]):
        a = block.SharedArray(half, lw.i32)
        b = block.SharedArray(half, lw.i32)
        a[0] = 1
        b[0] = 2
        out[i] = a[0] + b[0]


def test_too_much_shared_memory_on_every_backend(few_devices: lw.Device) -> None:
    half = few_devices.properties.max_shared_bytes // 8
    out = np.zeros(3, np.int32)
    much_shared(out, half)
    assert out.tolist() == [3, 3, 3]
    with pytest.raises(lw.CompileError, match=f"need {8 * half + 32} bytes"):
        much_shared(out, half + 1)


def test_threads_that_are_no_integer() -> None:
    with pytest.raises(lw.DeviceError, match=r"got 1\.5"):
        lw.init(lw.cpu, threads=1.5)  # type: ignore[arg-type]


@lw.kernel
def add_to_both(a: lw.types.ndarray(lw.i32, 1), b: lw.types.ndarray(lw.i32, 1), block_dim: lw.template()):
    lw.loop_config(block_dim=block_dim)
    for i in range(a.shape[0]):
        a[i] += 1
        b[i] += 10


def test_updates_of_arrays_that_are_shifted_views_of_one(device: lw.Device) -> None:
    for block_dim in (1, 64):
        whole = np.zeros(1000, np.int32)
        add_to_both(whole[:-1], whole[1:], block_dim)
        assert whole.tolist() == [1, *[11] * 998, 10]
    apart, same = np.zeros((2, 500), np.int32), np.zeros(500, np.int32)
    add_to_both(apart[0], apart[1], 64)
    assert (apart == [[1], [10]]).all()
    add_to_both(same, same, 64)
    assert (same == 11).all()


field = lw.field(lw.i32, 5)


@lw.kernel
def count_up():
    for i in range(5):
        field[i] += 1


def test_a_closed_over_array_is_the_one_that_its_name_means_at_the_launch(device: lw.Device) -> None:
    global field
    first, second = lw.field(lw.i32, 5), lw.field(lw.i32, 5)
    for chosen in (first, second, second, first, second):
        field = chosen
        count_up()
    assert first.to_numpy().tolist() == [2] * 5
    assert second.to_numpy().tolist() == [3] * 5


@lw.kernel
def operation_where_all_or_none_evaluate_it(x: lw.types.ndarray(lw.i32, 1), n: lw.i32):
    for i in range(x.shape[0]):
        total = subgroup.reduce_all_add(x[i]) if n > 3 else -1
        if n > 2 and subgroup.any_true(total):
            total += 1
        x[i] = total


def test_operation_in_a_uniform_ternary(device: lw.Device) -> None:
    for n, want in ((4, 2 * device.subgroup_size + 1), (3, 0), (2, -1)):
        x = np.full(2 * device.subgroup_size, 2, np.int32)
        operation_where_all_or_none_evaluate_it(x, n)
        assert x.tolist() == [want] * len(x)


@lw.kernel
def large_local_array(x: lw.types.ndarray(lw.f64, 1)):
    for i in range(x.shape[0]):
        many = lw.local_array(100_000, lw.f64)
        many[i] = x[i]
        x[i] = many[0]


def test_local_arrays_too_large_for_a_stack(few_devices: lw.Device) -> None:
    with pytest.raises(lw.CompileError, match="local arrays of a thread need 800000 bytes"):
        large_local_array(np.zeros(3))


def test_a_thread_with_a_small_stack(few_devices: lw.Device) -> None:
    x = np.zeros(100, np.int32)
    old = threading.stack_size(128 * 1024)
    try:
        thread = threading.Thread(target=lambda: add_to_both(x, x, 64), daemon=True)
        add_to_both(x, x, 64)  # compiled here: LLVM itself wants a larger one
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert (x == 22).all()


@lw.kernel
def load_or_constant(x: lw.types.ndarray(lw.i32, 1), out: lw.types.ndarray(lw.i32, 1)):
    for i in range(out.shape[0]):
        own = lw.local_array(4, lw.i32)
        for k in range(4):
            own[k] = k * 10
        r = 5
        z = 3
        if x[0] == 0:
            r = own[2]
            z = lw.atomic_max(out[i], 1)
        out[i] = r + z


def test_branches_that_give_a_load_or_a_constant(device: lw.Device) -> None:
    for first, want in ((0, 20), (1, 8)):
        out = np.zeros(70, np.int32)
        load_or_constant(np.array([first], np.int32), out)
        assert out.tolist() == [want] * 70


@lw.kernel
def quarters_of_columns(quarter: lw.types.ndarray(lw.i32, 2), rest: lw.types.ndarray(lw.i32, 2)):
    lw.loop_config(block_dim=128)
    for i, j in lw.ndrange(quarter.shape[0], quarter.shape[1]):
        quarter[i, j] = j // 4
        rest[i, j] = j % 4


@pytest.mark.parametrize("row", [5, 24, 65, 100, 128])
def test_rows_that_begin_within_a_subgroup(device: lw.Device, row: int) -> None:
    quarter, rest = np.zeros((2, 37, row), np.int32)
    quarters_of_columns(quarter, rest)
    np.testing.assert_array_equal(quarter, np.arange(row) // 4 + np.zeros_like(quarter))
    np.testing.assert_array_equal(rest, np.arange(row) % 4 + np.zeros_like(rest))
