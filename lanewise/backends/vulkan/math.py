"""Math functions, computed in f32: GLSL.std.450 where it is good, our own series where its error near 0 is unbounded.

Vulkan gives bounds for few of them ("Precision of GLSL.std.450 instructions"): exp 3 + 2|x| ulp, log 3 ulp outside
[0.5, 2], sin and cos an absolute 2**-11 in [-pi, pi], atan 4096 ulp; what is derived from them inherits that.  Devices
have no math functions in f64.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial, log10, pi

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


def _atan2(f: _F32, y: Id, x: Id) -> Id:
    """GLSL leaves (0, 0) undefined, and infinities divide to NaN: both become a point on a diagonal or an axis."""
    flat = f.both(f.equal(y, 0.0), f.equal(x, 0.0))
    far = f.both(f.m("IsInf", bool_, y), f.m("IsInf", bool_, x))
    one = f.const(1.0)
    y_used = f.select(far, f.copysign(one, y), y)
    x_used = f.select(f.m("LogicalOr", bool_, flat, far), f.copysign(one, x), x)
    angle = f.call(Glsl.Atan2, y_used, x_used)
    # Its sign on the negative x axis is not defined either: atan2(±0, x < 0) is ±pi, atan2(±0, x > 0) is ±0.
    on_axis = f.select(f.less(x_used, 0.0), pi, 0.0)
    return f.select(f.equal(y, 0.0), f.copysign(on_axis, y), angle)


def _pow(f: _F32, x: Id, y: Id) -> Id:
    """exp2(y log2 |x|); an odd y keeps a negative x's sign, a y that is no integer makes it NaN; x**0 and 1**y are 1."""
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
    "asin": _call(Glsl.Asin),
    "acos": _call(Glsl.Acos),
    "atan": _call(Glsl.Atan),
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
