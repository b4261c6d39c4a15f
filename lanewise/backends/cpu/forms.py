"""How a value of the IR is held: once for the subgroup, as base + stride * lane, or as strips of native vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ...dtypes import DType
from .text import Text, is_constant, lane_type, scalar_type


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


@dataclass(frozen=True, slots=True)
class Width:
    """Scalars (`lanes` 0) or strips of `lanes`: arithmetic is written once and emitted at either width."""

    text: Text
    lanes: int

    def of(self, element: str) -> str:
        """The type of `element`s at this width."""
        return f"<{self.lanes} x {element}>" if self.lanes else element

    def type(self, dtype: DType) -> str:
        return self.of(lane_type(dtype) if self.lanes else scalar_type(dtype))

    def const(self, element: str, value: str) -> str:
        """A constant of `element`s: `value` in every lane."""
        return f"splat ({element} {value})" if self.lanes else value

    def do(self, code: str) -> str:
        return self.text.do(code)

    def cond(self, boolean: str) -> str:
        """A bool as the `i1`s that select and branch take."""
        if not self.lanes:
            return boolean
        return self.do(f"icmp slt {self.of('i32')} {boolean}, zeroinitializer")

    def boolean(self, cond: str) -> str:
        """`i1`s as a bool."""
        if not self.lanes:
            return cond
        return self.do(f"sext {self.of('i1')} {cond} to {self.of('i32')}")

    def intrinsic(self, name: str, element: str, *operands: str, extra: str = "") -> str:
        """A call of the overloaded intrinsic `llvm.<name>`, whose operands and result have one type."""
        short = {"half": "f16", "float": "f32", "double": "f64"}.get(element, element)
        suffix = f"v{self.lanes}{short}" if self.lanes else short
        type_ = self.of(element)
        args = ", ".join(f"{type_} {operand}" for operand in operands)
        return self.do(f"call {type_} @llvm.{name}.{suffix}({args}{extra})")


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
