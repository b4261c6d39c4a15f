"""How a value of the IR is held: once for the subgroup, as base + stride * lane, or as strips of native vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...dtypes import DType
from .text import Text, is_constant, lane_type


@dataclass(frozen=True, slots=True)
class Uniform:
    """One scalar for all lanes: a register or a literal (bool: `i1`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Linear:
    """`base + stride * lane`, modulo the type's width; becomes strips only where it must."""

    base: str
    stride: int


@dataclass(frozen=True, slots=True)
class Strips:
    """W lanes as a row of vectors of S lanes: lane `l` is element `l % S` of strip `l // S` (bool: `i32`, 0 or -1)."""

    names: tuple[str, ...]


Form: TypeAlias = Uniform | Linear | Strips


def strip_literal(values: list[int], element: str) -> str:
    """A vector constant of integers."""
    return "<" + ", ".join(f"{element} {value}" for value in values) + ">"


def splat(text: Text, lanes: int, dtype: DType, name: str) -> str:
    """One scalar in every lane of a strip."""
    element = lane_type(dtype)
    if is_constant(name):
        if dtype.is_bool:
            name = "-1" if name == "true" else "0"
        return f"splat ({element} {name})"
    if dtype.is_bool:
        name = text.do(f"sext i1 {name} to i32")
    vector = f"<{lanes} x {element}>"
    first = text.do(f"insertelement {vector} poison, {element} {name}, i64 0")
    return text.do(f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer")


def ramp(text: Text, lanes: int, strip: int, dtype: DType, base: str, stride: int) -> str:
    """One strip of `base + stride * lane`; `base` is the splat of the base."""
    element = lane_type(dtype)
    modulus = 1 << dtype.bits
    steps = [(stride * (strip * lanes + lane)) % modulus for lane in range(lanes)]
    return text.do(f"add <{lanes} x {element}> {base}, {strip_literal(steps, element)}")
