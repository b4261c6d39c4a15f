"""One Vulkan device in use: its memory, the order of its launches, its clock."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, cached_property

import numpy as np

from ...views import HostArray, array_at
from ..gpu.card import Card, Limits
from ..gpu.transfers import Transfers
from . import structures as vk
from .addresses import Numbers
from .clock import Clock, Mark
from .devices import choose
from .driver import DeviceFunctions
from .heap import Buffer, Buffers, Heap, Use
from .imports import Imports
from .probe import Facts, probe
from .queue import Queue

IN_PLACE = 64 << 10
"""From so many bytes on an array of NumPy is used where it is; a copy of less takes no longer."""
_U8 = np.dtype(np.uint8)


class VulkanCard(Card):
    """A device with one queue."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts.device.number)
        self.facts = facts
        self.functions = DeviceFunctions(facts.device.instance.functions, _make_device(facts))
        self.handle = self.functions.device
        self._buffers = Buffers(facts, self.functions)
        self._shared = self.facts.is_integrated
        self._heap = Heap(self._buffers, Use.SHARED if self._shared else Use.DEVICE)
        alive = weakref.ref(self)  # the queue is needed for closing, when the card is gone
        self.queue = Queue(facts, self.functions, self._buffers, lambda: card.waiting() if (card := alive()) else "")
        weakref.finalize(self, _close, self.queue, self.functions)
        self.clock = Clock(self)
        self._freed: deque[int] = deque()
        self._pinned: dict[int, Buffer] = {}
        self._imports = Imports(self._buffers, self.facts.host_alignment)

    def __repr__(self) -> str:
        return f"Vulkan device {self.number} ({self.limits.name})"

    @cached_property
    def limits(self) -> Limits:
        limits = self.facts.limits
        return Limits(
            name=self.facts.device.name,
            multiprocessors=self.facts.units,
            max_block_dim=self.facts.max_block_dim(self.facts.subgroup_size),
            max_shared_bytes=limits.maxComputeSharedMemorySize,
            max_grid=limits.maxComputeWorkGroupCount[0],
        )

    def current(self) -> AbstractContextManager[None]:
        return nullcontext()

    # ---- memory ------------------------------------------------------------------------------------------------------
    def malloc(self, nbytes: int, doing: str) -> int:
        with self.queue.lock:
            self._collect()
            return self._heap.malloc(nbytes, doing)

    def free(self, address: int) -> None:
        # This may be called in the middle of anything, by the garbage collector.
        self._freed.append(address)

    def _collect(self) -> None:
        """Give back what was freed, now or when the launches that may still use it have ended; with the lock held."""
        self.queue.reap()
        while self._freed:
            address = self._freed.popleft()
            self.queue.afterwards(lambda address=address: self._heap.free(address))

    def clear(self, address: int, nbytes: int) -> None:
        with self.queue.lock:
            buffer, start = self._heap.place(address)
            if buffer.host:
                ctypes.memset(buffer.host + start, 0, nbytes)
                return
            batch = self.queue.opened()
            self.queue.order(batch)
            self.functions.CmdFillBuffer(batch.commands, buffer.handle, start, -(-nbytes // 4) * 4, 0)

    def pinned(self, nbytes: int) -> int:
        with self.queue.lock:
            made = self._buffers.make(nbytes, Use.STAGING, f"{self}: {nbytes} bytes for copies")
        self._pinned[made.host] = made
        return made.host

    def copy_in(self, address: int, host: int, nbytes: int, stream: int) -> None:
        with self.queue.lock:
            target, start = self._heap.place(address)
            self._copy(self._pinned[host], 0, target, start, nbytes)

    def copy_out(self, host: int, address: int, nbytes: int, stream: int) -> None:
        with self.queue.lock:
            source, start = self._heap.place(address)
            self._copy(source, start, self._pinned[host], 0, nbytes)

    def _copy(self, source: Buffer, start: int, target: Buffer, place: int, nbytes: int) -> None:
        batch = self.queue.opened()
        self.queue.order(batch)
        region = vk.BufferCopy(source=start, target=place, size=nbytes)
        self.functions.CmdCopyBuffer(batch.commands, source.handle, target.handle, 1, ctypes.byref(region))

    @cached_property
    def transfers(self) -> Transfers:
        return InPlace(self) if self._shared else Transfers(self)

    def find(self, address: int) -> tuple[Buffer, int]:
        """The buffer to bind for what is at an address, and how far in it that is; with the lock held."""
        numbers = self._buffers.addresses
        assert isinstance(numbers, Numbers)
        return numbers.find(address)

    def host_view(self, address: int, nbytes: int) -> HostArray:
        """The bytes at an address of memory that the host has mapped."""
        with self.queue.lock:
            buffer, start = self._heap.place(address)
        return array_at(buffer.host + start, (nbytes,), _U8)

    def borrow(self, low: int, high: int, owner: HostArray) -> int:
        if high - low < IN_PLACE or not self._imports.usable:
            return 0
        with self.queue.lock:
            return self._imports.address(low, high, owner)

    @contextmanager
    def borrowing(self) -> Generator[None]:
        try:
            yield
        finally:
            with self.queue.lock:
                self._imports.give_back()

    # ---- order -------------------------------------------------------------------------------------------------------
    def event(self, *, timed: bool) -> Mark:
        return Mark(timed)

    def record(self, event: Mark, stream: int) -> None:
        with self.queue.lock:
            if event.timed:
                self.clock.mark(event)
            event.serial = self.queue.serial

    def wait_event(self, event: Mark) -> None:
        self.queue.wait(event.serial)

    def seconds(self, first: Mark, last: Mark) -> float:
        with self.queue.lock:
            return self.clock.read(last) - self.clock.read(first)

    def wait_stream(self, stream: int) -> None:
        self.wait()

    def wait(self) -> None:
        self.queue.wait(self.queue.serial)
        with self.queue.lock:
            self._collect()


class InPlace(Transfers):
    """Copies to and from memory that the host has mapped: no buffers between."""

    def __init__(self, card: VulkanCard) -> None:
        self._device = card

    def upload(self, address: int, data: HostArray, stream: int) -> None:
        self._device.host_view(address, data.size)[:] = data

    def download(self, data: HostArray, address: int, stream: int) -> None:
        self._device.wait()
        data[:] = self._device.host_view(address, data.size)


def _close(queue: Queue, functions: DeviceFunctions) -> None:
    """When a card is gone, or the process ends: a driver's threads may fail at exit while its devices are there."""
    if queue.close():
        with queue.lock:
            functions.close()


def _make_device(facts: Facts) -> int:
    """A VkDevice with one queue, and no more extensions and features than lanewise uses."""
    functions = facts.device.instance.functions
    priority = ctypes.c_float(1.0)
    queue = vk.QueueCreateInfo(family=facts.family, count=1, priorities=ctypes.addressof(priority))
    names = sorted(facts.extensions)
    extensions = vk.texts(names)
    info = vk.DeviceCreateInfo(
        pNext=vk.chain(facts.enabled),
        queueCount=1,
        queues=vk.address(queue),
        extensionCount=len(names),
        extensions=vk.address(extensions),
    )
    doing = f"the Vulkan device {facts.device.name!r} does not start"
    handle = facts.device.handle
    return functions.made("CreateDevice", ctypes.c_void_p, handle, ctypes.byref(info), None, doing=doing)


_lock = threading.Lock()


@cache
def _made(number: int) -> VulkanCard:
    return VulkanCard(probe(choose(number)))


def card(wanted: int | str | None) -> VulkanCard:
    """The device that a user means, one object a process."""
    number = choose(wanted).number
    with _lock:
        return _made(number)
