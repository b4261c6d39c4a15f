"""Small programs built by hand, so that these tests need no front end, and the kernels made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lanewise import dtypes
from lanewise.backends.llvm.target import Target
from lanewise.dtypes import DType
from lanewise.ir import Array, Block, Builder, Kernel, Op, Program, Shared, Value, verifier
from lanewise.passes import prepare

Body = Callable[[Builder, Value, Sequence[Array]], None]


def program(body: Body, arrays: Sequence[DType], subgroup_size: int, block_dim: int = 128) -> Program:
    """One parallel loop over n items; `body` emits an item from its index and the one-dimensional arrays."""
    extent, index = Value(dtypes.i32, "n"), Value(dtypes.i32, "i")
    memories = [Array(f"m{number}", dtype, 1) for number, dtype in enumerate(arrays)]
    b, region = Builder(subgroup_size, block_dim=block_dim), Block((index,))
    with b.at(region):
        body(b, index, memories)
    b.append(Op("parallel", (extent,), (), {"block_dim": block_dim}, (region,)))
    return Program(body.__name__, [extent], memories, b.block, subgroup_size, dtypes.i32)


def kernel(
    target: Target, body: Body, arrays: Sequence[DType], *, regular: bool = True, block_dim: int = 128
) -> Kernel:
    """The kernel of such a program for a target."""
    made = prepare(program(body, arrays, target.subgroup_size, block_dim), 0, regular=regular, natives=target.keeps)
    verifier.verify(made)
    return made


def log2_size(b: Builder) -> int:
    return b.subgroup_size.bit_length() - 1


# ---- the three skeletons ------------------------------------------------------------------------------------------
def scan_after_break(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
    """A float scan in a loop that lanes leave at different times, and one after it."""
    data, limits, out = arrays
    whole = log2_size(b)
    x, limit = b.load(data, i), b.load(limits, i)

    def before(count: Value, total: Value) -> tuple[Value, list[Value]]:
        return b.lt(count, limit), [count, total]

    def after(count: Value, total: Value) -> list[Value]:
        return [b.add(count, b.i32(1)), b.add(total, b("subgroup.inclusive_add", total, log2_size=whole))]

    _, total = b.loop((b.i32(0), x), before, after)
    b.store(out, (i,), b("subgroup.inclusive_add", total, log2_size=whole))


def barrier_loop(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
    """Values go round the block through shared memory, several subgroups a block."""
    data, out = arrays
    tile = Shared("tile", dtypes.f32, (128,))
    thread = b.thread_idx()
    next_thread = b.and_(b.add(thread, b.i32(1)), b.i32(127))

    def before(count: Value, x: Value) -> tuple[Value, list[Value]]:
        return b.lt(count, b.i32(10)), [count, x]

    def after(count: Value, x: Value) -> list[Value]:
        b.store(tile, (thread,), x)
        b.emit("block.barrier")
        y = b.load(tile, next_thread)
        b.emit("block.barrier")
        return [b.add(count, b.i32(1)), b.add(x, y)]

    _, x = b.loop((b.i32(0), b.load(data, i)), before, after)
    b.store(out, (i,), x)


def ballot_and_match(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
    """The lanes with a positive value, and the lanes with mine."""
    data, out = arrays
    x = b.load(data, i)
    positive = b("subgroup.ballot", b("gt", x, b.i32(0)))
    b.store(out, (i,), b("xor", positive, b("subgroup.match_any", x)))


SKELETONS: dict[Body, tuple[DType, ...]] = {
    scan_after_break: (dtypes.f32, dtypes.i32, dtypes.f32),
    barrier_loop: (dtypes.f32, dtypes.f32),
    ballot_and_match: (dtypes.i32, dtypes.u64),
}
