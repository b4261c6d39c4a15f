"""LLVM IR as text: types, constants, and a function written block by block.

Text is printed rather than built from objects: it is several times faster, and the parser checks it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from ...dtypes import DType

_FLOAT_TYPES = {16: "half", 32: "float", 64: "double"}
_FLOAT_SUFFIXES = {"half": "f16", "float": "f32", "double": "f64"}


def scalar_type(dtype: DType) -> str:
    """The type of a value: a bool is an `i1`."""
    return _FLOAT_TYPES[dtype.bits] if dtype.is_float else f"i{dtype.bits}"


def memory_type(dtype: DType) -> str:
    """The type of an element in memory: a bool is a byte, true where it is not zero."""
    return "i8" if dtype.is_bool else scalar_type(dtype)


def suffix(type_: str) -> str:
    """How a type is spelt in an intrinsic's name: `float` is `f32`, `i32` is itself."""
    return _FLOAT_SUFFIXES.get(type_, type_)


def literal(value: int | float | bool, dtype: DType) -> str:
    """A constant, exact: a half by its own bits, a float or double by those of the double."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_int:
        return str(int(value))
    with np.errstate(over="ignore"):
        rounded = dtype.np.type(value)
    if dtype.bits == 16:
        return f"0xH{int(rounded.view(np.uint16)):04X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(rounded)))[0]:016X}"


@dataclass(slots=True)
class Phi:
    """A phi whose incoming values are added as they become known."""

    name: str
    type: str
    incoming: list[tuple[str, str]]

    def add(self, value: str, label: str) -> None:
        self.incoming.append((value, label))

    def __str__(self) -> str:
        pairs = ", ".join(f"[ {value}, %{label} ]" for value, label in self.incoming)
        return f"  {self.name} = phi {self.type} {pairs}"


class Writer:
    """One function's body.  `entry` comes first and dominates everything: stack slots and arguments."""

    def __init__(self) -> None:
        self.entry: list[str] = []
        self.lines: list[str | Phi] = []
        self.label = "start"
        self.declarations: dict[str, str] = {}
        self.library: set[str] = set()
        self._count = 0

    def fresh(self, hint: str = "v") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def do(self, code: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {code}")

    def let(self, code: str) -> str:
        """An instruction; its result."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {code}")
        return name

    def let_in_entry(self, code: str) -> str:
        """An instruction of the entry block; its result."""
        name = f"%{self.fresh('e')}"
        self.entry.append(f"  {name} = {code}")
        return name

    def call(self, result: str, function: str, *arguments: str) -> str:
        """Call an intrinsic or a library function; arguments are written with their types, "i32 %x"."""
        types = ", ".join(argument.rsplit(" ", 1)[0] for argument in arguments)
        self.declarations[function] = f"declare {result} @{function}({types})"
        code = f"call {result} @{function}({', '.join(arguments)})"
        if result != "void":
            return self.let(code)
        self.do(code)
        return ""

    # ---- blocks ------------------------------------------------------------------------------------------------
    def start(self, label: str) -> None:
        """Begin a block; the one before must have ended."""
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, cond: str, then: str, orelse: str) -> None:
        self.do(f"br i1 {cond}, label %{then}, label %{orelse}")

    def phi(self, type_: str) -> Phi:
        made = Phi(f"%{self.fresh('p')}", type_, [])
        self.lines.append(made)
        return made

    def body(self) -> str:
        """All of it, the entry block first."""
        return "\n".join(["entry:", *self.entry, "  br label %start", "start:", *map(str, self.lines)])
