"""Where the bytes of an access are and how they become registers ("FLAT", "MUBUF", "LDS").

An access is a *way* to its bytes (where each enabled lane's address lies) and a *form* (how many of them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .operands import Read, parse_operand, reader
from .space import Bytes
from .state import Arr, Model, Step, Waves
from .text import Instruction

Places = Iterator[tuple[Arr, Arr, Bytes]]
"""Numbers among the enabled lanes, where their data lie, and in what."""
Way = Callable[[Waves, int, int], Places]
"""(waves, offset in bytes, size): the places of the enabled lanes' data."""

_CACHE_HINTS = {"glc", "slc", "dlc", "sc0", "sc1", "nt", "th", "scope", "offset", "offen", "gds"}


def checked(instruction: Instruction) -> Instruction:
    if unknown := set(instruction.modifiers) - _CACHE_HINTS:
        raise NotImplementedError(f"modifiers {unknown} of {instruction.text!r}")
    return instruction


# ---- ways -----------------------------------------------------------------------------------------------------------
def _address(instruction: Instruction, vector: str, scalar: str, model: Model) -> Read:
    """GLOBAL: a 64-bit vector address, or a 64-bit scalar one with an unsigned 32-bit vector offset."""
    if scalar in ("off", "null", ""):
        return reader(parse_operand(vector, model), "u64")
    base, offset = reader(parse_operand(scalar, model), "u64"), reader(parse_operand(vector, model), "u32")
    return lambda w: base(w) + offset(w).astype(np.uint64)


def global_way(instruction: Instruction, vector: str, scalar: str, model: Model) -> Way:
    address, constant = _address(instruction, vector, scalar, model), instruction.number("offset")

    def places(w: Waves, offset: int, size: int) -> Places:
        enabled = w.wide(address(w))[w.exec] + np.uint64((constant + offset) % (1 << 64))
        yield from w.memory.all.places(enabled, size, instruction.text)

    return places


def lds_way(instruction: Instruction, vector: str, model: Model, constant: int | None = None) -> Way:
    at = reader(parse_operand(vector, model), "u32")
    constant = instruction.number("offset") if constant is None else constant

    def places(w: Waves, offset: int, size: int) -> Places:
        # The sum wraps: LLVM folds constants into addresses whose rest is negative.
        inside = (w.wide(at(w))[w.exec] + np.uint32(constant + offset)).astype(np.int64)
        owner = w.wide(w.block[:, None])[w.exec]
        yield np.ones(len(owner), bool), w.memory.lds.places(owner, inside, size, instruction.text), w.memory.lds.bytes

    return places


def scratch_way(instruction: Instruction, offsets: list[str], model: Model) -> Way:
    """The sum of what stands for the address; each lane has bytes of its own."""
    reads = [reader(parse_operand(text, model), "i32") for text in offsets if text not in ("off", "null")]
    constant = instruction.number("offset")

    def places(w: Waves, offset: int, size: int) -> Places:
        inside = np.full((w.count, w.model.size), constant + offset, np.int64)
        for read in reads:
            inside = inside + read(w)
        owner = (w.number[:, None] * w.model.size + np.arange(w.model.size))[w.exec]
        found = w.memory.scratch.places(owner, inside[w.exec], size, instruction.text)
        yield np.ones(len(owner), bool), found, w.memory.scratch.bytes

    return places


# ---- sizes ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Form:
    """How bytes become registers: whole words, or one narrow unit."""

    size: int
    """Bytes of a unit: 4, or less."""
    words: int = 1
    signed: bool = False
    half: int | None = None
    """A 16-bit half of the register, whose other half stays (D16)."""


_WORDS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4, "b32": 1, "b64": 2, "b96": 3, "b128": 4}
FORMS: dict[str, Form] = {
    **{name: Form(4, words) for name, words in _WORDS.items()},
    **{name: Form(size) for name, size in {"ubyte": 1, "u8": 1, "byte": 1, "b8": 1}.items()},
    **{name: Form(size) for name, size in {"ushort": 2, "u16": 2, "short": 2, "b16": 2}.items()},
    **dict.fromkeys(("sbyte", "i8"), Form(1, signed=True)),
    **dict.fromkeys(("sshort", "i16"), Form(2, signed=True)),
    **dict.fromkeys(("short_d16", "d16_b16", "u16_d16"), Form(2, half=0)),
    **dict.fromkeys(("short_d16_hi", "d16_hi_b16", "u16_d16_hi", "b16_d16_hi"), Form(2, half=1)),
    **dict.fromkeys(("ubyte_d16", "d16_u8", "u8_d16"), Form(1, half=0)),
    **dict.fromkeys(("ubyte_d16_hi", "d16_hi_u8", "u8_d16_hi"), Form(1, half=1)),
    **dict.fromkeys(("sbyte_d16", "d16_i8", "i8_d16"), Form(1, signed=True, half=0)),
    **dict.fromkeys(("sbyte_d16_hi", "d16_hi_i8", "i8_d16_hi"), Form(1, signed=True, half=1)),
    **dict.fromkeys(("byte_d16_hi", "d16_hi_b8", "b8_d16_hi"), Form(1, half=1)),
}


def _gathered(w: Waves, way: Way, offset: int, size: int) -> Arr:
    """The unit of each enabled lane."""
    found = np.zeros(w.count * w.model.size if w.full else int(w.exec.sum()), f"u{size}")
    for chosen, place, data in way(w, offset, size):
        found[chosen] = data.cells(size)[place]
    return found


def spread(w: Waves, units: Arr) -> Arr:
    """Values of the enabled lanes in their lanes."""
    result = np.zeros((w.count, w.model.size), units.dtype)
    result[w.exec] = units
    return result


def load(way: Way, form: Form, d: int, base: int = 0) -> Step:
    def step(w: Waves) -> None:
        loaded = [_gathered(w, way, base + 4 * number, form.size) for number in range(form.words)]
        for number, units in enumerate(loaded):
            if form.signed:
                units = units.view(f"i{form.size}").astype(np.int16 if form.half is not None else np.int32)
                units = units.view(np.uint16 if form.half is not None else np.uint32)
            value = spread(w, units.astype(np.uint32))
            if form.half is not None:
                old = w.v[d] & np.uint32(0xFFFF if form.half else 0xFFFF0000)
                value = old | value << np.uint32(16 * form.half)
            w.put(d + number, value)

    return step


def store(way: Way, form: Form, source: int, base: int = 0) -> Step:
    def step(w: Waves) -> None:
        for number in range(form.words):
            units = w.wide(w.v[source + number])[w.exec]
            if form.half:
                units = units >> np.uint32(16)
            units = units.astype(f"u{form.size}")
            for chosen, place, data in way(w, base + 4 * number, form.size):
                data.cells(form.size)[place] = units[chosen]

    return step
