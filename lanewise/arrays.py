"""Device arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from . import dlpack
from .backends.engine import MemoryEngine, View
from .device import Arch, Device, current_device, device_of
from .dtypes import DType, as_dtype
from .elements import DeviceElements, Elements, HostElements
from .errors import LanewiseTypeError
from .foreign import lend
from .views import HostArray, Layout, array_at, as_numpy

_ALIGNMENT = 64  # a cache line, and the widest vector of any CPU
# What the CUDA array interface says of pending work: 1 is CUDA's legacy default stream; HIP has no such number, and
# None means that there is no pending work.
_DEFAULT_STREAMS = {Arch.cuda: 1, Arch.amdgpu: None}
_IN_ORDER = (None, -1, 0, 1)
"""DLPack's names of the default stream, which comes after the launches on it, and of a consumer who waits itself."""


class ndarray:  # noqa: N801  the name that the field knows
    """An array of `shape` and `dtype` on a device, zero at first.

    Kernels take it as an argument or close over it, and run on its device.  On the host, `a[i]` and `a[i, j] = x` read
    and write elements, slices are read as copies and written in place; negative indices count from the end.
    """

    __slots__ = ("__weakref__", "_elements", "device", "layout", "view")

    device: Device
    """Where the elements are."""
    layout: Layout
    """How the elements lie: what compiled code depends on."""
    view: View
    """What a launch is given."""
    _elements: Elements

    def __init__(self, dtype: Any, shape: int | Sequence[int], *, device: Device | None = None) -> None:
        element = as_dtype(dtype)
        if element is None:
            raise LanewiseTypeError(f"expected a scalar type for dtype, got {dtype!r}", hint="lw.ndarray(lw.f32, 16)")
        device = device or current_device()
        self._hold(_zeros(element, _as_shape(shape), device), device)

    def _hold(self, elements: Elements, device: Device) -> None:
        self._elements = elements
        self.device = device
        self.layout, self.view = elements.lend()

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
        return len(self._elements.where)

    def __getitem__(self, index: Any) -> Any:
        """An element as a NumPy scalar, or a copy of a slice."""
        return self._elements.read(self._place(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements.write(self._place(index), np.asarray(value) if isinstance(value, ndarray) else value)

    def _place(self, index: Any) -> Any:
        """`a[None]` is the one element of an array without axes."""
        return () if index is None and not self.shape else index

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_numpy())

    def fill(self, value: Any) -> None:
        """Set every element to `value`."""
        self._elements.write(..., value)

    def to_numpy(self) -> HostArray:
        """A copy as a NumPy array."""
        return np.asarray(self._elements.read(...), order="C")

    def from_numpy(self, values: Any) -> None:
        """Copy `values`, of exactly this shape, into the array."""
        source = np.asarray(values)
        if source.shape != self.shape:
            raise LanewiseTypeError(f"expected values of shape {self.shape}, got shape {source.shape}")
        self._elements.write(..., source)

    def __repr__(self) -> str:
        return f"lw.ndarray({self.dtype}, {self.shape}, device={self.device})"

    # ---- to other libraries, without a copy ------------------------------------------------------------------------
    def _interface(self, here: bool) -> dict[str, Any]:
        """The layout as NumPy's protocol and CUDA's have it, where the array is in the memory that is asked for."""
        if not here:
            raise AttributeError(f"{self!r} is not in that memory")  # so that hasattr() says no
        return self._elements.where.__array_interface__

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._interface(self.device.properties.host_memory)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        facts = self._interface(self.device.arch in _DEFAULT_STREAMS)
        stream = _DEFAULT_STREAMS[self.device.arch]
        if stream is None:
            self.device.sync()
        return {**facts, "stream": stream}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        if self.device.properties.host_memory:
            return np.array(self._elements.where, dtype=dtype, copy=copy)
        if copy is False:
            raise ValueError(f"{self!r} is in the device's memory: only a copy of it can be a NumPy array")
        return self.to_numpy().astype(dtype or self.dtype.np, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        if self.device.properties.host_memory:
            return self._elements.where.__dlpack__(**options)
        if options.get("stream") not in _IN_ORDER:
            self.device.sync()
        return dlpack.export(self, options.get("max_version"))

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.device_of(self.device)


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
    result.from_numpy(source)
    return result


def from_dlpack(obj: Any, *, device: Device | None = None) -> ndarray:
    """A device array over the memory that `obj` lends: no copy is made.

    It is asked by `__dlpack__`, `__array_interface__` or `__cuda_array_interface__`; a GPU's memory stays on that GPU.
    """
    lent = lend(obj)
    if lent is None:
        return wrap(as_numpy(obj), device or current_device())
    home = device_of(lent.place, device)
    layout, view = lent.layout, lent.view
    steps = tuple(step * layout.dtype.itemsize for step in layout.strides)
    where = array_at(view.address, layout.shape, layout.dtype.np, steps, writable=layout.writable)
    return _holding(DeviceElements(cast(MemoryEngine, home.engine), where, view.owner), home)


def wrap(array: HostArray, device: Device) -> ndarray:
    """A device array over a NumPy array's own memory."""
    device.require_host_memory()
    return _holding(HostElements(array), device)


def _holding(elements: Elements, device: Device) -> ndarray:
    result = ndarray.__new__(ndarray)
    result._hold(elements, device)  # pyright: ignore[reportPrivateUsage]
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


def _zeros(dtype: DType, shape: tuple[int, ...], device: Device) -> Elements:
    size = math.prod(shape) * dtype.itemsize
    if device.properties.host_memory:
        room: Any = _aligned_zeros(size)
        return HostElements(room.view(dtype.np).reshape(shape))
    engine = cast(MemoryEngine, device.engine)
    memory = engine.allocate(size, f"an array of {dtype}, shape {shape}")
    return DeviceElements(engine, array_at(memory.address, shape, dtype.np), memory)


def _aligned_zeros(size: int) -> HostArray:
    """Bytes that begin on a cache line."""
    room: Any = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -room.__array_interface__["data"][0] % _ALIGNMENT
    return room[start : start + size]
