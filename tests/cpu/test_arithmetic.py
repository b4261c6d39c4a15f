"""Every arithmetic row against its NumPy meaning, bit for bit, on every type: as strips and as scalars."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lanewise import dtypes
from lanewise.dtypes import DType
from lanewise.ir import OPCODES, Builder, Value
from lanewise.ir.arith import MATH

from .kernels import program, run, same_bits

Arr = NDArray[Any]
INT, FLOAT, BOOL = dtypes.INTEGERS, dtypes.FLOATS, (dtypes.bool_,)
NUMBER = INT + FLOAT

ROWS: Sequence[tuple[str, int, Sequence[DType]]] = (
    [(name, 2, NUMBER) for name in ("add", "sub", "mul", "floordiv", "mod", "min", "max")]
    + [("div", 2, FLOAT), ("fma", 3, NUMBER)]
    + [(name, 2, INT + BOOL) for name in ("and", "or", "xor")]
    + [(name, 2, INT) for name in ("shl", "shr")]
    + [(name, 2, NUMBER) for name in ("lt", "le", "gt", "ge")]
    + [(name, 2, NUMBER + BOOL) for name in ("eq", "ne")]
    + [("neg", 1, NUMBER), ("abs", 1, NUMBER), ("not", 1, INT + BOOL)]
    + [(name, 1, FLOAT) for name in ("sqrt", "rsqrt", "floor", "ceil", "trunc", "round")]
    + [(name, 1, INT) for name in ("popcnt", "clz", "ctz", "bitrev")]
)
CASES = [(name, count, dtype) for name, count, types in ROWS for dtype in types]


def samples(dtype: DType) -> Arr:
    """The edges of a type and some values between them."""
    rng = np.random.default_rng(dtype.bits)
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_int:
        low, high = int(dtype.lowest), int(dtype.highest)
        edges = {low, low + 1, high, high - 1, 0, 1, 2, 3, 5, 7, 100, high // 2, low // 2}
        edges |= {-1, -2, -3, -7, -100} if dtype.is_signed else {dtype.bits, dtype.bits - 1}
        random = rng.integers(low, high, 12, dtype.np, endpoint=True)
        return np.concatenate([np.array(sorted(edges), dtype.np), random])
    info = np.finfo(dtype.np)
    tiny = float(info.smallest_subnormal)
    some = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 7.0, 0.1, 1 / 3, 2049.0, 100.7, np.inf, np.nan]
    some += [float(info.max), float(info.tiny), tiny, 3 * tiny]
    some += [float(x) for x in rng.standard_normal(5)]
    return np.array([s * x for x in some for s in (1, -1)], dtype.np)


def operands(dtype: DType, count: int) -> list[Arr]:
    """All tuples of samples (of three operands, a part of them)."""
    values = samples(dtype)
    if count == 3:
        values = values[:: 1 if len(values) < 8 else 2]
    rows = list(itertools.product(range(len(values)), repeat=count))
    return [values[[row[n] for row in rows]] for n in range(count)]


def compute(name: str, arrays: list[Arr], result: DType, *, width: int, uniform: bool, **attrs: Any) -> Arr:
    """The row applied to arrays, an element an item, or (uniform) an element a subgroup."""
    types = [dtypes.BY_NUMPY[a.dtype] for a in arrays]

    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        place = b("block_idx", dtype=dtypes.i32) if uniform else indices[0]
        values = [b.load(memory, place) for memory in memories[:-1]]
        b.store(memories[-1], [place], b(name, *values, **attrs))

    block_dim = width if uniform else 128
    made = program(width, build, [*((t, 1) for t in types), (result, 1)], block_dim=block_dim)
    out = np.zeros(len(arrays[0]), result.np)
    run(made, [*arrays, out], [len(out) * (width if uniform else 1)])
    return out


@pytest.mark.parametrize("uniform", [False, True], ids=["strips", "scalars"])
@pytest.mark.parametrize(("name", "count", "dtype"), CASES, ids=str)
def test_row(name: str, count: int, dtype: DType, uniform: bool) -> None:
    arrays = operands(dtype, count)
    meaning = OPCODES[name].meaning
    assert meaning is not None
    with np.errstate(all="ignore"):
        want = np.asarray(meaning(*arrays))
    got = compute(name, arrays, dtypes.BY_NUMPY[want.dtype], width=16, uniform=uniform)
    same_bits(got, want)


@pytest.mark.parametrize("uniform", [False, True], ids=["strips", "scalars"])
@pytest.mark.parametrize("target", dtypes.ALL, ids=str)
@pytest.mark.parametrize("source", dtypes.ALL, ids=str)
def test_cast(source: DType, target: DType, uniform: bool) -> None:
    values = samples(source)
    if source.is_float and target.is_int:  # the limits of the target, and a step to either side of them
        with np.errstate(all="ignore"):
            limits = np.array([float(target.lowest), float(target.highest), target.highest + 1.0], source.np)
            near = [np.nextafter(limits, np.array(to, source.np)) for to in (np.inf, -np.inf)]
            values = np.concatenate([values, limits, *near, limits - source.np.type(0.5)])
    meaning = OPCODES["cast"].meaning
    assert meaning is not None
    with np.errstate(all="ignore"):
        want = np.asarray(meaning(values, target))
    same_bits(compute("cast", [values], target, width=16, uniform=uniform, dtype=target), want)


@pytest.mark.parametrize("uniform", [False, True], ids=["strips", "scalars"])
@pytest.mark.parametrize("value", [dtypes.f16, dtypes.i64, dtypes.bool_], ids=str)
def test_select(value: DType, uniform: bool) -> None:
    a, b = operands(value, 2)
    cond = np.arange(len(a)) % 3 == 0
    same_bits(compute("select", [cond, a, b], value, width=8, uniform=uniform), np.where(cond, a, b))


@pytest.mark.parametrize("name", sorted(MATH))
@pytest.mark.parametrize("dtype", FLOAT, ids=str)
def test_math(name: str, dtype: DType) -> None:
    """Within a few ulp of NumPy's, whose own library differs from C's."""
    rng = np.random.default_rng(3)
    count = 2 if name in ("atan2", "pow") else 1
    arrays = [rng.uniform(0.05, 0.95, 64).astype(dtype.np) for _ in range(count)]
    meaning = OPCODES[name].meaning
    assert meaning is not None
    want = np.asarray(meaning(*arrays))
    got = compute(name, arrays, dtype, width=8, uniform=False)
    np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype.np).eps)


def test_half_fma_rounds_once() -> None:
    """2049 * 2049 rounds in f32 to a tie of f16 that the exact sum is not."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 1 << 16, 4096, np.uint16).view(np.float16) for _ in range(2))
    c = (rng.integers(0, 1 << 16, 4096, np.uint16)).view(np.float16)
    meaning = OPCODES["fma"].meaning
    assert meaning is not None
    with np.errstate(all="ignore"):
        want = np.asarray(meaning(a, b, c))
    same_bits(compute("fma", [a, b, c], dtypes.f16, width=16, uniform=False), want)


def test_double_to_half_rounds_once() -> None:
    base = np.arange(0x3C00, 0x3C40, dtype=np.uint16).view(np.float16).astype(np.float64)
    middle = (base[:-1] + base[1:]) / 2
    values = np.concatenate([middle, np.nextafter(middle, 9), np.nextafter(middle, 0), -np.nextafter(middle, 9)])
    got = compute("cast", [values], dtypes.f16, width=8, uniform=False, dtype=dtypes.f16)
    same_bits(got, values.astype(np.float16))
