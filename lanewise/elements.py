"""The elements of a device array, as the host reads and writes them: in host memory, or in a device's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .backends.engine import MemoryEngine, View
from .views import HostArray, Layout, address_of, array_at, byte_span, view_of


class Elements(ABC):
    """What an array holds."""

    where: HostArray
    """A NumPy array at the elements' addresses, which may be a device's: for layouts, and for indexing."""

    @abstractmethod
    def read(self, index: Any = ()) -> Any:
        """A copy of what `index` selects."""

    @abstractmethod
    def write(self, index: Any, value: Any) -> None:
        """Set what `index` selects."""

    @abstractmethod
    def lend(self) -> tuple[Layout, View]:
        """What a launch is given."""


class HostElements(Elements):
    """A NumPy array."""

    def __init__(self, array: HostArray) -> None:
        self.where = array

    def read(self, index: Any = ()) -> Any:
        part: Any = self.where[index]
        return part.copy()  # NumPy's scalars have it too

    def write(self, index: Any, value: Any) -> None:
        self.where[index] = value

    def lend(self) -> tuple[Layout, View]:
        return view_of(self.where)


class DeviceElements(Elements):
    """Memory of a device, copied to be read and written.

    `where` has the device's addresses: NumPy slices it to tell which bytes a part of the array is, and never reads it.
    """

    def __init__(self, engine: MemoryEngine, where: HostArray, owner: Any) -> None:
        self.engine = engine
        self.where = where
        self._owner = owner  # keeps the memory

    def lend(self) -> tuple[Layout, View]:
        layout, view = view_of(self.where)
        return layout, view._replace(owner=self._owner)

    def read(self, index: Any = ()) -> Any:
        if not _is_basic(index):
            return self.read()[index]
        part = self._part(index)
        found = self._copy(part)
        return found if found.ndim or _has_ellipsis(index) else found[()]

    def write(self, index: Any, value: Any) -> None:
        if not self.where.flags.writeable:
            raise ValueError("the array is read-only")
        if not _is_basic(index):
            part = self.where
            values = self._copy(part)
            values[index] = value
        else:
            part = self._part(index)
            values = np.empty(part.shape, part.dtype) if part.flags.c_contiguous else self._copy(part)
            values[...] = value
        if part.size:
            low, high = byte_span(part)
            self.engine.upload(low, array_at(byte_span(values)[0], (high - low,), np.dtype(np.uint8)))

    def _part(self, index: Any) -> HostArray:
        """What a basic index selects, as an array even where it is one element."""
        entries = _entries(index)
        return self.where[entries if _has_ellipsis(entries) else (*entries, ...)]

    def _copy(self, part: HostArray) -> HostArray:
        """The elements of a part, in host memory, with the part's strides."""
        if not part.size:
            return np.empty(part.shape, part.dtype)
        low, high = byte_span(part)
        room = np.empty(high - low, np.uint8)
        self.engine.download(room, low)
        return np.ndarray(part.shape, part.dtype, room.data, address_of(part) - low, part.strides)


def _entries(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _has_ellipsis(index: Any) -> bool:
    return any(entry is ... for entry in _entries(index))


def _is_basic(index: Any) -> bool:
    """Whether NumPy answers an index with a view."""
    return all(
        entry is None or entry is ... or (isinstance(entry, (slice, int, np.integer)) and not isinstance(entry, bool))
        for entry in _entries(index)
    )
