"""Block operations: any block size, any number of subgroups, shared memory and barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import block, subgroup

from ..conftest import arches
from . import reference as ref
from .harness import MASK, NUMERIC_DTYPES, ODD_BLOCKS, Case, bits, cases, values


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
    active: lw.types.ndarray(),
    out: lw.types.ndarray(),
    functions: lw.template(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        if lw.static(masked):
            if active[i] == 0:
                return
        for f in lw.static(range(len(functions))):
            out[f, i] = functions[f](x[i])


OPS = ("add", "min", "max")
FAMILIES = ("reduce", "reduce_all", "inclusive", "exclusive")
NAMES = [(family, op) for family in FAMILIES for op in OPS]


def expect(family: str, op: str, row: list[Any], size: int, dtype: lw.DType) -> list[Any]:
    """What the threads of a block get."""
    combine = ref.OPS[op]
    if family == "inclusive":
        return block_inclusive(row, size, combine)
    if family == "exclusive":
        return block_exclusive(row, size, combine, ref.identity(op, dtype.np))
    total = block_reduce(row, size, combine)
    everyone = [None if v is None else total for v in row]
    return everyone if family == "reduce_all" else everyone[:1] + [None] * (len(row) - 1)


def run_folds(case: Case, dtype: lw.DType) -> None:
    x = values(dtype, case.n)
    present = [v if a else None for v, a in zip(x, case.active, strict=True)]
    blocks = [present[start : start + case.block_dim] for start in range(0, case.n, case.block_dim)]
    blocks[-1] += [None] * (case.block_dim - len(blocks[-1]))
    with np.errstate(all="ignore"):
        rows = [[v for row in blocks for v in expect(*name, row, case.size, dtype)][: case.n] for name in NAMES]
    functions = tuple(getattr(block, f"{family}_{op}") for family, op in NAMES)
    for device in case.devices:
        out = np.zeros((len(NAMES), case.n), dtype.np)
        folds(x, case.active, out, functions, case.block_dim, case.masked)
        for got, want, (family, op) in zip(out, rows, NAMES, strict=True):
            case.check(got, want, f"block.{family}_{op}, block_dim {case.block_dim}, on {device.arch}")


@pytest.mark.parametrize("dtype", NUMERIC_DTYPES, ids=str)
def test_folds(size: int, dtype: lw.DType) -> None:
    for case in cases(size, dtype):
        if case.name != "one-hot":
            run_folds(case, dtype)


@pytest.mark.parametrize("dtype", ODD_BLOCKS, ids=str)
def test_folds_of_many_subgroups(size: int, dtype: lw.DType) -> None:
    """More partial results than a subgroup has lanes, where a block can have them; and one subgroup alone."""
    for block_dim in (size, min(size * size + 2 * size + size // 2, 300)):
        n = 2 * block_dim + size // 2 + 1
        run_folds(Case("many subgroups", size, block_dim, np.ones(n, MASK), False, arches(size)), dtype)


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
