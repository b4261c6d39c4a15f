"""Quads: the four lanes `lane & ~3 ...`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import quad

from ..conftest import arches, made
from . import reference as ref
from .harness import ALL_DTYPES, MASK, Expected, cases, values


@lw.kernel
def quads(
    x: lw.types.ndarray(),
    active: lw.types.ndarray(),
    moved: lw.types.ndarray(),
    voted: lw.types.ndarray(dtype=lw.i32),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        if lw.static(masked):
            if active[i] == 0:
                continue
        for index in lw.static(range(4)):
            moved[index, i] = quad.broadcast(x[i], index)
        moved[4, i] = quad.swap_horizontal(x[i])
        moved[5, i] = quad.swap_vertical(x[i])
        moved[6, i] = quad.swap_diagonal(x[i])
        voted[0, i] = quad.all(x[i])
        voted[1, i] = quad.any(x[i])


SOURCES: list[Callable[[int], int]] = [
    *(lambda lane, index=index: index for index in range(4)),
    *(lambda lane, distance=distance: lane ^ distance for distance in (1, 2, 3)),
]


def vote(function: Callable[..., bool], tile: Expected) -> Expected:
    """Absent and inactive lanes read as false."""
    result = int(function(v is not None and v != 0 for v in tile))
    return [None if v is None else result for v in tile]


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_quads(size: int, dtype: lw.DType) -> None:
    if size < 4:
        return
    for case in cases(size, dtype):
        x = values(dtype, case.n)
        lanes = case.lanes(x)
        moves = [
            case.each(lambda v, s=source: ref.per_tile(4, lambda tile: ref.move(tile, s), v), lanes)
            for source in SOURCES
        ]
        votes = [case.each(lambda v, f=f: ref.per_tile(4, lambda tile: vote(f, tile), v), lanes) for f in (all, any)]
        for device in case.devices:
            moved, voted = np.zeros((7, case.n), dtype.np), np.full((2, case.n), -1, np.int32)
            quads(x, case.active, moved, voted, case.block_dim, case.masked)
            for row, want in enumerate(moves):
                case.check(moved[row], want, f"move {row} on {device.arch}")
            for row, want in enumerate(votes):
                case.check(voted[row], want, f"{('all', 'any')[row]} on {device.arch}")


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_quads_need_four_lanes(arch: str, dtype: lw.DType) -> None:
    x, active = np.zeros(4, dtype.np), np.ones(4, MASK)
    moved, voted = np.zeros((7, 4), dtype.np), np.zeros((2, 4), np.int32)
    for size in (size for size in (1, 2) if arch in arches(size)):
        with lw.use(made(arch, size)), pytest.raises(lw.CompileError, match="4"):
            quads(x, active, moved, voted, 4, False)
