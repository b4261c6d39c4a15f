"""NumPy arrays that a device without memory of its own uses where they are (VK_EXT_external_memory_host).

Whole pages are imported.  An import is kept for the next launch as long as the NumPy array that owns the memory lives,
since the pages must stay mapped; memory with another owner (a file, another library) is imported for one launch.
"""

from __future__ import annotations

import mmap
import weakref
from collections import OrderedDict, deque

import numpy as np

from ...views import HostArray
from .heap import Buffer, Buffers

KEPT = 64


class Imports:
    """The imports of one device; one thread at a time."""

    def __init__(self, buffers: Buffers, alignment: int) -> None:
        """`alignment` is minImportedHostPointerAlignment, 0 where nothing can be imported."""
        self._buffers, self._alignment = buffers, alignment
        self.usable = 0 < alignment <= mmap.PAGESIZE
        self._kept: OrderedDict[tuple[int, int], Buffer] = OrderedDict()
        self._lent: list[Buffer] = []
        self._gone: deque[tuple[int, int]] = deque()  # the owner's memory was freed; filled by the garbage collector

    def address(self, low: int, high: int, owner: HostArray) -> int:
        """By which kernels reach these bytes of `owner`'s memory, until `give_back`; 0 where they cannot."""
        while self._gone:
            self._drop(self._gone.popleft())
        pages = low // self._alignment * self._alignment, -(-high // self._alignment) * self._alignment
        found = self._kept.get(pages)
        if found is None:
            found = self._buffers.over(*pages)
            if found is None:
                return 0
            root = _root(owner)
            if root is None:
                self._lent.append(found)
            else:
                self._kept[pages] = found
                weakref.finalize(root, self._gone.append, pages).atexit = False
        else:
            self._kept.move_to_end(pages)
        return found.address + low - pages[0]

    def give_back(self) -> None:
        """No launch uses an import any more."""
        while self._lent:
            self._buffers.free(self._lent.pop())
        while len(self._kept) > KEPT:
            self._drop(next(iter(self._kept)))

    def _drop(self, pages: tuple[int, int]) -> None:
        buffer = self._kept.pop(pages, None)
        if buffer is not None:
            self._buffers.free(buffer)


def _root(array: HostArray) -> HostArray | None:
    """The array that owns an array's memory, if one does."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.flags.owndata else None
