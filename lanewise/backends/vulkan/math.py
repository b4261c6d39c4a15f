"""Math functions: those that are made of others in the same way in f32 and f64, and the tables of both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi

from ...dtypes import f32
from ...ir import Op
from . import math32, math64
from .code import Code
from .real import Core, Real
from .spirv import Id


def _tanh(core: Core, f: Real, x: Id) -> Id:
    """t / (t + 2) with t = expm1(2 |x|); NaN stays."""
    magnitude = f.abs(x)
    large = f.above(magnitude, core.tanh_is_one)
    t = core.expm1(f, f.mul(f.select(large, 1.0, magnitude), 2.0))
    return f.copysign(f.select(large, 1.0, f.div(t, f.add(t, 2.0))), x)


def _sinh(core: Core, f: Real, x: Id) -> Id:
    """(t + t / (t + 1)) / 2 with t = expm1(|x|); exp(|x| / 2)**2 / 2 where the other overflows."""
    magnitude = f.abs(x)
    t = core.expm1(f, magnitude)
    small = f.mul(f.add(t, f.div(t, f.add(t, 1.0))), 0.5)
    root = core.exp(f, f.mul(magnitude, 0.5))
    large = f.above(magnitude, core.exp_is_large)
    return f.copysign(f.select(large, f.mul(f.mul(root, 0.5), root), small), x)


def _atan2(core: Core, f: Real, y: Id, x: Id) -> Id:
    """atan(|y| / |x|) in its quadrant.  (0, 0) and two infinities are taken as points on an axis and on a diagonal."""
    far = f.both(f.is_inf(y), f.is_inf(x))
    flat = f.both(f.equal(y, 0.0), f.equal(x, 0.0))
    height = f.select(far, 1.0, f.abs(y))
    width = f.select(f.either(far, flat), 1.0, f.abs(x))
    angle = core.atan(f, f.div(height, width))
    steep = f.equal(width, 0.0)  # a division by zero is not promised to be infinite
    angle = f.select(steep, pi / 2, f.select(f.is_negative(x), f.sub(pi, angle), angle))
    return f.select(f.either(f.is_nan(x), f.is_nan(y)), float("nan"), f.copysign(angle, y))


def _pow(core: Core, f: Real, x: Id, y: Id) -> Id:
    """|x|**y.  An odd y keeps x's sign, a negative x with a fractional y is NaN; x**0 and 1**y are 1."""
    magnitude = f.abs(x)
    power = core.power(f, magnitude, y)
    whole = f.equal(f.floor(y), y)
    half = f.mul(y, 0.5)
    odd = f.both(whole, f.no(f.equal(f.floor(half), half)))
    signed = f.select(f.both(odd, f.is_negative(x)), f.neg(power), power)
    not_real = f.both(f.both(f.less(x, 0.0), f.no(whole)), f.no(f.is_inf(x)))
    result = f.select(not_real, float("nan"), signed)
    unit = f.both(f.equal(magnitude, 1.0), f.is_inf(y))
    one = f.either(f.either(f.equal(y, 0.0), f.equal(x, 1.0)), unit)
    return f.select(one, 1.0, result)


def _made_of(core: Core) -> dict[str, Callable[..., Id]]:
    made = {"sinh": _sinh, "tanh": _tanh, "atan2": _atan2, "pow": _pow}
    return {name: partial(function, core) for name, function in made.items()}


FUNCTIONS: dict[int, dict[str, Callable[..., Id]]] = {
    32: {**math32.FUNCTIONS, **_made_of(math32.CORE)},
    64: {**math64.FUNCTIONS, **_made_of(math64.CORE)},
}
"""By the width of the type."""


def math_function(c: Code, op: Op) -> Id:
    """Emit a row of MATH; f16 is computed in f32."""
    dtype, operands = op.result.type, c.values(op)
    if dtype.bits >= 32:
        return FUNCTIONS[dtype.bits][op.opcode](Real(c, dtype), *operands)
    wide = [c.m("FConvert", f32, value) for value in operands]
    return c.m("FConvert", dtype, FUNCTIONS[32][op.opcode](Real(c, f32), *wide))
