"""How scalars lie in the 8-byte slots of an argument block."""

from __future__ import annotations

import numpy as np

from ..dtypes import DType

_PACKED = {"f16": "e6x", "f32": "f4x", "f64": "d"}


def slot_format(dtype: DType) -> str:
    """How `struct` writes a scalar into its 8 bytes."""
    return _PACKED.get(dtype.name, "q" if dtype.is_signed else "Q")


def fitting(value: int | float, dtype: DType) -> int | float:
    """A float beyond its type's range as the infinity that it rounds to; an integer wrapped into its slot."""
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return float(dtype.np.type(value))
    bits = int(value) & ((1 << 64) - 1)
    return bits - (1 << 64) if dtype.is_signed and bits >> 63 else bits
