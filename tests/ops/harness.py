"""Launches that hit every corner, the lanes of their subgroups, and the comparison with an expectation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import lanewise as lw

ALL_DTYPES = [lw.bool, lw.i8, lw.i16, lw.i32, lw.i64, lw.u8, lw.u16, lw.u32, lw.u64, lw.f16, lw.f32, lw.f64]
NUMERIC_DTYPES = ALL_DTYPES[1:]
INTEGER_DTYPES = NUMERIC_DTYPES[:8]


@dataclass(frozen=True)
class Case:
    """One launch: which items there are, how they fall into blocks, and who reaches the operation."""

    name: str
    block_dim: int
    active: np.ndarray[Any, Any]

    @property
    def n(self) -> int:
        return len(self.active)

    @property
    def everyone(self) -> bool:
        return bool(self.active.all())

    def subgroups(self, size: int) -> Iterator[np.ndarray[Any, Any]]:
        """The item of each lane of each subgroup, -1 where a lane has none (it is absent)."""
        for block in range(0, self.n, self.block_dim):
            for start in range(0, self.block_dim, size):
                threads = start + np.arange(size)
                items = block + threads
                items[(threads >= self.block_dim) | (items >= self.n)] = -1
                if (items >= 0).any():
                    yield items


def cases(size: int, dtype: lw.DType) -> list[Case]:
    """Full and partial subgroups, random and one-hot masks; for two dtypes also blocks that are no multiple of W.

    A block size is compiled for, a mask is not: so the cases share one where they can.
    """
    rng = np.random.default_rng(size)
    ones = lambda n: np.ones(n, np.uint8)  # noqa: E731
    even, odd = 2 * size, size + size // 2 + 1
    found = [
        Case("full", even, ones(4 * size)),
        Case("one item", even, ones(1)),
        Case("partial last subgroup", even, ones(3 * size + size // 2 + 1)),
        Case("random mask", even, (rng.random(6 * size) < 0.6).astype(np.uint8)),
        Case("sparse mask", even, (rng.random(5 * size - 1) < 0.2).astype(np.uint8)),
        Case("one-hot", even, np.eye(size, dtype=np.uint8).reshape(-1)),
    ]
    if dtype in (lw.i32, lw.f32):
        found.append(Case("odd block", odd, ones(2 * odd + size // 2)))
        found.append(Case("random mask, odd block", odd, (rng.random(5 * odd - 1) < 0.5).astype(np.uint8)))
    return found


def values(dtype: lw.DType, n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Extreme values of a type between ordinary ones."""
    rng = np.random.default_rng([seed, n])
    if dtype == lw.bool:
        return rng.random(n) < 0.5
    if dtype.is_float:
        info = np.finfo(dtype.np)
        extreme = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, info.smallest_subnormal, 1.0]
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


def lanes_of(items: np.ndarray[Any, Any], active: np.ndarray[Any, Any], data: Sequence[Any]) -> list[Any]:
    """The values of a subgroup's lanes, None for one that is not active."""
    return [data[i] if i >= 0 and active[i] else None for i in items]


def bits(array: Any) -> np.ndarray[Any, Any]:
    """Values as bytes, every NaN the same one: what "the same bits" compares."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind != "b" else array


def check(got: Sequence[Any], want: Sequence[Any], items: np.ndarray[Any, Any], note: str) -> None:
    """Compare a subgroup's results with the expectation, bit for bit, in the lanes where it is defined."""
    lanes = [lane for lane, value in enumerate(want) if value is not None]
    if not lanes:
        return
    dtype = np.asarray(got).dtype
    have = np.array([got[items[lane]] for lane in lanes], dtype)
    need = np.array([want[lane] for lane in lanes]).astype(dtype)
    wrong = np.flatnonzero(bits(have) != bits(need))
    if len(wrong):
        lane = lanes[wrong[0]]
        have, need = have[wrong[0]], need[wrong[0]]
        raise AssertionError(f"{note}: lane {lane} of items {items[0]}...: got {have!r}, want {need!r}")
