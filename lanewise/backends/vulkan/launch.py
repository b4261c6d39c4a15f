"""A launch as it is recorded into a batch: its argument block, its push constants, one or more dispatches."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError
from ..gpu.launch import Part, Send
from . import descriptors
from .bindings import Binding
from .queue import ARGUMENT_BYTES, DESCRIPTORS, Batch

if TYPE_CHECKING:
    from .card import VulkanCard

_COMPUTE_STAGE = 0x20
_COMPUTE_BIND_POINT = 1


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel on a device, ready to be launched."""

    pipeline: int
    layout: int
    name: str
    threads: int
    """Threads of a group."""
    pushed: tuple[str, ...]
    """The push constants, 8 bytes each."""
    shared_bytes: int
    items: int
    """Logical blocks that a thread carries at a time."""
    waves: int
    """The most groups of a launch, for each multiprocessor."""
    bindings: tuple[Binding, ...] | None = None
    """The arrays that are bound; None where all have addresses."""
    set_layout: int = 0
    """Of the descriptor set with the argument block and these arrays."""


class VulkanSend(Send):
    """One launch of one variant.

    Where a group runs one block, a large grid takes several dispatches; groups that carry several share all blocks out.
    """

    ALIGNMENT = 64
    """Of argument blocks."""

    def __init__(self, card: VulkanCard, part: Part, block: bytes) -> None:
        super().__init__(part, (ctypes.c_int64 * (len(block) // 8)).from_buffer_copy(block))
        self._card, self._queue = card, card.queue
        function: Function = part.function
        self._pipeline, self._layout = function.pipeline, function.layout
        self._size = len(block)
        self._room = -(-len(block) // self.ALIGNMENT) * self.ALIGNMENT
        if self._room > ARGUMENT_BYTES:
            raise DeviceError(
                f"kernel {part.loop.name}: its arguments take {self._size} bytes",
                why=f"a launch on Vulkan has room for {ARGUMENT_BYTES}",
                hint="fewer arrays and scalars",
            )
        self._source = ctypes.addressof(self.block)
        most = card.limits.max_grid if function.items == 1 else part.end - part.first
        self._dispatches = [
            (first, min(first + most, part.end), min(most, part.end - first) if function.items == 1 else part.grid)
            for first in range(part.first, part.end, most)
        ]
        values = {"arguments": 0, "first_block": part.first, "num_blocks": part.blocks, "end_block": part.end}
        self._push: Any = (ctypes.c_int64 * len(function.pushed))(*[values[name] for name in function.pushed])
        self._at_push, self._push_size = ctypes.addressof(self._push), ctypes.sizeof(self._push)
        self._first, self._end = map(function.pushed.index, ("first_block", "end_block"))

    def __call__(self) -> None:
        queue, push = self._queue, self._push
        functions = self._card.functions
        with queue.lock:
            batch = queue.opened(self._room)
            commands = batch.commands
            self._card.last_launch = self.part
            queue.order(batch)
            if batch.pipeline != self._pipeline:
                functions.CmdBindPipeline(commands, _COMPUTE_BIND_POINT, self._pipeline)
                batch.pipeline = self._pipeline
            self._pass(batch)
            batch.used += self._room
            for first, end, groups in self._dispatches:
                push[self._first], push[self._end] = first, end
                functions.CmdPushConstants(commands, self._layout, _COMPUTE_STAGE, 0, self._push_size, self._at_push)
                functions.CmdDispatch(commands, groups, 1, 1)
            queue.recorded(batch)

    def _pass(self, batch: Batch) -> None:
        """Give the kernel its argument block, in the batch's room."""
        ctypes.memmove(batch.host + batch.used, self._source, self._size)
        self._push[0] = batch.address + batch.used  # `arguments`


class BoundSend(VulkanSend):
    """A launch on a device without addresses.

    Each array is bound from shortly before its first byte on; its slot gets the number of its first element in that.
    """

    ALIGNMENT = descriptors.ALIGNMENT

    def __init__(self, card: VulkanCard, part: Part, block: bytes) -> None:
        super().__init__(card, part, block)
        function: Function = part.function
        assert function.bindings is not None
        self._bindings = [(binding, *binding.span(self.block)) for binding in function.bindings]
        count = 1 + len(self._bindings)
        # A batch that has room for the blocks has room for the descriptors.
        self._room = max(self._room, -(-count * (ARGUMENT_BYTES // DESCRIPTORS) // self.ALIGNMENT) * self.ALIGNMENT)
        self._writer = descriptors.Writer(card.functions, function.set_layout, count)
        self._sent = type(self.block)()
        self._limit = card.facts.limits.maxStorageBufferRange

    def _pass(self, batch: Batch) -> None:
        block, sent, infos = self.block, self._sent, self._writer.infos
        ctypes.memmove(sent, block, self._size)
        infos[0] = batch.buffer, batch.used, max(self._size, 8)
        for number, (binding, low, high) in enumerate(self._bindings, 1):
            if low == high:
                infos[number] = infos[0]  # it has no elements, but something must be bound
                continue
            buffer, start = self._card.find(block[binding.slot] + low)
            first = start // self.ALIGNMENT * self.ALIGNMENT
            size = -(-(start - first + high - low) // 4) * 4  # whole words, as atomics on narrow elements want
            if size > self._limit or size > binding.itemsize << 31:
                raise self._too_large(binding, size)
            infos[number] = buffer.handle, first, size
            sent[binding.slot] = (start - low - first) // binding.itemsize
        ctypes.memmove(batch.host + batch.used, sent, self._size)
        self._writer.bind(batch.commands, _COMPUTE_BIND_POINT, self._layout, batch.pool)

    def _too_large(self, binding: Binding, size: int) -> DeviceError:
        limit = min(self._limit, binding.itemsize << 31)
        return DeviceError(
            f"kernel {self.part.loop.name}: the array {binding.name} takes {size} bytes",
            why=f"the device has no bufferDeviceAddress, and binds {limit} bytes at most (maxStorageBufferRange)",
            hint="parts of it, one launch each",
        )
