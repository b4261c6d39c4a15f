"""What a kernel's parameters may be annotated with, besides a scalar type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .dtypes import DType, as_dtype
from .errors import LanewiseTypeError


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array parameter: `dtype` and `ndim` are what the argument must have, None leaves them to the argument."""

    dtype: DType | None = None
    ndim: int | None = None

    def __repr__(self) -> str:
        words = [f"dtype={self.dtype}"] if self.dtype else []
        words += [f"ndim={self.ndim}"] if self.ndim is not None else []
        return f"ndarray({', '.join(words)})"


@dataclass(frozen=True, slots=True)
class TemplateType:
    """A compile-time parameter: each value gets code of its own."""

    def __repr__(self) -> str:
        return "template()"


def ndarray(dtype: Any = None, ndim: int | None = None) -> Any:
    """Annotates an array parameter of this element type and number of axes (None: any)."""
    element = None if dtype is None else as_dtype(dtype)
    if dtype is not None and element is None:
        raise LanewiseTypeError(f"expected a scalar type for dtype, got {dtype!r}", hint="dtype=lw.f32")
    if ndim is not None and (not isinstance(ndim, int) or ndim < 0):
        raise LanewiseTypeError(f"expected a number of axes for ndim, got {ndim!r}", hint="ndim=1")
    return ArrayType(element, ndim)


def template() -> Any:
    """Annotates a compile-time parameter."""
    return TemplateType()


class NDArray:
    """`NDArray[dtype, ndim]` is `ndarray(dtype, ndim)`."""

    def __class_getitem__(cls, item: Any) -> Any:
        dtype, ndim = item if isinstance(item, tuple) else (item, None)
        return ndarray(dtype, ndim)
