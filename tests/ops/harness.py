"""Launches that hit every corner, the lanes of their subgroups, and the comparison with an expectation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

import lanewise as lw

from ..conftest import ARCHES, SIZES_OF, arches, made

Arr = np.ndarray[Any, Any]
Expected = list[Any]
"""An expectation for each item of a launch, or lane of a tile: None where the result is not defined."""

ALL_DTYPES = [lw.bool, lw.i8, lw.i16, lw.i32, lw.i64, lw.u8, lw.u16, lw.u32, lw.u64, lw.f16, lw.f32, lw.f64]
NUMERIC_DTYPES = ALL_DTYPES[1:]
INTEGER_DTYPES = NUMERIC_DTYPES[:8]
MASK = np.int32
"""The type of the arrays that say who is active: one that every device has."""
ODD_BLOCKS = (lw.i32, lw.f32)
"""The types that are also tested in blocks that are no multiple of W."""

WIDE = 8
"""Above this subgroup size LLVM takes long, and the CPU is spared what is only another way to the same code."""


@dataclass(frozen=True)
class Case:
    """One launch: which items there are, how they fall into blocks, and who reaches the operation."""

    name: str
    size: int
    block_dim: int
    active: Arr
    masked: bool
    """Whether the operation stands under a branch; if not, `active` is all ones."""
    arches: tuple[str, ...]
    """The backends that run it."""

    @property
    def n(self) -> int:
        return len(self.active)

    @property
    def devices(self) -> Iterator[lw.Device]:
        """Each device of the case, as the current one."""
        for arch in self.arches:
            with lw.use(made(arch, self.size)) as device:
                yield device

    @cached_property
    def subgroups(self) -> list[Arr]:
        """The item of each lane of each subgroup, -1 where a lane has none (it is absent)."""
        found: list[Arr] = []
        for block in range(0, self.n, self.block_dim):
            for start in range(0, self.block_dim, self.size):
                threads = start + np.arange(self.size)
                items = block + threads
                items[(threads >= self.block_dim) | (items >= self.n)] = -1
                if (items >= 0).any():
                    found.append(items)
        return found

    def lanes(self, data: Any) -> list[Expected]:
        """The values of each subgroup's lanes, None for one that is not active."""
        return [[data[i] if i >= 0 and self.active[i] else None for i in items] for items in self.subgroups]

    def each(self, function: Callable[..., Sequence[Any]], *lanes: list[Expected]) -> Expected:
        """What `function` of each subgroup's values gives, by item."""
        result: Expected = [None] * self.n
        for items, *values in zip(self.subgroups, *lanes, strict=True):
            for item, value in zip(items, function(*values), strict=True):
                if item >= 0:
                    result[item] = value
        return result

    def check(self, got: Arr, want: Expected, note: str) -> None:
        """Compare results with the expectation, bit for bit, in the items for which there is one."""
        items = [item for item, value in enumerate(want) if value is not None]
        have, need = got[items], np.array([want[item] for item in items], got.dtype)
        wrong = np.flatnonzero(bits(have) != bits(need))
        if len(wrong):
            lanes = next(lanes for lanes in self.subgroups if items[wrong[0]] in lanes)
            where = f"{note}, W={self.size}, {self.name}: item {items[wrong[0]]} of the subgroup {lanes.tolist()}"
            raise AssertionError(f"{where}: got {have[wrong[0]]!r}, want {need[wrong[0]]!r}")


def cases(size: int, dtype: Any) -> list[Case]:
    """Full and partial subgroups, random and one-hot masks; for two dtypes in blocks that are no multiple of W.

    Code is compiled for a block size, for an operation under a branch or not, and for launches with absent lanes or
    without; a mask and a number of items are free.  The CPU meets all of these up to W = 8.  Above, lanes are absent
    with those two dtypes alone, and the operation is masked with every second dtype at W = 32, with the others at 16
    and 64.
    """
    rng = np.random.default_rng(size)
    odd = dtype in ODD_BLOCKS
    block_dim = size + size // 2 + 1 if odd else 2 * size
    every = arches(size)
    quick = tuple(arch for arch in every if arch != "cpu" or size <= WIDE)
    branched = ALL_DTYPES.index(dtype) % 2 == size.bit_length() % 2
    plain, branch = (quick, every) if branched else (every, quick)
    plain_absent, branch_absent = (plain, branch) if odd else (quick, quick)
    lane = np.arange(size)[:, None]

    def everyone(name: str, n: int, arches: tuple[str, ...]) -> Case:
        return Case(name, size, block_dim, np.ones(n, MASK), False, arches)

    def masked(name: str, active: Arr, arches: tuple[str, ...]) -> Case:
        return Case(name, size, block_dim, active.astype(MASK), True, arches)

    return [
        everyone("full", 2 * block_dim, plain),
        everyone("one item", 1, plain_absent),
        everyone("partial last subgroup", block_dim + size // 2 + 1, plain_absent),
        masked("random mask", rng.random(2 * block_dim) < 0.6, branch),
        masked("sparse mask", rng.random(3 * block_dim - 1) < 0.2, branch_absent),
        masked("one-hot", (np.arange(block_dim if odd else size) % size == lane).reshape(-1), branch),
    ]


def parts(size: int, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Names of operations that one kernel holds: at a wide W few, as compiling takes more than linear time."""
    return [(name,) for name in names] if size > 16 else [tuple(names)]


@lw.kernel
def is_positive(x: lw.types.ndarray(dtype=lw.f32, ndim=1), out: lw.types.ndarray(dtype=lw.i32, ndim=1)):
    for i in range(out.shape[0]):
        if x[i] > 0:
            out[i] = 1


@cache
def has_denormals() -> bool:
    """Whether the devices of this run tell a denormal of f32 from 0: a Vulkan device need not."""
    x, out = np.full(1, np.finfo(np.float32).smallest_subnormal), np.zeros(1, np.int32)
    if "vulkan" in ARCHES:
        with lw.use(made("vulkan", *SIZES_OF["vulkan"])):
            is_positive(x, out)
    return "vulkan" not in ARCHES or out[0] == 1


def smallest(dtype: Any) -> float:
    """The smallest positive number to test with."""
    info = np.finfo(dtype.np)
    return float(info.smallest_subnormal if dtype != lw.f32 or has_denormals() else info.tiny)


def values(dtype: Any, n: int, seed: int = 0) -> Arr:
    """Extreme values of a type between ordinary ones."""
    rng = np.random.default_rng([seed, n])
    if dtype == lw.bool:
        return rng.random(n) < 0.5
    if dtype.is_float:
        info = np.finfo(dtype.np)
        extreme = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, smallest(dtype), 1.0]
        ordinary = rng.standard_normal(n) * 3
    else:
        info = np.iinfo(dtype.np)
        extreme = [0, 1, info.min, info.max, info.max - 1, 2]
        ordinary = rng.integers(-9 if dtype.is_signed else 0, 10, n)
    result = ordinary.astype(dtype.np)
    chosen = rng.random(n) < 0.25
    with np.errstate(all="ignore"):
        result[chosen] = rng.choice(np.array(extreme, dtype.np), int(chosen.sum()))
    return result


def bits(array: Any) -> Arr:
    """Values as bytes, every NaN the same one: what "the same bits" compares."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind != "b" else array
