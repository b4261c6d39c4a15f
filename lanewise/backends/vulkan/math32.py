"""Math functions in f32: GLSL.std.450 where it is good, our own series where its error near 0 is unbounded.

Vulkan gives bounds for few of them ("Precision of GLSL.std.450 instructions"): exp 3 + 2|x| ulp, log 3 ulp outside
[0.5, 2], sin and cos an absolute 2**-11 in [-pi, pi].  asin, acos and atan (4096 ulp there) are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial, log10, pi

from .real import Core, Real
from .spirv import Glsl, Id


def _call(which: Glsl) -> Callable[..., Id]:
    return lambda f, *operands: f.call(which, *operands)


def _expm1(f: Real, x: Id) -> Id:
    """The Taylor series to x**9 where |x| < 1/2 (its rest is below 2**-30 of the result), else exp(x) - 1."""
    series = f.mul(x, f.horner(x, [1 / factorial(n) for n in range(1, 10)]))
    return f.select(f.less(f.abs(x), 0.5), series, f.sub(f.call(Glsl.Exp, x), 1.0))


def _log1p(f: Real, x: Id) -> Id:
    """2 atanh(s) with s = x / (2 + x) where |x| < 1/2 (s**2 <= 1/9: eight terms), else log(1 + x)."""
    s = f.div(x, f.add(x, 2.0))
    series = f.mul(s, f.horner(f.mul(s, s), [2 / (2 * n + 1) for n in range(8)]))
    series = f.select(f.equal(x, 0.0), x, series)  # keeps -0
    return f.select(f.less(f.abs(x), 0.5), series, f.call(Glsl.Log, f.add(x, 1.0)))


def _log10(f: Real, x: Id) -> Id:
    return f.mul(f.call(Glsl.Log2, x), log10(2.0))


def _half_asin(f: Real, x: Id) -> Id:
    """asin(x) for 0 <= x <= 1/2: eleven terms of its Taylor series, whose rest is below 2**-27 of the result."""
    return f.mul(x, f.horner(f.mul(x, x), [comb(2 * n, n) / (4**n * (2 * n + 1)) for n in range(11)]))


def _arc(f: Real, x: Id) -> tuple[Id, Id, Id]:
    """|x|, whether it is above 1/2, and the asin of |x|, or of sqrt((1 - |x|) / 2) where it is."""
    magnitude = f.abs(x)
    high = f.above(magnitude, 0.5)
    root = f.sqrt(f.mul(f.sub(1.0, magnitude), 0.5))
    return magnitude, high, _half_asin(f, f.select(high, root, magnitude))


def _asin(f: Real, x: Id) -> Id:
    """pi/2 - 2 asin(sqrt((1 - |x|) / 2)) above 1/2, where the series is slow."""
    _, high, arc = _arc(f, x)
    return f.copysign(f.select(high, f.sub(pi / 2, f.mul(arc, 2.0)), arc), x)


def _acos(f: Real, x: Id) -> Id:
    _, high, arc = _arc(f, x)
    negative = f.less(x, 0.0)
    twice = f.mul(arc, 2.0)
    outer = f.select(negative, f.sub(pi, twice), twice)
    signed = f.copysign(arc, x)
    return f.select(high, outer, f.sub(pi / 2, signed))


def _atan(f: Real, x: Id) -> Id:
    """|x| above 1 by pi/2 - atan(1 / |x|), then halved: atan(t) = 2 atan(t / (1 + sqrt(1 + t**2))), ten terms."""
    magnitude = f.abs(x)
    large = f.above(magnitude, 1.0)
    t = f.select(large, f.div(1.0, magnitude), magnitude)
    half = f.div(t, f.add(f.sqrt(f.add(f.mul(t, t), 1.0)), 1.0))
    series = f.horner(f.mul(half, half), [(-1) ** n * 2 / (2 * n + 1) for n in range(10)])
    arc = f.mul(half, series)
    return f.copysign(f.select(large, f.sub(pi / 2, arc), arc), x)


def _power(f: Real, x: Id, y: Id) -> Id:
    zero = f.equal(x, 0.0)
    logarithm = f.select(zero, float("-inf"), f.call(Glsl.Log2, f.select(zero, 1.0, x)))
    return f.call(Glsl.Exp2, f.mul(y, logarithm))


FUNCTIONS: dict[str, Callable[..., Id]] = {
    "exp": _call(Glsl.Exp),
    "exp2": _call(Glsl.Exp2),
    "expm1": _expm1,
    "log": _call(Glsl.Log),
    "log2": _call(Glsl.Log2),
    "log10": _log10,
    "log1p": _log1p,
    "sin": _call(Glsl.Sin),
    "cos": _call(Glsl.Cos),
    "tan": _call(Glsl.Tan),
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "cosh": _call(Glsl.Cosh),
}
CORE = Core(exp=_call(Glsl.Exp), expm1=_expm1, atan=_atan, power=_power, tanh_is_one=10.0, exp_is_large=80.0)
