"""Shuffles, rotations and broadcasts: every dtype, tile and subgroup size, run-time and constant lane indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from . import reference as ref
from .harness import ALL_DTYPES, INTEGER_DTYPES, cases, check, lanes_of, values

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
    everyone: lw.types.ndarray(),
    masked: lw.types.ndarray(),
    functions: lw.template(),
    block_dim: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        for f in lw.static(range(len(functions))):
            for k in lw.static(range(subgroup.log2_group_size() + 1)):
                everyone[f, k, i] = functions[f](x[i], index[i], k)
                if active[i] != 0:
                    masked[f, k, i] = functions[f](x[i], index[i], k)


@pytest.mark.parametrize(("number", "dtype"), list(enumerate(ALL_DTYPES)), ids=str)
def test_run_time_index(device: lw.Device, number: int, dtype: lw.DType) -> None:
    size, steps = device.subgroup_size, device.subgroup_size.bit_length()
    functions = tuple(getattr(subgroup, f"{name}_tiled") for name in NAMES)
    index_type = INTEGER_DTYPES[number % len(INTEGER_DTYPES)]
    for case in cases(size, dtype):
        x = values(dtype, case.n)
        near = np.random.default_rng(case.n).integers(-size if index_type.is_signed else 0, size + 1, case.n)
        far = values(index_type, case.n, seed=1)
        index = np.where(np.arange(case.n) % 5 == 0, far, near.astype(index_type.np))
        everyone = np.zeros((len(NAMES), steps, case.n), dtype.np)
        masked = np.zeros_like(everyone)
        with lw.use(device):
            run_time(x, index, case.active, everyone, masked, functions, case.block_dim)
        for f, name in enumerate(NAMES):
            for items in case.subgroups(size):
                for active, got in ((np.ones(case.n, bool), everyone), (case.active, masked)):
                    lanes, where = lanes_of(items, active, x), lanes_of(items, active, index)
                    for k in range(steps):

                        def move(tile: Any, indices: Any, name: str = name, tile_size: int = 1 << k) -> list[Any]:
                            def read(lane: int) -> int:
                                return (
                                    source(name, tile_size, int(indices[lane]))(lane)
                                    if indices[lane] is not None
                                    else -1
                                )

                            return ref.move(tile, read)

                        want = ref.per_tile(lanes, 1 << k, move, where)
                        check(got[f, k], want, items, f"{name}_tiled, log2_size={k}, {index_type} index, {case.name}")


@lw.kernel
def constant(
    x: lw.types.ndarray(),
    active: lw.types.ndarray(),
    everyone: lw.types.ndarray(),
    masked: lw.types.ndarray(),
    function: lw.template(),
    amounts: lw.template(),
    block_dim: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        for k in lw.static(range(subgroup.log2_group_size() + 1)):
            for a in lw.static(range(len(amounts[k]))):
                everyone[k, a, i] = function(x[i], amounts[k][a], k)
                if active[i] != 0:
                    masked[k, a, i] = function(x[i], amounts[k][a], k)


@pytest.mark.parametrize("dtype", [lw.bool, lw.u8, lw.f16, lw.i32, lw.f64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_constant_index(device: lw.Device, name: str, dtype: lw.DType) -> None:
    size, steps = device.subgroup_size, device.subgroup_size.bit_length()
    amounts = tuple(tuple(sorted({0, 1 % (1 << k), (1 << k) // 2 % (1 << k), (1 << k) - 1})) for k in range(steps))
    for case in cases(size, dtype):
        x = values(dtype, case.n)
        everyone = np.zeros((steps, 4, case.n), dtype.np)
        masked = np.zeros_like(everyone)
        with lw.use(device):
            constant(x, case.active, everyone, masked, getattr(subgroup, f"{name}_tiled"), amounts, case.block_dim)
        for items in case.subgroups(size):
            for active, got in ((np.ones(case.n, bool), everyone), (case.active, masked)):
                lanes = lanes_of(items, active, x)
                for k in range(steps):
                    for a, amount in enumerate(amounts[k]):
                        read = source(name, 1 << k, amount)
                        want = ref.per_tile(lanes, 1 << k, lambda tile, read=read: ref.move(tile, read))
                        check(got[k, a], want, items, f"{name}_tiled(v, {amount}, {k}), {case.name}")


@lw.kernel
def first(x: lw.types.ndarray(), active: lw.types.ndarray(), out: lw.types.ndarray(), block_dim: lw.template()):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        out[0, i] = subgroup.broadcast_first(x[i])
        if active[i] != 0:
            out[1, i] = subgroup.broadcast_first(x[i])


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_broadcast_first(device: lw.Device, dtype: lw.DType) -> None:
    for case in cases(device.subgroup_size, dtype):
        x = values(dtype, case.n)
        out = np.zeros((2, case.n), dtype.np)
        with lw.use(device):
            first(x, case.active, out, case.block_dim)
        for items in case.subgroups(device.subgroup_size):
            for active, got in ((np.ones(case.n, bool), out[0]), (case.active, out[1])):
                lanes = lanes_of(items, active, x)
                lowest = ref.first_active(lanes)
                want = [None if v is None else lanes[lowest] for v in lanes]
                check(got, want, items, f"broadcast_first, {case.name}")
