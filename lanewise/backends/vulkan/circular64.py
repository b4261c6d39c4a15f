"""sin, cos and tan in f64, of arguments of any size."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from itertools import pairwise
from math import factorial

from ...dtypes import bool_, f64, i64, u32, u64
from .arithmetic import halves
from .exact import EXACT, PI, parts, sum_and_rest, two_product, two_sum
from .real import Real
from .spirv import Id, StorageClass

_HALF_PI = parts(EXACT.divide(PI, Decimal(2)), 53)
# ---- the quarter turn ------------------------------------------------------------------------------------------------
_ZEROS, _WORDS = 2, 38
"""Words of zeros before the point, and of 2/pi behind it: enough for the largest exponent."""


@cache
def _two_over_pi() -> tuple[int, ...]:
    """2/pi in words, the highest first, after some zeros; pi by Machin's formula."""
    bits = 32 * _WORDS
    one = 1 << (bits + 64)

    def arctan(inverse: int) -> int:
        total, power, divisor = 0, one // inverse, 1
        while power:
            total += power // divisor if divisor % 4 == 1 else -(power // divisor)
            power //= inverse * inverse
            divisor += 2
        return total

    digits = (2 * one << bits) // (4 * (4 * arctan(5) - arctan(239)))
    return (0,) * _ZEROS + tuple(digits >> (bits - 32 * n) & 0xFFFFFFFF for n in range(1, _WORDS + 1))


def _quadrant(f: Real, x: Id) -> tuple[Id, Id, Id]:
    """|x| less n quarter turns, as a sum of two, and n modulo 4 as a u32; x is finite.

    x is mantissa * 2**e, and x * 2/pi modulo 4 needs 2/pi from the bit on whose weight is 2**(1 - e) (Payne and
    Hanek): 192 bits of it leave more than 70 right ones where x is as close to a multiple of pi/2 as a float can be.
    """
    m = f.m

    def wide(value: Id) -> Id:
        return m("UConvert", u64, value)

    def low_word(value: Id) -> Id:
        return m("UConvert", u32, value)

    def shifted(name: str, value: Id, amount: int) -> Id:
        return m(f"Shift{name}", u64, value, m.const(amount, u64))

    low, high = halves(f.code, f.abs(x))
    field = m("ShiftRightLogical", u32, high, m.u32(20))
    small = m("ULessThan", bool_, field, m.u32(1022))  # |x| < 1/2: no turn
    mantissa = [low, m("BitwiseOr", u32, m("BitwiseAnd", u32, high, m.u32(0xFFFFF)), m.u32(1 << 20))]
    start = m("ISub", u32, m("Select", u32, small, m.u32(1022), field), m.u32(1075 - 32 * _ZEROS + 2))
    words = _two_over_pi()
    table = m.variable(m.array(m.type(u32), len(words)), "two_over_pi", m.constant_array(words))
    first, offset = m("ShiftRightLogical", u32, start, m.u32(5)), m("BitwiseAnd", u32, start, m.u32(31))
    element = m.pointer(StorageClass.Function, m.type(u32))

    def word(number: int) -> Id:
        return m("Load", u32, m("AccessChain", element, table, m("IAdd", u32, first, m.u32(number))))

    read = [wide(word(number)) for number in range(7)]
    digits: list[Id] = []  # the lowest word first
    for above, below in pairwise(read):
        pair = m("BitwiseOr", u64, shifted("LeftLogical", above, 32), below)
        digits.insert(0, shifted("RightLogical", m("ShiftLeftLogical", u64, pair, wide(offset)), 32))
    product: list[Id] = []  # modulo 2**192
    for row, factor in enumerate(map(wide, mantissa)):
        carry = m.const(0, u64)
        for place in range(row, 6):
            term = m("IAdd", u64, m("IMul", u64, factor, digits[place - row]), carry)
            if row:
                term = m("IAdd", u64, term, product[place])
            kept, carry = wide(low_word(term)), shifted("RightLogical", term, 32)
            product[place : place + 1] = [kept]
    top = m("BitwiseOr", u64, shifted("LeftLogical", product[5], 32), product[4])
    turns = shifted("RightLogical", m("IAdd", u64, top, m.const(1 << 61, u64)), 62)
    rest = m("ISub", i64, top, shifted("LeftLogical", turns, 62))  # signed, in units of 2**-62 quarter turns

    def number(value: Id, exponent: int, kind: str = "U") -> Id:
        return f.mul(m(f"Convert{kind}ToF", f64, value), 2.0**exponent)

    total, lost = number(shifted("RightArithmetic", rest, 32), -30, "S"), f.const(0.0)
    for value, exponent in ((wide(low_word(rest)), -62), (product[3], -94), (product[2], -126)):
        part = number(value, exponent)
        total, more = sum_and_rest(f, total, part)
        lost = f.add(lost, more)
    angle, more = two_product(f, total, f.const(_HALF_PI[0]))
    lost = f.add(more, f.add(f.mul(total, _HALF_PI[1]), f.mul(lost, _HALF_PI[0])))
    high, low = two_sum(f, angle, lost)
    return (
        f.select(small, f.abs(x), high),
        f.select(small, 0.0, low),
        m("Select", u32, small, m.u32(0), low_word(turns)),
    )


def _sine(f: Real, high: Id, low: Id) -> Id:
    """Of |high| <= pi/4: Taylor to the 17th power."""
    z = f.mul(high, high)
    series = f.horner(z, [(-1) ** n / factorial(2 * n + 1) for n in range(1, 9)])
    near = f.add(f.mul(f.mul(high, z), series), f.mul(low, f.sub(1.0, f.mul(z, 0.5))))
    return f.select(f.equal(high, 0.0), high, f.add(high, near))


def _cosine(f: Real, high: Id, low: Id) -> Id:
    """Of |high| <= pi/4: Taylor to the 18th power; 1 - z / 2 with its rounding error."""
    z = f.mul(high, high)
    half = f.mul(z, 0.5)
    start = f.sub(1.0, half)
    lost = f.sub(f.sub(1.0, start), half)
    series = f.mul(f.mul(z, z), f.horner(z, [(-1) ** n / factorial(2 * n) for n in range(2, 10)]))
    return f.add(start, f.add(lost, f.sub(series, f.mul(high, low))))


def _finite_or_zero(f: Real, x: Id) -> tuple[Id, Id]:
    bad = f.either(f.is_inf(x), f.is_nan(x))
    return f.select(bad, 0.0, x), bad


def _has_bit(f: Real, value: Id, bit: int) -> Id:
    return f.code.nonzero(f.m("BitwiseAnd", u32, value, f.m.u32(bit)), u32)


def sin(f: Real, x: Id) -> Id:
    known, bad = _finite_or_zero(f, x)
    high, low, turns = _quadrant(f, known)
    value = f.select(_has_bit(f, turns, 1), _cosine(f, high, low), _sine(f, high, low))
    value = f.select(f.m("LogicalNotEqual", bool_, _has_bit(f, turns, 2), f.is_negative(known)), f.neg(value), value)
    return f.select(bad, float("nan"), value)


def cos(f: Real, x: Id) -> Id:
    known, bad = _finite_or_zero(f, x)
    high, low, turns = _quadrant(f, known)
    turns = f.m("IAdd", u32, turns, f.m.u32(1))
    value = f.select(_has_bit(f, turns, 1), _cosine(f, high, low), _sine(f, high, low))
    return f.select(bad, float("nan"), f.select(_has_bit(f, turns, 2), f.neg(value), value))


def tan(f: Real, x: Id) -> Id:
    known, bad = _finite_or_zero(f, x)
    high, low, turns = _quadrant(f, known)
    sine, cosine = _sine(f, high, low), _cosine(f, high, low)
    odd = _has_bit(f, turns, 1)
    value = f.div(f.select(odd, f.neg(cosine), sine), f.select(odd, sine, cosine))
    return f.select(bad, float("nan"), f.select(f.is_negative(known), f.neg(value), value))
