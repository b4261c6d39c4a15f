"""Casts, and roundings that no instruction does at once.

`cast` to bool is `!= 0`, float to integer truncates and saturates (NaN gives 0), integers wrap.
"""

from __future__ import annotations

from ... import dtypes
from ...dtypes import DType
from .text import float_literal, scalar_type
from .width import Width


def convert(w: Width, value: str, source: DType, target: DType) -> str:
    """A value as another type."""
    if source == target:
        return value
    if target.is_bool:
        return w.boolean(w.compare(source, "une" if source.is_float else "ne", value, w.number(source, 0)))
    if source.is_bool:
        return _from_bool(w, value, target)
    if source.is_float:
        return _float_to_int(w, value, source, target) if target.is_int else _float_to_float(w, value, source, target)
    if target.is_float:
        return _int_to_float(w, value, source, target)
    if source.bits == target.bits:
        return value
    how = "trunc" if source.bits > target.bits else "sext" if source.is_signed else "zext"
    return w.change(how, scalar_type(source), value, scalar_type(target))


def _from_bool(w: Width, value: str, target: DType) -> str:
    if target.is_int:
        return w.change("zext", "i1", w.cond(value), scalar_type(target))
    return w.choose(scalar_type(target), w.cond(value), w.number(target, 1.0), w.number(target, 0.0))


def _int_to_float(w: Width, value: str, source: DType, target: DType) -> str:
    """To f16 by way of f32: an integer within f16's range is exact there, so only one step rounds."""
    element = "float" if target.bits == 16 else scalar_type(target)
    result = w.change("sitofp" if source.is_signed else "uitofp", scalar_type(source), value, element)
    return w.change("fptrunc", element, result, "half") if target.bits == 16 else result


def _float_to_float(w: Width, value: str, source: DType, target: DType) -> str:
    if source.bits == 64 and target.bits == 16:
        return double_to_half(w, value)
    how = "fptrunc" if source.bits > target.bits else "fpext"
    return w.change(how, scalar_type(source), value, scalar_type(target))


def _float_to_int(w: Width, value: str, source: DType, target: DType) -> str:
    """Out of range the conversion instructions give poison, so they see 0 there and the limit is put in afterwards."""
    if source.bits == 16:
        value, source = w.change("fpext", "half", value, "float"), dtypes.f32
    element, result = scalar_type(source), scalar_type(target)
    above = float(1 << (target.bits - target.is_signed))  # the first value too large: a power of two, exact
    low, high, zero = (w.const(element, float_literal(x, source.bits)) for x in (float(target.lowest), above, 0.0))
    over, under = w.compare(source, "oge", value, high), w.compare(source, "ole", value, low)
    inside = w.logic("and", w.compare(source, "ogt", value, low), w.compare(source, "olt", value, high))
    safe = w.choose(element, inside, value, zero)
    middle = "i32" if target.bits < 32 else result
    whole = w.change("fptosi" if target.is_signed or target.bits < 32 else "fptoui", element, safe, middle)
    if middle != result:
        whole = w.change("trunc", middle, whole, result)
    whole = w.choose(result, over, w.number(target, target.highest), whole)
    return w.choose(result, under, w.number(target, target.lowest), whole) if target.is_signed else whole


# ---- rounding twice: to odd first, which keeps the second rounding right -------------------------------------------
def _to_odd(w: Width, dtype: DType, value: str, inexact: str, too_large: str) -> str:
    """`value`, rounded to nearest before, as rounding to odd would have given it.

    `inexact` says where it was rounded, `too_large` where (if it was) away from zero.
    """
    bits = dtypes.signed_of(dtype.bits)
    element = scalar_type(bits)
    pattern = w.change("bitcast", scalar_type(dtype), value, element)
    back = w.change("sext", "i1", w.logic("and", inexact, too_large), element)
    lowered = w.binary("add", bits, pattern, back)
    # With the last bit set it is odd already; lowering it by one and setting the bit again leaves it as it was.
    odd = w.binary("or", bits, lowered, w.change("zext", "i1", inexact, element))
    return w.change("bitcast", element, odd, scalar_type(dtype))


def double_to_half(w: Width, value: str) -> str:
    """f64 to f16 by way of f32: the hardware has no direct conversion."""
    f64 = dtypes.f64
    single = w.change("fptrunc", "double", value, "float")
    back = w.change("fpext", "float", single, "double")
    larger = w.compare(f64, "ogt", w.intrinsic("fabs", "double", back), w.intrinsic("fabs", "double", value))
    odd = _to_odd(w, dtypes.f32, single, w.compare(f64, "one", back, value), larger)
    return w.change("fptrunc", "float", odd, "half")


def half_fma(w: Width, a: str, b: str, c: str) -> str:
    """The product of two halves is exact in f64; only the sum rounds, and what it lost is found by Knuth's two-sum."""
    f64 = dtypes.f64
    a, b, c = (w.change("fpext", "half", x, "double") for x in (a, b, c))
    product = w.binary("fmul", f64, a, b)
    total = w.binary("fadd", f64, product, c)
    rest = w.binary("fsub", f64, total, c)
    lost = w.binary("fsub", f64, product, rest), w.binary("fsub", f64, c, w.binary("fsub", f64, total, rest))
    error, zero = w.binary("fadd", f64, *lost), w.number(f64, 0.0)
    # Where the total is infinite or NaN, the error is NaN and the ordered comparison says no.
    inexact = w.compare(f64, "one", error, zero)
    opposite = w.logic("xor", w.compare(f64, "olt", error, zero), w.compare(f64, "olt", total, zero))
    return double_to_half(w, _to_odd(w, f64, total, inexact, opposite))
