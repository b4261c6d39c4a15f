"""A launch as it is recorded into a batch: its argument block, its push constants, one or more dispatches."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError
from ..gpu.launch import Part, Send
from .queue import ARGUMENT_BYTES

if TYPE_CHECKING:
    from .card import VulkanCard

_ALIGNMENT = 64
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


class VulkanSend(Send):
    """One launch of one variant.

    Where a group runs one block, a large grid takes several dispatches; groups that carry several share all blocks out.
    """

    def __init__(self, card: VulkanCard, part: Part, block: bytes) -> None:
        super().__init__(part, (ctypes.c_int64 * (len(block) // 8)).from_buffer_copy(block))
        self._card, self._queue = card, card.queue
        function: Function = part.function
        self._pipeline, self._layout = function.pipeline, function.layout
        self._size = len(block)
        self._room = -(-len(block) // _ALIGNMENT) * _ALIGNMENT
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
        self._arguments, self._first, self._end = map(function.pushed.index, ("arguments", "first_block", "end_block"))

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
            ctypes.memmove(batch.host + batch.used, self._source, self._size)
            push[self._arguments] = batch.address + batch.used
            batch.used += self._room
            for first, end, groups in self._dispatches:
                push[self._first], push[self._end] = first, end
                functions.CmdPushConstants(commands, self._layout, _COMPUTE_STAGE, 0, self._push_size, self._at_push)
                functions.CmdDispatch(commands, groups, 1, 1)
            queue.recorded(batch)
