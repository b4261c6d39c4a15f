"""The interpreter by itself, on IR built by hand: control flow by masks, memory, atomics one thread after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from lanewise import dtypes
from lanewise.backends.engine import View
from lanewise.backends.interpreter.engine import BATCH, InterpreterEngine
from lanewise.dtypes import DType
from lanewise.errors import KernelAssertionError
from lanewise.ir import Array, Block, Builder, Local, Op, Program, Shared, Value
from lanewise.ir.verifier import verify


def view(array: np.ndarray[Any, Any]) -> View:
    strides = tuple(s // array.itemsize for s in array.strides)
    return View(array.ctypes.data, array.shape, strides, array)


def launch(
    emit: Callable[..., None],
    arrays: Sequence[np.ndarray[Any, Any]],
    extents: Sequence[int],
    *,
    block_dim: int = 128,
    subgroup_size: int = 8,
) -> None:
    """Run `emit(builder, memories, *indices)` as the body of one parallel loop."""
    memories = [
        Array(f"a{number}", dtypes.BY_NUMPY[a.dtype], a.ndim, a.flags.c_contiguous) for number, a in enumerate(arrays)
    ]
    host = Builder(subgroup_size)
    limits = tuple(host.i32(n) for n in extents)
    body = Block(tuple(Value(dtypes.i32) for _ in extents))
    emit(Builder(subgroup_size, body, block_dim), memories, *body.args)
    host.append(Op("parallel", limits, (), {"block_dim": block_dim}, (body,)))
    program = Program("test", [], memories, host.block, subgroup_size, dtypes.i32)
    verify(program)
    InterpreterEngine(subgroup_size).load(program, debug=True).launch([view(a) for a in arrays], [])


# ---- items and memory ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("extents", [(5, 7), (1,), (0, 4), (300, 300)])
@pytest.mark.parametrize("block_dim", [1, 20, 128])
def test_items_cover_the_extents_once(extents: tuple[int, ...], block_dim: int) -> None:
    seen = np.zeros(extents, np.int32)

    def emit(b: Builder, memories: list[Array], *indices: Value) -> None:
        b("atomic", *indices, b.i32(1), mem=memories[0], kind="add")

    launch(emit, [seen], extents, block_dim=block_dim)
    assert (seen == 1).all()


def test_strided_arrays_are_used_in_place() -> None:
    base = np.zeros((6, 10), np.float32)
    odd = base[::2, 1::3].T

    def emit(b: Builder, memories: list[Array], i: Value, j: Value) -> None:
        b.store(memories[0], (i, j), b.cast(b.add(b("mul", i, b.i32(10)), j), dtypes.f32))

    launch(emit, [odd], odd.shape)
    assert (np.arange(3)[:, None] * 10 + np.arange(3) == base[::2, 1::3].T).all()
    assert base.sum() == odd.sum()


@pytest.mark.parametrize("place", [-1, 4])
def test_an_index_out_of_range_is_named(place: int) -> None:
    def emit(b: Builder, memories: list[Array], i: Value) -> None:
        b.store(memories[0], (b.i32(place),), i)

    with pytest.raises(KernelAssertionError, match=rf"index {place} is out of range of axis 0 of a0, of 4 elements"):
        launch(emit, [np.zeros(4, np.int32)], (1,))


def test_shared_memory_is_the_blocks_and_local_memory_the_threads() -> None:
    block_dim, out = 12, np.zeros((3, 36), np.int32)
    shared, local = Shared("s", dtypes.i32, (block_dim,)), Local("l", dtypes.i32, (2,))

    def emit(b: Builder, memories: list[Array], i: Value) -> None:
        thread = b.thread_idx()
        b.store(shared, (thread,), i)
        b.emit("block.sync")
        b.store(memories[0], (b.i32(0), i), b.load(shared, b.sub(b.i32(block_dim - 1), thread)))
        b.store(local, (b.i32(1),), i)
        b.store(memories[0], (b.i32(1), i), b.load(local, b.i32(1)))
        b.store(memories[0], (b.i32(2), i), b.load(local, b.i32(0)))

    launch(emit, [out], (36,), block_dim=block_dim)
    item = np.arange(36)
    assert (out[0] == item // block_dim * block_dim + block_dim - 1 - item % block_dim).all()
    assert (out[1] == item).all()
    assert (out[2] == 0).all()


# ---- control flow -------------------------------------------------------------------------------------------------
def test_loops_keep_what_a_thread_had_when_it_left() -> None:
    """The number of Collatz steps, and how many lanes were still in the loop at each one's last round."""
    n, width = 40, 8
    steps, company = np.zeros(n, np.int32), np.zeros(n, np.int32)

    def emit(b: Builder, memories: list[Array], i: Value) -> None:
        zero, one = b.i32(0), b.i32(1)

        def before(x: Value, count: Value, peers: Value) -> tuple[Value, list[Value]]:
            return b("ne", x, one), [x, count, peers]

        def after(x: Value, count: Value, peers: Value) -> list[Value]:
            odd = b("ne", b.and_(x, one), zero)
            (x,) = b.if_(
                odd,
                lambda: (b.add(b("mul", x, b.i32(3)), one),),
                lambda: (b("shr", x, one),),
            )
            active = b("subgroup.active_mask")
            return [x, b.add(count, one), b("popcnt", active)]

        _, count, peers = b.loop((b.add(i, one), zero, zero), before, after)
        b.store(memories[0], (i,), count)
        b.store(memories[1], (i,), peers)

    launch(emit, [steps, company], (n,), subgroup_size=width)

    def collatz(x: int) -> int:
        return 0 if x == 1 else 1 + collatz(x // 2 if x % 2 == 0 else 3 * x + 1)

    want = np.array([collatz(i + 1) for i in range(n)])
    assert (steps == want).all()
    for i in range(n):
        mates = want[i // width * width : i // width * width + width]
        assert company[i] == (0 if want[i] == 0 else (mates >= want[i]).sum())


def test_a_failed_assertion_names_its_item() -> None:
    def emit(b: Builder, memories: list[Array], i: Value) -> None:
        b.emit("assert", b.lt(i, b.i32(BATCH + 7)), i, parts=("i is ", None))

    with pytest.raises(KernelAssertionError, match=rf"(?s)i is {BATCH + 7}\n.*in item {BATCH + 7}"):
        launch(emit, [], (BATCH + 100,))


def test_print_writes_in_the_order_of_items(capsys: pytest.CaptureFixture[str]) -> None:
    def emit(b: Builder, memories: list[Array], i: Value) -> None:
        def show() -> tuple[()]:
            b.emit("print", i, parts=("item ", None))
            return ()

        b.if_(b.eq(b.and_(i, b.i32(3)), b.i32(2)), show)

    launch(emit, [], (12,), block_dim=5, subgroup_size=2)
    assert capsys.readouterr().out == "item 2\nitem 6\nitem 10\n"


# ---- atomics ------------------------------------------------------------------------------------------------------
SEQUENTIAL: dict[str, Callable[..., Any]] = {
    "add": lambda old, v: old + v,
    "sub": lambda old, v: old - v,
    "min": min,
    "max": max,
    "and": lambda old, v: old & v,
    "or": lambda old, v: old | v,
    "xor": lambda old, v: old ^ v,
    "exchange": lambda old, v: v,
    "cas": lambda old, expected, v: v if old == expected else old,
}


@pytest.mark.parametrize("dtype", [dtypes.i8, dtypes.u32, dtypes.i64, dtypes.f16, dtypes.f32, dtypes.f64], ids=str)
@pytest.mark.parametrize("kind", SEQUENTIAL)
@pytest.mark.parametrize("cells", [1, 3, 500])
def test_atomics_are_sequential(kind: str, dtype: DType, cells: int) -> None:
    if dtype.is_float and kind in ("and", "or", "xor"):
        return
    rng = np.random.default_rng(cells)
    n = 400

    def draw(count: int) -> Any:
        return rng.integers(0, 6 if kind == "cas" else 100, count).astype(dtype.np) / dtype.np.type(1 + dtype.is_float)

    memory, places = draw(cells).astype(dtype.np), rng.integers(cells, size=n).astype(np.int32)
    operands = [draw(n).astype(dtype.np) for _ in range(2 if kind == "cas" else 1)]
    want, wanted_old = memory.copy(), np.zeros(n, dtype.np)
    with np.errstate(all="ignore"):
        for i in range(n):
            wanted_old[i] = want[places[i]]
            want[places[i]] = SEQUENTIAL[kind](want[places[i]], *(o[i] for o in operands))
    old = np.zeros(n, dtype.np)

    def emit(b: Builder, memories: list[Array], i: Value) -> None:
        target, where, out, *values = memories
        found = b("atomic", b.load(where, i), *(b.load(v, i) for v in values), mem=target, kind=kind)
        b.store(out, (i,), found)

    launch(emit, [memory, places, old, *operands], (n,), block_dim=100)
    assert (memory == want).all()
    assert (old == wanted_old).all()
