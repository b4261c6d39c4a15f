"""Points in the order of a device's queue, and the time between them."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any

from . import structures as vk

if TYPE_CHECKING:
    from .card import VulkanCard

_BOTTOM_OF_PIPE = 0x2000  # VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
_TIMESTAMP = 2  # VK_QUERY_TYPE_TIMESTAMP
_64_BIT, _WAIT = 1, 2  # VkQueryResultFlagBits


class Mark:
    """A point in the order of the queue."""

    __slots__ = ("at", "serial", "timed")

    def __init__(self, timed: bool) -> None:
        self.timed = timed
        self.serial = 0
        self.at: Any = None
        """Where its timestamp is, or the host's time."""


class Clock:
    """Timestamps of the device; of the host where the queue has none, once it has done everything before."""

    ROOM = 4096

    def __init__(self, card: VulkanCard) -> None:
        self._card = card
        self._free: list[tuple[int, int]] = []
        self._bits = card.facts.timestamp_bits

    def mark(self, event: Mark) -> None:
        queue, functions = self._card.queue, self._card.functions
        if not self._bits:
            queue.wait(queue.serial)
            event.at = time.perf_counter()
            return
        if not self._free:
            self._more()
        event.at = pool, number = self._free.pop()
        batch = queue.opened()
        functions.CmdResetQueryPool(batch.commands, pool, number, 1)
        functions.CmdWriteTimestamp(batch.commands, _BOTTOM_OF_PIPE, pool, number)
        queue.marked(batch)

    def _more(self) -> None:
        info = vk.QueryPoolCreateInfo(type=_TIMESTAMP, count=self.ROOM)
        card = self._card
        pool = card.functions.create("QueryPool", info)
        self._free += [(pool, number) for number in range(self.ROOM)]

    def read(self, event: Mark) -> float:
        """The seconds of a point that the device has passed; it is given back."""
        if not self._bits:
            return event.at
        pool, number = event.at
        ticks = ctypes.c_uint64()
        card = self._card
        card.functions.call(
            "GetQueryPoolResults", card.handle, pool, number, 1, 8, ctypes.byref(ticks), 8, _64_BIT | _WAIT
        )
        self._free.append(event.at)
        return (ticks.value & ((1 << self._bits) - 1)) * card.facts.limits.timestampPeriod * 1e-9
