"""Reductions and scans with a function of the user's: pairs of values, every tile and subgroup size, blocks."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import block, subgroup

from . import reference as ref
from .harness import Arr, Expected, cases
from .test_block import block_exclusive, block_inclusive, block_reduce


@lw.func
def product(a, b):
    """Of complex numbers: associative and commutative."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@lw.func
def then(f, g):
    """The map x -> f[0] * x + f[1] followed by that of g: associative, but not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


Pair = tuple[Any, Any]


def multiplied(a: Pair, b: Pair) -> Pair:
    """What `product` must give."""
    (real, imaginary), (x, y) = a, b
    return real * x - imaginary * y, real * y + imaginary * x


def composed(f: Pair, g: Pair) -> Pair:
    """What `then` must give: its slope, and its value at 0."""
    return g[0] * f[0], g[0] * f[1] + g[1]


ONE = (1, 0)  # the identity of both
DTYPES = (lw.u8, lw.i32, lw.f64)
TILED = {
    "reduce": (subgroup.reduce_tiled, product, multiplied),
    "reduce_all": (subgroup.reduce_all_tiled, product, multiplied),
    "inclusive": (subgroup.inclusive_scan_tiled, then, composed),
    "exclusive": (subgroup.exclusive_scan_tiled, then, composed),
}


@lw.kernel
def fold(
    x: lw.types.ndarray(),
    y: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out: lw.types.ndarray(),
    function: lw.template(),
    combine: lw.template(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        a = x[i]
        b = y[i]
        for k in lw.static(range(subgroup.log2_group_size() + 1)):
            p, q = a, b
            if active[i] != 0 or lw.static(not masked):
                p, q = function((a, b), combine, (1, 0), k)
            out[0, k, i] = p
            out[1, k, i] = q


def small(dtype: Any, n: int) -> tuple[Arr, Arr]:
    """Values whose products and sums are exact in every type."""
    rng = np.random.default_rng(n)
    first, second = (rng.integers(-1, 2, n).astype(dtype.np) for _ in "ab")
    return first, second


def expected(family: str, combine: ref.Op2, one: Pair, tile: Expected) -> Expected:
    return {
        "reduce": lambda: ref.reduce(tile, combine),
        "reduce_all": lambda: ref.reduce_all(tile, combine),
        "inclusive": lambda: ref.inclusive(tile, combine),
        "exclusive": lambda: ref.exclusive(tile, combine, one),
    }[family]()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("family", TILED)
def test_generic(size: int, family: str, dtype: lw.DType) -> None:
    function, combine, reference = TILED[family]
    one = tuple(dtype.np.type(v) for v in ONE)
    steps = size.bit_length()
    for case in cases(size, dtype):
        x, y = small(dtype, case.n)
        lanes = case.lanes(list(zip(x, y, strict=True)))
        with np.errstate(over="ignore"):
            want = [
                case.each(
                    functools.partial(ref.per_tile, 1 << k, functools.partial(expected, family, reference, one)), lanes
                )
                for k in range(steps)
            ]
        for device in case.devices:
            out = np.zeros((2, steps, case.n), dtype.np)
            fold(x, y, case.active, out, function, combine, case.block_dim, case.masked)
            for part, k in itertools.product((0, 1), range(steps)):
                row = [pair and pair[part] + one[1] for pair in want[k]]  # -0 times the identity is 0
                case.check(out[part, k] + one[1], row, f"{function}(log2_size={k})[{part}] on {device.arch}")


@lw.kernel
def fold_block(
    x: lw.types.ndarray(dtype=lw.i32),
    y: lw.types.ndarray(dtype=lw.i32),
    out: lw.types.ndarray(dtype=lw.i32),
    block_dim: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        v = (x[i], y[i])
        out[0, i], out[1, i] = block.reduce(v, product, ONE)
        out[2, i], out[3, i] = block.reduce_all(v, product, ONE)
        out[4, i], out[5, i] = block.inclusive_scan(v, then, ONE)
        out[6, i], out[7, i] = block.exclusive_scan(v, then, ONE)


def test_generic_block(device: lw.Device) -> None:
    size = device.subgroup_size
    for block_dim in (2 * size + size // 2, min(size * size + size, 200)):
        n = 2 * block_dim + size // 2 + 1
        x, y = small(lw.i32, n)
        out = np.zeros((8, n), np.int32)
        fold_block(x, y, out, block_dim)
        for start in range(0, n, block_dim):
            here = slice(start, min(start + block_dim, n))
            row: list[Any] = list(zip(x[here], y[here], strict=True))
            row += [None] * (block_dim - len(row))
            total = block_reduce(row, size, multiplied)
            want = [
                [total] + [None] * (block_dim - 1),
                [total] * block_dim,
                block_inclusive(row, size, composed),
                block_exclusive(row, size, composed, ONE),
            ]
            for number, values in enumerate(want):
                for thread, pair in enumerate(values[: here.stop - start]):
                    if pair is not None:
                        got = tuple(out[2 * number : 2 * number + 2, start + thread])
                        assert got == pair, f"row {number}, block_dim {block_dim}, thread {thread}"
