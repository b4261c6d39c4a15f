"""By what number a buffer's bytes are known to the run time, and in the slots of argument blocks.

A device with bufferDeviceAddress gives its buffers addresses, by which kernels reach them too.  Elsewhere the run time
gives out numbers of its own, in which a launch finds the buffers to bind.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from . import structures as vk
from .driver import DeviceFunctions

if TYPE_CHECKING:
    from .heap import Buffer

_WITH_ADDRESS = 2  # VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
_PAGE = 1 << 16


class Addresses(Protocol):
    """The addresses of one device's buffers."""

    @property
    def usage(self) -> int:
        """The VkBufferUsageFlags of a buffer that is to have one."""
        ...

    @property
    def allocation(self) -> Sequence[vk.Chained]:
        """What describes the memory of such a buffer, besides its size."""
        ...

    def give(self, buffer: Buffer, size: int) -> int:
        """The address of a buffer of so many bytes, which has its memory."""
        ...

    def take_back(self, buffer: Buffer) -> None: ...


class DriverAddresses:
    """Those of the driver, which kernels use themselves."""

    usage = 0x20000  # VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT

    def __init__(self, functions: DeviceFunctions) -> None:
        self._functions = functions

    @property
    def allocation(self) -> Sequence[vk.Chained]:
        return [vk.MemoryAllocateFlagsInfo(flags=_WITH_ADDRESS)]

    def give(self, buffer: Buffer, size: int) -> int:
        info = vk.BufferDeviceAddressInfo(buffer=buffer.handle)
        return self._functions.GetBufferDeviceAddress(self._functions.device, ctypes.byref(info))

    def take_back(self, buffer: Buffer) -> None:
        pass  # it goes with the buffer


class Numbers:
    """Numbers that no two buffers have had, with room between them: an address is never another buffer's."""

    usage = 0
    allocation: Sequence[vk.Chained] = ()

    def __init__(self) -> None:
        self._next = _PAGE
        self._starts: list[int] = []  # in order
        self._buffers: list[Buffer] = []

    def give(self, buffer: Buffer, size: int) -> int:
        start = self._next
        self._next += -(-size // _PAGE) * _PAGE + _PAGE
        self._starts.append(start)
        self._buffers.append(buffer)
        return start

    def take_back(self, buffer: Buffer) -> None:
        place = bisect_right(self._starts, buffer.address) - 1
        if place >= 0 and self._buffers[place] is buffer:
            del self._starts[place], self._buffers[place]

    def find(self, address: int) -> tuple[Buffer, int]:
        """The buffer that an address lies in, and how far."""
        place = bisect_right(self._starts, address) - 1
        return self._buffers[place], address - self._starts[place]
