"""Moves between lanes: every pattern of source lanes, on every generation and wave size, as its assembly runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from lanewise import dtypes
from lanewise.backends.amdgpu.arch import ARCHITECTURES, subgroup_sizes
from lanewise.dtypes import DType
from lanewise.ir import Array, Builder, Value
from lanewise.simt.primitives import lane_map
from lanewise.views import view_of
from tests.amdgpu.isa.engine import IsaEngine
from tests.amdgpu.isa.state import Arr
from tests.golden.programs import program

GENERATIONS = [(names[-1], size) for names in ARCHITECTURES.values() for size in subgroup_sizes(names[0])]
AT_A_TIME = 64
"""Patterns in one kernel."""


def patterns(size: int) -> Iterator[tuple[int, ...]]:
    """Every pattern that an operation with a constant amount makes, and some that only folding does."""
    for log2 in range(size.bit_length()):
        for kind in ("xor", "up", "down", "broadcast", "rotate"):
            for amount in range(1 << log2):
                yield lane_map(kind, amount, log2, size)
    rng = np.random.default_rng(size)
    yield tuple(reversed(range(size)))
    for _ in range(4):
        yield tuple(int(lane) for lane in rng.permutation(size))
        yield tuple(int(lane) for lane in rng.integers(0, size, size))


def moved(engine: IsaEngine, x: Arr, chosen: Sequence[tuple[int, ...]]) -> Arr:
    """What each pattern makes of x, two subgroups a block."""
    dtype = {np.dtype(np.uint32): dtypes.u32, np.dtype(np.uint64): dtypes.u64}[x.dtype]
    log2_size = engine.subgroup_size.bit_length() - 1

    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        value = b.load(arrays[0], i)
        for number, sources in enumerate(chosen):
            other = b("subgroup.permute", value, kind="map", amount=sources, log2_size=log2_size)
            b.store(arrays[1], (b.add(i, b.i32(number * len(x))),), other)

    out = np.zeros((len(chosen), len(x)), x.dtype)
    made = program(body, (dtype, dtype), engine.subgroup_size, 2 * engine.subgroup_size)
    views = [view_of(array.reshape(-1))[1] for array in (x, out)]
    engine.load(made, False).launch(views, [len(x)])
    return out


@pytest.mark.parametrize(("arch", "size"), GENERATIONS, ids=str)
def test_every_pattern(arch: str, size: int) -> None:
    """Also with a partial last subgroup, in which the absent lanes are there to be asked."""
    engine = IsaEngine(arch, size)
    chosen = sorted(set(patterns(size)))
    for start in range(0, len(chosen), AT_A_TIME):
        some = chosen[start : start + AT_A_TIME]
        x = np.random.default_rng(start).integers(0, 1 << 32, 4 * size, np.uint64).astype(np.uint32)
        want = np.stack([x.reshape(-1, size)[:, list(sources)].reshape(-1) for sources in some])
        np.testing.assert_array_equal(moved(engine, x, some), want)


@pytest.mark.parametrize(("arch", "size"), GENERATIONS, ids=str)
def test_both_words_of_64_bits_move(arch: str, size: int) -> None:
    engine, rng = IsaEngine(arch, size), np.random.default_rng(size)
    some = [lane_map("xor", 1 << k, size.bit_length() - 1, size) for k in range(size.bit_length() - 1)]
    some += [lane_map("up", 1, size.bit_length() - 1, size), tuple(int(lane) for lane in rng.permutation(size))]
    x = rng.integers(0, 1 << 63, 2 * size, np.uint64)
    want = np.stack([x.reshape(-1, size)[:, list(sources)].reshape(-1) for sources in some])
    np.testing.assert_array_equal(moved(engine, x, some), want)


@pytest.mark.parametrize(("arch", "size"), GENERATIONS, ids=str)
@pytest.mark.parametrize("dtype", [dtypes.u32, dtypes.f64], ids=str)
def test_gather_by_a_varying_and_a_uniform_lane(arch: str, size: int, dtype: DType) -> None:
    engine, rng = IsaEngine(arch, size), np.random.default_rng(size)

    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        x, index, out, same = arrays
        value = b.load(x, i)
        b.store(out, (i,), b("subgroup.gather", value, b.load(index, i)))
        b.store(same, (i,), b("subgroup.gather", value, b("subgroup_id")))

    made = program(body, (dtype, dtypes.i32, dtype, dtype), size, 2 * size)
    x = rng.integers(0, 1 << 31, 4 * size).astype(dtype.np)
    index = rng.integers(0, size, 4 * size).astype(np.int32)
    out, same = np.zeros_like(x), np.zeros_like(x)
    engine.load(made, False).launch([view_of(array)[1] for array in (x, index, out, same)], [4 * size])
    rows = x.reshape(-1, size)
    np.testing.assert_array_equal(out, np.take_along_axis(rows, index.reshape(-1, size), axis=1).reshape(-1))
    np.testing.assert_array_equal(same, np.repeat(rows[range(4), [0, 1, 0, 1]], size))
