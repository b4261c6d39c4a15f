"""Vector ALU on floats ("VOP1", "VOP2", "VOP3A", "VOP3P"), to the last bit where the documents fix it.

Rounding is to nearest even and denormals are kept, as the kernels' descriptors ask (`machine` checks that).  The
approximations (V_RCP, V_RSQ, V_SQRT in f32 have an error of 1 ulp) are rounded correctly here.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .integers import Row
from .state import Arr

_WIDTHS = (16, 32, 64)
_FRACTION = {16: 10, 32: 23, 64: 52}


def _bits(a: Arr) -> Arr:
    return np.ascontiguousarray(a).view(f"u{a.dtype.itemsize}")


def _exponent(a: Arr) -> Arr:
    """The biased exponent field."""
    width = 8 * a.dtype.itemsize
    field = _bits(a) >> _bits(a).dtype.type(_FRACTION[width])
    return (field & field.dtype.type((1 << width - 1 - _FRACTION[width]) - 1)).astype(np.int64)


def is_signalling(a: Arr) -> Arr:
    """A NaN whose highest fraction bit is 0."""
    quiet = _bits(a).dtype.type(1 << _FRACTION[8 * a.dtype.itemsize] - 1)
    return np.isnan(a) & (_bits(a) & quiet == 0)


# ---- fused multiply-add ---------------------------------------------------------------------------------------------
def _to_odd(a: Arr, b: Arr) -> Arr:
    """a + b in f64, rounded to odd: a second rounding to fewer digits is then the only one."""
    total = a + b
    error = (a - (total - (total - a))) + (b - (total - a))
    change = np.isfinite(total) & (error != 0) & (total.view(np.int64) & 1 == 0)
    toward_zero = (error < 0) != (total < 0)
    return (total.view(np.int64) + np.where(change, np.where(toward_zero, -1, 1), 0)).view(np.float64)


def _libm_fma() -> Callable[..., Any]:
    function = ctypes.CDLL(ctypes.util.find_library("m")).fma
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    return np.frompyfunc(function, 3, 1)


_FMA64 = _libm_fma()


def fma(a: Arr, b: Arr, c: Arr) -> Arr:
    """a * b + c, rounded once; products of f16 and f32 are exact in f64."""
    if a.dtype == np.float64:
        return np.asarray(_FMA64(a, b, c)).astype(np.float64)
    wide = (x.astype(np.float64) for x in (a, b, c))
    x, y, z = np.broadcast_arrays(*wide)
    return _to_odd(np.ascontiguousarray(x * y), np.ascontiguousarray(z)).astype(a.dtype)


def multiply_add(a: Arr, b: Arr, c: Arr) -> Arr:
    """V_MAD, V_MAC: rounded twice, with denormals as zeros."""

    def flushed(x: Arr) -> Arr:
        return np.where(_is_denormal(x), np.copysign(x.dtype.type(0), x), x)

    return flushed(flushed(flushed(a) * flushed(b)) + flushed(c))


# ---- minimum and maximum --------------------------------------------------------------------------------------------
def _chooses(least: bool) -> Callable[[Arr, Arr], Arr]:
    """The smaller or the larger, -0 below +0; a number before a NaN."""

    def choose(a: Arr, b: Arr) -> Arr:
        a, b = np.broadcast_arrays(a, b)
        first = np.where(a == b, np.signbit(a) == least, (a < b) == least)
        first = np.where(np.isnan(a), False, np.where(np.isnan(b), True, first))
        return np.where(first, a, b)

    return choose


def _signalling(choose: Callable[[Arr, Arr], Arr]) -> Callable[[Arr, Arr], Arr]:
    """Before gfx12, in IEEE mode: a signalling NaN gives a quiet one."""

    def chosen(a: Arr, b: Arr) -> Arr:
        return np.where(is_signalling(a) | is_signalling(b), a.dtype.type(np.nan), choose(a, b))

    return chosen


MINIMUM, MAXIMUM = _chooses(True), _chooses(False)


# ---- conversions ----------------------------------------------------------------------------------------------------
def _to_integer(kind: str) -> Callable[[Arr], Arr]:
    """Truncated and saturated; NaN gives 0."""

    def convert(a: Arr) -> Arr:
        info = np.iinfo(kind)
        wide = np.trunc(a.astype(np.float64))
        inside = np.where(np.isnan(wide) | (wide <= info.min) | (wide >= info.max), 0, wide).astype(np.int64)
        return np.where(wide <= info.min, info.min, np.where(wide >= info.max, info.max, inside)).astype(kind)

    return convert


def _to_float(kind: str) -> Callable[[Arr], Arr]:
    return lambda a: a.astype(kind)


def _byte_to_float(byte: int) -> Callable[[Arr], Arr]:
    return lambda a: (a >> np.uint32(8 * byte) & np.uint32(0xFF)).astype(np.float32)


def _classified(a: Arr, wanted: Arr) -> Arr:
    """V_CMP_CLASS: bits for signalling and quiet NaN, then from -inf to +inf: normal, denormal, zero."""
    tiny = np.finfo(a.dtype).tiny
    size = np.select(
        [np.isinf(a), a == 0, np.abs(a) < tiny],
        [0, 3, 2],
        1,
    )
    bit = np.where(np.isnan(a), np.where(is_signalling(a), 0, 1), np.where(np.signbit(a), 2 + size, 9 - size))
    return (wanted.astype(np.int64) >> bit & 1).astype(bool)


# ---- division -------------------------------------------------------------------------------------------------------
_NEAR_OVERFLOW, _SCALE, _TINY = {32: 96, 64: 768}, {32: 64, 64: 128}, {32: 23, 64: 53}
_UNDERFLOW, _BIAS = {32: -150, 64: -1075}, {32: 127, 64: 1023}


def _is_denormal(a: Arr) -> Arr:
    return (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny)


def div_scale(value: Arr, denominator: Arr, numerator: Arr) -> tuple[Arr, Arr]:
    """V_DIV_SCALE: the operand, scaled where the quotient's steps would over- or underflow; whether to scale back."""
    value, denominator, numerator = np.broadcast_arrays(value, denominator, numerator)
    bits = 8 * value.dtype.itemsize
    up, down = np.ldexp(value, _SCALE[bits]), np.ldexp(value, -_SCALE[bits])
    is_denominator, is_numerator = _bits(value) == _bits(denominator), _bits(value) == _bits(numerator)
    inverse_tiny = _is_denormal(value.dtype.type(1) / denominator)
    quotient_tiny = _is_denormal(numerator / denominator)
    cases = [
        (numerator == 0) | (denominator == 0),
        _exponent(numerator) - _exponent(denominator) >= _NEAR_OVERFLOW[bits],
        _is_denormal(denominator),
        inverse_tiny & quotient_tiny,
        inverse_tiny,
        quotient_tiny,
        _exponent(numerator) <= _TINY[bits],
    ]
    results = [
        np.full_like(value, np.nan),
        np.where(is_denominator, up, value),
        up,
        np.where(is_denominator, down, value),  # (some documents print `up`, where it would overflow)
        down,
        np.where(is_numerator, up, value),
        up,
    ]
    flags = [np.full(value.shape, number in (1, 3, 5)) for number in range(len(cases))]
    return np.select(cases, results, value), np.select(cases, flags, False)


def div_fmas(a: Arr, b: Arr, c: Arr, scale_back: Arr) -> Arr:
    """V_DIV_FMAS: a * b + c, scaled back where V_DIV_SCALE said so."""
    a, b, c, scale_back = np.broadcast_arrays(a, b, c, scale_back)
    bits = 8 * a.dtype.itemsize
    result = np.array(fma(a, b, c))
    power = np.where(_exponent(c) > _BIAS[bits], _SCALE[bits], -_SCALE[bits])
    for place in zip(*np.nonzero(scale_back & np.isfinite(result)), strict=True):
        result[place] = _scaled_fma(a[place], b[place], c[place], int(power[place]))
    return result


def _scaled_fma(a: Any, b: Any, c: Any, power: int) -> Any:
    """(a * b + c) * 2**power, rounded once."""
    exact = (Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))) * Fraction(2) ** power
    t = type(a)
    if not exact:
        return t(0)
    # In units of the result's last place, which a denormal's exponent bounds.
    info = np.finfo(t)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()  # at most one too high
    exponent -= abs(exact) < Fraction(2) ** exponent
    unit = max(exponent - info.nmant, int(info.minexp) - info.nmant)
    return t(np.ldexp(float(round(exact / Fraction(2) ** unit)), unit))


def div_fixup(quotient: Arr, denominator: Arr, numerator: Arr) -> Arr:
    """V_DIV_FIXUP: the special cases of a division."""
    t, bits = quotient.dtype.type, 8 * quotient.dtype.itemsize
    negative = np.signbit(denominator) ^ np.signbit(numerator)
    magnitude = np.select(
        [
            np.isnan(numerator) | np.isnan(denominator),
            ((numerator == 0) & (denominator == 0)) | (np.isinf(numerator) & np.isinf(denominator)),
            (denominator == 0) | np.isinf(numerator),
            np.isinf(denominator) | (numerator == 0),
            _exponent(numerator) - _exponent(denominator) < _UNDERFLOW[bits],
            _exponent(numerator) - _exponent(denominator) > _BIAS[bits] + 1,  # the steps of such a quotient end in NaN
        ],
        [t(np.nan), t(np.nan), t(np.inf), t(0), t(0), t(np.inf)],
        np.abs(quotient),
    )
    return np.where(negative, -magnitude, magnitude).astype(quotient.dtype)


def div_fixup_f16(quotient: Arr, denominator: Arr, numerator: Arr) -> Arr:
    special = div_fixup(*(x.astype(np.float32) for x in (quotient, denominator, numerator)))
    return special.astype(np.float16)


def _fraction(a: Arr) -> Arr:
    return np.where(np.isfinite(a), np.minimum(a - np.floor(a), np.nextafter(a.dtype.type(1), a.dtype.type(0))), np.nan)


def _mantissa(a: Arr) -> Arr:
    return np.where(np.isfinite(a), np.frexp(a)[0], a)


def _exponent_of(a: Arr) -> Arr:
    return np.where(np.isfinite(a), np.frexp(a)[1], 0)


ROWS: dict[str, Row] = {
    "v_fma_legacy_f32": Row("f32", "f32 f32 f32", fma),
    "v_mad_f32": Row("f32", "f32 f32 f32", multiply_add),
    "v_rcp_iflag_f32": Row("f32", "f32", np.reciprocal),
    "v_cvt_f16_f32": Row("f16", "f32", _to_float("f2")),
    "v_cvt_f32_f16": Row("f32", "f16", _to_float("f4")),
    "v_cvt_f64_f32": Row("f64", "f32", _to_float("f8")),
    "v_cvt_f32_f64": Row("f32", "f64", _to_float("f4")),
    "v_cvt_f16_u16": Row("f16", "u16", _to_float("f2")),
    "v_cvt_f16_i16": Row("f16", "i16", _to_float("f2")),
    "v_cvt_u16_f16": Row("u16", "f16", _to_integer("u2")),
    "v_cvt_i16_f16": Row("i16", "f16", _to_integer("i2")),
    **{f"v_cvt_f32_ubyte{n}": Row("f32", "u32", _byte_to_float(n)) for n in range(4)},
    "v_div_fixup_f16": Row("f16", "f16 f16 f16", div_fixup_f16, keeps_high=True),
}
for _width in _WIDTHS:
    _k = f"f{_width}"
    ROWS |= {
        f"v_add_{_k}": Row(_k, f"{_k} {_k}", np.add),
        f"v_sub_{_k}": Row(_k, f"{_k} {_k}", np.subtract),
        f"v_subrev_{_k}": Row(_k, f"{_k} {_k}", lambda a, b: b - a),
        f"v_mul_{_k}": Row(_k, f"{_k} {_k}", np.multiply),
        f"v_fma_{_k}": Row(_k, f"{_k} {_k} {_k}", fma, keeps_high=True),
        f"v_min_{_k}": Row(_k, f"{_k} {_k}", _signalling(MINIMUM)),
        f"v_max_{_k}": Row(_k, f"{_k} {_k}", _signalling(MAXIMUM)),
        f"v_min_num_{_k}": Row(_k, f"{_k} {_k}", MINIMUM),
        f"v_max_num_{_k}": Row(_k, f"{_k} {_k}", MAXIMUM),
        f"v_rcp_{_k}": Row(_k, _k, np.reciprocal),
        f"v_rsq_{_k}": Row(_k, _k, lambda a: a.dtype.type(1) / np.sqrt(a)),
        f"v_sqrt_{_k}": Row(_k, _k, np.sqrt),
        f"v_floor_{_k}": Row(_k, _k, np.floor),
        f"v_ceil_{_k}": Row(_k, _k, np.ceil),
        f"v_trunc_{_k}": Row(_k, _k, np.trunc),
        f"v_rndne_{_k}": Row(_k, _k, np.rint),
        f"v_fract_{_k}": Row(_k, _k, _fraction),
        f"v_frexp_mant_{_k}": Row(_k, _k, _mantissa),
        f"v_frexp_exp_i{min(_width, 32)}_{_k}": Row(f"i{min(_width, 32)}", _k, _exponent_of),
        f"v_ldexp_{_k}": Row(_k, f"{_k} {'i16' if _width == 16 else 'i32'}", np.ldexp),
        f"v_cmp_class_{_k}": Row("m", f"{_k} u32", _classified),
    }
    for _name, _choose in {"min": MINIMUM, "max": MAXIMUM}.items():
        _three = f"{_k} {_k} {_k}"
        _old = _signalling(_choose)
        ROWS[f"v_{_name}3_{_k}"] = Row(_k, _three, lambda a, b, c, f=_old: f(f(a, b), c), keeps_high=True)
        ROWS[f"v_{_name}3_num_{_k}"] = Row(_k, _three, lambda a, b, c, f=_choose: f(f(a, b), c), keeps_high=True)
    for _kind in ("u32", "i32"):
        ROWS[f"v_cvt_{_kind}_{_k}"] = Row(_kind, _k, _to_integer(f"{_kind[0]}4"))
        ROWS[f"v_cvt_{_k}_{_kind}"] = Row(_k, _kind, _to_float(f"f{_width // 8}"))
for _width in (32, 64):
    _k = f"f{_width}"
    ROWS |= {
        f"v_div_scale_{_k}": Row(f"{_k} m", f"{_k} {_k} {_k}", div_scale),
        f"v_div_fmas_{_k}": Row(_k, f"{_k} {_k} {_k} vcc", div_fmas),
        f"v_div_fixup_{_k}": Row(_k, f"{_k} {_k} {_k}", div_fixup),
    }

# d += a * b, spelt with two sources; gfx11's v_dual_ forms too.
ACCUMULATING = {f"v_{name}_f{bits}": f"v_fma_f{bits}" for name in ("fmac", "pk_fmac") for bits in _WIDTHS}
ACCUMULATING["v_mac_f32"] = "v_mad_f32"
# The constant stands among the sources in the text.
ALIASES = {f"v_{name}_f{bits}": f"v_fma_f{bits}" for name in ("fmaak", "fmamk") for bits in (16, 32)}
ALIASES |= {f"v_{name}_f32": "v_mad_f32" for name in ("madak", "madmk")}
