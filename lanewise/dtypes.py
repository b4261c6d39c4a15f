"""Scalar types: what they are, how they mix, which literals fit them.

Integers wrap, floats are IEEE 754.  Two operands of different types meet in `promote`: the wider integer wins, at
equal width the unsigned one; an integer beside a float takes that float type; of two floats the wider wins; `bool`
gives way to everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class DType:
    """A scalar type.  Inside a kernel, calling it converts: `lw.f32(x)` is `lw.cast(x, lw.f32)`."""

    name: str
    kind: str  # 'b' bool, 'i' signed, 'u' unsigned, 'f' float
    bits: int
    np: np.dtype[Any] = field(compare=False, repr=False)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory (a bool takes one)."""
        return self.np.itemsize

    @property
    def is_bool(self) -> bool:
        return self.kind == "b"

    @property
    def is_int(self) -> bool:
        return self.kind in "iu"

    @property
    def is_signed(self) -> bool:
        return self.kind == "i"

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_numeric(self) -> bool:
        return self.kind != "b"

    @property
    def lowest(self) -> int | float:
        """The identity of `max`: -inf, or the smallest integer."""
        if self.is_float:
            return float("-inf")
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def highest(self) -> int | float:
        """The identity of `min`: +inf, or the largest integer."""
        if self.is_float:
            return float("inf")
        return (1 << (self.bits - self.is_signed)) - 1

    def holds(self, value: int | float) -> bool:
        """Whether a Python literal can take this type: integers in range, floats in any float type."""
        if isinstance(value, bool):
            return True
        if isinstance(value, int):
            return self.is_float or (self.is_int and self.lowest <= value <= self.highest)
        return self.is_float

    def __call__(self, value: Any) -> Any:
        """Convert on the host, to a NumPy scalar, as `cast` does in a kernel for values that fit."""
        return self.np.type(value)


bool_ = DType("bool", "b", 1, np.dtype(np.bool_))
i8 = DType("i8", "i", 8, np.dtype(np.int8))
i16 = DType("i16", "i", 16, np.dtype(np.int16))
i32 = DType("i32", "i", 32, np.dtype(np.int32))
i64 = DType("i64", "i", 64, np.dtype(np.int64))
u8 = DType("u8", "u", 8, np.dtype(np.uint8))
u16 = DType("u16", "u", 16, np.dtype(np.uint16))
u32 = DType("u32", "u", 32, np.dtype(np.uint32))
u64 = DType("u64", "u", 64, np.dtype(np.uint64))
f16 = DType("f16", "f", 16, np.dtype(np.float16))
f32 = DType("f32", "f", 32, np.dtype(np.float32))
f64 = DType("f64", "f", 64, np.dtype(np.float64))

SIGNED = (i8, i16, i32, i64)
UNSIGNED = (u8, u16, u32, u64)
INTEGERS = SIGNED + UNSIGNED
FLOATS = (f16, f32, f64)
NUMERIC = INTEGERS + FLOATS
ALL = (bool_, *NUMERIC)

BY_NAME = {t.name: t for t in ALL} | {"u1": bool_}
BY_NUMPY = {t.np: t for t in ALL}
_PYTHON: dict[type, DType] = {bool: bool_, int: i32, float: f32}


def promote(a: DType, b: DType) -> DType:
    """The type in which two operands of types `a` and `b` meet."""
    if a == b:
        return a
    if a.is_float or b.is_float:
        floats = [t for t in (a, b) if t.is_float]
        return max(floats, key=lambda t: t.bits)
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.kind == "u" else b


def unsigned_of(bits: int) -> DType:
    """The unsigned integer type of this width (8, 16, 32 or 64 bits)."""
    return BY_NAME[f"u{bits}"]


def signed_of(bits: int) -> DType:
    """The signed integer type of this width (8, 16, 32 or 64 bits)."""
    return BY_NAME[f"i{bits}"]


def as_dtype(value: object) -> DType | None:
    """The DType that a user's annotation names: a DType, Python's bool / int / float, a NumPy dtype; else None."""
    if isinstance(value, DType):
        return value
    if isinstance(value, type) and value in _PYTHON:
        return _PYTHON[value]
    if isinstance(value, (np.dtype, type)):
        try:
            return BY_NUMPY.get(np.dtype(value))  # type: ignore[arg-type]
        except TypeError:
            return None
    return None
