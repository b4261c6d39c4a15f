"""Shuffles, rotations and broadcasts: every dtype, tile and subgroup size, run-time and constant lane indices."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from . import reference as ref
from .harness import ALL_DTYPES, INTEGER_DTYPES, Expected, cases, parts, values

NAMES = ("shuffle", "shuffle_up", "shuffle_down", "shuffle_xor", "rotate", "broadcast")


def source(name: str, size: int, index: int) -> Callable[[int], int]:
    """The lane of the tile that a lane reads; outside [0, size) is past the edge."""
    return {
        "shuffle": lambda lane: index % size,
        "broadcast": lambda lane: index % size,
        "shuffle_xor": lambda lane: lane ^ (index % size),
        "shuffle_up": lambda lane: lane - index,
        "shuffle_down": lambda lane: lane + index,
        "rotate": lambda lane: (lane + index) % size,
    }[name]


@lw.kernel
def run_time(
    x: lw.types.ndarray(),
    index: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out: lw.types.ndarray(),
    functions: lw.template(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        v = x[i]
        at = index[i]
        here = active[i] != 0
        for f in lw.static(range(len(functions))):
            for k in lw.static(range(subgroup.log2_group_size() + 1)):
                r = v
                if here or lw.static(not masked):
                    r = functions[f](v, at, k)
                out[f, k, i] = r


@pytest.mark.parametrize(("number", "dtype"), list(enumerate(ALL_DTYPES)), ids=str)
def test_run_time_index(size: int, number: int, dtype: lw.DType) -> None:
    steps = size.bit_length()
    index_type = INTEGER_DTYPES[number % len(INTEGER_DTYPES)]

    def expect(name: str, k: int) -> Callable[..., Expected]:
        def tile(values: Expected, indices: Expected) -> Expected:
            read = lambda lane: -1 if indices[lane] is None else source(name, 1 << k, indices[lane])(lane)  # noqa: E731
            return ref.move(values, read)

        return lambda values, indices: ref.per_tile(1 << k, tile, values, indices)

    for case in cases(size, dtype):
        x = values(dtype, case.n)
        near = np.random.default_rng(case.n).integers(-size if index_type.is_signed else 0, size + 1, case.n)
        far = values(index_type, case.n, seed=1)
        index = np.where(np.arange(case.n) % 5 == 0, far, near.astype(index_type.np))
        lanes, where = case.lanes(x.tolist()), case.lanes(index.tolist())
        for part in parts(size, NAMES):
            want = {(f, k): case.each(expect(f, k), lanes, where) for f, k in itertools.product(part, range(steps))}
            functions = tuple(getattr(subgroup, f"{name}_tiled") for name in part)
            for device in case.devices:
                out = np.zeros((len(part), steps, case.n), dtype.np)
                run_time(x, index, case.active, out, functions, case.block_dim, case.masked)
                for (f, name), k in itertools.product(enumerate(part), range(steps)):
                    case.check(out[f, k], want[name, k], f"{name}_tiled(v, {index_type}, {k}) on {device.arch}")


@lw.kernel
def constant(
    x: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out: lw.types.ndarray(),
    function: lw.template(),
    amounts: lw.template(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        v = x[i]
        here = active[i] != 0
        for k in lw.static(range(subgroup.log2_group_size() + 1)):
            for a in lw.static(range(len(amounts[k]))):
                r = v
                if here or lw.static(not masked):
                    r = function(v, amounts[k][a], k)
                out[k, a, i] = r


@pytest.mark.parametrize("dtype", [lw.bool, lw.u8, lw.f16, lw.i32, lw.f64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_constant_index(size: int, name: str, dtype: lw.DType) -> None:
    steps = size.bit_length()
    amounts = tuple(tuple(sorted({0, 1 % (1 << k), (1 << k) // 2 % (1 << k), (1 << k) - 1})) for k in range(steps))
    rows = [(k, a, amount) for k in range(steps) for a, amount in enumerate(amounts[k])]

    def expect(k: int, amount: int) -> Callable[[Expected], Expected]:
        read = source(name, 1 << k, amount)
        return lambda values: ref.per_tile(1 << k, lambda tile: ref.move(tile, read), values)

    for case in cases(size, dtype):
        x = values(dtype, case.n)
        lanes = case.lanes(x.tolist())
        want = {(k, a): case.each(expect(k, amount), lanes) for k, a, amount in rows}
        for device in case.devices:
            out = np.zeros((steps, 4, case.n), dtype.np)
            function = getattr(subgroup, f"{name}_tiled")
            constant(x, case.active, out, function, amounts, case.block_dim, case.masked)
            for k, a, amount in rows:
                case.check(out[k, a], want[k, a], f"{name}_tiled(v, {amount}, {k}) on {device.arch}")


@lw.kernel
def first(
    x: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out: lw.types.ndarray(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        if active[i] != 0 or lw.static(not masked):
            out[i] = subgroup.broadcast_first(x[i])


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_broadcast_first(size: int, dtype: lw.DType) -> None:
    for case in cases(size, dtype):
        x = values(dtype, case.n)
        want = case.each(lambda values: [ref.lowest(values)] * len(values), case.lanes(x.tolist()))
        for device in case.devices:
            out = np.zeros(case.n, dtype.np)
            first(x, case.active, out, case.block_dim, case.masked)
            case.check(out, [w if a else None for w, a in zip(want, case.active, strict=True)], f"on {device.arch}")
