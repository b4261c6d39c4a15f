"""LLVM IR as text: types, literals, and a function under construction.

Text is printed rather than built from objects because it is several times faster to make, and the parser checks it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from ...dtypes import DType

_FLOATS = {16: "half", 32: "float", 64: "double"}


def scalar_type(dtype: DType) -> str:
    """The LLVM type of one value: a bool is `i1`."""
    return _FLOATS[dtype.bits] if dtype.is_float else f"i{dtype.bits}"


def lane_type(dtype: DType) -> str:
    """The LLVM type of one lane of a strip: a bool is an `i32`, 0 or -1.

    LLVM legalises `<S x i1>` badly where it crosses a block; a mask as wide as the data stays in one vector register.
    """
    return "i32" if dtype.is_bool else scalar_type(dtype)


def memory_type(dtype: DType) -> str:
    """The LLVM type of one element in memory: a bool is a byte, true where it is not zero."""
    return "i8" if dtype.is_bool else scalar_type(dtype)


def float_literal(value: float, bits: int) -> str:
    """Exact, NaN and infinities included: halves by their own bits, floats and doubles by those of the double."""
    with np.errstate(over="ignore"):
        if bits == 16:
            return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
        if bits == 32:
            value = float(np.float32(value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def literal(value: int | float | bool, dtype: DType) -> str:
    """A scalar constant."""
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_int:
        return str(int(value))
    return float_literal(float(value), dtype.bits)


def is_constant(name: str) -> bool:
    """Whether an operand is a literal rather than a register."""
    return not name.startswith("%")


class Text:
    """The body of one function.  First come `slots`, its stack, and `entry`, what must dominate everything else, such
    as the argument block's fields; `lines` follow, beginning in the block `start`.
    """

    def __init__(self) -> None:
        self.slots: list[str] = []
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.label = "start"
        self._count = 0

    def fresh(self) -> str:
        """A new register's name."""
        self._count += 1
        return f"%v{self._count}"

    def new_label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def do(self, code: str) -> str:
        """An instruction with a result, whose name is returned."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {code}")
        return name

    def put(self, code: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + code)

    def early(self, code: str) -> str:
        """An instruction of the entry block."""
        name = self.fresh()
        self.entry.append(f"  {name} = {code}")
        return name

    def slot(self, type_: str, count: int) -> str:
        """An array on the stack."""
        name = self.fresh()
        self.slots.append(f"  {name} = alloca [{count} x {type_}], align 64")
        return name

    def shuffle(self, type_: str, a: str, b: str, places: Sequence[int | None]) -> str:
        """A vector of lanes of two, counted from the first one's; anything where there is no place."""
        indices = ", ".join("i32 poison" if place is None else f"i32 {place}" for place in places)
        return self.do(f"shufflevector {type_} {a}, {type_} {b}, <{len(places)} x i32> <{indices}>")

    # ---- blocks --------------------------------------------------------------------------------------------------
    def begin(self, label: str) -> None:
        """Start a block; the one before must have been ended by `jump` or `branch`."""
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.put(f"br label %{label}")

    def branch(self, cond: str, yes: str, no: str, metadata: str = "") -> None:
        self.put(f"br i1 {cond}, label %{yes}, label %{no}{metadata}")

    def phi(self, type_: str, sources: Sequence[tuple[str, str]]) -> str:
        """A phi of (value, block) pairs."""
        return self.do(f"phi {type_} " + ", ".join(f"[ {value}, %{block} ]" for value, block in sources))

    def reserve_phi(self, type_: str) -> tuple[str, int]:
        """The name and the place of a phi whose sources are not all known yet; see `fill_phi`."""
        name = self.fresh()
        self.lines.append(f"  {name} = phi {type_} ")
        return name, len(self.lines) - 1

    def fill_phi(self, place: int, sources: Sequence[tuple[str, str]]) -> None:
        self.lines[place] += ", ".join(f"[ {value}, %{block} ]" for value, block in sources)
