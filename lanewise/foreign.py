"""Other libraries' arrays on GPUs, taken without a copy: torch's, CuPy's, and those that have one of the protocols.

`lend(obj)` is on the path of every launch, so torch's tensors and CuPy's arrays are asked directly; each gives the
library's current stream, on which the launch then runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import dlpack
from .backends.engine import View
from .device import Arch, device_of, place_of
from .dtypes import ALL, DType
from .errors import DeviceError, LanewiseTypeError
from .views import Layout, array_at, describe, elsewhere, layout_of, view_of

_NOWHERE = 1 << 8  # stands for the null pointer of an array without elements


class Lent(NamedTuple):
    """Memory of a GPU that another library lends."""

    layout: Layout
    view: View
    place: tuple[Arch, int]
    """The kind of device and its number."""
    stream: Callable[[int], int | None]
    """The stream on which the library is working, given the device's number; None where it does not say."""


Reader = Callable[[Any], Lent | None]
readers: dict[type, Reader] = {}
"""How to ask the objects of a type for memory on a GPU."""
facts: dict[type, Callable[[Any], Any]] = {}
"""All that can change about an object of a type whose memory a reader has taken, for those that tell it quickly."""
_new = tuple.__new__  # makes a NamedTuple in half the time


def lend(obj: Any) -> Lent | None:
    """The memory of an object that is on a GPU; None for everything else."""
    return (readers.get(type(obj)) or reader_of(obj))(obj)


def reader_of(obj: Any) -> Reader:
    """The reader for a type of objects that is met for the first time."""
    kind = type(obj)
    for library, (name, make, changing) in _LIBRARIES.items():
        module = sys.modules.get(library)
        if module is not None and issubclass(kind, getattr(module, name)):
            facts[kind] = changing
            return readers.setdefault(kind, make(module))
    return readers.setdefault(kind, _generic)


def _layout(shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None, writable: bool) -> Layout:
    """The layout of a GPU's array, by what NumPy says of one with the same facts; strides in bytes."""
    return layout_of(array_at(_NOWHERE, shape, dtype, strides, writable=writable))


# ---- torch ----------------------------------------------------------------------------------------------------------
def _torch(torch: Any) -> Reader:
    arch = Arch.amdgpu if torch.version.hip else Arch.cuda
    places = [(arch, number) for number in range(torch.cuda.device_count())]
    types: dict[Any, DType] = {getattr(torch, t.np.name): t for t in ALL if hasattr(torch, t.np.name)}
    known: dict[tuple[Any, ...], Layout] = {}
    current_stream: Callable[[int], int] = getattr(
        torch._C, "_cuda_getCurrentRawStream", lambda number: torch.cuda.current_stream(number).cuda_stream
    )

    def new_layout(tensor: Any) -> Layout:
        if tensor.layout is not torch.strided or tensor.dtype not in types or tensor.is_neg():
            raise LanewiseTypeError(
                f"expected a dense tensor of a scalar type of lanewise, got one of {tensor.dtype}, {tensor.layout}",
                why="elements are bool, i8 to i64, u8 to u64, f16, f32 or f64",
            )
        dtype = types[tensor.dtype]
        strides = tuple(step * dtype.itemsize for step in tensor.stride())
        return _layout(tuple(tensor.shape), dtype.np, strides, True)

    def read(tensor: Any) -> Lent | None:
        number = tensor.get_device()
        if number < 0:
            return None
        if tensor.requires_grad:
            raise LanewiseTypeError(
                "expected a tensor without gradients, got one that requires them",
                why="torch would not see what the kernel does",
                hint="tensor.detach()",
            )
        key = tensor.dtype, tensor.shape, tensor.stride()
        layout = known.get(key)
        if layout is None:
            layout = known[key] = new_layout(tensor)
        view = _new(View, (tensor.data_ptr(), layout.shape, layout.strides, tensor))
        return _new(Lent, (layout, view, places[number], current_stream))

    return read


# ---- CuPy -----------------------------------------------------------------------------------------------------------
def _cupy(cupy: Any) -> Reader:
    arch = Arch.amdgpu if cupy.cuda.runtime.is_hip else Arch.cuda
    places = [(arch, number) for number in range(cupy.cuda.runtime.getDeviceCount())]
    known: dict[tuple[Any, ...], Layout] = {}

    def read(array: Any) -> Lent | None:
        key = array.dtype, array.shape, array.strides
        layout = known.get(key)
        if layout is None:
            layout = known[key] = _layout(array.shape, array.dtype, array.strides, True)
        memory = array.data
        view = _new(View, (memory.ptr, layout.shape, layout.strides, array))
        return _new(Lent, (layout, view, places[memory.device_id], current_stream))

    def current_stream(number: int) -> int:
        return cupy.cuda.get_current_stream(number).ptr

    return read


_LIBRARIES: dict[str, tuple[str, Callable[[Any], Reader], Callable[[Any], Any]]] = {
    "torch": ("Tensor", _torch, lambda t: (t.data_ptr(), t.shape, t.stride(), t.dtype, t.requires_grad)),
    "cupy": ("ndarray", _cupy, lambda a: (a.data.ptr, a.shape, a.strides, a.dtype)),
}


# ---- the protocols: CUDA array interface and DLPack -----------------------------------------------------------------
_DLPACK_PLACES = {2: Arch.cuda, 10: Arch.amdgpu}
_DLPACK_DEFAULT_STREAMS = {Arch.cuda: 1, Arch.amdgpu: 0}


def _generic(obj: Any) -> Lent | None:
    if isinstance(obj, (np.ndarray, np.generic, type)):
        return None
    if (facts := getattr(obj, "__cuda_array_interface__", None)) is not None:
        return _interface(obj, facts)
    if hasattr(obj, "__dlpack_device__") and not hasattr(obj, "__array_interface__"):
        kind, number = obj.__dlpack_device__()
        if int(kind) in _DLPACK_PLACES:
            return _capsule(obj, (_DLPACK_PLACES[int(kind)], number))
    return None


def _interface(obj: Any, facts: dict[str, Any]) -> Lent:
    """CUDA array interface, version 3, which libraries for ROCm have too."""
    if facts.get("mask") is not None:
        raise LanewiseTypeError(f"expected an array, got {describe(obj)} with a mask", why="a kernel would not see it")
    address, read_only = facts["data"]
    array = array_at(
        address or _NOWHERE,
        tuple(facts["shape"]),
        np.dtype(facts["typestr"]),
        facts.get("strides"),
        writable=not read_only,
    )
    layout, view = view_of(array)
    stream = facts.get("stream")
    if stream == 1:  # the protocol's number for the legacy default stream, which the driver calls 0
        stream = 0
    place = place_of(address)  # the interface does not say
    return Lent(layout, view._replace(owner=obj), place, lambda number: stream)


def _capsule(obj: Any, place: tuple[Arch, int]) -> Lent:
    """DLPack; the producer orders its work before that of the default stream."""
    try:
        device_of(place)
    except DeviceError as error:
        raise elsewhere(obj, error.what) from None
    tensor = dlpack.take(obj, stream=_DLPACK_DEFAULT_STREAMS[place[0]])
    array = array_at(tensor.address or _NOWHERE, tensor.shape, tensor.dtype, tensor.strides, writable=tensor.writable)
    layout, view = view_of(array)
    return Lent(layout, view._replace(owner=tensor), place, lambda number: 0)


# ---- streams --------------------------------------------------------------------------------------------------------
def stream_handle(stream: Any) -> int | None:
    """The driver's handle of a stream: a number, a stream of torch, CuPy, Numba or cuda-core; None for none named."""
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr", "handle"):
        found = getattr(stream, name, None)
        if found is not None:
            return int(getattr(found, "value", found) or 0)
    raise LanewiseTypeError(
        f"expected a stream, got {describe(stream)}", hint="a stream of torch, CuPy or Numba, or its handle as an int"
    )
