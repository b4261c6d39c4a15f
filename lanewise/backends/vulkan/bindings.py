"""An array as it is bound where a device has no addresses: what the code and its launch agree on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Binding(NamedTuple):
    """An array that a kernel accesses, as a storage buffer of its own."""

    name: str
    slot: int
    """Of its address in the argument block; its extents and strides follow."""
    ndim: int
    itemsize: int

    def span(self, block: Sequence[int]) -> tuple[int, int]:
        """Where its bytes begin and end, seen from its address; (0, 0) where it has no elements."""
        extents = block[self.slot + 1 : self.slot + 1 + self.ndim]
        strides = block[self.slot + 1 + self.ndim : self.slot + 1 + 2 * self.ndim]
        if 0 in extents:
            return 0, 0
        steps = [(extent - 1) * stride for extent, stride in zip(extents, strides, strict=True)]
        low, last = sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)
        return low * self.itemsize, (last + 1) * self.itemsize
