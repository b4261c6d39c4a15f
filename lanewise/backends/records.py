"""Reads the records that `print` and `assert` left in a launch's array, prints and raises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelAssertionError
from ..passes.recording import CAPACITY, HEADER, Site, words_of

Words = NDArray[np.uint32]


def empty() -> Words:
    """An array for one launch's records."""
    return np.zeros(HEADER + CAPACITY, np.uint32)


def deliver(words: Words, sites: Sequence[Site]) -> None:
    """Print what was printed, item by item, and raise for the failed assertion of the lowest item."""
    claimed = int(words[0])
    if not claimed:
        return
    found = sorted(_records(words[HEADER:], sites, min(claimed, CAPACITY)), key=lambda record: record[0])
    for _, site, text in found:
        if site.opcode == "print":
            print(text)
    if claimed > CAPACITY:
        print(f"(output cut: a launch may print {CAPACITY * 4} bytes of values, {claimed * 4} were written)")
    failed = [(item, site, text) for item, site, text in found if site.opcode == "assert"]
    if failed:
        item, site, text = failed[0]
        why = f"in item {item}" + (f" and {len(failed) - 1} more records" if len(failed) > 1 else "")
        raise KernelAssertionError(text or "assertion failed", loc=site.loc, why=why)


def _records(words: Words, sites: Sequence[Site], claimed: int) -> Iterator[tuple[int, Site, str]]:
    """Each record's item, site and text."""
    at = 0
    while at < claimed:
        number = int(words[at])
        if not number:  # what was claimed here did not fit
            return
        site = sites[number - 1]
        low, high, *values = words[at + 1 : at + site.words].tolist()
        yield low | high << 32, site, _text(site, values)
        at += site.words


def _text(site: Site, words: list[int]) -> str:
    """The literal parts with the values in their places."""
    values: list[Any] = []
    at = 0
    for dtype in site.types:
        raw = np.array(words[at : at + words_of(dtype)], np.uint32).view(np.uint8)[: dtype.itemsize]
        values.append(raw.view(dtype.np)[0].item())
        at += words_of(dtype)
    shown = iter(values)
    return "".join(str(next(shown)) if part is None else part for part in site.parts)
