"""Launching: threads, interruption, forked children, records of print and assert, memory of every kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lanewise import dtypes
from lanewise.ir import Builder, Local, Shared, Value

from .kernels import load, program, run, same_bits, view

SIZES = (1, 2, 4, 8, 16, 32, 64)


def spin(rounds: int) -> Any:
    """An item that multiplies `rounds` times."""

    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        start = b.load(memories[0], indices[0])
        limit = b.i32(rounds)
        _, total = b.loop(
            [b.i32(0), start],
            lambda i, x: (b.lt(i, limit), [i, x]),
            lambda i, x: [b.add(i, b.i32(1)), b.add(b("mul", x, b.i32(3)), b.i32(1))],
        )
        b.store(memories[0], [indices[0]], total)

    return build


def spun(values: np.ndarray[Any, Any], rounds: int) -> np.ndarray[Any, Any]:
    values = values.copy()
    for _ in range(rounds):
        values = values * np.int32(3) + np.int32(1)
    return values


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_block_runs_once(threads: int) -> None:
    n = 100_003
    made = load(program(8, spin(50), [(dtypes.i32, 1)]), threads=threads)
    values = np.arange(n, dtype=np.int32)
    want = spun(values, 50)
    made.launch([view(values)], [n])
    same_bits(values, want)


def test_launches_from_several_threads_at_once() -> None:
    n, rounds = 20_000, 40
    made = load(program(8, spin(rounds), [(dtypes.i32, 1)]), threads=3)
    arrays = [np.arange(n, dtype=np.int32) + k for k in range(6)]
    wants = [spun(a, 10 * rounds) for a in arrays]

    def work(array: np.ndarray[Any, Any]) -> None:
        for _ in range(10):
            made.launch([view(array)], [n])

    threads = [threading.Thread(target=work, args=(a,)) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for array, want in zip(arrays, wants, strict=True):
        same_bits(array, want)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_launch(threads: int) -> None:
    n = 1 << 22
    made = load(program(8, spin(1_000_000), [(dtypes.i32, 1)], block_dim=64), threads=threads)
    values = np.zeros(n, np.int32)
    made.launch([view(values)], [64])
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    started = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        made.launch([view(values)], [n])
    assert time.perf_counter() - started < 5
    assert values[-1] == 0  # not to the end, and what was running has ended
    done = values.copy()
    time.sleep(0.05)
    same_bits(values, done)


_FORK = """
import os, sys
import numpy as np
from lanewise import dtypes
from tests.cpu.kernels import load, program, view
from tests.cpu.test_engine import spin, spun
made = load(program(8, spin(50), [(dtypes.i32, 1)]), threads=2)
values = np.arange(200_000, dtype=np.int32)
want = spun(spun(values, 50), 50)
made.launch([view(values)], [len(values)])
child = os.fork()
made.launch([view(values)], [len(values)])
assert np.array_equal(values, want)
if child == 0:
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("both")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_launches_too() -> None:
    command = [sys.executable, "-W", "ignore", "-c", _FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "both\n", done.stderr
    assert done.returncode == 0


# ---- memory -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("width", [1, 8, 64])
def test_strided_scattered_and_masked(width: int, dtype: dtypes.DType) -> None:
    """out[perm[i]] = a[i, 2] where wanted[i]; the rest of `out` is left alone."""

    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        a, perm, wanted, out, straight = memories
        (item,) = indices

        def move() -> tuple[Value, ...]:
            value = b.load(a, item, b.i32(2))
            b.store(out, [b.load(perm, item)], value)
            b.store(straight, [item], value)
            return ()

        b.if_(b.load(wanted, item), move)

    n = 333
    rng = np.random.default_rng(1)
    a = rng.integers(0, 100, (n, 3)).astype(dtype.np)
    perm = rng.permutation(n).astype(np.int64)
    wanted = rng.random(n) < 0.5
    out, straight = np.ones(n, dtype.np), np.ones(n, dtype.np)
    want_out, want_straight = out.copy(), straight.copy()
    want_out[perm[wanted]] = a[wanted, 2]
    want_straight[wanted] = a[wanted, 2]
    arrays = [(dtype, 2), (dtypes.i64, 1), (dtypes.bool_, 1), (dtype, 1), (dtype, 1)]
    run(program(width, build, arrays), [a, perm, wanted, out, straight], [n])
    same_bits(out, want_out)
    same_bits(straight, want_straight)


@pytest.mark.parametrize("width", SIZES)
def test_two_axes(width: int) -> None:
    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        row, column = indices
        b.store(memories[1], [column, row], b.load(memories[0], row, column))

    a = np.random.default_rng(2).random((37, 53), np.float32)
    for part in (a, a[:, :32], a[:5, :1]):
        part = np.ascontiguousarray(part)
        out = np.zeros(part.shape[::-1], np.float32)
        run(program(width, build, [(dtypes.f32, 2)] * 2, ndim=2), [part, out], part.shape)
        same_bits(out, part.T)


@pytest.mark.parametrize("width", SIZES)
def test_local_arrays_are_each_threads_own(width: int) -> None:
    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        mine = Local("mine", dtypes.i32, (4,))
        value = b.load(memories[0], indices[0])
        for place in range(4):
            b.store(mine, [b.i32(place)], b("mul", value, b.i32(place + 1)))
        chosen = b.and_(value, b.i32(3))
        b.if_(b.lt(chosen, b.i32(2)), lambda: (b.store(mine, [chosen], b.i32(-1)), ())[1])
        b.store(memories[0], indices, b.add(b.load(mine, chosen), b.load(mine, b.i32(1))))

    values = np.arange(100, dtype=np.int32)
    low = values % 4 < 2
    want = np.where(low, -1, values * (values % 4 + 1)) + np.where(values % 4 == 1, -1, values * 2)
    run(program(width, build, [(dtypes.i32, 1)]), [values], [100])
    same_bits(values, want.astype(np.int32))


@pytest.mark.parametrize("count", [256, 200])
@pytest.mark.parametrize("width", SIZES)
def test_shared_memory_and_barriers(width: int, count: int) -> None:
    """Each block reverses its part, twice over, through shared memory."""

    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        shared = Shared("shared", dtypes.f64, (64,))
        thread = b.thread_idx()
        value = b.load(memories[0], indices[0])
        for _ in range(3):
            b.store(shared, [thread], value)
            b.emit("block.barrier")
            value = b.load(shared, b.sub(b.i32(63), thread))
            b.emit("block.barrier")
        b.store(memories[1], indices, value)

    values = np.random.default_rng(3).random(count)
    padded = np.zeros(-(-count // 64) * 64)
    padded[:count] = values
    want = padded.reshape(-1, 64)[:, ::-1].reshape(-1)[:count]
    out = np.zeros(count)
    run(program(width, build, [(dtypes.f64, 1)] * 2, block_dim=64), [values, out], [count], threads=2)
    whole = count // 64 * 64  # in the last block some threads read what an absent one never wrote
    same_bits(out[:whole], want[:whole])


@pytest.mark.parametrize("count", [256, 201])
@pytest.mark.parametrize("width", SIZES)
def test_local_arrays_outlive_a_barrier(width: int, count: int) -> None:
    """What a subgroup holds while it waits does not stay on a stack that the others use, indexed at run time or not."""

    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        (item,) = indices
        mine, fixed = Local("mine", dtypes.i8, (8,)), Local("fixed", dtypes.i32, (2,))
        value = b.load(memories[0], item)
        for place in range(8):
            b.store(mine, [b.i32(place)], b.add(value, b.const(place, dtypes.i8)))
        b.store(fixed, [b.i32(1)], item)
        b.emit("block.barrier")
        odd = b.eq(b.and_(item, b.i32(1)), b.i32(1))
        chosen = b.and_(item, b.i32(7))
        b.if_(odd, lambda: (b.store(mine, [chosen], b.const(-1, dtypes.i8)), ())[1])
        b.emit("block.barrier")
        b.if_(odd, lambda: (b.store(memories[0], indices, b.load(mine, chosen)), ())[1])
        b.emit("block.barrier")
        b.store(memories[1], indices, b.add(b.load(fixed, b.i32(1)), b.cast(b.load(mine, chosen), dtypes.i32)))

    items = np.arange(count, dtype=np.int32)
    values = (items % 50).astype(np.int8)
    held = np.where(items % 2 == 1, -1, values + items % 8)
    want = np.where(items % 2 == 1, -1, values).astype(np.int8), items + held.astype(np.int32)
    out = np.zeros(count, np.int32)
    run(program(width, build, [(dtypes.i8, 1), (dtypes.i32, 1)], block_dim=64), [values, out], [count], threads=2)
    same_bits(values, want[0])
    same_bits(out, want[1].astype(np.int32))


# ---- atomics ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("asked", [False, True], ids=["alone", "old value used"])
@pytest.mark.parametrize("dtype", dtypes.NUMERIC, ids=str)
@pytest.mark.parametrize("kind", ["add", "sub", "min", "max"])
def test_atomics_on_one_element(kind: str, dtype: dtypes.DType, asked: bool) -> None:
    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        value = b.load(memories[0], indices[0])

        def update() -> tuple[Value, ...]:
            old = b("atomic", b.i32(0), value, mem=memories[1], kind=kind)
            if asked:
                b.store(memories[2], indices, old)
            return ()

        b.if_(b("gt", value, b.const(2, dtype)), update)

    values = (np.arange(1000) % 7).astype(dtype.np)
    into, olds = np.full(1, 50, dtype.np), np.zeros(1000, dtype.np)
    run(program(16, build, [(dtype, 1)] * 3), [values, into, olds], [1000], threads=2)
    taken = values[values > 2].astype(object)
    want = {"add": 50 + taken.sum(), "sub": 50 - taken.sum(), "min": 3, "max": 50}[kind]
    if dtype.is_int:
        want = int(want) % (1 << dtype.bits)
        assert int(into[0]) % (1 << dtype.bits) == want
    elif dtype.bits > 16:  # a half's sum loses bits, and how depends on the order
        assert into[0] == want
    if asked and dtype.is_int and kind == "add" and dtype.bits >= 32:
        seen = np.sort(olds[values > 2])
        assert seen[0] == 50
        assert len(np.unique(seen)) == len(seen)  # every lane saw another state


@pytest.mark.parametrize("dtype", [dtypes.bool_, dtypes.u8, dtypes.i64, dtypes.f16, dtypes.f64], ids=str)
def test_exchange_and_cas(dtype: dtypes.DType) -> None:
    """Of the lanes that swap one element's first value for their own, exactly one finds it."""

    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        place = b("floordiv", indices[0], b.i32(10))
        one = b.const(1, dtype)
        zero = b.const(0, dtype)
        b.store(memories[1], indices, b("atomic", place, zero, one, mem=memories[0], kind="cas"))
        b.store(memories[2], indices, b("atomic", place, one, mem=memories[3], kind="exchange"))

    n = 500
    cas, olds, exchanged, other = (np.zeros(k, dtype.np) for k in (n // 10, n, n, n // 10))
    run(program(8, build, [(dtype, 1)] * 4), [cas, olds, exchanged, other], [n], threads=2)
    for target, found in ((cas, olds), (other, exchanged)):
        assert (target == 1).all()
        assert ((found.reshape(-1, 10) == 0).sum(axis=1) == 1).all()


def test_uniform_count() -> None:
    """An atomic with uniform operands counts once for each active lane."""

    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        odd = b.eq(b.and_(indices[0], b.i32(1)), b.i32(1))

        def count() -> tuple[Value, ...]:
            b("atomic", b.i32(0), b.i32(3), mem=memories[0], kind="add")
            b("atomic", b.i32(1), b.i32(5), mem=memories[0], kind="xor")
            return ()

        b.if_(odd, count)

    into = np.zeros(2, np.int32)
    run(program(32, build, [(dtypes.i32, 1)]), [into], [1001], threads=2)
    assert list(into) == [500 * 3, 0]
