"""Arithmetic of one lane: every operation and dtype on extreme values, against Python's own integers and floats."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lanewise as lw

from .harness import ALL_DTYPES, INTEGER_DTYPES, NUMERIC_DTYPES, bits, smallest
from .reference import larger, smaller

FLOAT_DTYPES = NUMERIC_DTYPES[8:]


def edges(dtype: lw.DType) -> np.ndarray:
    """Values at which arithmetic goes wrong."""
    if dtype == lw.bool:
        return np.array([False, True])
    if dtype.is_float:
        info = np.finfo(dtype.np)
        some = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 100.25, 0.1, float(info.max), float(info.tiny)]
        some += [smallest(dtype), math.inf, float(info.eps), 2.0**15, 300.7]
        with np.errstate(all="ignore"):
            return np.array([*some, *(-v for v in some), math.nan], dtype.np)
    info = np.iinfo(dtype.np)
    some = [0, 1, 2, 3, 5, 7, 10, 100, info.max, info.max - 1, info.max // 2, info.min, info.min + 1, info.min // 2]
    some += [-1, -2, -3, -7, -100] * dtype.is_signed
    return np.array(sorted(set(some)), dtype.np)


def pairs(dtype: lw.DType) -> tuple[np.ndarray, np.ndarray]:
    values = edges(dtype)
    a, b = np.meshgrid(values, values, indexing="ij")
    return a.ravel(), b.ravel()


@lw.kernel
def binary(
    a: lw.types.ndarray(), b: lw.types.ndarray(), out: lw.types.ndarray(), flags: lw.types.ndarray(dtype=lw.bool)
):
    for i in range(a.shape[0]):
        x = a[i]
        y = b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x // y
        out[4, i] = x % y
        out[5, i] = min(x, y)
        out[6, i] = max(x, y)
        out[7, i] = -x
        out[8, i] = abs(x)
        out[9, i] = lw.select(x < y, x, y)
        flags[0, i] = x == y
        flags[1, i] = x != y
        flags[2, i] = x < y
        flags[3, i] = x <= y
        flags[4, i] = x > y
        flags[5, i] = x >= y


def wrap(value: int, dtype: lw.DType) -> int:
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.is_signed and value >> (dtype.bits - 1) else value


def integer_ops(dtype: lw.DType) -> list[Callable[[int, int], int]]:
    plain: list[Callable[[int, int], int]] = [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x // y if y else 0,
        lambda x, y: x % y if y else 0,
        min,
        max,
        lambda x, y: -x,
        lambda x, y: abs(x),
        lambda x, y: x if x < y else y,
    ]
    return [lambda x, y, f=f: wrap(f(x, y), dtype) for f in plain]


def exact_mod(x: Any, y: Any) -> Any:
    """Python's float remainder in the operand's own precision: the exact fmod, then one rounded addition."""
    t = type(x)
    if not math.isfinite(x) or math.isnan(y) or y == 0:
        return t(math.nan)
    if math.isinf(y):
        r = x
    else:
        part = abs(Fraction(float(x))) % abs(Fraction(float(y)))
        r = t(float(part) if x >= 0 else -float(part))
    if r == 0:
        return t(math.copysign(0.0, y))
    return r + y if (r < 0) != (y < 0) else r


def exact_floordiv(x: Any, y: Any) -> Any:
    t = type(x)
    if y == 0:
        return x / y
    if not math.isfinite(x) or math.isnan(y):
        return t(math.nan)
    if math.isinf(y):
        r = x
    else:
        part = abs(Fraction(float(x))) % abs(Fraction(float(y)))
        r = t(float(part) if x >= 0 else -float(part))
    q = (x - r) / y
    if r != 0 and (r < 0) != (y < 0):
        q = q - t(1)
    if q == 0:
        return t(math.copysign(0.0, x / y))
    down = np.floor(q)
    return down + t(1) if q - down > t(0.5) else down


FLOAT_OPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    exact_floordiv,
    exact_mod,
    smaller,
    larger,
    lambda x, y: -x,
    lambda x, y: abs(x),
    lambda x, y: x if x < y else y,
]


@functools.cache
def wanted_binary(dtype: lw.DType) -> list[np.ndarray]:
    """The rows of `binary`, in exact arithmetic."""
    a, b = pairs(dtype)
    if dtype.is_int:
        rows = [[f(int(x), int(y)) for x, y in zip(a, b, strict=True)] for f in integer_ops(dtype)]
        return [np.array(row, dtype.np) for row in rows]
    with np.errstate(all="ignore"):
        return [np.array([f(x, y) for x, y in zip(a, b, strict=True)]).astype(dtype.np) for f in FLOAT_OPS]


@pytest.mark.parametrize("dtype", NUMERIC_DTYPES, ids=str)
def test_binary(simple_devices: lw.Device, dtype: lw.DType) -> None:
    a, b = pairs(dtype)
    out, flags = np.zeros((10, len(a)), dtype.np), np.zeros((6, len(a)), bool)
    with lw.use(simple_devices):
        binary(a, b, out, flags)
    for row, want in enumerate(wanted_binary(dtype)):
        wrong = np.flatnonzero(bits(out[row]) != bits(want))
        assert not len(wrong), [(row, a[w], b[w], out[row, w], want[w]) for w in wrong[:5]]
    compare = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]
    for row, function in enumerate(compare):
        assert (flags[row] == function(a, b)).all(), (row, dtype)


@lw.kernel
def integer_only(
    a: lw.types.ndarray(), b: lw.types.ndarray(), out: lw.types.ndarray(), counts: lw.types.ndarray(dtype=lw.i32)
):
    for i in range(a.shape[0]):
        x = a[i]
        y = b[i]
        out[0, i] = x & y
        out[1, i] = x | y
        out[2, i] = x ^ y
        out[3, i] = ~x
        out[4, i] = x << y
        out[5, i] = x >> y
        out[6, i] = lw.bit_reverse(x)
        out[7, i] = x**3
        counts[0, i] = lw.popcnt(x)
        counts[1, i] = lw.clz(x)
        counts[2, i] = lw.ctz(x)
        counts[3, i] = lw.ffs(x)


@pytest.mark.parametrize("dtype", INTEGER_DTYPES, ids=str)
def test_integer_only(simple_devices: lw.Device, dtype: lw.DType) -> None:
    a, b = pairs(dtype)
    out, counts = np.zeros((8, len(a)), dtype.np), np.zeros((4, len(a)), np.int32)
    with lw.use(simple_devices):
        integer_only(a, b, out, counts)
    width = dtype.bits
    low = lambda x: x & ((1 << width) - 1)  # noqa: E731
    ops: list[Callable[[int, int], int]] = [
        lambda x, y: x & y,
        lambda x, y: x | y,
        lambda x, y: x ^ y,
        lambda x, y: ~x,
        lambda x, y: x << (y % width),
        lambda x, y: x >> (y % width),
        lambda x, y: int(f"{low(x):0{width}b}"[::-1], 2),
        lambda x, y: x**3,
    ]
    for row, function in enumerate(ops):
        want = [wrap(function(int(x), int(y)), dtype) for x, y in zip(a, b, strict=True)]
        assert out[row].tolist() == want, row
    for item, x in enumerate(a):
        text = f"{low(int(x)):0{width}b}"
        leading = len(text) - len(text.lstrip("0"))
        trailing = len(text) - len(text.rstrip("0"))
        first = 0 if "1" not in text else trailing + 1
        assert counts[:, item].tolist() == [text.count("1"), leading, trailing, first], x


FMA = 6
# Vulkan, "Precision and Operation of SPIR-V Instructions": division within 2.5 ulp, a square root as 1 / InverseSqrt
# within 2, so ours as the inverse of one as well; Fma as one operation or two.
ULPS = {"vulkan": {0: 2.5, 1: 4.5, FMA: 0, 7: 7}}


@lw.kernel
def float_only(a: lw.types.ndarray(), b: lw.types.ndarray(), out: lw.types.ndarray()):
    for i in range(a.shape[0]):
        x = a[i]
        y = b[i]
        out[0, i] = x / y
        out[1, i] = lw.sqrt(x)
        out[2, i] = lw.floor(x)
        out[3, i] = lw.ceil(x)
        out[4, i] = lw.trunc(x)
        out[5, i] = lw.round(x)
        out[6, i] = lw.fma(x, y, x)
        out[7, i] = lw.rsqrt(x)


def exact_fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once, from rational arithmetic."""
    if not all(math.isfinite(v) for v in (x, y, z)):
        return type(x)(float(x) * float(y) + float(z))
    total = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if total == 0:
        return x * y + z  # the sign of a zero
    return rounded(total, type(x))


def rounded(value: Fraction, t: Any) -> Any:
    """To the nearest value of a float type, ties to even, by comparing with the neighbours."""
    info = np.finfo(t)
    exponent = max(value.numerator.bit_length() - value.denominator.bit_length() - 1, info.minexp)
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - info.nmant)
    steps = value / unit
    whole = round(steps)  # Python rounds a Fraction's ties to even
    result = whole * unit
    if abs(result) > Fraction(float(info.max)):
        return t(math.inf if value > 0 else -math.inf)
    return t(math.copysign(float(result), 1 if value > 0 else -1))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES, ids=str)
def test_float_only(simple_devices: lw.Device, dtype: lw.DType) -> None:
    a, b = pairs(dtype)
    out = np.zeros((8, len(a)), dtype.np)
    with lw.use(simple_devices):
        float_only(a, b, out)
    one = dtype.np.type(1)
    ulps = ULPS.get(simple_devices.arch.value, {})
    with np.errstate(all="ignore"):
        fused = np.array([exact_fma(x, y, x) for x, y in zip(a, b, strict=True)]).astype(dtype.np)
        wanted = [a / b, np.sqrt(a), np.floor(a), np.ceil(a), np.trunc(a), np.rint(a), fused, one / np.sqrt(a)]
        for row, want in enumerate(wanted):
            right = bits(out[row]) == bits(want)
            if row in ulps:
                right |= np.abs(out[row] - want) <= ulps[row] * np.spacing(np.abs(want))
            if row == FMA and ulps:
                right |= bits(out[row]) == bits(a * b + a)
            if smallest(dtype) == np.finfo(dtype.np).tiny:  # denormals become 0
                right |= (np.abs(want) < smallest(dtype)) & (out[row] == 0)
                right |= (row == FMA) & (np.abs(a * b) < smallest(dtype)) & (out[row] == a)
            wrong = np.flatnonzero(~right)
            assert not len(wrong), [(row, a[w], b[w], out[row, w], want[w]) for w in wrong[:5]]


LIMITS = (0, 5, -5, 127, -(2**31), 2**31 - 1, 2**31, -(2**40))


@lw.kernel
def compare_widened(a: lw.types.ndarray(), out: lw.types.ndarray()):
    for i in range(a.shape[0]):
        x = lw.cast(a[i], lw.i64)
        for k in lw.static(range(len(LIMITS))):
            limit = lw.cast(LIMITS[k], lw.i64)
            found = 0
            if x < limit:
                found += 1
            if limit < x:
                found += 2
            if x >= limit:
                found += 4
            if limit >= x:
                found += 8
            out[k, i] = found


@pytest.mark.parametrize("dtype", [lw.i8, lw.i16, lw.i32], ids=str)
def test_widened_integers_are_compared_with_constants(simple_devices: lw.Device, dtype: lw.DType) -> None:
    a = edges(dtype)
    out = np.zeros((len(LIMITS), len(a)), np.int32)
    with lw.use(simple_devices):
        compare_widened(a, out)
    x, limit = a.astype(np.int64), np.array(LIMITS)[:, None]
    np.testing.assert_array_equal(out, (x < limit) + 2 * (limit < x) + 4 * (x >= limit) + 8 * (limit >= x))


@lw.kernel
def convert(a: lw.types.ndarray(), out: lw.types.ndarray(), dtype: lw.template()):
    for i in range(a.shape[0]):
        out[i] = lw.cast(a[i], dtype)


def converted(x: Any, source: lw.DType, target: lw.DType) -> Any:
    if target == lw.bool:
        return x != 0
    if target.is_float:
        if source.is_int or source == lw.bool:
            return rounded(Fraction(int(x)), target.np.type) if x else target.np.type(0)
        return target.np.type(x)
    if source.is_float:
        if math.isnan(x):
            return 0
        if math.isinf(x):
            return target.highest if x > 0 else target.lowest
        return min(max(int(x), target.lowest), target.highest)
    return wrap(int(x), target)


@pytest.mark.parametrize("target", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("source", ALL_DTYPES, ids=str)
def test_cast(simple_devices: lw.Device, source: lw.DType, target: lw.DType) -> None:
    a = edges(source)
    if source.is_float and target.is_int:  # around the limits
        with np.errstate(all="ignore"):
            near = np.array([float(target.lowest), float(target.highest)], source.np)
            a = np.concatenate([a, near, np.nextafter(near, source.np.type(0)), near + 1, near - 1]).astype(source.np)
    out = np.zeros(len(a), target.np)
    with lw.use(simple_devices):
        convert(a, out, target)
    with np.errstate(all="ignore"):
        want = np.array([converted(x, source, target) for x in a], target.np)
    wrong = np.flatnonzero(bits(out) != bits(want))
    assert not len(wrong), [(a[w], out[w], want[w]) for w in wrong[:5]]


@lw.kernel
def divided_by_zero(x: lw.types.ndarray(), out: lw.types.ndarray(), zero: lw.template(), lost: lw.template()):
    for i in range(x.shape[0]):
        out[0, i] = x[i] / zero
        out[1, i] = x[i] / lost
        out[2, i] = x[i] // zero
        out[3, i] = x[i] % zero


@pytest.mark.parametrize("dtype", [lw.f16, lw.f32, lw.f64], ids=str)
def test_division_by_a_literal_zero(dtype: lw.DType, simple_devices: lw.Device) -> None:
    x = np.array([1, -1, 0, -0.0, np.inf, -np.inf, np.nan, 3], dtype.np)
    out = np.zeros((4, x.size), dtype.np)
    divided_by_zero(x, out, dtype.np.type(0.0), dtype.np.type(-0.0))
    with np.errstate(all="ignore"):
        quotient = x / dtype.np.type(0)
    np.testing.assert_array_equal(out, [quotient, -quotient, quotient, np.full_like(x, np.nan)])
