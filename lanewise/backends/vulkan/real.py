"""Shorthand for arithmetic of one float type in a module, and what the math functions of a type are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dtypes import DType, bool_, u32
from .arithmetic import halves, joined, sign_bit
from .code import Code
from .spirv import Glsl, Id


class Real:
    """Arithmetic in `dtype`, f32 or f64; every operation is rounded by itself."""

    def __init__(self, code: Code, dtype: DType) -> None:
        self.code = code
        self.m = code.m
        self.dtype = dtype

    def const(self, value: float) -> Id:
        return self.m.const(value, self.dtype)

    def add(self, a: Id | float, b: Id | float) -> Id:
        return self._binary("FAdd", a, b)

    def sub(self, a: Id | float, b: Id | float) -> Id:
        return self._binary("FSub", a, b)

    def mul(self, a: Id | float, b: Id | float) -> Id:
        return self._binary("FMul", a, b)

    def div(self, a: Id | float, b: Id | float) -> Id:
        return self._binary("FDiv", a, b)

    def neg(self, a: Id) -> Id:
        return self.m("FNegate", self.dtype, a)

    def call(self, which: Glsl, *operands: Id) -> Id:
        return self.m.glsl(which, self.dtype, *operands)

    def abs(self, a: Id) -> Id:
        return self.call(Glsl.FAbs, a)

    def sqrt(self, a: Id) -> Id:
        return self.call(Glsl.Sqrt, a)

    def floor(self, a: Id) -> Id:
        return self.call(Glsl.Floor, a)

    # ---- conditions ------------------------------------------------------------------------------------------------
    def less(self, a: Id, b: Id | float) -> Id:
        return self.m("FOrdLessThan", bool_, a, self._id(b))

    def above(self, a: Id, b: Id | float) -> Id:
        return self.m("FOrdGreaterThan", bool_, a, self._id(b))

    def equal(self, a: Id, b: Id | float) -> Id:
        return self.m("FOrdEqual", bool_, a, self._id(b))

    def both(self, a: Id, b: Id) -> Id:
        return self.m("LogicalAnd", bool_, a, b)

    def either(self, a: Id, b: Id) -> Id:
        return self.m("LogicalOr", bool_, a, b)

    def no(self, a: Id) -> Id:
        return self.m("LogicalNot", bool_, a)

    def is_nan(self, a: Id) -> Id:
        return self.m("IsNan", bool_, a)

    def is_inf(self, a: Id) -> Id:
        return self.m("IsInf", bool_, a)

    def is_negative(self, a: Id) -> Id:
        """Whether the sign is set."""
        return sign_bit(self.code, a, self.dtype)

    def select(self, cond: Id, a: Id | float, b: Id | float) -> Id:
        return self.m("Select", self.dtype, cond, self._id(a), self._id(b))

    # ---- more ------------------------------------------------------------------------------------------------------
    def copysign(self, magnitude: Id, sign: Id) -> Id:
        """The magnitude (not negative) with the sign of `sign`."""
        m, top = self.m, self.m.u32(1 << 31)
        if self.dtype.bits == 32:
            bits = m("BitwiseAnd", u32, m("Bitcast", u32, sign), top)
            return m("Bitcast", self.dtype, m("BitwiseOr", u32, bits, m("Bitcast", u32, magnitude)))
        low, high = halves(self.code, magnitude)
        bits = m("BitwiseAnd", u32, halves(self.code, sign)[1], top)
        return joined(self.code, low, m("BitwiseOr", u32, bits, high), self.dtype)

    def horner(self, x: Id, coefficients: Sequence[float]) -> Id:
        """c[0] + c[1] x + c[2] x**2 ..."""
        total = self.const(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = self.add(self.mul(total, x), coefficient)
        return total

    def _binary(self, name: str, a: Id | float, b: Id | float) -> Id:
        return self.m(name, self.dtype, self._id(a), self._id(b))

    def _id(self, value: Id | float) -> Id:
        return value if isinstance(value, Id) else self.const(value)


@dataclass(frozen=True, slots=True)
class Core:
    """What the other functions of a float type are made of."""

    exp: Callable[[Real, Id], Id]
    expm1: Callable[[Real, Id], Id]
    atan: Callable[[Real, Id], Id]
    power: Callable[[Real, Id, Id], Id]
    """x**y for x >= 0."""
    tanh_is_one: float
    """From here on tanh rounds to 1."""
    exp_is_large: float
    """From here on, exp is near its overflow."""
