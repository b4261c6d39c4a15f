"""Instructions at either width: one scalar for all lanes, or one strip of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dtypes import DType
from .text import Text, lane_type, literal, scalar_type


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

    def intrinsic(self, name: str, element: str, *operands: str, extra: str = "", flags: str = "") -> str:
        """A call of the overloaded intrinsic `llvm.<name>`, whose operands and result have one type."""
        short = {"half": "f16", "float": "f32", "double": "f64"}.get(element, element)
        suffix = f"v{self.lanes}{short}" if self.lanes else short
        type_ = self.of(element)
        args = ", ".join(f"{type_} {operand}" for operand in operands)
        return self.do(f"call {flags}{type_} @llvm.{name}.{suffix}({args}{extra})")

    # ---- instructions ---------------------------------------------------------------------------------------------
    def number(self, dtype: DType, value: int | float) -> str:
        """A constant of a number type."""
        return self.const(scalar_type(dtype), literal(value, dtype))

    def binary(self, name: str, dtype: DType, a: str, b: str) -> str:
        """An instruction of two operands and a result of one type."""
        return self.do(f"{name} {self.type(dtype)} {a}, {b}")

    def compare(self, dtype: DType, predicate: str, a: str, b: str) -> str:
        """`i1`s; `predicate` is LLVM's, with its signedness or ordering."""
        return self.do(f"{'fcmp' if dtype.is_float else 'icmp'} {predicate} {self.type(dtype)} {a}, {b}")

    def logic(self, name: str, a: str, b: str) -> str:
        """`and`, `or` or `xor` of `i1`s."""
        return self.do(f"{name} {self.of('i1')} {a}, {b}")

    def choose(self, element: str, cond: str, a: str, b: str) -> str:
        """`a` where the `i1`s hold, else `b`."""
        return self.do(f"select {self.of('i1')} {cond}, {self.of(element)} {a}, {self.of(element)} {b}")

    def change(self, how: str, source: str, value: str, target: str) -> str:
        """A conversion between elements."""
        return self.do(f"{how} {self.of(source)} {value} to {self.of(target)}")

    # ---- halves ---------------------------------------------------------------------------------------------------
    def in_single(self, dtype: DType, emit: Callable[[str, list[str]], str], operands: Sequence[str]) -> str:
        """`emit(element, operands)`, done in f32 where the type is f16; for operations that are exact there."""
        if dtype.bits != 16:
            return emit(scalar_type(dtype), list(operands))
        wide = [self.change("fpext", "half", a, "float") for a in operands]
        return self.change("fptrunc", "float", emit("float", wide), "half")
