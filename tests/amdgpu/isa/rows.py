"""A row of the tables as what computes and what writes, with the instruction's encoding and modifiers.

Sources are read, moved between lanes (DPP), cut (SDWA, OP_SEL), given a sign and combined; results go to the enabled
lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from . import compares, dpp, floats, integers
from .integers import Row
from .operands import (
    KINDS,
    Operand,
    Read,
    as_kind,
    destination,
    mask_reader,
    parse_operand,
    reader,
    signed,
    to_words,
    word,
)
from .state import Arr, Model, Waves
from .text import Instruction

ROWS: dict[str, Row] = {**integers.ROWS, **floats.ROWS, **compares.ROWS}
ALIASES: dict[str, str] = {**integers.ALIASES, **floats.ALIASES}

Values = tuple[tuple[Arr, ...], "Arr | None"]
"""Results, and the lanes that DPP leaves enabled."""
Compute = Callable[[Waves], Values]
Commit = Callable[[Waves, Values], None]

_SDWA = {"dst_sel", "dst_unused", "src0_sel", "src1_sel"}


def row_of(name: str) -> Row | None:
    return ROWS.get(ALIASES.get(name, name))


def from_row(
    row: Row, operands: list[str], encoding: str, instruction: Instruction, model: Model
) -> tuple[Compute, Commit]:
    results, kinds = row.results.split(), row.sources.split()
    targets, sources = operands[: len(results)], operands[len(results) :]
    if kinds[-1] == "vcc" or (kinds[-1] == "m" and len(sources) == len(kinds) - 1):  # implied: V_DIV_FMAS, VOPD
        sources.append("vcc")
    modifiers = set(instruction.modifiers) - {"op_sel", "clamp"}
    if "dpp" in encoding:
        modifiers -= dpp.MODIFIERS
    if encoding == "sdwa":
        modifiers -= _SDWA
    if modifiers:
        raise NotImplementedError(f"modifiers {modifiers} of {instruction.text!r}")
    if len(sources) != len(kinds):
        raise NotImplementedError(f"{len(kinds)} sources expected in {instruction.text!r}")
    halves = instruction.flags("op_sel") or []
    reads = [
        _source(text, kind, number, halves, instruction, encoding, model)
        for number, (text, kind) in enumerate(zip(sources, kinds, strict=True))
    ]
    function = row.function
    if "clamp" in instruction.modifiers:
        if row.saturate is None:
            raise NotImplementedError(instruction.text)
        function = row.saturate
    writes = [
        _target(text, kind, row, halves, len(kinds), instruction, model)
        for text, kind in zip(targets, results, strict=True)
    ]
    if "dpp" in encoding:
        compute = _moving(function, sources[0], kinds[0], reads[1:], instruction, model)
    elif len(writes) == 1:
        compute = _plain(function, reads)
    else:
        compute = _several(function, reads)
    if len(writes) == 1:
        (only,) = writes
        return compute, lambda w, values: only(w, values[0][0], values[1])

    def commit(w: Waves, values: Values) -> None:
        for write, value in zip(writes, values[0], strict=True):
            write(w, value, values[1])

    return compute, commit


def _several(function: Callable[..., Any], reads: list[Read]) -> Compute:
    return lambda w: (function(*(read(w) for read in reads)), None)


def _plain(function: Callable[..., Any], reads: list[Read]) -> Compute:
    if len(reads) == 1:
        (a,) = reads
        return lambda w: ((function(a(w)),), None)
    if len(reads) == 2:
        a, b = reads
        return lambda w: ((function(a(w), b(w)),), None)
    return lambda w: ((function(*(read(w) for read in reads)),), None)


def _moving(
    function: Callable[..., Arr], source: str, kind: str, reads: list[Read], instruction: Instruction, model: Model
) -> Compute:
    """The first source comes from other lanes."""
    operand = parse_operand(source, model)
    words = [word(operand, number) for number in range(max(KINDS[kind].itemsize // 4, 1))]
    move = dpp.mover(instruction, model)

    def compute(w: Waves) -> Values:
        moved = [move(w, read(w)) for read in words]
        first = as_kind(tuple(value for value, _ in moved), kind, operand.half)
        value = function(signed(lambda w: first, operand)(w), *(read(w) for read in reads))
        return value if isinstance(value, tuple) else (value,), moved[0][1]

    return compute


# ---- sources --------------------------------------------------------------------------------------------------------
def _source(
    text: str, kind: str, number: int, halves: list[int], instruction: Instruction, encoding: str, model: Model
) -> Read:
    if kind in ("m", "vcc"):
        return mask_reader(text, model)
    operand = parse_operand(text, model)
    half = halves[number] if number < len(halves) and KINDS[kind].itemsize == 2 else None
    if encoding == "sdwa":
        return _cut(operand, kind, instruction.modifiers.get(f"src{number}_sel", "DWORD"), model)
    return signed(reader(operand, kind, half), operand)


_SELECTIONS = {
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
}


def _cut(operand: Operand, kind: str, selection: str, model: Model) -> Read:
    """SDWA: a byte or a word of the source, zero- or sign-extended."""
    if selection == "DWORD":
        return signed(reader(operand, kind), operand)
    shift, bits = _SELECTIONS[selection]
    whole = reader(operand, "u32")
    narrow = np.dtype(f"{'i' if operand.extended else 'u'}{bits // 8}")
    wide = np.dtype("i4" if operand.extended else "u4")

    def selected(w: Waves) -> Arr:
        value = (whole(w) >> np.uint32(shift)).astype(f"u{bits // 8}").view(narrow).astype(wide)
        return as_kind((value.view(np.uint32),), kind, None)

    return signed(selected, replace(operand, extended=False))


# ---- targets --------------------------------------------------------------------------------------------------------
Write = Callable[[Waves, Arr, "Arr | None"], None]


def _target(
    text: str, kind: str, row: Row, halves: list[int], sources: int, instruction: Instruction, model: Model
) -> Write:
    if kind == "m":
        return mask_target(text, model)
    operand = destination(text, model)
    if operand.file != "v":
        raise NotImplementedError(f"a vector result in {instruction.text!r}")
    dtype, d = KINDS[kind], operand.first
    if dtype.itemsize == 2:
        if instruction.modifiers.get("dst_sel", "DWORD") != "DWORD":
            return _cut_target(d, instruction)
        half = operand.half
        if half is None and len(halves) > sources:
            half = halves[sources]
        clears = half is None and model.generation == 9 and not row.keeps_high
        return narrow_target(d, dtype, half or 0, clears)
    if instruction.modifiers.get("dst_sel", "DWORD") != "DWORD":
        return _cut_target(d, instruction)
    if dtype.itemsize == 8:

        def write_two(w: Waves, value: Arr, enabled: Arr | None) -> None:
            low, high = to_words(np.asarray(value).astype(dtype, copy=False))
            w.put(d, low, enabled)
            w.put(d + 1, high, enabled)

        return write_two

    def write(w: Waves, value: Arr, enabled: Arr | None) -> None:
        w.put(d, value.astype(dtype, copy=False).view(np.uint32), enabled)

    return write


def narrow_target(d: int, dtype: np.dtype[np.generic], half: int, clears: bool) -> Write:
    """16 bits: the other half of the register stays, but for most instructions of gfx9."""
    kept, shift = np.uint32(0xFFFF if half else 0xFFFF0000), np.uint32(16 * half)

    def write(w: Waves, value: Arr, enabled: Arr | None) -> None:
        bits = value.astype(dtype, copy=False).view(np.uint16).astype(np.uint32) << shift
        w.put(d, bits if clears else bits | w.v[d] & kept, enabled)

    return write


def _cut_target(d: int, instruction: Instruction) -> Write:
    """SDWA: the result goes to a byte or a word; the rest stays, or becomes 0 or the sign."""
    shift, bits = _SELECTIONS[instruction.modifiers["dst_sel"]]
    field = np.uint32(((1 << bits) - 1) << shift)
    unused = instruction.modifiers.get("dst_unused", "UNUSED_PAD")
    if unused not in ("UNUSED_PAD", "UNUSED_PRESERVE"):
        raise NotImplementedError(instruction.text)

    def write(w: Waves, value: Arr, enabled: Arr | None) -> None:
        placed = to_words(value)[0] << np.uint32(shift) & field
        w.put(d, placed if unused == "UNUSED_PAD" else placed | w.v[d] & ~field, enabled)

    return write


def mask_target(text: str, model: Model) -> Write:
    register = destination(text, model).first

    def write(w: Waves, value: Arr, enabled: Arr | None) -> None:
        # A lane that DPP leaves out is a disabled one: its bit becomes 0.
        w.put_mask(register, value if enabled is None else value & enabled)

    return write
