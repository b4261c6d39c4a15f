"""NumPy arguments of a launch on a GPU: used where they are, or copied there, and what the kernel writes copied back.

What is copied are spans of bytes, each from an array's first to its last element.  Arrays whose spans overlap share
one, so that on the GPU too they are views of the same memory, with the strides that they have on the host.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ...views import HostArray, array_at, byte_span
from ..engine import View
from .card import Card

ALIGNMENT = 256  # that of every allocation: elements keep their place in a cache line


@dataclass(slots=True)
class Span:
    """Bytes of host memory, and where they are on the GPU."""

    low: int
    high: int
    written: bool
    owner: HostArray
    """One of the arrays in it."""
    address: int = 0

    @property
    def room(self) -> int:
        """The bytes set aside for it there: it begins as far into a cache line as it does here."""
        return (-(-(self.high - self.low) // ALIGNMENT) + 1) * ALIGNMENT

    @property
    def bytes(self) -> HostArray:
        return array_at(self.low, (self.high - self.low,), np.dtype(np.uint8))


def is_host(view: View) -> bool:
    """Whether a view's elements are in host memory."""
    return type(view.owner) is np.ndarray


def spans(arrays: Sequence[View], written: Sequence[bool]) -> list[Span]:
    """The spans of the arrays in host memory, overlapping ones as one, in the order of their addresses."""
    each = [
        Span(*byte_span(view.owner), writes, view.owner)
        for view, writes in zip(arrays, written, strict=True)
        if is_host(view) and view.owner.size
    ]
    merged: list[Span] = []
    for span in sorted(each, key=lambda s: s.low):
        if merged and span.low < merged[-1].high:
            merged[-1].high = max(merged[-1].high, span.high)
            merged[-1].written |= span.written
        else:
            merged.append(span)
    return merged


@contextmanager
def staged(card: Card, arrays: Sequence[View], written: Sequence[bool], stream: int) -> Generator[list[View]]:
    """The same arrays on the GPU: filled before, copied back after."""
    with card.staging, card.current(), card.borrowing():
        regions = spans(arrays, written)
        for span in regions:
            span.address = card.borrow(span.low, span.high, span.owner)
        copied = [span for span in regions if not span.address]
        place = card.arena(sum(span.room for span in copied) + ALIGNMENT)
        for span in copied:
            span.address = place + span.low % ALIGNMENT
            place += span.room
            card.transfers.upload(span.address, span.bytes, stream)
        yield [_moved(view, regions) for view in arrays]
        for span in copied:
            if span.written:
                card.transfers.download(span.bytes, span.address, stream)
        card.wait_stream(stream)


def _moved(view: View, regions: Sequence[Span]) -> View:
    if not is_host(view):
        return view
    for span in regions:
        if span.low <= view.address < span.high:
            return view._replace(address=view.address - span.low + span.address, owner=None)
    return view._replace(address=regions[0].address if regions else 0, owner=None)  # no elements
