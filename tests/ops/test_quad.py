"""Quads: the four lanes `lane & ~3 ...`."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import quad

from . import reference as ref
from .harness import ALL_DTYPES, cases, check, lanes_of, values


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


@pytest.mark.parametrize("masked", [False, True], ids=["everyone", "masked"])
@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_quads(device: lw.Device, dtype: lw.DType, masked: bool) -> None:
    if device.subgroup_size < 4:
        with lw.use(device), pytest.raises(lw.CompileError, match="4"):
            quads(*_arrays(dtype), 4, masked)
        return
    for case in cases(device.subgroup_size, dtype):
        x = values(dtype, case.n)
        moved, voted = np.zeros((7, case.n), dtype.np), np.full((2, case.n), -1, np.int32)
        with lw.use(device):
            quads(x, case.active, moved, voted, case.block_dim, masked)
        active = case.active if masked else np.ones(case.n, np.uint8)
        for items in case.subgroups(device.subgroup_size):
            lanes = lanes_of(items, active, x)
            for start in range(0, len(lanes), 4):
                tile, places = lanes[start : start + 4], items[start : start + 4]
                for index in range(4):
                    check(moved[index], ref.move(tile, lambda lane, index=index: index), places, f"broadcast {index}")
                for row, distance in ((4, 1), (5, 2), (6, 3)):
                    check(moved[row], ref.move(tile, lambda lane, d=distance: lane ^ d), places, f"swap by {distance}")
                every = int(all(v is not None and v != 0 for v in tile))
                some = int(any(v is not None and v != 0 for v in tile))
                check(voted[0], [None if v is None else every for v in tile], places, f"all, {case.name}")
                check(voted[1], [None if v is None else some for v in tile], places, f"any, {case.name}")


def _arrays(dtype: lw.DType) -> tuple[np.ndarray, ...]:
    return np.zeros(4, dtype.np), np.ones(4, np.uint8), np.zeros((7, 4), dtype.np), np.zeros((2, 4), np.int32)
