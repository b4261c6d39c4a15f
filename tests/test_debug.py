"""`init(debug=True)`: print, assert and checked indices, on every device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from .conftest import ARCHES, FEW, SIZES_OF

N = 70
Ints = lw.types.ndarray(lw.i32, 1)
Floats = lw.types.ndarray(lw.f32, 1)


@pytest.fixture(params=[(a, size) for a in ARCHES for size in SIZES_OF.get(a, FEW)], ids=lambda p: f"{p[0]}-{p[1]}")
def debugging(request: pytest.FixtureRequest) -> Iterator[lw.Device]:
    name, size = request.param
    with lw.use(lw.init(name, subgroup_size=size, debug=True)) as device:
        yield device


# ---- indices ------------------------------------------------------------------------------------------------------
@lw.kernel
def past(a: Floats, n: lw.i32):
    for i in range(n):
        a[i] = 1.0


def test_indices_out_of_range(debugging: lw.Device) -> None:
    past(np.zeros(4, np.float32), 4)
    a = np.zeros(40, np.float32)[:4]
    with pytest.raises(lw.KernelAssertionError, match="index 4 of a is outside axis 0, which has 4 elements"):
        past(a, 6)
    if debugging.arch is not lw.interpreter:  # which stops at the first
        np.testing.assert_array_equal(a, 1)
    assert a.base is not None
    assert not a.base[4:].any()


@lw.kernel
def gather(x: Ints, out: Ints):
    for i in range(out.shape[0]):
        assert x[i] < 100, f"x[{i}] is {x[i]}"
        out[i] = x[i + x[i]]


def test_the_first_fault_is_told(debugging: lw.Device) -> None:
    x, out = np.zeros(N, np.int32), np.ones(N, np.int32)
    gather(x, out)
    np.testing.assert_array_equal(out, 0)
    for value, words in (
        (200, r"x\[3\] is 200"),
        (90, "index 93 of x is outside axis 0, which has 70 elements"),
        (-4, "index -1 of x is outside"),
    ):
        x[3] = value
        with pytest.raises(lw.KernelAssertionError, match=words) as caught:
            gather(x, out)
        assert "in item 3" in str(caught.value)


@lw.kernel
def checked(x: Ints):
    for i in range(x.shape[0]):
        assert x[i] < 90, f"value {x[i]} is too large"
        x[i] += 1


def test_a_failed_assertion_raises_after_the_launch(debugging: lw.Device) -> None:
    x = np.arange(100, dtype=np.int32)
    with pytest.raises(lw.KernelAssertionError, match="value 90 is too large"):
        checked(x)
    if debugging.arch is not lw.interpreter:  # which stops at the first
        np.testing.assert_array_equal(x, np.arange(1, 101))  # the others went on
    x[:] = 0
    checked(x)
    np.testing.assert_array_equal(x, 1)


# ---- print --------------------------------------------------------------------------------------------------------
VALUES: list[tuple[Any, list[Any]]] = [
    (lw.bool, [True, False]),
    (lw.i8, [-128, 127]),
    (lw.u16, [0, 65535]),
    (lw.i32, [-(2**31), 2**31 - 1]),
    (lw.u64, [2**64 - 1, 2**33]),
    (lw.i64, [-(2**63), -1]),
    (lw.f16, [-0.5, 65504.0]),
    (lw.f32, [float("inf"), -0.0]),
    (lw.f64, [1e-300, 0.1]),
]


@lw.kernel
def show(x: lw.types.ndarray()):
    for i in range(x.shape[0]):
        print("x =", x[i], f"at {i}", x[i])


@pytest.mark.parametrize(("dtype", "values"), VALUES, ids=lambda v: str(v) if isinstance(v, lw.DType) else "")
def test_values_of_every_type(
    dtype: lw.DType, values: list[Any], debugging: lw.Device, capsys: pytest.CaptureFixture[str]
) -> None:
    show(np.array(values, dtype.np))
    assert capsys.readouterr().out.splitlines() == [f"x = {v} at {i} {v}" for i, v in enumerate(values)]


@lw.kernel
def odd_ones(x: Floats):
    lw.loop_config(block_dim=24)
    for i in range(x.shape[0]):
        if i % 2:
            print(i, x[i], subgroup.reduce_all_add(1))


def test_active_lanes_alone_print(debugging: lw.Device, capsys: pytest.CaptureFixture[str]) -> None:
    n, width = 61, debugging.subgroup_size
    odd_ones(np.arange(n, dtype=np.float32) / 2)
    expected: list[str] = []
    for i in range(1, n, 2):
        first = i // 24 * 24 + i % 24 // width * width
        end = min(first + width, i // 24 * 24 + 24, n)
        expected.append(f"{i} {i / 2} {sum(k % 2 for k in range(first, end))}")
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(expected)


@lw.kernel
def countdown(rounds: Ints):
    for i in range(rounds.shape[0]):
        left = rounds[i]
        while left > 0:
            print(i, left)
            left -= 1


def test_an_item_prints_in_its_own_order(debugging: lw.Device, capsys: pytest.CaptureFixture[str]) -> None:
    rounds = np.array([3, 0, 1, 5] * 5, np.int32)
    countdown(rounds)
    lines = [tuple(map(int, line.split())) for line in capsys.readouterr().out.splitlines()]
    for i, count in enumerate(rounds):
        assert [left for item, left in lines if item == i] == list(range(count, 0, -1))
    if debugging.arch is not lw.interpreter:  # which prints as it goes
        assert [item for item, _ in lines] == sorted(item for item, _ in lines)


def test_too_much_is_cut_and_said(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    if arch == "interpreter":
        pytest.skip("the interpreter prints as it goes, all of it")
    with lw.use(lw.init(arch, debug=True)):
        show(np.zeros(100_000, np.float32))
        lines = capsys.readouterr().out.splitlines()
        assert "output cut" in lines[-1]
        assert 10_000 < len(lines) < 50_000
        show(np.zeros(4, np.float32))
        assert len(capsys.readouterr().out.splitlines()) == 4
