"""Votes, ballots, matches and lane masks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from . import reference as ref
from .harness import ALL_DTYPES, NUMERIC_DTYPES, Expected, cases, values


@lw.kernel
def votes(
    x: lw.types.ndarray(),
    active: lw.types.ndarray(),
    voted: lw.types.ndarray(dtype=lw.i32),
    masks: lw.types.ndarray(dtype=lw.u64),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        if lw.static(masked):
            if active[i] == 0:
                continue
        for k in lw.static(range(subgroup.log2_group_size() + 1)):
            voted[0, k, i] = subgroup.all_true_tiled(x[i], k)
            voted[1, k, i] = subgroup.any_true_tiled(x[i], k)
            voted[2, k, i] = subgroup.all_equal_tiled(x[i], k)
            masks[0, k, i] = subgroup.ballot_tiled(x[i], k)
            masks[1, k, i] = subgroup.match_any_tiled(x[i], k)
        last = lw.static(subgroup.log2_group_size() + 1)
        voted[0, last, i] = subgroup.all_true(x[i])
        voted[1, last, i] = subgroup.any_true(x[i])
        voted[2, last, i] = subgroup.all_equal(x[i])
        masks[0, last, i] = subgroup.ballot(x[i])
        masks[1, last, i] = subgroup.match_any(x[i])


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_votes(size: int, dtype: lw.DType) -> None:
    steps = size.bit_length()
    for case in cases(size, dtype):
        for spread in ("mixed",) if case.name == "one-hot" else ("mixed", "few", "same"):
            x = values(dtype, case.n)
            if spread == "few":
                x = x[np.arange(case.n) // 3 % 4 % case.n]
            if spread == "same":
                x = np.full(case.n, x[case.n // 2])
            lanes = case.lanes(x.tolist())
            want = [
                [case.each(functools.partial(ref.per_tile, 1 << k, row), lanes) for k in [*range(steps), steps - 1]]
                for row in ROWS
            ]
            for device in case.devices:
                voted = np.full((3, steps + 1, case.n), -1, np.int32)
                masks = np.zeros((2, steps + 1, case.n), np.uint64)
                votes(x, case.active, voted, masks, case.block_dim, case.masked)
                for row, by_size in enumerate(want):
                    for k, expected in enumerate(by_size):
                        note = f"row {row} of {spread} {dtype}, log2_size={k} of {steps - 1}, on {device.arch}"
                        case.check((*voted, *masks)[row][k], expected, note)


def agreed(question: Callable[[Expected], Any]) -> Callable[[Expected], Expected]:
    """The same answer to all active lanes of a tile."""
    return lambda tile: [None if v is None else int(question([p for p in tile if p is not None])) for v in tile]


ROWS: list[Callable[[Expected], Expected]] = [
    agreed(lambda present: all(p != 0 for p in present)),
    agreed(lambda present: any(p != 0 for p in present)),
    agreed(lambda present: all(p == present[0] for p in present)),
    lambda tile: [None if v is None else ref.ballot(tile) for v in tile],
    lambda tile: [None if v is None else ref.match(tile, lane) for lane, v in enumerate(tile)],
]
"""all_true, any_true, all_equal, ballot, match_any."""


@lw.kernel
def bit_tools(
    x: lw.types.ndarray(),
    given: lw.types.ndarray(dtype=lw.u64),
    counts: lw.types.ndarray(dtype=lw.i32),
    masks: lw.types.ndarray(dtype=lw.u64),
    block_dim: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        lane = subgroup.invocation_id()
        counts[0, i] = subgroup.inverse_ballot(given[i])
        counts[1, i] = subgroup.ballot_bit_count(given[i])
        counts[2, i] = subgroup.ballot_inclusive_bit_count(given[i])
        counts[3, i] = subgroup.ballot_exclusive_bit_count(given[i])
        counts[4, i] = subgroup.ballot_find_lsb(given[i])
        counts[5, i] = subgroup.ballot_find_msb(given[i])
        counts[6, i] = lane
        counts[7, i] = subgroup.group_size()
        counts[8, i] = subgroup.subgroup_id()
        counts[9, i] = subgroup.num_subgroups()
        counts[10, i] = subgroup.elect()
        masks[0, i] = subgroup.lanemask_lt(lane % 32)
        masks[1, i] = subgroup.lanemask_le(lane % 32)
        masks[2, i] = subgroup.lanemask_eq(lane % 32)
        masks[3, i] = subgroup.lanemask_gt(lane % 32)
        masks[4, i] = subgroup.lanemask_ge(lane % 32)
        masks[5, i] = subgroup.lanemask64_lt(lane)
        masks[6, i] = subgroup.lanemask64_le(lane)
        masks[7, i] = subgroup.lanemask64_eq(lane)
        masks[8, i] = subgroup.lanemask64_gt(lane)
        masks[9, i] = subgroup.lanemask64_ge(lane)
        masks[10, i] = subgroup.active_mask()


def test_bit_tools(device: lw.Device) -> None:
    size = device.subgroup_size
    for case in (case for case in cases(size, lw.i32) if not case.masked):
        x = values(lw.i32, case.n)
        given = values(lw.u64, case.n)
        counts = np.full((11, case.n), -7, np.int32)
        masks = np.zeros((11, case.n), np.uint64)
        bit_tools(x, given, counts, masks, case.block_dim)
        full = (1 << 64) - 1
        for items in case.subgroups:
            for lane, item in enumerate(items):
                if item < 0:
                    continue
                g = int(given[item]) & ((1 << size) - 1)  # lanes that the subgroup has
                whole, low = int(given[item]), lane % 32
                block_start = item - item % case.block_dim
                want = [
                    whole >> lane & 1,
                    g.bit_count(),
                    (g & ((2 << lane) - 1)).bit_count(),
                    (g & ((1 << lane) - 1)).bit_count(),
                    (g & -g).bit_length() - 1,
                    g.bit_length() - 1,
                    lane,
                    size,
                    (item - block_start) // size,
                    -(-case.block_dim // size),
                    int(lane == 0),
                ]
                assert counts[:, item].tolist() == want, f"{case.name}, lane {lane}, ballot {whole:#x}"
                active = sum(1 << number for number, other in enumerate(items) if other >= 0)
                want = []
                for width, at in ((32, low), (64, lane)):
                    one, top = 1 << at, (1 << width) - 1
                    want += [one - 1, 2 * one - 1, one, top & ~(2 * one - 1), top & ~(one - 1)]
                assert masks[:, item].tolist() == [m & full for m in [*want, active]], f"{case.name}, lane {lane}"


@lw.kernel
def first_n(x: lw.types.ndarray(), out: lw.types.ndarray(dtype=lw.u32), counts: lw.template()):
    for i in range(x.shape[0]):
        for c in lw.static(range(len(counts))):
            out[c, i] = subgroup.ballot_first_n(x[i], counts[c])


@pytest.mark.parametrize("dtype", NUMERIC_DTYPES, ids=str)
def test_ballot_first_n(device: lw.Device, dtype: lw.DType) -> None:
    size = device.subgroup_size
    n = 128 + size // 2 + 1
    counts = tuple(c for c in (1, 2, 5, 16, 31, 32))
    x = values(dtype, n)
    out = np.zeros((len(counts), n), np.uint32)
    with lw.use(device):
        first_n(x, out, counts)
    for start in range(0, n, size):
        lanes = list(x[start : start + size])
        for row, count in enumerate(counts):
            assert (out[row, start : start + size] == ref.ballot(lanes[:count])).all()
