"""Vector ALU on integers and bits ("VOP1", "VOP2", "VOP3A"): what each instruction makes of a lane's operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .scalar import high_product, leading_sign_bits, leading_zeros, reversed_bits, trailing_zeros
from .state import Arr


@dataclass(frozen=True)
class Row:
    """`results = function(*sources)`, with types such as u32 for each; "m" is a mask with a bit a lane."""

    results: str
    sources: str
    function: Callable[..., Any]
    """One array, or a tuple of them for several results."""
    keeps_high: bool = False
    """gfx9: a 16-bit result leaves the register's high half alone, which others clear."""
    saturate: Callable[..., Arr] | None = None
    """What it does with `clamp`."""


def by_amount(operation: Callable[[Arr, Arr], Arr]) -> Callable[[Arr, Arr], Arr]:
    """A shift with the amount first, modulo the width."""

    def shifted(n: Arr, a: Arr) -> Arr:
        bits = 8 * a.dtype.itemsize
        return operation(a, (n & n.dtype.type(bits - 1)).astype(a.dtype))

    return shifted


left, right = by_amount(np.left_shift), by_amount(np.right_shift)


def _low24(a: Arr) -> Arr:
    """The low 24 bits, with their sign for a signed type."""
    return (a << a.dtype.type(8)) >> a.dtype.type(8)


def _bit_field(a: Arr, offset: Arr, width: Arr) -> Arr:
    """Sign-extended for a signed type, 0 for a width of 0."""
    bits = (width & np.uint32(31)).astype(a.dtype)
    moved = right(offset, a)
    unused = a.dtype.type(32) - np.maximum(bits, a.dtype.type(1))
    return np.where(bits == 0, a.dtype.type(0), (moved << unused) >> unused)


def _align(high: Arr, low: Arr, shift: Arr, unit: int) -> Arr:
    wide = high.astype(np.uint64) << np.uint64(32) | low
    return (wide >> ((shift & np.uint32(32 // unit - 1)) * np.uint32(unit)).astype(np.uint64)).astype(np.uint32)


def _permuted_bytes(high: Arr, low: Arr, selectors: Arr) -> Arr:
    """V_PERM_B32: selectors 0-7 are bytes of {high, low}, 8-11 signs, 12 is 0, above it is 0xff."""
    wide = high.astype(np.uint64) << np.uint64(32) | low
    result = np.zeros(np.broadcast_shapes(wide.shape, selectors.shape), np.uint32)
    for byte in range(4):
        chosen = (selectors >> np.uint32(8 * byte) & np.uint32(0xFF)).astype(np.uint64)
        sign_of = (chosen - np.uint64(8)) * np.uint64(16) + np.uint64(15)
        sign = np.where(wide >> (sign_of & np.uint64(63)) & np.uint64(1), np.uint64(0xFF), np.uint64(0))
        plain = wide >> (np.uint64(8) * (chosen & np.uint64(7))) & np.uint64(0xFF)
        value = np.select([chosen < 8, chosen < 12, chosen == 12], [plain, sign, np.uint64(0)], np.uint64(0xFF))
        result |= value.astype(np.uint32) << np.uint32(8 * byte)
    return result


def _saturated(operation: Callable[..., Arr]) -> Callable[..., Arr]:
    """The operation in a wider type, then the nearest value of the type."""

    def clamped(*values: Arr) -> Arr:
        info = np.iinfo(values[0].dtype)
        return np.clip(operation(*(v.astype(np.int64) for v in values)), info.min, info.max).astype(info.dtype)

    return clamped


def _reverse(function: Callable[[Arr, Arr], Arr]) -> Callable[[Arr, Arr], Arr]:
    return lambda a, b: function(b, a)


def _median(a: Arr, b: Arr, c: Arr) -> Arr:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _first(a: Arr) -> Arr:
    return a


# ---- sums with carries ----------------------------------------------------------------------------------------------
def _sum(a: Arr, b: Arr, carry: Arr | bool = False) -> tuple[Arr, Arr]:
    exact = a.astype(np.uint64) + b.astype(np.uint64) + np.asarray(carry).astype(np.uint64)
    return exact.astype(np.uint32), exact > np.uint64(0xFFFFFFFF)


def _difference(a: Arr, b: Arr, borrow: Arr | bool = False) -> tuple[Arr, Arr]:
    exact = a.astype(np.int64) - b.astype(np.int64) - np.asarray(borrow).astype(np.int64)
    return exact.astype(np.uint32), exact < 0


def _multiply_add(a: Arr, b: Arr, c: Arr) -> tuple[Arr, Arr]:
    """V_MAD_U64_U32, V_MAD_I64_I32: 64 bits of a * b + c, and whether that overflows."""
    wide = c.dtype.type
    product = a.astype(wide) * b.astype(wide)
    total = product + c
    if c.dtype.kind == "u":
        return total, total < product
    return total, ((product ^ total) & (c ^ total)) < 0


def _packed(function: Callable[..., Arr]) -> Callable[..., Arr]:
    """On both halves of a word (VOP3P): operands come as low and high parts."""
    return lambda *halves: np.stack(np.broadcast_arrays(function(*halves[0::2]), function(*halves[1::2])), axis=-1)


ROWS: dict[str, Row] = {
    "v_mov_b32": Row("u32", "u32", _first),
    "v_mov_b64": Row("u64", "u64", _first),
    "v_mov_b16": Row("u16", "u16", _first),
    "v_accvgpr_read_b32": Row("u32", "u32", _first),
    "v_accvgpr_write_b32": Row("u32", "u32", _first),
    "v_accvgpr_mov_b32": Row("u32", "u32", _first),
    "v_not_b32": Row("u32", "u32", np.invert),
    "v_bfrev_b32": Row("u32", "u32", reversed_bits),
    "v_ffbh_u32": Row("i32", "u32", leading_zeros),
    "v_ffbh_i32": Row("i32", "i32", leading_sign_bits),
    "v_ffbl_b32": Row("i32", "u32", trailing_zeros),
    "v_bcnt_u32_b32": Row("u32", "u32 u32", lambda a, b: np.bitwise_count(a) + b),
    "v_and_b32": Row("u32", "u32 u32", np.bitwise_and),
    "v_or_b32": Row("u32", "u32 u32", np.bitwise_or),
    "v_xor_b32": Row("u32", "u32 u32", np.bitwise_xor),
    "v_xnor_b32": Row("u32", "u32 u32", lambda a, b: ~(a ^ b)),
    "v_and_b16": Row("u16", "u16 u16", np.bitwise_and),
    "v_or_b16": Row("u16", "u16 u16", np.bitwise_or),
    "v_xor_b16": Row("u16", "u16 u16", np.bitwise_xor),
    "v_not_b16": Row("u16", "u16", np.invert),
    "v_mul_lo_u32": Row("u32", "u32 u32", np.multiply),
    "v_mul_hi_u32": Row("u32", "u32 u32", high_product),
    "v_mul_hi_i32": Row("i32", "i32 i32", high_product),
    "v_mul_lo_u16": Row("u16", "u16 u16", np.multiply),
    "v_mul_u32_u24": Row("u32", "u32 u32", lambda a, b: _low24(a) * _low24(b)),
    "v_mul_i32_i24": Row("i32", "i32 i32", lambda a, b: _low24(a) * _low24(b)),
    "v_mul_hi_u32_u24": Row("u32", "u32 u32", lambda a, b: high_product(_low24(a), _low24(b))),
    "v_mul_hi_i32_i24": Row("i32", "i32 i32", lambda a, b: high_product(_low24(a), _low24(b))),
    "v_mad_u32_u24": Row("u32", "u32 u32 u32", lambda a, b, c: _low24(a) * _low24(b) + c),
    "v_mad_i32_i24": Row("i32", "i32 i32 i32", lambda a, b, c: _low24(a) * _low24(b) + c),
    "v_mad_u16": Row("u16", "u16 u16 u16", lambda a, b, c: a * b + c, keeps_high=True),
    "v_mad_i16": Row("i16", "i16 i16 i16", lambda a, b, c: a * b + c, keeps_high=True),
    "v_mad_legacy_u16": Row("u16", "u16 u16 u16", lambda a, b, c: a * b + c),
    "v_mad_u32_u16": Row("u32", "u16 u16 u32", lambda a, b, c: a.astype(np.uint32) * b + c),
    "v_mad_u64_u32": Row("u64 m", "u32 u32 u64", _multiply_add),
    "v_mad_i64_i32": Row("i64 m", "i32 i32 i64", _multiply_add),
    "v_add_co_u32": Row("u32 m", "u32 u32", _sum),
    "v_addc_co_u32": Row("u32 m", "u32 u32 m", _sum),
    "v_sub_co_u32": Row("u32 m", "u32 u32", _difference),
    "v_subb_co_u32": Row("u32 m", "u32 u32 m", _difference),
    "v_subrev_co_u32": Row("u32 m", "u32 u32", lambda a, b: _difference(b, a)),
    "v_subbrev_co_u32": Row("u32 m", "u32 u32 m", lambda a, b, c: _difference(b, a, c)),
    "v_cndmask_b32": Row("u32", "u32 u32 m", lambda a, b, m: np.where(m, b, a)),
    "v_cndmask_b16": Row("u16", "u16 u16 m", lambda a, b, m: np.where(m, b, a)),
    "v_add3_u32": Row("u32", "u32 u32 u32", lambda a, b, c: a + b + c),
    "v_lshl_add_u32": Row("u32", "u32 u32 u32", lambda a, b, c: left(b, a) + c),
    "v_lshl_add_u64": Row("u64", "u64 u32 u64", lambda a, b, c: left(b, a) + c),
    "v_add_lshl_u32": Row("u32", "u32 u32 u32", lambda a, b, c: left(c, a + b)),
    "v_lshl_or_b32": Row("u32", "u32 u32 u32", lambda a, b, c: left(b, a) | c),
    "v_and_or_b32": Row("u32", "u32 u32 u32", lambda a, b, c: a & b | c),
    "v_or3_b32": Row("u32", "u32 u32 u32", lambda a, b, c: a | b | c),
    "v_xor3_b32": Row("u32", "u32 u32 u32", lambda a, b, c: a ^ b ^ c),
    "v_xad_u32": Row("u32", "u32 u32 u32", lambda a, b, c: (a ^ b) + c),
    "v_bfe_u32": Row("u32", "u32 u32 u32", _bit_field),
    "v_bfe_i32": Row("i32", "i32 u32 u32", _bit_field),
    "v_bfi_b32": Row("u32", "u32 u32 u32", lambda a, b, c: a & b | ~a & c),
    "v_bfm_b32": Row("u32", "u32 u32", lambda a, b: left(b, left(a, np.ones((1, 1), np.uint32)) - np.uint32(1))),
    "v_alignbit_b32": Row("u32", "u32 u32 u32", lambda a, b, c: _align(a, b, c, 1)),
    "v_alignbyte_b32": Row("u32", "u32 u32 u32", lambda a, b, c: _align(a, b, c, 8)),
    "v_perm_b32": Row("u32", "u32 u32 u32", _permuted_bytes),
    "v_cvt_i32_i16": Row("i32", "i16", lambda a: a.astype(np.int32)),
    "v_cvt_u32_u16": Row("u32", "u16", lambda a: a.astype(np.uint32)),
    "v_sad_u32": Row("u32", "u32 u32 u32", lambda a, b, c: np.maximum(a, b) - np.minimum(a, b) + c),
}
for _bits in (16, 32, 64):
    ROWS |= {
        f"v_lshlrev_b{_bits}": Row(f"u{_bits}", f"u{min(_bits, 32)} u{_bits}", left),
        f"v_lshrrev_b{_bits}": Row(f"u{_bits}", f"u{min(_bits, 32)} u{_bits}", right),
        f"v_ashrrev_i{_bits}": Row(f"i{_bits}", f"u{min(_bits, 32)} i{_bits}", right),
    }
for _kind in ("u16", "i16", "u32", "i32"):
    for _name, _function in {"min": np.minimum, "max": np.maximum}.items():
        ROWS[f"v_{_name}_{_kind}"] = Row(_kind, f"{_kind} {_kind}", _function)
        ROWS[f"v_{_name}3_{_kind}"] = Row(
            _kind, f"{_kind} {_kind} {_kind}", lambda a, b, c, f=_function: f(f(a, b), c), keeps_high=True
        )
    ROWS[f"v_med3_{_kind}"] = Row(_kind, f"{_kind} {_kind} {_kind}", _median, keeps_high=True)
    ROWS[f"v_maxmin_{_kind}"] = Row(
        _kind, f"{_kind} {_kind} {_kind}", lambda a, b, c: np.minimum(np.maximum(a, b), c), keeps_high=True
    )
    ROWS[f"v_minmax_{_kind}"] = Row(
        _kind, f"{_kind} {_kind} {_kind}", lambda a, b, c: np.maximum(np.minimum(a, b), c), keeps_high=True
    )
    for _name, _function in {"add": np.add, "sub": np.subtract, "subrev": _reverse(np.subtract)}.items():
        ROWS[f"v_{_name}_{_kind}"] = Row(_kind, f"{_kind} {_kind}", _function, saturate=_saturated(_function))

# gfx10 and later have other names for the same.
ALIASES = {
    **{
        f"v_{name}_nc_{kind}": f"v_{name}_{kind}"
        for name in ("add", "sub", "subrev")
        for kind in ("u32", "i32", "u16", "i16")
    },
    "v_add_co_ci_u32": "v_addc_co_u32",
    "v_sub_co_ci_u32": "v_subb_co_u32",
    "v_subrev_co_ci_u32": "v_subbrev_co_u32",
    "v_clz_i32_u32": "v_ffbh_u32",
    "v_cls_i32": "v_ffbh_i32",
    "v_ctz_i32_b32": "v_ffbl_b32",
    "v_mad_co_u64_u32": "v_mad_u64_u32",
    "v_mad_co_i64_i32": "v_mad_i64_i32",
}
