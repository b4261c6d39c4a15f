"""Operands: which registers or constants they name, and their bits as values of a type.

("Scalar operand encodings", "Inline constants", and the VOP3 modifiers NEG, ABS and OP_SEL.)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from .state import EXEC, M0, NULL, TTMP0, VCC, Arr, Model, Waves

Read = Callable[[Waves], Arr]

KINDS: dict[str, np.dtype[np.generic]] = {
    **{kind: np.dtype(f"{kind[0]}{int(kind[1:]) // 8}") for kind in ("u16", "i16", "u32", "i32", "u64", "i64")},
    **{kind: np.dtype(f"f{int(kind[1:]) // 8}") for kind in ("f16", "f32", "f64")},
}
"""The types of operands; a type such as b32 is spelt u32 here."""

_NAMED = {
    "vcc": VCC,
    "vcc_lo": VCC,
    "vcc_hi": VCC + 1,
    "m0": M0,
    "null": NULL,
    "exec": EXEC,
    "exec_lo": EXEC,
    "exec_hi": EXEC + 1,
}
_REGISTER = re.compile(r"(v|a|s|ttmp)(?:(\d+)|\[(\d+):(\d+)\])(?:\.([lh]))?")
_FLOAT = re.compile(r"-?\d+\.\d+")
_INTEGER = re.compile(r"-?(0x[0-9a-f]+|\d+)")
_INVERSE_OF_2_PI = {"f16": 0x3118, "f32": 0x3E22F983, "f64": 0x3FC45F306DC9C882}
_BASES = {"v": 0, "a": 256, "s": 0, "ttmp": TTMP0}


@dataclass(frozen=True)
class Operand:
    """What an operand names."""

    text: str
    file: str
    """"v" (accumulation registers follow from number 256), "s", "constant" or "scc"."""
    first: int = 0
    """The first register."""
    count: int = 1
    half: int | None = None
    """`v0.l` and `v0.h` name halves of a register."""
    negated: bool = False
    absolute: bool = False
    extended: bool = False
    """`sext(v0)`, of an operand of SDWA."""


@lru_cache(maxsize=1 << 14)
def parse_operand(text: str, model: Model) -> Operand:
    if text.startswith("-") and not _INTEGER.fullmatch(text) and not _FLOAT.fullmatch(text):
        return replace(parse_operand(text[1:], model), negated=True)
    if text.startswith("neg("):
        return replace(parse_operand(text[4:-1], model), negated=True)
    if text.startswith("|"):
        return replace(parse_operand(text[1:-1], model), absolute=True)
    if text.startswith("abs("):
        return replace(parse_operand(text[4:-1], model), absolute=True)
    if text.startswith("sext("):
        return replace(parse_operand(text[5:-1], model), extended=True)
    if text in _NAMED:
        return Operand(text, "s", _NAMED[text], 1 if "_" in text or text in ("m0", "null") else 2)
    if found := _REGISTER.fullmatch(text):
        file, one, first, last, half = found.groups()
        start = int(one or first)
        count = int(last) - int(first) + 1 if last else 1
        where = _BASES[file] + start
        return Operand(text, "v" if file in "va" else "s", where, count, "lh".index(half) if half else None)
    if _FLOAT.fullmatch(text) or _INTEGER.fullmatch(text):
        return Operand(text, "constant")
    if text in ("scc", "src_scc"):
        return Operand(text, "scc")
    raise NotImplementedError(f"operand {text!r}")


def destination(text: str, model: Model) -> Operand:
    """An operand that is written."""
    found = parse_operand(text, model)
    if found.file not in "vs":
        raise NotImplementedError(f"{text!r} as a destination")
    return found


# ---- constants ------------------------------------------------------------------------------------------------------
def constant_bits(text: str, kind: str) -> int:
    """The bits of a constant operand of an instruction that takes this type.

    A float is that value in the operand's type; an integer is itself, sign-extended, but the literal of an f64 operand
    is its high half ("Literal constants": 32 bits).
    """
    width = 8 * KINDS[kind].itemsize
    if text.startswith("0.15915494"):
        return _INVERSE_OF_2_PI[f"f{width}"]
    if _FLOAT.fullmatch(text):
        form = {16: "<e", 32: "<f", 64: "<d"}[width]
        return int.from_bytes(struct.pack(form, float(text)), "little")
    value = int(text, 0)
    if kind == "f64" and "0x" in text:
        return value << 32
    return value & ((1 << width) - 1)


# ---- values ---------------------------------------------------------------------------------------------------------
def word(operand: Operand, number: int = 0) -> Read:
    """A register's 32 bits."""
    register = operand.first + number
    if operand.file == "v":
        return lambda w: w.v[register]
    if operand.file == "s":
        return lambda w: w.s[register]
    if operand.file == "scc":
        return lambda w: w.scc.astype(np.uint32)
    raise NotImplementedError(f"the words of {operand.text!r}")


def as_kind(words: tuple[Arr, ...], kind: str, half: int | None) -> Arr:
    """Words as values of a type."""
    dtype = KINDS[kind]
    if dtype.itemsize == 4:
        return words[0].view(dtype)
    if dtype.itemsize == 2:
        return (words[0] >> np.uint32(16) if half else words[0]).astype(np.uint16).view(dtype)
    return (words[0].astype(np.uint64) | words[1].astype(np.uint64) << np.uint64(32)).view(dtype)


def reader(operand: Operand, kind: str, half: int | None = None) -> Read:
    """The values of an operand, without its sign modifiers."""
    if operand.file == "constant":
        dtype = KINDS[kind]
        bits = constant_bits(operand.text, kind)
        value = np.array([[bits]], f"u{dtype.itemsize}").view(dtype)
        if half:  # the high half of a 32-bit constant in a packed instruction
            value = np.array([[constant_bits(operand.text, "u32") >> 16]], np.uint16).view(dtype)
        return lambda w: value
    half = operand.half if half is None else half
    low = word(operand)
    if KINDS[kind].itemsize == 8:
        high = word(operand, 1)
        return lambda w: as_kind((low(w), high(w)), kind, None)
    return lambda w: as_kind((low(w),), kind, half)


def signed(read: Read, operand: Operand) -> Read:
    """With the modifiers |x| and -x, which change the sign bit of whatever there is (V_CNDMASK has them too)."""
    if not (operand.absolute or operand.negated):
        return read

    def modified(w: Waves) -> Arr:
        value = read(w)
        bits = value.view(f"u{value.dtype.itemsize}")
        sign = bits.dtype.type(1 << 8 * value.dtype.itemsize - 1)
        if operand.absolute:
            bits = bits & ~sign
        return (bits ^ sign if operand.negated else bits).view(value.dtype)

    return modified


def to_words(value: Arr) -> tuple[Arr, ...]:
    """A result as 32-bit words; narrower ones in the low bits."""
    size = value.dtype.itemsize
    bits = value.view(f"u{size}") if value.dtype.kind != "b" else value
    if size == 8:
        return bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)
    return (bits if bits.dtype == np.uint32 else bits.astype(np.uint32),)


def mask_reader(text: str, model: Model) -> Read:
    """The lanes of a mask register, or of a constant one (0 or -1)."""
    operand = parse_operand(text, model)
    if operand.file == "constant":
        lanes = np.full((1, model.size), bool(int(text, 0)))
        assert int(text, 0) in (0, -1), text
        return lambda w: lanes
    return lambda w: w.mask(operand.first)
