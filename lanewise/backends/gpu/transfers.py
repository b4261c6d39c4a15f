"""Copies between host memory and a GPU through pinned buffers: one is filled while the other is under way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...views import HostArray, array_at
from .card import Card

CHUNK = 4 << 20


class _Half:
    """A pinned buffer, and the event that says when its last copy has ended."""

    def __init__(self, card: Card) -> None:
        self.address = card.pinned(CHUNK)
        self.bytes = array_at(self.address, (CHUNK,), np.dtype(np.uint8))
        self.event = card.event(timed=False)


class Transfers:
    """The two buffers of one GPU; one thread at a time, with the GPU current."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._halves = _Half(card), _Half(card)
        self._turn = 0  # goes on from copy to copy: two small ones in a row need not wait for each other

    def _chunks(self, size: int) -> Iterator[tuple[_Half, int, int]]:
        """The buffer, free again, and the start and the end of each piece in turn."""
        for start in range(0, size, CHUNK):
            half = self._halves[self._turn]
            self._turn = 1 - self._turn
            self._card.wait_event(half.event)
            yield half, start, min(start + CHUNK, size)

    def upload(self, address: int, data: HostArray, stream: int) -> None:
        """Copy contiguous bytes to the GPU in the order of a stream; they may change once this returns."""
        for half, start, end in self._chunks(data.size):
            half.bytes[: end - start] = data[start:end]
            self._card.copy_in(address + start, half.address, end - start, stream)
            self._card.record(half.event, stream)

    def download(self, data: HostArray, address: int, stream: int) -> None:
        """Copy bytes from the GPU in the order of a stream, and wait for them."""
        arriving: tuple[_Half, int, int] | None = None
        for half, start, end in self._chunks(data.size):
            self._card.copy_out(half.address, address + start, end - start, stream)
            self._card.record(half.event, stream)
            self._take(data, arriving)
            arriving = half, start, end
        self._take(data, arriving)

    def _take(self, data: HostArray, arriving: tuple[_Half, int, int] | None) -> None:
        if arriving is not None:
            half, start, end = arriving
            self._card.wait_event(half.event)
            data[start:end] = half.bytes[: end - start]
