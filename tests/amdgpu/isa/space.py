"""Memory: global memory made of the regions that a launch was given, LDS of each block, scratch of each lane.

Every access is checked: one outside is an error of the program that runs.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from .state import GARBAGE, Arr


class WildAccess(Exception):
    """An address where the program has no memory."""


class Bytes:
    """Bytes in a row, read and written at any place in units of 1, 2, 4 or 8 bytes."""

    def __init__(self, data: Arr) -> None:
        self.data = data
        self._views = {
            size: np.ndarray((len(data) - size + 1,), f"<u{size}", data.data, strides=(1,))
            for size in (1, 2, 4, 8)
            if len(data) >= size
        }

    def cells(self, size: int) -> Arr:
        """Overlapping units: cell k begins at byte k."""
        return self._views[size]


@dataclass(frozen=True)
class Global:
    """Regions of this process's memory: addresses are real ones."""

    starts: Arr
    ends: Arr
    regions: list[Bytes]

    @classmethod
    def of(cls, bounds: list[tuple[int, int]]) -> Global:
        """Regions may overlap, as views of one array do: those are one region."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted(set(bounds)):
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            elif end > start:
                merged.append((start, end))
        memories = [
            Bytes(np.ctypeslib.as_array((ctypes.c_uint8 * (end - start)).from_address(start))) for start, end in merged
        ]
        return cls(np.array([a for a, _ in merged], np.uint64), np.array([b for _, b in merged], np.uint64), memories)

    def places(self, address: Arr, size: int, text: str) -> list[tuple[Arr, Arr, Bytes]]:
        """For each region that is met: which of the addresses lie there, their places in it, and it."""
        if not len(address):
            return []
        number = np.searchsorted(self.starts, address, side="right").astype(np.int64) - 1
        inside = number >= 0
        if inside.all():
            inside = address + np.uint64(size) <= self.ends[number]
        if not inside.all():
            raise WildAccess(f"{text}: {size} bytes at {int(address[~inside][0]):#x}, where no array is")
        found: list[tuple[Arr, Arr, Bytes]] = []
        for region in np.unique(number):
            chosen = number == region
            found.append((chosen, (address[chosen] - self.starts[region]).astype(np.int64), self.regions[region]))
        return found


@dataclass(frozen=True)
class Rows:
    """Memory that each of some owners has for itself: a block's LDS, a lane's scratch."""

    name: str
    size: int
    bytes: Bytes

    @classmethod
    def fresh(cls, name: str, owners: int, size: int) -> Rows:
        words = np.full(owners * size // 4 + 2, GARBAGE, np.uint32)
        return cls(name, size, Bytes(words.view(np.uint8)))

    def places(self, owner: Arr, offset: Arr, size: int, text: str) -> Arr:
        """Where each owner's byte `offset` is."""
        wrong = (offset < 0) | (offset + size > self.size)
        if wrong.any():
            raise WildAccess(f"{text}: {size} bytes at {int(offset[wrong][0]):#x} of {self.size} bytes of {self.name}")
        if (offset % min(size, 4)).any():
            raise WildAccess(f"{text}: {size} bytes at an odd place of {self.name}")
        return owner * self.size + offset


@dataclass(frozen=True)
class Memory:
    """All that a launch can reach."""

    all: Global
    lds: Rows
    scratch: Rows
