"""Copies between pageable host memory and a GPU: through two pinned buffers, one filled while the other is sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...views import HostArray, array_at
from .driver import call, waiting

CHUNK = 4 << 20


class _Half:
    """A pinned buffer, and the event that says when its last copy has ended."""

    def __init__(self) -> None:
        self.address = int(call("cuMemHostAlloc", CHUNK, 0, doing=f"{CHUNK} bytes of pinned host memory"))
        self.bytes = array_at(self.address, (CHUNK,), np.dtype(np.uint8))
        self.event: Any = call("cuEventCreate", 2)  # CU_EVENT_DISABLE_TIMING

    def sent(self, stream: Any) -> None:
        call("cuEventRecord", self.event, stream)

    def wait(self) -> None:
        call("cuEventSynchronize", self.event, doing=waiting())


class Transfers:
    """The two buffers of one GPU; one thread at a time, with the GPU's context current."""

    def __init__(self) -> None:
        self._halves = _Half(), _Half()

    def _chunks(self, size: int) -> Iterator[tuple[_Half, int, int]]:
        """The buffer, the start and the end of each piece in turn."""
        for number, start in enumerate(range(0, size, CHUNK)):
            yield self._halves[number % 2], start, min(start + CHUNK, size)

    def upload(self, address: int, data: HostArray, stream: Any) -> None:
        """Copy contiguous bytes to the GPU in the order of a stream; they may change once this returns."""
        for half, start, end in self._chunks(data.size):
            half.wait()
            half.bytes[: end - start] = data[start:end]
            call("cuMemcpyHtoDAsync", address + start, half.address, end - start, stream)
            half.sent(stream)

    def download(self, data: HostArray, address: int, stream: Any) -> None:
        """Copy bytes from the GPU in the order of a stream, and wait for them."""
        arriving: tuple[_Half, int, int] | None = None
        for half, start, end in self._chunks(data.size):
            half.wait()
            call("cuMemcpyDtoHAsync", half.address, address + start, end - start, stream)
            half.sent(stream)
            _take(data, arriving)
            arriving = half, start, end
        _take(data, arriving)


def _take(data: HostArray, arriving: tuple[_Half, int, int] | None) -> None:
    if arriving is not None:
        half, start, end = arriving
        half.wait()
        data[start:end] = half.bytes[: end - start]
