"""Floor division and its remainder, of integers and floats, without a trap and without a wrong last bit."""

from __future__ import annotations

from ... import dtypes
from ...dtypes import DType
from .text import scalar_type
from .width import Width


def constant_value(name: str) -> int | None:
    """The integer that a constant operand holds in every lane, None for anything else."""
    number = name.removesuffix(")").split()[-1]
    return int(number) if number.removeprefix("-").isdigit() else None


# ---- integers -----------------------------------------------------------------------------------------------------
def int_divide(w: Width, dtype: DType, a: str, b: str) -> tuple[str, str]:
    """Quotient and remainder: both 0 where `b` is 0; the smallest integer // -1 wraps.

    A divisor that would trap is replaced by 1, which gives the wrapped quotient and the zero remainders as they are.
    """
    element = scalar_type(dtype)
    constant = constant_value(b)
    by_zero = None
    if constant is None or constant in (0, -1):
        by_zero = w.compare(dtype, "eq", b, w.number(dtype, 0))
        b = w.choose(element, _trapping(w, dtype, a, b, by_zero), w.number(dtype, 1), b)
    if w.lanes and constant is None and dtype.bits <= 32:
        quotient = _divide_in_floats(w, dtype, a, b)
        remainder = w.binary("sub", dtype, a, w.binary("mul", dtype, quotient, b))
    else:
        quotient, remainder = _divide_in_integers(w, dtype, a, b)
    if by_zero is not None:
        quotient = w.choose(element, by_zero, w.number(dtype, 0), quotient)
    return quotient, remainder


def _trapping(w: Width, dtype: DType, a: str, b: str, by_zero: str) -> str:
    if not dtype.is_signed:
        return by_zero
    lowest = w.compare(dtype, "eq", a, w.number(dtype, dtype.lowest))
    overflow = w.logic("and", lowest, w.compare(dtype, "eq", b, w.number(dtype, -1)))
    return w.logic("or", by_zero, overflow)


def _divide_in_integers(w: Width, dtype: DType, a: str, b: str) -> tuple[str, str]:
    """By the instruction, which rounds toward zero, and a step down where that was up."""
    quotient = w.binary("sdiv" if dtype.is_signed else "udiv", dtype, a, b)
    remainder = w.binary("sub", dtype, a, w.binary("mul", dtype, quotient, b))
    if not dtype.is_signed:
        return quotient, remainder
    zero = w.number(dtype, 0)
    inexact = w.compare(dtype, "ne", remainder, zero)
    mixed = w.compare(dtype, "slt", w.binary("xor", dtype, remainder, b), zero)
    step = w.change("sext", "i1", w.logic("and", inexact, mixed), scalar_type(dtype))
    return w.binary("add", dtype, quotient, step), w.binary("add", dtype, remainder, w.binary("and", dtype, step, b))


def _divide_in_floats(w: Width, dtype: DType, a: str, b: str) -> str:
    """The floor of a / b by one float division: processors divide vectors of floats, not of integers.

    A quotient of n-bit integers that is no integer is at least 1 / |b| away from one, more than the float's rounding
    can bridge: 2**-53 of the quotient in f64 for 32-bit integers, 2**-24 of it in f32 for narrower ones.
    """
    wide, whole = ("double" if dtype.bits == 32 else "float"), scalar_type(dtype)
    to_float = "sitofp" if dtype.is_signed else "uitofp"
    numerator, denominator = (w.change(to_float, whole, x, wide) for x in (a, b))
    quotient = w.do(f"fdiv {w.of(wide)} {numerator}, {denominator}")
    if dtype.is_signed:
        quotient = w.intrinsic("floor", wide, quotient)
    result = w.change("fptoui" if dtype == dtypes.u32 else "fptosi", wide, quotient, "i32")
    return result if dtype.bits == 32 else w.change("trunc", "i32", result, whole)


# ---- floats -------------------------------------------------------------------------------------------------------
def _fmod(w: Width, dtype: DType, a: str, b: str) -> str:
    """The exact remainder, of the dividend's sign; `frem` is C's fmod."""
    return w.in_single(dtype, lambda e, xs: w.do(f"frem {w.of(e)} {xs[0]}, {xs[1]}"), (a, b))


def _signs_differ(w: Width, dtype: DType, r: str, b: str) -> str:
    """r is not 0 and (r < 0) != (b < 0)."""
    zero = w.number(dtype, 0.0)
    mixed = w.logic("xor", w.compare(dtype, "olt", r, zero), w.compare(dtype, "olt", b, zero))
    return w.logic("and", w.compare(dtype, "une", r, zero), mixed)


def _zero_like(w: Width, dtype: DType, value: str, sign: str) -> str:
    """`value`, but where it is 0 the zero with the sign of `sign`."""
    element, zero = scalar_type(dtype), w.number(dtype, 0.0)
    signed = w.intrinsic("copysign", element, zero, sign)
    return w.choose(element, w.compare(dtype, "oeq", value, zero), signed, value)


def float_mod(w: Width, dtype: DType, a: str, b: str) -> str:
    """The exact remainder, moved into the divisor's sign; a zero has the divisor's sign."""
    r = _fmod(w, dtype, a, b)
    moved = w.choose(scalar_type(dtype), _signs_differ(w, dtype, r, b), w.binary("fadd", dtype, r, b), r)
    return _zero_like(w, dtype, moved, b)


def float_floordiv(w: Width, dtype: DType, a: str, b: str) -> str:
    """The exact remainder is taken off first, so the division is nearly exact; by zero it is a / b."""
    element = scalar_type(dtype)
    one, half = w.number(dtype, 1.0), w.number(dtype, 0.5)
    r = _fmod(w, dtype, a, b)
    ratio = w.binary("fdiv", dtype, a, b)
    q = w.binary("fdiv", dtype, w.binary("fsub", dtype, a, r), b)
    q = w.choose(element, _signs_differ(w, dtype, r, b), w.binary("fsub", dtype, q, one), q)
    down = w.in_single(dtype, lambda e, xs: w.intrinsic("floor", e, *xs), (q,))
    far = w.compare(dtype, "ogt", w.binary("fsub", dtype, q, down), half)
    down = w.choose(element, far, w.binary("fadd", dtype, down, one), down)
    zero = w.number(dtype, 0.0)
    signed_zero = w.intrinsic("copysign", element, zero, ratio)
    result = w.choose(element, w.compare(dtype, "oeq", q, zero), signed_zero, down)
    return w.choose(element, w.compare(dtype, "oeq", b, zero), ratio, result)
