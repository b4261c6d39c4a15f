"""Device arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .backends.engine import View
from .device import Device, current_device
from .dtypes import DType, as_dtype
from .errors import LanewiseTypeError
from .views import HostArray, Layout, as_numpy, view_of

_ALIGNMENT = 64  # a cache line, and the widest vector of any CPU


class ndarray:  # noqa: N801  the name that the field knows
    """An array of `shape` and `dtype` on a device, zero at first.

    Kernels take it as an argument or close over it, and run on its device.  On the host, `a[i]` and `a[i, j] = x` read
    and write elements, slices are read as copies and written in place; negative indices count from the end.
    """

    __slots__ = ("__weakref__", "_array", "device", "layout", "view")

    device: Device
    """Where the elements are."""
    layout: Layout
    """How the elements lie: what compiled code depends on."""
    view: View
    """What a launch is given."""
    _array: HostArray

    def __init__(self, dtype: Any, shape: int | Sequence[int], *, device: Device | None = None) -> None:
        element = as_dtype(dtype)
        if element is None:
            raise LanewiseTypeError(f"expected a scalar type for dtype, got {dtype!r}", hint="lw.ndarray(lw.f32, 16)")
        self._hold(_zeros(element, _as_shape(shape)), device or current_device())

    def _hold(self, array: HostArray, device: Device) -> None:
        device.require_host_memory()
        self._array = array
        self.device = device
        self.layout, self.view = view_of(array)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.layout.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return self.layout.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.layout.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.layout.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    # ---- from the host -------------------------------------------------------------------------------------------
    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:
        """An element as a NumPy scalar, or a copy of a slice."""
        part: Any = self._array[self._place(index)]
        return part.copy()  # NumPy's scalars have it too

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[self._place(index)] = np.asarray(value) if isinstance(value, ndarray) else value

    def _place(self, index: Any) -> Any:
        """`a[None]` is the one element of an array without axes."""
        return () if index is None and not self.shape else index

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_numpy())

    def fill(self, value: Any) -> None:
        """Set every element to `value`."""
        self._array[...] = value

    def to_numpy(self) -> HostArray:
        """A copy as a NumPy array."""
        return np.array(self._array, order="C")

    def from_numpy(self, values: Any) -> None:
        """Copy `values`, of exactly this shape, into the array."""
        source = np.asarray(values)
        if source.shape != self.shape:
            raise LanewiseTypeError(f"expected values of shape {self.shape}, got shape {source.shape}")
        self._array[...] = source

    def __repr__(self) -> str:
        return f"lw.ndarray({self.dtype}, {self.shape}, device={self.device})"

    # ---- to other libraries, without a copy ------------------------------------------------------------------------
    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._array.__array_interface__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        return np.array(self._array, dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def field(dtype: Any, shape: int | Sequence[int] = (), *, device: Device | None = None) -> ndarray:
    """A device array for kernels to close over: the same as `ndarray(dtype, shape)`; without a shape, one element."""
    return ndarray(dtype, shape, device=device)


def from_numpy(values: Any, *, device: Device | None = None) -> ndarray:
    """A new device array with a copy of `values`, anything that NumPy makes an array of."""
    source: Any = np.asarray(values)
    element = as_dtype(source.dtype.newbyteorder("="))
    if element is None:
        raise LanewiseTypeError(
            f"expected values of a scalar type of lanewise, got dtype {source.dtype}",
            why="elements are bool, i8 to i64, u8 to u64, f16, f32 or f64",
        )
    result = ndarray(element, source.shape, device=device)
    result._array[...] = source  # pyright: ignore[reportPrivateUsage]
    return result


def from_dlpack(obj: Any, *, device: Device | None = None) -> ndarray:
    """A device array over the memory that `obj` lends by `__dlpack__` (or `__array_interface__`): no copy is made."""
    return wrap(as_numpy(obj), device or current_device())


def wrap(array: HostArray, device: Device) -> ndarray:
    """A device array over a NumPy array's own memory."""
    result = ndarray.__new__(ndarray)
    result._hold(array, device)  # pyright: ignore[reportPrivateUsage]
    return result


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        extents = tuple(operator.index(n) for n in (shape if isinstance(shape, Sequence) else (shape,)))
    except TypeError:
        extents = (-1,)
    if any(n < 0 for n in extents):
        raise LanewiseTypeError(
            f"expected a shape of extents that are 0 or more, got {shape!r}", hint="lw.ndarray(lw.f32, (480, 640))"
        )
    return extents


def _zeros(dtype: DType, shape: tuple[int, ...]) -> HostArray:
    """Zeros that begin on a cache line."""
    size = math.prod(shape) * dtype.itemsize
    room: Any = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -room.__array_interface__["data"][0] % _ALIGNMENT
    return room[start : start + size].view(dtype.np).reshape(shape)
