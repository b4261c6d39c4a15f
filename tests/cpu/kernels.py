"""Programs built by hand, for tests of the CPU backend alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanewise import dtypes
from lanewise.backends.cpu.engine import CpuEngine, CpuExecutable
from lanewise.backends.engine import View
from lanewise.dtypes import DType
from lanewise.ir import Array, Block, Builder, Op, Program, Value, verifier

Arr = NDArray[Any]
Build = Callable[[Builder, Sequence[Value], Sequence[Array]], object]


def program(
    width: int, build: Build, arrays: Sequence[tuple[DType, int]], *, block_dim: int = 128, ndim: int = 1
) -> Program:
    """One parallel loop over `ndim` extents, which are the program's scalars; `build` emits an item."""
    b = Builder(width, block_dim=block_dim)
    extents = [Value(dtypes.i32, f"n{axis}") for axis in range(ndim)]
    memories = [Array(f"m{number}", dtype, rank) for number, (dtype, rank) in enumerate(arrays)]
    region = Block(tuple(Value(dtypes.i32, f"i{axis}") for axis in range(ndim)))
    with b.at(region):
        build(b, region.args, memories)
    body = Block(ops=[Op("parallel", tuple(extents), (), {"block_dim": block_dim}, (region,))])
    made = Program("built", extents, memories, body, width, dtypes.i32)
    verifier.verify(made)
    return made


def view(array: Arr) -> View:
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return View(array.ctypes.data, array.shape, strides, array)


def load(made: Program, *, threads: int = 1, debug: bool = False) -> CpuExecutable:
    return CpuEngine(made.subgroup_size, threads).load(made, debug)


def run(made: Program, arrays: Sequence[Arr], extents: Sequence[int], *, threads: int = 1) -> None:
    """Compile and launch once."""
    load(made, threads=threads).launch([view(a) for a in arrays], list(extents))


def same_bits(got: Arr, want: Arr) -> None:
    """Equal bit for bit, any NaN being as good as another."""
    assert got.dtype == want.dtype
    if got.dtype.kind == "f":
        both = np.isnan(got) & np.isnan(want)
        zero = got.dtype.type(0)
        got, want = np.where(both, zero, got), np.where(both, zero, want)
        whole = np.dtype(f"u{got.itemsize}")
        got, want = got.view(whole), want.view(whole)
    np.testing.assert_array_equal(got, want)
