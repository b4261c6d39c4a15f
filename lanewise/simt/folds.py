"""Trees over the lanes in NumPy: what the meanings of reductions and scans are made of.

Everything here takes a tuple of leaves, arrays whose last axis is the lanes, and acts in aligned tiles of `size` lanes.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .algebra import Algebra
from .op import Arr

Leaves: TypeAlias = tuple[Arr, ...]


def take(values: Leaves, source: Arr) -> Leaves:
    """values[source] along the lanes."""
    return tuple(np.take_along_axis(v, np.broadcast_to(source, v.shape), axis=-1) for v in values)


def choose(cond: Arr, a: Leaves, b: Leaves) -> Leaves:
    return tuple(np.where(cond, x, y) for x, y in zip(a, b, strict=True))


def neutralised(mask: Arr, values: Leaves, algebra: Algebra[Arr]) -> Leaves:
    """The neutral value in the lanes that are left out."""
    return choose(mask, values, algebra.neutral)


def first_of_tile(values: Leaves, size: int) -> Leaves:
    """Each tile's first lane, in every lane of it."""
    lane = np.arange(values[0].shape[-1])
    return take(values, lane - lane % size)


def fold(values: Leaves, algebra: Algebra[Arr], size: int) -> Leaves:
    """v[l] op v[l + d] for d = size/2 ... 1: the result of each tile, in every lane of it."""
    lane = np.arange(values[0].shape[-1])
    offset = size // 2
    while offset:
        above = take(values, np.where(lane % size + offset < size, lane + offset, lane))
        values = algebra.combine(values, above)
        offset //= 2
    return first_of_tile(values, size)


def scan(values: Leaves, algebra: Algebra[Arr], size: int, head: Arr | None = None) -> Leaves:
    """v[l - d] op v[l] for d = 1, 2, 4 ..., where l - d is not below the lane's `head` (its tile's first lane)."""
    lane = np.arange(values[0].shape[-1])
    head = lane - lane % size if head is None else head
    offset = 1
    while offset < size:
        below = take(values, np.maximum(lane - offset, 0))
        values = choose(lane - offset >= head, algebra.combine(below, values), values)
        offset *= 2
    return values


def latest(flags: Arr, size: int) -> Arr:
    """The nearest lane at or below, in the tile, where a flag is set; -1 where there is none."""
    lane = np.arange(flags.shape[-1])
    marked = np.where(flags, lane, -1).reshape(*flags.shape[:-1], -1, size)
    return np.maximum.accumulate(marked, axis=-1).reshape(flags.shape)


def nearest_below(flags: Arr, size: int) -> Arr:
    """The nearest lane below, in the tile, where a flag is set; -1 where there is none."""
    lane = np.arange(flags.shape[-1])
    shifted = np.roll(latest(flags, size), 1, axis=-1)
    return np.where(lane % size == 0, -1, shifted)


def exclusive_of(inclusive: Leaves, mask: Arr, algebra: Algebra[Arr], size: int) -> Leaves:
    """The inclusive value of the nearest active lane below, the identity where there is none."""
    source = nearest_below(mask, size)
    return choose(source >= 0, take(inclusive, np.maximum(source, 0)), algebra.identity)
