"""Block operations: any block size, any number of subgroups, shared memory and barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import block, subgroup

from . import reference as ref
from .harness import NUMERIC_DTYPES, bits, values


def cut(row: list[Any], size: int) -> list[list[Any]]:
    """A block's lanes as subgroups, absent lanes being None."""
    row = row + [None] * (-len(row) % size)
    return [row[start : start + size] for start in range(0, len(row), size)]


def rounds(partials: list[Any], size: int) -> list[list[Any]]:
    return cut(partials, size)


def block_reduce(row: list[Any], size: int, op: ref.Op2) -> Any:
    """Each subgroup by its tree; the partials in rounds of W by the same tree, rounds left to right."""
    partials = [ref.tree(lanes, op) for lanes in cut(row, size)]
    total = None
    for part in rounds(partials, size):
        total = ref._merge(op, total, ref.tree(part, op))
    return total


def block_inclusive(row: list[Any], size: int, op: ref.Op2) -> list[Any]:
    inside = [ref.inclusive(lanes, op) for lanes in cut(row, size)]
    totals = [next((v for v in reversed(lanes) if v is not None), None) for lanes in inside]
    prefix: list[Any] = []
    carry = None
    for part in rounds(totals, size):
        level = list(part)
        offset = 1
        while offset < size:
            level = [ref._merge(op, level[l - offset], level[l]) if l >= offset else level[l] for l in range(size)]
            offset *= 2
        level = [ref._merge(op, carry, v) for v in level]
        prefix += level
        carry = level[-1]
    result: list[Any] = []
    for number, lanes in enumerate(inside):
        before = prefix[number - 1] if number else None
        result += [None if v is None else ref._merge(op, before, v) for v in lanes]
    return result[: len(row)]


def block_exclusive(row: list[Any], size: int, op: ref.Op2, start: Any) -> list[Any]:
    result: list[Any] = []
    below = start
    for value in block_inclusive(row, size, op):
        result.append(None if value is None else below)
        below = value if value is not None else below
    return result


@lw.kernel
def folds(
    x: lw.types.ndarray(),
    leaves: lw.types.ndarray(),
    out: lw.types.ndarray(),
    functions: lw.template(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        if lw.static(masked):
            if leaves[i] != 0:
                return
        for f in lw.static(range(len(functions))):
            out[f, i] = functions[f](x[i])


OPS = ("add", "min", "max")
FAMILIES = ("reduce", "reduce_all", "inclusive", "exclusive")


@pytest.mark.parametrize("masked", [False, True], ids=["everyone", "masked"])
@pytest.mark.parametrize("dtype", NUMERIC_DTYPES, ids=str)
def test_folds(device: lw.Device, dtype: lw.DType, masked: bool) -> None:
    size = device.subgroup_size
    names = [(family, op) for family in FAMILIES for op in OPS]
    functions = tuple(getattr(block, f"{family}_{op}") for family, op in names)
    dims = (2 * size + size // 2, size, min(size * size + 2 * size, 300))
    for block_dim in dims if dtype in (lw.i32, lw.f32) else dims[:1]:
        n = 3 * block_dim + size // 2 + 1
        x = values(dtype, n)
        leaves = (np.random.default_rng(n).random(n) < 0.4).astype(np.uint8) * masked
        out = np.zeros((len(names), n), dtype.np)
        with lw.use(device):
            folds(x, leaves, out, functions, block_dim, masked)
        with np.errstate(all="ignore"):
            for start in range(0, n, block_dim):
                here = slice(start, min(start + block_dim, n))
                row = [None if gone else v for v, gone in zip(x[here], leaves[here], strict=True)]
                row += [None] * (block_dim - len(row))
                for f, (family, op) in enumerate(names):
                    combine = ref.OPS[op]
                    total = block_reduce(row, size, combine)
                    want = {
                        "reduce": lambda: [total if i == 0 and v is not None else None for i, v in enumerate(row)],
                        "reduce_all": lambda: [None if v is None else total for v in row],
                        "inclusive": lambda: block_inclusive(row, size, combine),
                        "exclusive": lambda: block_exclusive(row, size, combine, ref.identity(op, x.dtype)),
                    }[family]()
                    for thread, value in enumerate(want):
                        if value is not None:
                            got = out[f, start + thread]
                            same = bits(np.array([got])) == bits(np.array([value], dtype.np))
                            assert same.all(), (
                                f"{family}_{op}, block_dim {block_dim}, thread {thread}: {got} != {value}"
                            )


@lw.kernel
def ids_and_counts(x: lw.types.ndarray(dtype=lw.i32), out: lw.types.ndarray(dtype=lw.i32), block_dim: lw.template()):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        out[0, i] = block.thread_idx()
        out[1, i] = block.block_idx()
        out[2, i] = block.block_dim()
        out[3, i] = block.global_thread_idx()
        out[4, i] = lw.simt.grid.num_blocks()
        out[5, i] = block.sync_all_nonzero(x[i])
        out[6, i] = block.sync_any_nonzero(x[i])
        out[7, i] = block.sync_count_nonzero(x[i])
        out[8, i] = subgroup.subgroup_id()


def test_ids_and_counts(device: lw.Device) -> None:
    for block_dim in (1, device.subgroup_size, 3 * device.subgroup_size + 1, 96):
        n = 5 * block_dim - block_dim // 3
        for x in (np.zeros(n, np.int32), np.ones(n, np.int32), np.arange(n, dtype=np.int32) % 3):
            out = np.full((9, n), -1, np.int32)
            with lw.use(device):
                ids_and_counts(x, out, block_dim)
            i = np.arange(n)
            thread, number = i % block_dim, i // block_dim
            counts = np.array([np.count_nonzero(x[number == b]) for b in number])
            sizes = np.array([np.count_nonzero(number == b) for b in number])
            want = [thread, number, block_dim, i, -(-n // block_dim), counts == sizes, counts > 0, counts]
            want.append(thread // device.subgroup_size)
            for row, expected in enumerate(want):
                assert (out[row] == np.broadcast_to(expected, n)).all(), f"row {row}, block_dim {block_dim}"


@lw.kernel
def reverse_in_block(x: lw.types.ndarray(), out: lw.types.ndarray(), block_dim: lw.template(), dtype: lw.template()):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        tile = block.SharedArray((block_dim,), dtype)
        thread = block.thread_idx()
        tile[thread] = x[i]
        block.sync()
        other = block_dim - 1 - thread
        if i - thread + other < x.shape[0]:
            out[i] = tile[other]


@pytest.mark.parametrize("dtype", [lw.bool, lw.i8, lw.f16, lw.i32, lw.u64, lw.f64], ids=str)
def test_shared_array(device: lw.Device, dtype: lw.DType) -> None:
    for block_dim in (device.subgroup_size, 2 * device.subgroup_size + 1, 128):
        n = 3 * block_dim + block_dim // 2
        x = values(dtype, n)
        out = x.copy()
        with lw.use(device):
            reverse_in_block(x, out, block_dim, dtype)
        i = np.arange(n)
        other = i - i % block_dim + block_dim - 1 - i % block_dim
        want = np.where(other < n, x[np.minimum(other, n - 1)], x)
        assert (bits(out) == bits(want)).all()


@lw.kernel
def neighbours(x: lw.types.ndarray(dtype=lw.f32), steps: lw.i32, stop: lw.i32):
    """Averages with the next thread of the block, `steps` times; item `stop` of each block leaves early."""
    lw.loop_config(block_dim=64)
    for i in range(x.shape[0]):
        tile = block.SharedArray((64,), lw.f32)
        thread = block.thread_idx()
        value = x[i]
        for step in range(steps):
            tile[thread] = value
            block.sync()
            value = (value + tile[(thread + 1) % 64]) * 0.5
            block.sync()
            if step == 1 and thread == stop:
                return
        x[i] = value


@pytest.mark.parametrize("n", [64, 128, 192])
def test_barriers_in_a_uniform_loop(device: lw.Device, n: int) -> None:
    data = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    for stop in (-1, 5):
        x = data.copy()
        with lw.use(device):
            neighbours(x, 5, stop)
        rows = data.reshape(-1, 64).copy()
        tile = rows.copy()
        gone = np.zeros(64, bool)
        for step in range(5):
            tile = np.where(gone, tile, rows)
            new = (rows + np.roll(tile, -1, axis=1)) * np.float32(0.5)
            rows = np.where(gone, rows, new)
            if step == 1 and stop >= 0:
                gone[stop] = True
        want = np.where(gone, data.reshape(-1, 64), rows)
        assert (x.reshape(-1, 64) == want).all()
