"""Math functions, computed in f32: GLSL.std.450 where it is good, our own series where its error near 0 is unbounded.

Vulkan gives bounds for few of them ("Precision of GLSL.std.450 instructions"): exp 3 + 2|x| ulp, log 3 ulp outside
[0.5, 2], sin and cos an absolute 2**-11 in [-pi, pi].  asin, acos and atan (4096 ulp there) are our own.  Devices have
no math functions in f64.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial, log10, pi

from ...dtypes import bool_, f32, u32
from ...ir import Op
from .code import Code
from .spirv import Glsl, Id


class _F32:
    """Shorthand for f32 arithmetic in a module."""

    def __init__(self, code: Code) -> None:
        self.m = code.m

    def const(self, value: float) -> Id:
        return self.m.const(value, f32)

    def add(self, a: Id, b: Id | float) -> Id:
        return self.m("FAdd", f32, a, self._id(b))

    def sub(self, a: Id, b: Id | float) -> Id:
        return self.m("FSub", f32, a, self._id(b))

    def mul(self, a: Id, b: Id | float) -> Id:
        return self.m("FMul", f32, a, self._id(b))

    def div(self, a: Id, b: Id | float) -> Id:
        return self.m("FDiv", f32, a, self._id(b))

    def call(self, which: Glsl, *operands: Id) -> Id:
        return self.m.glsl(which, f32, *operands)

    def less(self, a: Id, b: float) -> Id:
        return self.m("FOrdLessThan", bool_, a, self.const(b))

    def equal(self, a: Id, b: Id | float) -> Id:
        return self.m("FOrdEqual", bool_, a, self._id(b))

    def both(self, a: Id, b: Id) -> Id:
        return self.m("LogicalAnd", bool_, a, b)

    def select(self, cond: Id, a: Id | float, b: Id | float) -> Id:
        return self.m("Select", f32, cond, self._id(a), self._id(b))

    def copysign(self, magnitude: Id, sign: Id) -> Id:
        """The magnitude (not negative) with the sign of `sign`."""
        bits = self.m("BitwiseAnd", u32, self.m("Bitcast", u32, sign), self.m.u32(1 << 31))
        return self.m("Bitcast", f32, self.m("BitwiseOr", u32, bits, self.m("Bitcast", u32, magnitude)))

    def horner(self, x: Id, coefficients: list[float]) -> Id:
        """c[0] + c[1] x + c[2] x**2 ..."""
        total = self.const(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = self.add(self.mul(total, x), coefficient)
        return total

    def _id(self, value: Id | float) -> Id:
        return value if isinstance(value, Id) else self.const(value)


def _expm1(f: _F32, x: Id) -> Id:
    """The Taylor series to x**9 where |x| < 1/2 (its rest is below 2**-30 of the result), else exp(x) - 1."""
    series = f.mul(x, f.horner(x, [1 / factorial(n) for n in range(1, 10)]))
    return f.select(f.less(f.call(Glsl.FAbs, x), 0.5), series, f.sub(f.call(Glsl.Exp, x), 1.0))


def _log1p(f: _F32, x: Id) -> Id:
    """2 atanh(s) with s = x / (2 + x) where |x| < 1/2 (s**2 <= 1/9: eight terms), else log(1 + x)."""
    s = f.div(x, f.add(x, 2.0))
    series = f.mul(s, f.horner(f.mul(s, s), [2 / (2 * n + 1) for n in range(8)]))
    series = f.select(f.equal(x, 0.0), x, series)  # keeps -0
    return f.select(f.less(f.call(Glsl.FAbs, x), 0.5), series, f.call(Glsl.Log, f.add(x, 1.0)))


def _tanh(f: _F32, x: Id) -> Id:
    """t / (t + 2) with t = expm1(2 |x|); 1 from 10 on, NaN stays."""
    magnitude = f.call(Glsl.FAbs, x)
    t = _expm1(f, f.mul(magnitude, 2.0))
    large = f.m("FOrdGreaterThan", bool_, magnitude, f.const(10.0))
    return f.copysign(f.select(large, 1.0, f.div(t, f.add(t, 2.0))), x)


def _sinh(f: _F32, x: Id) -> Id:
    """(t + t / (t + 1)) / 2 with t = expm1(|x|); exp(|x| / 2)**2 / 2 where the other overflows."""
    magnitude = f.call(Glsl.FAbs, x)
    t = _expm1(f, magnitude)
    small = f.mul(f.add(t, f.div(t, f.add(t, 1.0))), 0.5)
    root = f.call(Glsl.Exp, f.mul(magnitude, 0.5))
    large = f.m("FOrdGreaterThan", bool_, magnitude, f.const(80.0))
    return f.copysign(f.select(large, f.mul(f.mul(root, 0.5), root), small), x)


def _log10(f: _F32, x: Id) -> Id:
    return f.mul(f.call(Glsl.Log2, x), log10(2.0))


def _half_asin(f: _F32, x: Id) -> Id:
    """asin(x) for 0 <= x <= 1/2: eleven terms of its Taylor series, whose rest is below 2**-27 of the result."""
    return f.mul(x, f.horner(f.mul(x, x), [comb(2 * n, n) / (4**n * (2 * n + 1)) for n in range(11)]))


def _arc(f: _F32, x: Id) -> tuple[Id, Id, Id]:
    """|x|, whether it is above 1/2, and the asin of |x|, or of sqrt((1 - |x|) / 2) where it is."""
    magnitude = f.call(Glsl.FAbs, x)
    high = f.m("FOrdGreaterThan", bool_, magnitude, f.const(0.5))
    root = f.call(Glsl.Sqrt, f.mul(f.sub(f.const(1.0), magnitude), 0.5))
    return magnitude, high, _half_asin(f, f.select(high, root, magnitude))


def _asin(f: _F32, x: Id) -> Id:
    """pi/2 - 2 asin(sqrt((1 - |x|) / 2)) above 1/2, where the series is slow."""
    _, high, arc = _arc(f, x)
    return f.copysign(f.select(high, f.sub(f.const(pi / 2), f.mul(arc, 2.0)), arc), x)


def _acos(f: _F32, x: Id) -> Id:
    _, high, arc = _arc(f, x)
    negative = f.less(x, 0.0)
    twice = f.mul(arc, 2.0)
    outer = f.select(negative, f.sub(f.const(pi), twice), twice)
    signed = f.copysign(arc, x)
    return f.select(high, outer, f.sub(f.const(pi / 2), signed))


def _atan(f: _F32, x: Id) -> Id:
    """|x| above 1 by pi/2 - atan(1 / |x|), then halved: atan(t) = 2 atan(t / (1 + sqrt(1 + t**2))), ten terms."""
    magnitude = f.call(Glsl.FAbs, x)
    large = f.m("FOrdGreaterThan", bool_, magnitude, f.const(1.0))
    t = f.select(large, f.div(f.const(1.0), magnitude), magnitude)
    half = f.div(t, f.add(f.call(Glsl.Sqrt, f.add(f.mul(t, t), 1.0)), 1.0))
    series = f.horner(f.mul(half, half), [(-1) ** n * 2 / (2 * n + 1) for n in range(10)])
    arc = f.mul(half, series)
    return f.copysign(f.select(large, f.sub(f.const(pi / 2), arc), arc), x)


def _atan2(f: _F32, y: Id, x: Id) -> Id:
    """atan(|y| / |x|) in its quadrant.  (0, 0) and two infinities are taken as points on an axis and on a diagonal."""
    one, zero = f.const(1.0), f.const(0.0)
    far = f.both(f.m("IsInf", bool_, y), f.m("IsInf", bool_, x))
    flat = f.both(f.equal(y, 0.0), f.equal(x, 0.0))
    height = f.select(far, one, f.call(Glsl.FAbs, y))
    width = f.select(f.m("LogicalOr", bool_, far, flat), one, f.call(Glsl.FAbs, x))
    angle = _atan(f, f.div(height, width))
    left = f.m("SLessThan", bool_, f.m("Bitcast", u32, x), f.m.u32(0))
    steep = f.equal(width, zero)  # a division by zero is not promised to be infinite
    angle = f.select(steep, pi / 2, f.select(left, f.sub(f.const(pi), angle), angle))
    nan = f.m("LogicalOr", bool_, f.m("IsNan", bool_, x), f.m("IsNan", bool_, y))
    return f.select(nan, float("nan"), f.copysign(angle, y))


def _pow(f: _F32, x: Id, y: Id) -> Id:
    """exp2(y log2 |x|).  An odd y keeps x's sign, a negative x with a fractional y is NaN; x**0 and 1**y are 1."""
    m = f.m
    magnitude = f.call(Glsl.FAbs, x)
    zero = f.equal(x, 0.0)
    logarithm = f.select(zero, float("-inf"), f.call(Glsl.Log2, f.select(zero, 1.0, magnitude)))
    power = f.call(Glsl.Exp2, f.mul(y, logarithm))
    whole = f.equal(f.call(Glsl.Trunc, y), y)
    half = f.mul(y, 0.5)
    odd = f.both(whole, m("FUnordNotEqual", bool_, f.call(Glsl.Trunc, half), half))
    negative = f.less(x, 0.0)
    signed = f.select(odd, f.copysign(power, x), power)
    not_real = f.both(f.both(negative, m("LogicalNot", bool_, whole)), m("LogicalNot", bool_, m("IsInf", bool_, x)))
    result = f.select(not_real, float("nan"), signed)
    unit = f.both(f.equal(magnitude, 1.0), m("IsInf", bool_, y))
    one = m("LogicalOr", bool_, m("LogicalOr", bool_, f.equal(y, 0.0), f.equal(x, 1.0)), unit)
    return f.select(one, 1.0, result)


def _call(which: Glsl) -> Callable[..., Id]:
    return lambda f, *operands: f.call(which, *operands)


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
    "sinh": _sinh,
    "cosh": _call(Glsl.Cosh),
    "tanh": _tanh,
    "atan2": _atan2,
    "pow": _pow,
}


def math_function(c: Code, op: Op) -> Id:
    """Emit a row of MATH; f16 is computed in f32."""
    dtype = op.result.type
    if dtype.bits == 64:
        raise c.error(op, "GLSL.std.450 has no f64 math functions, and Vulkan no others", "compute it in f32")
    operands = c.values(op)
    if dtype == f32:
        return FUNCTIONS[op.opcode](_F32(c), *operands)
    wide = [c.m("FConvert", f32, value) for value in operands]
    return c.m("FConvert", dtype, FUNCTIONS[op.opcode](_F32(c), *wide))
