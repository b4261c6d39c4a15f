"""The argument block of a kernel: 8-byte slots, packed by the host, read by the kernel from constant memory.

For each memory its pointer, its extents and its strides in elements; one slot a scalar; then the blocks that this
launch runs.  A launch may run a part of a loop's blocks: full ones by the regular kernel, the rest by the general one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Array, Kernel, Value

SLOT = 8


@dataclass(frozen=True, slots=True)
class ArgumentBlock:
    """The byte offset of everything in the block."""

    pointers: dict[Array, int]
    scalars: dict[Value, int]
    first_block: int
    """The slot of the first logical block of this launch."""
    end_block: int
    """The slot of the end of its range."""
    grid: int
    """The slot of the number of hardware blocks, which share the range out."""
    size: int

    @classmethod
    def of(cls, kernel: Kernel) -> ArgumentBlock:
        offset = 0
        pointers: dict[Array, int] = {}
        for mem in kernel.memories:
            pointers[mem] = offset
            offset += SLOT * (1 + 2 * mem.ndim)
        scalars = {value: offset + SLOT * number for number, value in enumerate(kernel.scalars)}
        offset += SLOT * len(scalars)
        return cls(pointers, scalars, offset, offset + SLOT, offset + 2 * SLOT, offset + 3 * SLOT)

    def extent(self, mem: Array, axis: int) -> int:
        return self.pointers[mem] + SLOT * (1 + axis)

    def stride(self, mem: Array, axis: int) -> int:
        return self.pointers[mem] + SLOT * (1 + mem.ndim + axis)
