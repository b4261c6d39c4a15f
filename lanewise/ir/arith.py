"""Arithmetic: one row an operation, with its exact meaning in NumPy.

Operands of a row have one type unless it says otherwise; the front end inserts the casts.  The meanings are the
contract: integers wrap, nothing traps, `x // 0` and `x % 0` are 0 on integers, shift amounts are taken modulo the
width, min and max skip NaN and put -0 below +0, float to integer truncates and saturates (NaN gives 0).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from ..dtypes import BY_NUMPY, DType
from .opcodes import Infer, Opcode, from_attr, register, same, to

Arr = NDArray[Any]


def _row(name: str, meaning: Callable[..., Arr], infer: Infer = same) -> None:
    register(Opcode(name, infer, meaning=meaning))


# ---- integers and floats ------------------------------------------------------------------------------------------
def _int_divmod(a: Arr, b: Arr) -> tuple[Arr, Arr]:
    safe = np.where(b == 0, b.dtype.type(1), b)
    overflow = np.zeros(a.shape, bool)
    if a.dtype.kind == "i":  # NumPy warns and is undefined on min // -1: it wraps here
        overflow = (a == np.iinfo(a.dtype).min) & (b == -1)
        safe = np.where(overflow, a.dtype.type(1), safe)
    quotient, remainder = np.floor_divide(a, safe), np.remainder(a, safe)
    zero = a.dtype.type(0)
    return np.where(b == 0, zero, quotient), np.where((b == 0) | overflow, zero, remainder)


def _float_mod(a: Arr, b: Arr) -> Arr:
    """The exact fmod, moved into the divisor's sign; a zero result has the divisor's sign."""
    r = np.fmod(a, b)
    moved = np.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
    return np.where(moved == 0, np.copysign(np.zeros_like(moved), b), moved)


def _float_floordiv(a: Arr, b: Arr) -> Arr:
    """Python's float floor division: the exact remainder is taken off first; by zero it is a / b."""
    r = np.fmod(a, b)
    one = a.dtype.type(1)
    q = (a - r) / b
    q = np.where((r != 0) & ((r < 0) != (b < 0)), q - one, q)
    down = np.floor(q)
    down = np.where(q - down > a.dtype.type(0.5), down + one, down)
    result = np.where(q == 0, np.copysign(np.zeros_like(q), a / b), down)
    return np.where(b == 0, a / b, result)


def floordiv(a: Arr, b: Arr) -> Arr:
    return _float_floordiv(a, b) if a.dtype.kind == "f" else _int_divmod(a, b)[0]


def mod(a: Arr, b: Arr) -> Arr:
    return _float_mod(a, b) if a.dtype.kind == "f" else _int_divmod(a, b)[1]


def minimum(a: Arr, b: Arr) -> Arr:
    """IEEE 754-2019 minimumNumber."""
    if a.dtype.kind != "f":
        return np.minimum(a, b)
    less = (a < b) | ((a == b) & np.signbit(a))
    return np.where(np.isnan(b) | (less & ~np.isnan(a)), a, b)


def maximum(a: Arr, b: Arr) -> Arr:
    """IEEE 754-2019 maximumNumber."""
    if a.dtype.kind != "f":
        return np.maximum(a, b)
    more = (a > b) | ((a == b) & ~np.signbit(a))
    return np.where(np.isnan(b) | (more & ~np.isnan(a)), a, b)


def _libm_fma(name: str, c_type: Any) -> Callable[..., Any]:
    from ctypes.util import find_library  # with all that it imports, a tenth of the time of `import lanewise`

    function = getattr(ctypes.CDLL(find_library("m")), name)
    function.restype, function.argtypes = c_type, [c_type] * 3
    return np.frompyfunc(function, 3, 1)


def fma(a: Arr, b: Arr, c: Arr) -> Arr:
    """a * b + c, rounded once; on integers it wraps."""
    if a.dtype.kind != "f":
        return a * b + c
    if a.dtype == np.float64:
        return np.asarray(_libm_fma("fma", ctypes.c_double)(a, b, c)).astype(a.dtype)
    if a.dtype == np.float32:
        return np.asarray(_libm_fma("fmaf", ctypes.c_float)(a, b, c)).astype(a.dtype)
    # An f16 product is exact in f64 (22 bits), and its sum with an f16 is too: exponents differ by at most 70, so
    # only the sum may round; rounding it to odd keeps the second rounding right.
    product = a.astype(np.float64) * b.astype(np.float64)
    total = product + c.astype(np.float64)
    error = (product - (total - c)) + (c - (total - (total - c)))
    inexact = np.isfinite(total) & (error != 0)
    bits = total.view(np.int64)
    toward_zero = inexact & ((error < 0) != (total < 0)) & (bits & 1 == 0)
    odd = np.where(inexact & (bits & 1 == 0), np.where(toward_zero, bits - 1, bits + 1), bits)
    return odd.view(np.float64).astype(np.float16)


def shl(a: Arr, n: Arr) -> Arr:
    return np.left_shift(a, (n & (a.dtype.itemsize * 8 - 1)).astype(a.dtype))


def shr(a: Arr, n: Arr) -> Arr:
    return np.right_shift(a, (n & (a.dtype.itemsize * 8 - 1)).astype(a.dtype))


def negative(a: Arr) -> Arr:
    return np.negative(a) if a.dtype.kind != "u" else (~a + a.dtype.type(1))


def absolute(a: Arr) -> Arr:
    return np.abs(a)


def round_even(a: Arr) -> Arr:
    return np.rint(a)


for _name, _function in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,  # floats only
    "floordiv": floordiv,
    "mod": mod,
    "min": minimum,
    "max": maximum,
    "fma": fma,
    "and": np.bitwise_and,  # integers and bool
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": shl,  # the amount has the value's type
    "shr": shr,  # arithmetic on signed types
    "atan2": np.arctan2,
    "pow": np.power,  # floats only
}.items():
    _row(_name, _function)

for _name, _function in {
    "neg": negative,
    "abs": absolute,
    "not": np.invert,  # integers and bool
    "sqrt": np.sqrt,
    "rsqrt": lambda a: a.dtype.type(1) / np.sqrt(a),
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": round_even,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
}.items():
    _row(_name, _function)

MATH = frozenset("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh atan2 pow".split())
"""Operations whose last bits each backend's library decides; everything else here is exact."""

# ---- comparisons and selection ------------------------------------------------------------------------------------
COMPARISONS: dict[str, Callable[[Arr, Arr], Arr]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
for _name, _function in COMPARISONS.items():
    _row(_name, _function, to(dtypes.bool_))

register(Opcode("select", lambda types, attrs: (types[1],), meaning=np.where))  # operands: bool, a, b


# ---- conversions --------------------------------------------------------------------------------------------------
def convert(value: Arr, dtype: DType) -> Arr:
    """`cast`: to bool is `!= 0`, float to integer truncates and saturates (NaN gives 0), integers wrap."""
    source = BY_NUMPY[value.dtype]
    if dtype.is_bool:
        return value != 0
    if not (source.is_float and dtype.is_int):
        return value.astype(dtype.np)
    low, high = int(dtype.lowest), int(dtype.highest)
    inside = np.isfinite(value)
    # The limits are compared in f64 at least; 2**63 and 2**64 are exact there, and f16 has no value that large.
    wide = value.astype(np.float64)
    inside &= (wide >= low) & (wide < float(high) + 1.0 if dtype.bits == 64 else wide < high + 1)
    if dtype.is_signed:
        inside |= np.isfinite(value) & (wide < low) & (wide > low - 1)  # truncates to the lowest value
    else:
        inside |= (wide < 0) & (wide > -1)
    result = np.where(inside, wide, 0.0).astype(dtype.np)
    result = np.where(wide >= high, dtype.np.type(high), result)
    return np.where(wide <= low, dtype.np.type(low), result)


def bit_cast(value: Arr, dtype: DType) -> Arr:
    """The same bits as another type of the same width."""
    return np.ascontiguousarray(value).view(dtype.np)


register(Opcode("cast", from_attr("dtype"), meaning=convert))
register(Opcode("bitcast", from_attr("dtype"), meaning=bit_cast))


# ---- bits: results are i32 counts ---------------------------------------------------------------------------------
def _unsigned(value: Arr) -> Arr:
    return value.view(dtypes.unsigned_of(value.dtype.itemsize * 8).np)


def popcount(value: Arr) -> Arr:
    return np.bitwise_count(_unsigned(value)).astype(np.int32)


def leading_zeros(value: Arr) -> Arr:
    """Zeros above the highest one; the width for 0."""
    bits = _unsigned(value)
    width = value.dtype.itemsize * 8
    for shift in (1, 2, 4, 8, 16, 32):  # smear the highest one downwards
        if shift < width:
            bits = bits | (bits >> bits.dtype.type(shift))
    return (width - np.bitwise_count(bits)).astype(np.int32)


def trailing_zeros(value: Arr) -> Arr:
    """Zeros below the lowest one; the width for 0."""
    bits = _unsigned(value)
    return np.bitwise_count(~bits & (bits - bits.dtype.type(1))).astype(np.int32)


def reverse_bits(value: Arr) -> Arr:
    data = np.ascontiguousarray(_unsigned(value))
    width = data.dtype.itemsize
    as_bytes = data.view(np.uint8).reshape(*data.shape, width)
    flipped = np.packbits(np.unpackbits(as_bytes, axis=-1)[..., ::-1], axis=-1)
    return np.ascontiguousarray(flipped).view(data.dtype).reshape(data.shape).view(value.dtype)


for _name, _function in {"popcnt": popcount, "clz": leading_zeros, "ctz": trailing_zeros}.items():
    _row(_name, _function, to(dtypes.i32))
_row("bitrev", reverse_bits)
