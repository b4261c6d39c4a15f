"""Vectors and structs move between lanes field by field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import quad, subgroup

from . import reference as ref
from .harness import cases, values
from .test_movement import NAMES, source

FIELDS = (lw.u8, lw.f64, lw.bool)


@lw.dataclass
class Mixed:
    """Fields of 8 and 64 bits, and a vector of two more."""

    small: lw.u8
    pair: lw.vector(2, lw.f64)
    flag: lw.bool


@lw.kernel
def travel(
    small: lw.types.ndarray(dtype=lw.u8),
    large: lw.types.ndarray(dtype=lw.f64),
    flag: lw.types.ndarray(dtype=lw.bool),
    active: lw.types.ndarray(dtype=lw.i32),
    small_out: lw.types.ndarray(dtype=lw.u8),
    large_out: lw.types.ndarray(dtype=lw.f64),
    flag_out: lw.types.ndarray(dtype=lw.bool),
    index: lw.i32,
    functions: lw.template(),
    block_dim: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(small.shape[0]):
        mine = Mixed(small[i], lw.Vector([large[i], -large[i]]), flag[i])
        if active[i] != 0:
            for f in lw.static(range(len(functions))):
                other = functions[f](mine, index)
                small_out[f, i] = other.small
                large_out[2 * f, i] = other.pair[0]
                large_out[2 * f + 1, i] = other.pair[1]
                flag_out[f, i] = other.flag


def test_structs(size: int) -> None:
    functions = tuple(getattr(subgroup, name) for name in NAMES)
    for case in cases(size, lw.i32):
        fields = [values(dtype, case.n, seed=number) for number, dtype in enumerate(FIELDS)]
        for device in case.devices:
            outs = [np.zeros((len(NAMES), case.n), np.uint8), np.zeros((2 * len(NAMES), case.n))]
            outs.append(np.zeros((len(NAMES), case.n), bool))
            arguments: list[Any] = [*fields, case.active, *outs, size - 1, functions, case.block_dim]
            travel(*arguments)
            for f, name in enumerate(NAMES):
                read = source(name, size, size - 1)
                columns = (outs[0][f], outs[1][2 * f], outs[1][2 * f + 1], outs[2][f])
                given = (fields[0], fields[1], -fields[1], fields[2])
                for field, (got, data) in enumerate(zip(columns, given, strict=True)):
                    want = case.each(lambda v, read=read: ref.move(v, read), case.lanes(data))
                    case.check(got, want, f"{name} of field {field} on {device.arch}")


@lw.kernel
def first_and_quads(x: lw.types.ndarray(), out: lw.types.ndarray()):
    for i in range(x.shape[0]):
        v = lw.Vector([x[i], x[i] + x[i], x[i]])
        a = subgroup.broadcast_first(v)
        b = quad.swap_diagonal(v)
        c = quad.broadcast(v, 2)
        for part in lw.static(range(3)):
            out[part, i] = a[part]
            out[3 + part, i] = b[part]
            out[6 + part, i] = c[part]


@pytest.mark.parametrize("dtype", [lw.i8, lw.i64, lw.f16], ids=str)
def test_vectors(device: lw.Device, dtype: lw.DType) -> None:
    if device.subgroup_size < 4:
        return
    n = 2 * device.subgroup_size
    x, out = np.arange(1, n + 1).astype(dtype.np), np.zeros((9, n), dtype.np)
    first_and_quads(x, out)
    place = np.arange(n)
    whole = np.stack([x, (x + x).astype(dtype.np), x])
    sources = (place // device.subgroup_size * device.subgroup_size, place ^ 3, place & ~3 | 2)
    assert (out == np.concatenate([whole[:, s] for s in sources])).all()
