"""DLPack for memory that NumPy cannot hold: taking tensors of a GPU from other libraries, and giving them ours.

The structures are those of dlpack.h, version 1; without `max_version` the older, unversioned one is given.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .device import Arch, Device
from .errors import LanewiseTypeError
from .views import Layout

if TYPE_CHECKING:
    from .arrays import ndarray

# DLPack leaves open what an address of Vulkan or Metal is.
_LENDING = (Arch.cuda, Arch.amdgpu)
DEVICE_TYPES = {Arch.cpu: 1, Arch.interpreter: 1, Arch.cuda: 2, Arch.vulkan: 7, Arch.metal: 8, Arch.amdgpu: 10}
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}  # NumPy's letter: DLDataTypeCode
_LETTERS = {code: letter for letter, code in _KINDS.items()}
_READ_ONLY = 1


class _Tensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


_DELETER = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(Structure):
    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", _DELETER))


class _Versioned(Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", _DELETER),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


_NAMES: dict[type[Structure], bytes] = {_Managed: b"dltensor", _Versioned: b"dltensor_versioned"}
_CAPSULE_DESTRUCTOR = ctypes.CFUNCTYPE(None, c_void_p)


def _python(name: str, result: Any, *arguments: Any) -> Any:
    """A function of CPython's API."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_new = _python("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, _CAPSULE_DESTRUCTOR)
_is_valid = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, c_char_p)
_pointer = _python("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
_rename = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, c_char_p)
# A destructor is given a capsule that is being freed: as an address, so that Python does not count a reference to it.
_is_valid_at = _python("PyCapsule_IsValid", ctypes.c_int, c_void_p, c_char_p)
_pointer_at = _python("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)


def device_of(device: Device) -> tuple[int, int]:
    """DLPack's type and number of a device."""
    return DEVICE_TYPES[device.arch], device.properties.number


# ---- taking -------------------------------------------------------------------------------------------------------
class Taken:
    """A tensor that another library lends until this is collected."""

    def __init__(self, managed: _Managed | _Versioned) -> None:
        tensor = managed.tensor
        self._managed = managed
        if tensor.lanes != 1 or tensor.code not in _LETTERS:
            raise LanewiseTypeError(
                "expected a tensor of a scalar type of lanewise, got another one by DLPack",
                why="elements are bool, i8 to i64, u8 to u64, f16, f32 or f64",
            )
        self.dtype = np.dtype(f"{_LETTERS[tensor.code]}{tensor.bits // 8}")
        self.shape = tuple(tensor.shape[: tensor.ndim])
        self.strides = (
            tuple(step * self.dtype.itemsize for step in tensor.strides[: tensor.ndim]) if tensor.strides else None
        )
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.writable = not (isinstance(managed, _Versioned) and managed.flags & _READ_ONLY)

    def __del__(self) -> None:
        if self._managed.deleter:
            self._managed.deleter(ctypes.addressof(self._managed))


def take(obj: Any, stream: int) -> Taken:
    """The tensor that `obj` exports; its producer orders its work before that of the stream."""
    try:
        capsule = obj.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # a producer older than version 1
        capsule = obj.__dlpack__(stream=stream)
    for kind, name in _NAMES.items():
        if _is_valid(capsule, name):
            managed = kind.from_address(_pointer(capsule, name))
            _rename(capsule, _USED[name])
            return Taken(managed)  # pyright: ignore[reportArgumentType]
    raise LanewiseTypeError("expected a DLPack capsule from __dlpack__, got another object")


_USED = {name: b"used_" + name for name in _NAMES.values()}


# ---- giving -------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Given:
    """What an exported tensor needs until its consumer lets go of it."""

    managed: Structure
    array: ndarray
    shape: Any
    strides: Any


_given: dict[int, _Given] = {}


@_DELETER
def _delete(address: int) -> None:
    _given.pop(address, None)


@_CAPSULE_DESTRUCTOR
def _drop(capsule: int) -> None:
    """A capsule that nobody took: its tensor goes with it."""
    for name in _NAMES.values():
        if _is_valid_at(capsule, name):
            _delete(_pointer_at(capsule, name))


def export(array: ndarray, max_version: tuple[int, int] | None) -> Any:
    """A capsule over a device array's memory, whose pending work the caller must wait for."""
    if array.device.arch not in _LENDING:
        raise BufferError(f"no other library takes memory of {array.device}: copy it with to_numpy()")
    kind = _Versioned if max_version is not None and max_version[0] >= 1 else _Managed
    managed = kind()
    if isinstance(managed, _Versioned):
        managed.major, managed.flags = 1, 0 if array.layout.writable else _READ_ONLY
    elif not array.layout.writable:
        raise BufferError("a read-only array needs DLPack 1.0 or later")
    managed.deleter = _delete
    given = _Given(managed, array, _numbers(array.layout.shape), _numbers(array.layout.strides))
    _describe(managed.tensor, array.layout, given)
    managed.tensor.device_type, managed.tensor.device_id = device_of(array.device)
    managed.tensor.data = array.view.address
    address = ctypes.addressof(managed)
    _given[address] = given
    return _new(address, _NAMES[kind], _drop)


def _numbers(values: Sequence[int]) -> Any:
    return (c_int64 * max(len(values), 1))(*values)


def _describe(tensor: _Tensor, layout: Layout, given: _Given) -> None:
    tensor.ndim, tensor.lanes, tensor.byte_offset = layout.ndim, 1, 0
    tensor.code, tensor.bits = _KINDS[layout.dtype.np.kind], 8 * layout.dtype.np.itemsize
    tensor.shape = ctypes.cast(given.shape, POINTER(c_int64))
    tensor.strides = ctypes.cast(given.strides, POINTER(c_int64))
