"""Host memory as kernels take it: NumPy arrays, and whatever lends its memory without a copy.

`lend(obj)` gives the `Layout` of the elements, which decides the compiled variant, and the `View` for the launch.
Memory is never misread: what a kernel cannot address element by element (foreign byte order, misaligned elements, steps
that are no whole number of elements, dtypes that lanewise lacks) is refused.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .backends.engine import View
from .dtypes import BY_NUMPY, DType
from .errors import DeviceError, LanewiseTypeError

HostArray: TypeAlias = NDArray[Any]

INDEX_LIMIT = 2**31 - 2**17
"""An array or a loop of more elements is indexed by i64: the last block, rounded up, must still count in i32."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """How an array's elements lie.  Arrays of one `form` share compiled code; `strides` count elements.

    `distinct`: surely no two indices are one place in memory, as they are in a window that slides over an array.
    """

    form: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    contiguous: bool
    writable: bool
    wide: bool
    distinct: bool

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


_FORMS: dict[tuple[DType, int, bool, bool, bool, bool], int] = {}
_LAYOUTS: dict[tuple[Any, ...], Layout] = {}  # by what NumPy tells cheaply: a launch's own cache
_LAYOUTS_KEPT = 4096
_lock = threading.Lock()


def layout_of(array: HostArray) -> Layout:
    """The layout of a NumPy array; a LanewiseTypeError where kernels cannot address its elements."""
    key = (array.dtype, array.shape, array.strides, array.flags.num)
    return _LAYOUTS.get(key) or _new_layout(key, array)


def _new_layout(key: tuple[Any, ...], array: HostArray) -> Layout:
    dtype = _dtype_of(array)
    contiguous = array.flags.c_contiguous
    # NumPy lets axes of one element have any stride; it is never used.
    steps = tuple(step if extent > 1 else 0 for extent, step in zip(array.shape, array.strides, strict=True))
    if not contiguous and any(step % dtype.itemsize for step in steps):
        raise LanewiseTypeError(
            f"expected strides of whole elements, got {describe(array)} with strides of {array.strides} bytes",
            why=f"a kernel counts in elements of {dtype.itemsize} bytes; fields of structured arrays lie between them",
            hint="make it contiguous with np.ascontiguousarray(a)",
        )
    if not array.flags.aligned:
        raise LanewiseTypeError(
            f"expected aligned elements, got {describe(array)} whose elements are not aligned",
            why=f"{dtype} is read at addresses that are multiples of {array.dtype.alignment}",
            hint="a copy: np.require(a, requirements='A')",
        )
    strides = _c_strides(array.shape) if contiguous else tuple(step // dtype.itemsize for step in steps)
    distinct = contiguous or _distinct(array.shape, strides)
    facts = (dtype, array.ndim, contiguous, array.flags.writeable, array.size > INDEX_LIMIT, distinct)
    with _lock:
        form = _FORMS.setdefault(facts, len(_FORMS))
        if len(_LAYOUTS) >= _LAYOUTS_KEPT:
            _LAYOUTS.clear()
        layout = _LAYOUTS[key] = Layout(form, dtype, array.shape, strides, *facts[2:])
    return layout


def _dtype_of(array: HostArray) -> DType:
    dtype = BY_NUMPY.get(array.dtype)
    if dtype is not None:
        return dtype
    native = array.dtype.newbyteorder("=")
    if native in BY_NUMPY and not array.dtype.isnative:
        raise LanewiseTypeError(
            f"expected native byte order, got {describe(array)}",
            hint="a copy: a.astype(a.dtype.newbyteorder('='))",
        )
    raise LanewiseTypeError(
        f"expected an array of a scalar type of lanewise, got {describe(array)}",
        why="elements are bool, i8 to i64, u8 to u64, f16, f32 or f64",
        hint="for a structured array, pass its fields one by one",
    )


def _c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _distinct(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether each axis steps over all that the axes of smaller steps reach."""
    reach = 0
    for step, extent in sorted((abs(step), extent) for step, extent in zip(strides, shape, strict=True) if extent > 1):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True


# ---- the address: `array.ctypes.data` costs ten times as much as a read of the first field of NumPy's array struct ---
_DATA_FIELD = object.__basicsize__  # PyArrayObject is PyObject_HEAD, then `char *data` (NumPy C-API, in every ABI)
_word_at = ctypes.c_size_t.from_address


def _read_address(array: HostArray) -> int:
    return _word_at(id(array) + _DATA_FIELD).value


def _asked_address(array: HostArray) -> int:
    return array.__array_interface__["data"][0]


_probe = np.arange(3)
address_of: Callable[[HostArray], int] = (
    _read_address
    if hasattr(ctypes, "pythonapi") and _read_address(_probe) == _asked_address(_probe)
    else _asked_address
)
"""Where the first element of a NumPy array is."""


_make_view = tuple.__new__  # half the time of View(...)


def view_of(array: HostArray) -> tuple[Layout, View]:
    """A NumPy array's layout and its view for one launch."""
    key = (array.dtype, array.shape, array.strides, array.flags.num)
    layout = _LAYOUTS.get(key) or _new_layout(key, array)  # layout_of, without the call: this is on the launch path
    return layout, _make_view(View, (address_of(array), layout.shape, layout.strides, array))


def facts_of(array: Any) -> tuple[Any, ...] | None:
    """All that a launch asks of a NumPy array, so that those with the same are one to it; None of other objects."""
    if type(array) is not np.ndarray:
        return None
    return address_of(array), array.dtype, array.shape, array.strides, array.flags.num


# ---- by address ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Memory:
    """What NumPy makes an array of without reading it."""

    __array_interface__: dict[str, Any]


def array_at(
    address: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    strides: tuple[int, ...] | None = None,
    *,
    writable: bool = True,
) -> HostArray:
    """A NumPy array over the memory at an address; `strides` count bytes, None is C-contiguous.

    The address may be one that only a device can read: the array then serves to compute with, sliced but never read.
    """
    facts = {"data": (address, not writable), "shape": shape, "typestr": dtype.str, "strides": strides, "version": 3}
    return np.asarray(_Memory(facts))


def byte_span(array: HostArray) -> tuple[int, int]:
    """The addresses from the first byte of an array's elements to the end of the last."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return int(low), int(high)


def are_shifted(views: Sequence[View]) -> bool:
    """Whether two of these views have a place in common under different indices; not sure is yes."""
    for one, other in itertools.combinations(views, 2):
        (low, high), (start, end) = _span(one), _span(other)
        if low < end and start < high and (one.address, one.strides) != (other.address, other.strides):
            return True
    return False


def _span(view: View) -> tuple[int, int]:
    """The addresses from the first byte of a view's elements to at least the end of the last."""
    size = view.owner.itemsize if isinstance(view.owner, np.ndarray) else 8
    steps = [(extent - 1) * stride * size for extent, stride in zip(view.shape, view.strides, strict=True)]
    low, high = (sum(bound(step, 0) for step in steps) for bound in (min, max))
    return view.address + low, view.address + high + size


# ---- what lends its memory ----------------------------------------------------------------------------------------
def as_numpy(obj: Any) -> HostArray:
    """The memory that `obj` lends, as a NumPy array without a copy.

    Takes NumPy arrays, objects with `__array_interface__`, and those with `__dlpack__` in host memory.
    """
    if type(obj) is np.ndarray:
        return obj
    if isinstance(obj, np.ndarray):
        return _plain(obj)
    if not isinstance(obj, (np.generic, type)):
        if hasattr(obj, "__array_interface__"):
            return np.asarray(obj)
        if hasattr(obj, "__dlpack__"):
            return _from_dlpack(obj)
        if hasattr(obj, "__cuda_array_interface__"):
            raise elsewhere(obj)
    raise LanewiseTypeError(
        f"expected an array, got {describe(obj)}",
        hint="a NumPy array (np.array(...)), an lw.ndarray, or an object with __dlpack__ or __array_interface__",
    )


def _plain(array: HostArray) -> HostArray:
    """An array of a subclass as NumPy's own class."""
    if isinstance(array, np.ma.MaskedArray):
        raise LanewiseTypeError(
            f"expected an array, got a masked array of shape {array.shape}",
            why="a kernel would not see its mask",
            hint="pass a.data and the mask np.ma.getmaskarray(a) as two arguments, or a.filled(value)",
        )
    return array.view(np.ndarray)


_HOST_DEVICES = (1, 3)  # DLPack's kDLCPU and kDLCUDAHost


def _from_dlpack(obj: Any) -> HostArray:
    if obj.__dlpack_device__()[0] not in _HOST_DEVICES:
        raise elsewhere(obj)
    try:
        return np.from_dlpack(obj)
    except (BufferError, RuntimeError, TypeError) as error:
        what = f"expected an array of a scalar type of lanewise, got {describe(obj)}"
        raise LanewiseTypeError(what, why=f"its DLPack export failed: {error}") from error


def elsewhere(obj: Any, why: str = "") -> DeviceError:
    """The error for memory that no device here can use."""
    return DeviceError(
        f"expected an array in host memory, got {describe(obj)} in the memory of another device",
        why=why,
        hint="copy it to the host first, or choose that device with lw.init()",
    )


def describe(obj: Any) -> str:
    """A value in words, for "got ..."."""
    if isinstance(obj, (bool, int, float, complex, np.generic)):
        return f"the {'NumPy ' if isinstance(obj, np.generic) else ''}scalar {obj!r}"
    if isinstance(obj, np.ndarray):
        return f"a NumPy array of dtype {BY_NUMPY.get(obj.dtype, obj.dtype)}, ndim {obj.ndim}"
    if obj is None:
        return "None"
    return f"an object of type {type(obj).__name__!r}"
