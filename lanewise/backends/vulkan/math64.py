"""Math functions in f64, which GLSL.std.450 has not: series after a reduction of the argument.

Errors in units of the last place, where the device's own f64 arithmetic is correctly rounded (Vulkan promises no more
than that f64 is as good as f32): below 1 for exp, exp2, log, log2, sin, cos; 3 for the others, pow among them.
Arguments of sin, cos and tan may be of any size.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import factorial, pi

from ...dtypes import bool_, f64, u32
from .arithmetic import halves, joined
from .circular64 import cos, sin, tan
from .exact import EXACT, PI, parts, two_product, two_sum
from .real import Core, Real
from .spirv import Id

_LN2 = Decimal("0.69314718055994530941723212145817656807550013436025525412068000949339362196969471")
_LN10 = Decimal("2.30258509299404568401799145468436420760110148862877297603332790096757260967735248")


_LN2_PARTS = parts(_LN2, 40)
"""The first with room for a factor of 11 bits."""
_TWO_THIRDS = parts(EXACT.divide(Decimal(2), Decimal(3)), 53)
_LOG10_2 = parts(EXACT.divide(_LN2, _LN10), 40)
_SQRT2 = 2.0**0.5
_ROUND = 1.5 * 2.0**52
"""Added, it leaves no bits for a fraction."""


# ---- helpers ---------------------------------------------------------------------------------------------------------
def _rounded(f: Real, x: Id) -> Id:
    """To the nearest integer, for |x| < 2**51."""
    return f.sub(f.add(x, _ROUND), _ROUND)


def _power_of_two(f: Real, n: Id) -> Id:
    """2**n for a u32 that is an integer in [-1022, 1023]."""
    m = f.m
    field = m("ShiftLeftLogical", u32, m("IAdd", u32, n, m.u32(1023)), m.u32(20))
    return joined(f.code, m.u32(0), field, f64)


def _scaled(f: Real, x: Id, n: Id) -> Id:
    """x * 2**n in two steps, so that n may go beyond the exponents: only the last one rounds."""
    m = f.m
    n = m("ConvertFToS", u32, n)
    half = m("ShiftRightArithmetic", u32, n, m.u32(1))
    return f.mul(f.mul(x, _power_of_two(f, half)), _power_of_two(f, m("ISub", u32, n, half)))


# ---- exponentials ----------------------------------------------------------------------------------------------------
def _exp_of_small(f: Real, high: Id, low: Id) -> Id:
    """exp(high + low) for |high| < 0.35: Taylor to the 13th power."""
    square = f.mul(high, high)
    series = f.mul(square, f.horner(high, [1 / factorial(n) for n in range(2, 14)]))
    less_one = f.add(high, series)
    return f.add(f.add(less_one, f.mul(low, f.add(less_one, 1.0))), 1.0)


def _exp_of_sum(f: Real, x: Id, low: Id) -> Id:
    """exp(x + low), low much smaller than x."""
    x, nan = f.select(f.above(x, 720.0), 720.0, f.select(f.less(x, -760.0), -760.0, x)), f.is_nan(x)
    x = f.select(nan, 0.0, x)
    n = _rounded(f, f.mul(x, float(1 / _LN2)))
    high = f.sub(x, f.mul(n, _LN2_PARTS[0]))
    rest = f.mul(n, _LN2_PARTS[1])
    reduced = f.sub(high, rest)
    lost = f.sub(f.sub(high, reduced), rest)
    result = _scaled(f, _exp_of_small(f, reduced, f.add(lost, low)), n)
    return f.select(nan, float("nan"), result)


def _exp(f: Real, x: Id) -> Id:
    return _exp_of_sum(f, x, f.const(0.0))


def _exp2(f: Real, x: Id) -> Id:
    nan = f.is_nan(x)
    x = f.select(f.above(x, 1030.0), 1030.0, f.select(f.less(x, -1080.0), -1080.0, x))
    x = f.select(nan, 0.0, x)
    n = _rounded(f, x)
    result = _scaled(f, _exp_of_small(f, f.mul(f.sub(x, n), float(_LN2)), f.const(0.0)), n)
    return f.select(nan, float("nan"), result)


def _expm1(f: Real, x: Id) -> Id:
    """Taylor to the 17th power where |x| < 1/2."""
    square = f.mul(x, x)
    series = f.add(x, f.mul(square, f.horner(x, [1 / factorial(n) for n in range(2, 18)])))
    series = f.select(f.equal(x, 0.0), x, series)
    return f.select(f.less(f.abs(x), 0.5), series, f.sub(_exp(f, x), 1.0))


def _cosh(f: Real, x: Id) -> Id:
    """(e + 1 / e) / 2, and exp(|x| / 2)**2 / 2 where e overflows."""
    magnitude = f.abs(x)
    e = _exp(f, magnitude)
    root = _exp(f, f.mul(magnitude, 0.5))
    small = f.mul(f.add(e, f.div(1.0, e)), 0.5)
    return f.select(f.above(magnitude, 700.0), f.mul(f.mul(root, 0.5), root), small)


# ---- logarithms ------------------------------------------------------------------------------------------------------
def _mantissa(f: Real, x: Id) -> tuple[Id, Id]:
    """x > 0, finite, as m * 2**k with m around 1, from sqrt(1/2) to sqrt(2); k as a float."""
    m = f.m
    tiny = f.less(x, 2.0**-1022)
    x = f.select(tiny, f.mul(x, 2.0**54), x)
    low, high = halves(f.code, x)
    field = m("ISub", u32, m("ShiftRightLogical", u32, high, m.u32(20)), m.u32(1023))
    stored = m("BitwiseOr", u32, m("BitwiseAnd", u32, high, m.u32(0xFFFFF)), m.u32(1023 << 20))
    mantissa = joined(f.code, low, stored, f64)
    large = f.above(mantissa, _SQRT2)
    k = f.add(m("ConvertSToF", f64, field), f.select(large, 1.0, 0.0))
    return f.select(large, f.mul(mantissa, 0.5), mantissa), f.sub(k, f.select(tiny, 54.0, 0.0))


def _atanh_rest(f: Real, square: Id) -> Id:
    """2 z / 3 + 2 z**2 / 5 + ... with z = s**2: 2 atanh(s) is 2 s + s times this.  |s| < 0.172: 11 terms."""
    return f.mul(square, f.horner(square, [2 / (2 * n + 1) for n in range(1, 12)]))


def _log_of_one_plus(f: Real, x: Id) -> Id:
    """log(1 + x) for 1 + x from sqrt(1/2) to sqrt(2): with s = x / (2 + x), x - s * (x - rest)."""
    s = f.div(x, f.add(x, 2.0))
    return f.sub(x, f.mul(s, f.sub(x, _atanh_rest(f, f.mul(s, s)))))


def _special(f: Real, x: Id, result: Id) -> Id:
    """A logarithm's values where x is not a positive number."""
    result = f.select(f.is_inf(x), float("inf"), result)
    result = f.select(f.equal(x, 0.0), float("-inf"), result)
    return f.select(f.either(f.less(x, 0.0), f.is_nan(x)), float("nan"), result)


def _finite(f: Real, x: Id) -> Id:
    """1 instead of what has no logarithm."""
    return f.select(f.both(f.above(x, 0.0), f.no(f.is_inf(x))), x, 1.0)


def _log(f: Real, x: Id) -> Id:
    mantissa, k = _mantissa(f, _finite(f, x))
    fraction = f.sub(mantissa, 1.0)
    s = f.div(fraction, f.add(fraction, 2.0))
    rest = f.mul(s, f.sub(fraction, _atanh_rest(f, f.mul(s, s))))
    small = f.sub(fraction, f.sub(rest, f.mul(k, _LN2_PARTS[1])))
    return _special(f, x, f.add(f.mul(k, _LN2_PARTS[0]), small))


def _log2(f: Real, x: Id) -> Id:
    mantissa, k = _mantissa(f, _finite(f, x))
    high, low = _log_in_two(f, mantissa, f.const(0.0))
    product, lost = two_product(f, high, f.const(float(1 / _LN2)))
    inverse_low = float(EXACT.subtract(EXACT.divide(Decimal(1), _LN2), Decimal(float(1 / _LN2))))
    lost = f.add(lost, f.add(f.mul(low, float(1 / _LN2)), f.mul(high, inverse_low)))
    return _special(f, x, f.add(k, f.add(product, lost)))


def _log10(f: Real, x: Id) -> Id:
    mantissa, k = _mantissa(f, _finite(f, x))
    fraction = f.mul(_log_of_one_plus(f, f.sub(mantissa, 1.0)), float(1 / _LN10))
    small = f.add(fraction, f.mul(k, _LOG10_2[1]))
    return _special(f, x, f.add(f.mul(k, _LOG10_2[0]), small))


def _log1p(f: Real, x: Id) -> Id:
    near = f.both(f.above(x, 0.5**0.5 - 1), f.less(x, 2**0.5 - 1))
    small = f.select(f.equal(x, 0.0), x, _log_of_one_plus(f, f.select(near, x, 0.0)))
    return f.select(near, small, _log(f, f.add(x, 1.0)))


def _log_in_two(f: Real, mantissa: Id, k: Id) -> tuple[Id, Id]:
    """log(mantissa * 2**k) as a sum of two: with s = (m - 1) / (m + 1), k log 2 + 2 s + 2 s**3 / 3 + ...

    The first three terms with their rounding errors, so that those of the others are below 2**-62 of the sum.
    """
    fraction, divisor = f.sub(mantissa, 1.0), f.add(mantissa, 1.0)
    divisor_low = f.sub(mantissa, f.sub(divisor, 1.0))
    s = f.div(fraction, divisor)
    product, lost = two_product(f, s, divisor)
    s_low = f.div(f.sub(f.sub(f.sub(fraction, product), lost), f.mul(s, divisor_low)), divisor)
    z, z_low = two_product(f, s, s)
    cube, cube_low = two_product(f, z, s)
    cube_low = f.add(cube_low, f.add(f.mul(z_low, s), f.mul(f.mul(z, s_low), 3.0)))
    third, third_low = two_product(f, cube, f.const(_TWO_THIRDS[0]))
    third_low = f.add(third_low, f.add(f.mul(cube, _TWO_THIRDS[1]), f.mul(cube_low, _TWO_THIRDS[0])))
    series = f.mul(f.mul(cube, z), f.horner(z, [2 / (2 * n + 1) for n in range(2, 12)]))
    total, rest = two_sum(f, f.mul(k, _LN2_PARTS[0]), f.mul(s, 2.0))
    total, more = two_sum(f, total, third)
    for part in (more, f.mul(k, _LN2_PARTS[1]), f.mul(s_low, 2.0), third_low, series):
        rest = f.add(rest, part)
    return two_sum(f, total, rest)


def _power(f: Real, x: Id, y: Id) -> Id:
    """x**y for x >= 0: exp(y log x), the logarithm and the product with their rounding errors."""
    mantissa, k = _mantissa(f, _finite(f, x))
    high, low = _log_in_two(f, mantissa, k)
    limited = f.select(f.above(f.abs(y), 2.0**64), f.copysign(f.const(2.0**64), y), y)
    product, lost = two_product(f, high, limited)
    lost = f.add(lost, f.mul(low, limited))
    finite = _exp_of_sum(f, product, f.select(f.above(f.abs(product), 1000.0), 0.0, lost))
    # of 0 and infinity: 0 or infinity, by the sign of y
    to_infinity = f.m("LogicalEqual", bool_, f.is_inf(x), f.above(y, 0.0))
    extreme = f.either(f.is_inf(x), f.equal(x, 0.0))
    result = f.select(extreme, f.select(to_infinity, float("inf"), 0.0), finite)
    return f.select(f.either(f.is_nan(x), f.is_nan(y)), float("nan"), result)


# ---- their inverses --------------------------------------------------------------------------------------------------
_ARCS = {
    0.25: "0.24497866312686415417208248121127581091414409838118",
    0.5: "0.46364760900080611621425623146121440202853705428612",
    0.75: "0.64350110879328438680280922871732263804151059111531",
    1.0: "0.78539816339744830961566084581987572104929234984378",
}
"""atan of the points around which it is expanded."""


def _atan(f: Real, x: Id) -> Id:
    """|x| above 1 by pi/2 - atan(1 / |x|); atan(t) = atan(c) + atan((t - c) / (1 + t c)), c next to t: 10 terms."""
    magnitude = f.abs(x)
    large = f.above(magnitude, 1.0)
    t = f.select(large, f.div(1.0, magnitude), magnitude)
    c, arc, arc_low = f.const(0.0), f.const(0.0), f.const(0.0)
    for point, digits in _ARCS.items():
        beyond = f.above(t, point - 0.125)
        high, low = parts(Decimal(digits), 53)
        c, arc, arc_low = (f.select(beyond, new, old) for new, old in ((point, c), (high, arc), (low, arc_low)))
    s = f.div(f.sub(t, c), f.add(f.mul(t, c), 1.0))
    z = f.mul(s, s)
    series = f.mul(f.mul(s, z), f.horner(z, [(-1) ** n / (2 * n + 1) for n in range(1, 11)]))
    angle = f.add(arc, f.add(s, f.add(series, arc_low)))
    high, low = parts(EXACT.divide(PI, Decimal(2)), 53)
    # pi/2 - angle from the parts, so that it is rounded once more at most
    other = f.add(f.sub(high, arc), f.sub(f.sub(low, arc_low), f.add(s, series)))
    return f.copysign(f.select(large, other, angle), x)


def _asin(f: Real, x: Id) -> Id:
    """atan(x / sqrt((1 - x) * (1 + x)))"""
    cosine = f.sqrt(f.mul(f.sub(1.0, x), f.add(x, 1.0)))
    edge = f.equal(f.abs(x), 1.0)
    angle = _atan(f, f.div(x, f.select(edge, 1.0, cosine)))
    return f.select(edge, f.copysign(f.const(pi / 2), x), _inside(f, x, angle))


def _acos(f: Real, x: Id) -> Id:
    """2 atan(sqrt((1 - x) / (1 + x)))"""
    edge = f.equal(x, -1.0)
    ratio = f.div(f.sub(1.0, x), f.select(edge, 1.0, f.add(x, 1.0)))
    angle = f.mul(_atan(f, f.sqrt(f.abs(ratio))), 2.0)
    return f.select(edge, pi, _inside(f, x, angle))


def _inside(f: Real, x: Id, angle: Id) -> Id:
    """NaN beyond 1."""
    return f.select(f.m("FOrdLessThanEqual", bool_, f.abs(x), f.const(1.0)), angle, float("nan"))


FUNCTIONS: dict[str, Callable[..., Id]] = {
    "exp": _exp,
    "exp2": _exp2,
    "expm1": _expm1,
    "log": _log,
    "log2": _log2,
    "log10": _log10,
    "log1p": _log1p,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "cosh": _cosh,
}
CORE = Core(exp=_exp, expm1=_expm1, atan=_atan, power=_power, tanh_is_one=22.0, exp_is_large=700.0)
