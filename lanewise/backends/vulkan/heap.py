"""Memory of a Vulkan device: buffers with an address (`addresses`), small arrays as parts of larger ones.

A driver allows only so many allocations (4,096 on many), so what is smaller than `SMALL` shares a chunk.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right, insort
from collections.abc import Sequence
from enum import Enum

from ...errors import DeviceError
from . import structures as vk
from .addresses import Addresses, DriverAddresses, Numbers
from .driver import DeviceFunctions, failure
from .probe import Facts

ALIGNMENT = 256
"""Of every array: what a cache line and a vector want, on every device."""
SMALL = 1 << 20
CHUNK = 16 << 20

_STORAGE, _TRANSFER = 0x20, 0x3  # VkBufferUsageFlagBits
_DEVICE_LOCAL, _VISIBLE, _COHERENT, _CACHED = 1, 2, 4, 8  # VkMemoryPropertyFlagBits
_HOST_POINTER = 0x80  # VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT


class Use(Enum):
    """What memory is for: the property flags to look for, the best first."""

    DEVICE = (_DEVICE_LOCAL, 0)
    """Arrays that the host reaches by copies."""
    SHARED = (
        _DEVICE_LOCAL | _VISIBLE | _COHERENT | _CACHED,
        _DEVICE_LOCAL | _VISIBLE | _COHERENT,
        _VISIBLE | _COHERENT,
    )
    """Arrays that the host reads and writes in place."""
    STAGING = (_VISIBLE | _COHERENT | _CACHED, _VISIBLE | _COHERENT)
    """What copies go through."""
    ARGUMENTS = (_DEVICE_LOCAL | _VISIBLE | _COHERENT, _VISIBLE | _COHERENT)
    """What the host writes once, in order, and kernels read."""


class Buffer:
    """A buffer with memory of its own."""

    __slots__ = ("address", "handle", "heap", "host", "memory", "size")

    def __init__(self, handle: int, memory: int, size: int, address: int, host: int, heap: int) -> None:
        self.handle, self.memory, self.size = handle, memory, size
        self.address = address
        """By which kernels reach it, or a launch finds it."""
        self.host = host
        """Where the host has it mapped; 0 where it has not."""
        self.heap = heap


class Buffers:
    """Makes and gives back buffers; the caller sees to it that one thread at a time does."""

    def __init__(self, facts: Facts, functions: DeviceFunctions) -> None:
        self._facts, self._device, self._functions = facts, functions.device, functions
        addressed = facts.features.buffer_device_address
        self.addresses: Addresses = DriverAddresses(functions) if addressed else Numbers()
        self._usage = _STORAGE | _TRANSFER | self.addresses.usage
        self._used = [0] * facts.memory.heapCount
        self._count = 0

    def make(self, size: int, use: Use, doing: str) -> Buffer:
        """A buffer of at least this size; a DeviceError that begins with `doing` where there is no room for it."""
        if size > self._facts.max_allocation:
            raise DeviceError(
                f"{doing}: expected {self._facts.max_allocation} bytes at most",
                why="the device has no larger allocations (maxMemoryAllocationSize, maxBufferSize)",
                hint="several arrays",
            )
        if self._count >= self._facts.limits.maxMemoryAllocationCount:
            raise DeviceError(
                f"{doing}: all {self._count} allocations of the device are in use",
                why="maxMemoryAllocationCount",
                hint="fewer arrays: one large array in place of many",
            )
        info = vk.BufferCreateInfo(size=size, usage=self._usage)
        handle = self._functions.create("Buffer", info, doing)
        try:
            needs = vk.MemoryRequirements()
            self._functions.GetBufferMemoryRequirements(self._device, handle, ctypes.byref(needs))
            kind = self._type(needs.typeBits, use.value)
            heap: int = self._facts.memory.types[kind].heap
            capacity: int = self._facts.memory.heaps[heap].size
            if self._used[heap] + needs.size > capacity:
                raise DeviceError(
                    f"{doing}: the device has {capacity} bytes, of which {self._used[heap]} are in use",
                    hint="free arrays, or use smaller ones",
                )
            memory = self._allocate(needs.size, kind, [], doing)
        except DeviceError:
            self._functions.destroy("Buffer", handle)
            raise
        made = Buffer(handle, memory, needs.size, 0, 0, heap)
        self._used[heap] += made.size
        self._count += 1
        try:
            self._functions.call("BindBufferMemory", self._device, handle, memory, 0, doing=doing)
            made.address = self.addresses.give(made, size)
            if use is not Use.DEVICE:
                whole = 2**64 - 1  # VK_WHOLE_SIZE
                arguments = (self._device, memory, 0, whole, 0)
                made.host = self._functions.made("MapMemory", ctypes.c_void_p, *arguments, doing=doing)
        except DeviceError:
            self.free(made)
            raise
        return made

    def over(self, low: int, high: int) -> Buffer | None:
        """A buffer over these bytes of host memory, whole pages; None where the driver cannot use them."""
        functions, device, size = self._functions, self._device, high - low
        if size > self._facts.max_allocation or self._count >= self._facts.limits.maxMemoryAllocationCount:
            return None
        known = vk.MemoryHostPointerProperties()
        if functions.GetMemoryHostPointerPropertiesEXT(device, _HOST_POINTER, low, ctypes.byref(known)):
            return None
        external = vk.ExternalMemoryBufferCreateInfo(handleTypes=_HOST_POINTER)
        info = vk.BufferCreateInfo(pNext=vk.address(external), size=size, usage=self._usage)
        pointer = vk.ImportMemoryHostPointerInfo(handleType=_HOST_POINTER, pointer=low)
        memory = handle = 0
        try:
            handle = functions.create("Buffer", info)
            needs = vk.MemoryRequirements()
            functions.GetBufferMemoryRequirements(device, handle, ctypes.byref(needs))
            kind = self._type(needs.typeBits & known.typeBits, (_VISIBLE | _COHERENT | _CACHED, _VISIBLE | _COHERENT))
            if needs.size <= size:
                memory = self._allocate(size, kind, [pointer], "")
                functions.call("BindBufferMemory", device, handle, memory, 0)
                made = Buffer(handle, memory, 0, 0, low, self._facts.memory.types[kind].heap)
                made.address = self.addresses.give(made, size)
                self._count += 1
                return made
        except DeviceError:
            pass  # it is copied instead
        functions.destroy("Buffer", handle)
        functions.destroy("Memory", memory)
        return None

    def free(self, buffer: Buffer) -> None:
        """Give a buffer back, which nothing on the device uses any more."""
        self.addresses.take_back(buffer)
        self._functions.destroy("Buffer", buffer.handle)
        self._functions.destroy("Memory", buffer.memory)
        self._used[buffer.heap] -= buffer.size
        self._count -= 1

    def _type(self, bits: int, preferred: Sequence[int]) -> int:
        """The first memory type among `bits` with the flags that are preferred most."""
        types = self._facts.memory.types
        for flags in preferred:
            for number in range(self._facts.memory.typeCount):
                if bits >> number & 1 and types[number].flags & flags == flags:
                    return number
        raise failure(-2, "the device has no memory of the kind that is needed")

    def _allocate(self, size: int, kind: int, chained: Sequence[vk.Chained], doing: str) -> int:
        described = [*self.addresses.allocation, *chained]
        info = vk.MemoryAllocateInfo(pNext=vk.chain(described), size=size, type=kind)
        return self._functions.create("Memory", info, doing)


class _Chunk:
    """A buffer with the gaps in it, in order; two gaps never touch."""

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.gaps: list[tuple[int, int]] = [(0, buffer.size // ALIGNMENT * ALIGNMENT)]  # (start, size)
        self.parts: dict[int, int] = {}  # start: size

    def take(self, size: int) -> int | None:
        """Where there is room for so many bytes."""
        for place, (start, room) in enumerate(self.gaps):
            if room >= size:
                self.gaps[place : place + 1] = [(start + size, room - size)] * (room > size)
                self.parts[start] = size
                return start
        return None

    def give(self, start: int) -> None:
        """Make a part a gap again."""
        end = start + self.parts.pop(start)
        place = bisect_right(self.gaps, (start, 0))
        if place < len(self.gaps) and self.gaps[place][0] == end:
            end += self.gaps.pop(place)[1]
        if place and sum(self.gaps[place - 1]) == start:
            start = self.gaps.pop(place - 1)[0]
        insort(self.gaps, (start, end - start))


class Heap:
    """The arrays of one device by their addresses."""

    def __init__(self, buffers: Buffers, use: Use) -> None:
        self._buffers, self._use = buffers, use
        self._starts: list[int] = []  # the addresses of all chunks, in order
        self._chunks: dict[int, _Chunk] = {}
        self._shared: list[_Chunk] = []  # those of small arrays; one is kept when it is empty

    def malloc(self, nbytes: int, doing: str) -> int:
        """The address of new memory."""
        size = -(-nbytes // ALIGNMENT) * ALIGNMENT
        if size > SMALL:
            chunk = self._add(size, doing)
            start = chunk.take(sum(room for _, room in chunk.gaps))
        else:
            for chunk in self._shared:
                if (start := chunk.take(size)) is not None:
                    return chunk.buffer.address + start
            chunk = self._add(CHUNK, doing)
            self._shared.append(chunk)
            start = chunk.take(size)
        assert start is not None
        return chunk.buffer.address + start

    def _add(self, size: int, doing: str) -> _Chunk:
        buffer = self._buffers.make(size, self._use, doing)
        insort(self._starts, buffer.address)
        chunk = self._chunks[buffer.address] = _Chunk(buffer)
        return chunk

    def free(self, address: int) -> None:
        """Give memory back that nothing on the device uses any more."""
        chunk = self._chunk(address)
        chunk.give(address - chunk.buffer.address)
        if chunk.parts or self._shared == [chunk]:
            return
        if chunk in self._shared:
            self._shared.remove(chunk)
        self._starts.remove(chunk.buffer.address)
        del self._chunks[chunk.buffer.address]
        self._buffers.free(chunk.buffer)

    def _chunk(self, address: int) -> _Chunk:
        return self._chunks[self._starts[bisect_right(self._starts, address) - 1]]

    def place(self, address: int) -> tuple[Buffer, int]:
        """The buffer that an address is in, and how far."""
        buffer = self._chunk(address).buffer
        return buffer, address - buffer.address
