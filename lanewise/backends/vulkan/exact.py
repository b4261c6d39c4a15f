"""Arithmetic whose rounding errors are kept: a number as the sum of two floats."""

from __future__ import annotations

from decimal import Context, Decimal
from math import frexp

from .real import Real
from .spirv import Id

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
EXACT = Context(prec=80)


def parts(value: Decimal, bits: int) -> tuple[float, float]:
    """The value as the sum of two floats, the first of so many bits."""
    mantissa, exponent = frexp(float(value))
    high = int(mantissa * 2**bits) * 2.0 ** (exponent - bits)
    return high, float(EXACT.subtract(value, Decimal(high)))


def two_sum(f: Real, a: Id, b: Id) -> tuple[Id, Id]:
    """The sum of |a| >= |b| or a = 0, and what rounding left out."""
    total = f.add(a, b)
    return total, f.sub(b, f.sub(total, a))


def _split(f: Real, a: Id) -> tuple[Id, Id]:
    """Two halves of 26 bits (Veltkamp)."""
    wide = f.mul(a, 2.0**27 + 1)
    high = f.sub(wide, f.sub(wide, a))
    return high, f.sub(a, high)


def two_product(f: Real, a: Id, b: Id) -> tuple[Id, Id]:
    """The product and what rounding left out (Dekker): no instruction promises a fused multiply-add."""
    product = f.mul(a, b)
    (ah, al), (bh, bl) = _split(f, a), _split(f, b)
    rest = f.sub(f.mul(ah, bh), product)
    rest = f.add(f.add(f.add(rest, f.mul(ah, bl)), f.mul(al, bh)), f.mul(al, bl))
    return product, rest


def sum_and_rest(f: Real, a: Id, b: Id) -> tuple[Id, Id]:
    """The sum of any two numbers, and what rounding left out (Knuth)."""
    total = f.add(a, b)
    back = f.sub(total, a)
    return total, f.add(f.sub(a, f.sub(total, back)), f.sub(b, back))
