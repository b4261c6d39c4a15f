"""The table of opcodes: what each is, which types it gives, what it does to the world.

A row says everything that a pass or a backend may ask about an operation without knowing it by name.  Arithmetic rows
are in `arith.py`; cross-lane rows come from `simt`, where each operation is declared once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Flag, IntEnum, auto
from typing import Any, TypeAlias

from .. import dtypes
from ..dtypes import DType

Infer: TypeAlias = Callable[[tuple[DType, ...], Mapping[str, Any]], tuple[DType, ...]]


class Effect(Flag):
    """What an operation does beside giving a value; none of them means that it may run anywhere, for any lane."""

    NONE = 0
    READS = auto()  # memory: needs its lane to be active
    WRITES = auto()  # memory or the world: needs its lane to be active, is never dropped
    CROSS_LANE = auto()  # convergent over the subgroup: is never moved, merged or copied across control flow
    BARRIER = auto()  # convergent over the block
    CONTROL = auto()  # has regions


class Level(IntEnum):
    """How much a value differs between threads; the join of two is the larger."""

    BLOCK = 0  # the same in every active lane of the block
    SUBGROUP = 1  # the same in every active lane of the subgroup
    LINEAR = 2  # uniform + constant stride * lane, modulo the type's width
    VARYING = 3


@dataclass(frozen=True, eq=False)
class Opcode:
    """One row of the table.

    `meaning` is its NumPy definition, over arrays of any one shape.  `level(attrs, W)` is the level of its results
    where that does not follow from the operands.
    """

    name: str
    infer: Infer
    effect: Effect = Effect.NONE
    meaning: Callable[..., Any] | None = None
    level: Callable[[Mapping[str, Any], int], Level] | None = None

    @property
    def pure(self) -> bool:
        return self.effect is Effect.NONE

    @property
    def convergent(self) -> bool:
        return bool(self.effect & (Effect.CROSS_LANE | Effect.BARRIER))


OPCODES: dict[str, Opcode] = {}


def register(opcode: Opcode) -> Opcode:
    """Add a row; a name is declared once."""
    if opcode.name in OPCODES:
        raise ValueError(f"opcode {opcode.name} is declared twice")
    OPCODES[opcode.name] = opcode
    return opcode


# Rules for result types: given the operands' types and the attributes.
def same(types: tuple[DType, ...], attrs: Mapping[str, Any]) -> tuple[DType, ...]:
    """The type of the first operand."""
    return (types[0],)


def nothing(types: tuple[DType, ...], attrs: Mapping[str, Any]) -> tuple[DType, ...]:
    return ()


def to(*results: DType) -> Infer:
    """Always these types."""
    return lambda types, attrs: results


def from_attr(name: str) -> Infer:
    """The DType in the attribute `name`."""
    return lambda types, attrs: (attrs[name],)


def element(types: tuple[DType, ...], attrs: Mapping[str, Any]) -> tuple[DType, ...]:
    """The element type of the memory."""
    return (attrs["mem"].dtype,)


def always(level: Level) -> Callable[[Mapping[str, Any], int], Level]:
    """Results of this level, whatever the operands."""
    return lambda attrs, subgroup_size: level


def _explicit(types: tuple[DType, ...], attrs: Mapping[str, Any]) -> tuple[DType, ...]:
    raise TypeError("control flow is built with explicit result types")


_ROWS = (
    # values from nowhere
    Opcode("const", from_attr("dtype")),  # attrs: value (a Python number that the dtype holds), dtype
    Opcode("undef", from_attr("dtype")),  # any value will do; backends give zero
    Opcode("extent", from_attr("dtype")),  # attrs: mem (an Array), axis, dtype
    Opcode("lane", to(dtypes.i32), level=always(Level.LINEAR)),
    Opcode("subgroup_id", to(dtypes.i32), level=always(Level.SUBGROUP)),  # within the block
    Opcode("block_idx", from_attr("dtype")),
    Opcode("num_blocks", from_attr("dtype")),
    Opcode("clock", to(dtypes.u64), Effect.WRITES, level=always(Level.VARYING)),
    # memory; indices are operands, the value comes last
    Opcode("load", element, Effect.READS),  # attrs: mem
    Opcode("store", nothing, Effect.WRITES),  # attrs: mem
    # attrs: mem, kind (add sub min max and or xor exchange cas); the result is the old value
    Opcode("atomic", element, Effect.READS | Effect.WRITES, level=always(Level.VARYING)),
    # the world, with debug=True only
    Opcode("print", nothing, Effect.WRITES),  # attrs: parts, literal text and None where an operand goes
    Opcode("assert", nothing, Effect.WRITES),  # operands: the condition, then values; attrs: parts
    # control flow
    # attrs: exit_guard, true where it skips lanes that ended their item; rare, true where the condition seldom holds
    Opcode("if", _explicit, Effect.CONTROL),
    Opcode("loop", _explicit, Effect.CONTROL),
    Opcode("parallel", _explicit, Effect.CONTROL),  # attrs: block_dim
)
for _row in _ROWS:
    register(_row)
