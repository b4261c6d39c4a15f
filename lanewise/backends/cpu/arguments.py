"""The argument block: 8-byte slots, the same for every body compiled from one parallel loop.

For each memory its pointer, extents and strides in elements; a slot for each scalar; then the one that the engine adds:
the body that takes subgroups with absent lanes.
"""

from __future__ import annotations

from ...dtypes import DType
from ...ir import Array, Kernel, Value
from .text import Text, lane_type, scalar_type

METADATA = """\
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 1000}
!2 = !{!"branch_weights", i32 1000, i32 1}
"""
RARELY, MOSTLY = ", !prof !1", ", !prof !2"
"""Behind a branch: how often its first way is taken."""


class Slots:
    """Where each argument of a kernel lies."""

    def __init__(self, kernel: Kernel) -> None:
        self.memories: dict[Array, int] = {}
        self.scalars: dict[Value, int] = {}
        slot = 0
        for memory in kernel.memories:
            self.memories[memory] = slot
            slot += 1 + 2 * memory.ndim
        for scalar in kernel.scalars:
            self.scalars[scalar] = slot
            slot += 1
        self.general = slot
        self.count = slot + 1


class Arguments:
    """Loads the fields of the block, each once, in a function's entry."""

    def __init__(self, text: Text, slots: Slots, block: str = "%args") -> None:
        self._text = text
        self._block = block
        self._loaded: dict[tuple[int, str], str] = {}
        self.slots = slots

    def load(self, slot: int, type_: str) -> str:
        """A slot's low bytes."""
        name = self._loaded.get((slot, type_))
        if name is None:
            place = self._text.early(f"getelementptr i64, ptr {self._block}, i64 {slot}")
            # The block does not change while the function runs: loops may hoist the load.
            name = self._text.early(f"load {type_}, ptr {place}, align 8, !invariant.load !0")
            self._loaded[slot, type_] = name
        return name

    def pointer(self, memory: Array) -> str:
        return self.load(self.slots.memories[memory], "ptr")

    def extent(self, memory: Array, axis: int, dtype: DType) -> str:
        return self.load(self.slots.memories[memory] + 1 + axis, scalar_type(dtype))

    def stride(self, memory: Array, axis: int) -> str:
        """In elements, i64; the last axis of a contiguous array has the constant 1."""
        if memory.contiguous and axis == memory.ndim - 1:
            return "1"
        return self.load(self.slots.memories[memory] + 1 + memory.ndim + axis, "i64")

    def scalar(self, value: Value) -> str:
        slot = self.slots.scalars[value]
        if not value.type.is_bool:
            return self.load(slot, lane_type(value.type))
        byte = self.load(slot, "i8")
        return self._text.early(f"icmp ne i8 {byte}, 0")
