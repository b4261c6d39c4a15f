"""What every target needs to move values between lanes: 32-bit words, and patterns of source lanes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...dtypes import DType
from ...simt.primitives import lane_map
from .text import Writer, scalar_type

Pattern = tuple[int, ...]
"""The lane that each lane reads."""


# ---- words: what the hardware moves is 32 bits wide ---------------------------------------------------------------
def to_words(w: Writer, value: str, dtype: DType) -> list[str]:
    """A value as 32-bit words, the low one first; narrow ones are widened."""
    ty, bits = scalar_type(dtype), dtype.bits
    if dtype.is_float:
        value = w.let(f"bitcast {ty} {value} to i{bits}")
    if bits == 64:
        high = w.let(f"lshr i64 {value}, 32")
        return [w.let(f"trunc i64 {half} to i32") for half in (value, high)]
    return [value if bits == 32 else w.let(f"zext i{bits} {value} to i32")]


def from_words(w: Writer, words: Sequence[str], dtype: DType) -> str:
    """The value whose words these are."""
    bits = dtype.bits
    if bits == 64:
        low, high = (w.let(f"zext i32 {word} to i64") for word in words)
        value = w.let(f"or i64 {low}, {w.let(f'shl i64 {high}, 32')}")
    else:
        value = words[0] if bits == 32 else w.let(f"trunc i32 {words[0]} to i{bits}")
    return w.let(f"bitcast i{bits} {value} to {scalar_type(dtype)}") if dtype.is_float else value


# ---- patterns -----------------------------------------------------------------------------------------------------
@lru_cache(maxsize=8)
def _named_patterns(subgroup_size: int) -> dict[Pattern, tuple[str, int, int]]:
    """Every pattern that has a kind, an amount and a tile; of several names the one with the largest tile."""
    found: dict[Pattern, tuple[str, int, int]] = {}
    for log2_size in reversed(range(subgroup_size.bit_length())):
        for kind in ("xor", "up", "down", "broadcast", "rotate"):
            for amount in range(1 << log2_size):
                found.setdefault(lane_map(kind, amount, log2_size, subgroup_size), (kind, amount, log2_size))
    return found


def named(sources: Pattern) -> tuple[str, int, int] | None:
    """(kind, amount, log2_size) of a `permute`, where the pattern is one of those."""
    return _named_patterns(len(sources)).get(sources)


def swizzle(sources: Pattern) -> tuple[int, int] | None:
    """(keep, flip), where the source of lane l is (l & keep) ^ flip."""
    size = len(sources)
    flip = sources[0]
    keep = sum(1 << bit for bit in range(size.bit_length() - 1) if (sources[1 << bit] ^ flip) >> bit & 1)
    return (keep, flip) if all(s == (lane & keep) ^ flip for lane, s in enumerate(sources)) else None


def pattern_index(w: Writer, lane: str, sources: Pattern) -> str:
    """The source lane as an i32 value: two operations on the lane, or looked up bit by bit in constants."""
    if (form := swizzle(sources)) is not None:
        keep, flip = form
        return w.let(f"xor i32 {w.let(f'and i32 {lane}, {keep}')}, {flip}")
    size = len(sources)
    word = "i32" if size <= 32 else "i64"
    amount = lane if word == "i32" else w.let(f"zext i32 {lane} to i64")
    index = "0"
    for bit in range(size.bit_length() - 1):
        plane = sum((source >> bit & 1) << number for number, source in enumerate(sources))
        mine = w.let(f"and {word} {w.let(f'lshr {word} {plane}, {amount}')}, 1")
        if word == "i64":
            mine = w.let(f"trunc i64 {mine} to i32")
        index = w.let(f"or i32 {index}, {w.let(f'shl i32 {mine}, {bit}')}")
    return index
