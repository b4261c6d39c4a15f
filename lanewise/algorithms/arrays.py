"""Arrays beside the user's: of the same kind, on the same device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import lanewise as lw

from ..arrays import ndarray
from ..dtypes import DType, as_dtype
from ..errors import LanewiseTypeError

Line = lw.types.NDArray[None, 1]
"""One axis of any type."""


class Source(NamedTuple):
    """An array to read: itself or, of another library on a GPU, an array of ours over its memory."""

    array: Any
    dtype: DType
    length: int

    def like(self, length: int, dtype: DType | None = None) -> Any:
        """A new array of the same kind."""
        dtype = dtype or self.dtype
        if isinstance(self.array, ndarray):
            return lw.ndarray(dtype, length, device=self.array.device)
        return np.empty(length, dtype.np)


def source(x: Any) -> Source:
    """`x` as the kernels here take it; a LanewiseTypeError where it has not one axis."""
    array = x if isinstance(x, (ndarray, np.ndarray)) else lw.from_dlpack(x)
    if array.ndim != 1:
        raise LanewiseTypeError(
            f"expected an array of one axis, got shape {tuple(array.shape)}",
            hint="x.reshape(-1), if it is contiguous",
        )
    dtype = as_dtype(array.dtype)
    if dtype is None:
        raise LanewiseTypeError(f"expected elements of a scalar type of lanewise, got {array.dtype}")
    return Source(array, dtype, array.shape[0])


def first(array: Any) -> Any:
    """The first element, as a NumPy scalar."""
    return (array.to_numpy() if isinstance(array, ndarray) else array)[0]
