"""How an operation between threads is declared: once, with everything that anyone needs to know of it.

A `SimtOp` is a row of the IR's table of opcodes with, besides, its parameters, the types it takes, its documentation,
its meaning as a NumPy function over the lanes, and its expansion into primitives.  The type errors, the interpreter, the
tests of every backend, the support matrix and the reference pages come from it.

A `Function` is what a kernel's author calls.  Most operations have two: the plain one acts on the whole subgroup, the
`_tiled` one takes `log2_size` and acts on each aligned tile; in the IR both are the same opcode with a `log2_size`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from ..dtypes import DType
from ..errors import LanewiseError
from ..ir.opcodes import Effect, Level, Opcode, register

Arr = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Lanes:
    """What a meaning may know of the lanes: arrays have the shape (..., blocks, subgroups of a block, W).

    `mask` is true in the active lanes.  Values in the others are to be left out: they may be anything.
    """

    mask: Arr
    block_dim: int

    @property
    def W(self) -> int:  # noqa: N802  the field's name for the subgroup size
        return self.mask.shape[-1]

    @property
    def lane(self) -> Arr:
        """Each lane's index, of shape (W,)."""
        return np.arange(self.W, dtype=np.int32)


class Kind(Enum):
    """What a parameter is."""

    VALUE = auto()  # an operand of one of the operation's types
    PREDICATE = auto()  # any scalar, tested `!= 0`: a bool operand
    INDEX = auto()  # an integer of any type: an operand, or an attribute where it is a compile-time constant
    CONST = auto()  # a compile-time integer: an attribute
    BITS = auto()  # an integer operand, converted to u64
    FUNC = auto()  # a two-argument @func: a region
    CHECKED = auto()  # accepted and checked against the launch (`block_dim`) or the value (`dtype`), then dropped
    SCOPE = auto()  # "all", "buffer" or "shared": an attribute


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter.  `limit` bounds a constant: "tile" [0, 2**log2_size), "subgroup" [0, W), or a (low, high) pair, inclusive."""

    name: str
    kind: Kind = Kind.VALUE
    dtypes: Sequence[DType] = dtypes.ALL
    limit: str | tuple[int, int] | None = None
    optional: bool = False
    default: Any = None


VALUE = Param("value")
NUMBER = Param("value", dtypes=dtypes.NUMERIC)
INTEGER = Param("value", dtypes=dtypes.INTEGERS)
PREDICATE = Param("predicate", Kind.PREDICATE)
LOG2_SIZE = Param("log2_size", Kind.CONST)


@dataclass(frozen=True, eq=False)
class SimtOp(Opcode):
    """One operation between threads.

    `meaning(lanes, *operands, **attrs)` gives an array, or a tuple of them; operands and results have the shape of
    `lanes.mask`.  `expand(builder, mask, *operands, **attrs)` emits the same in primitives, in control flow that every
    lane reaches, `mask` being None where all lanes are active; None for a primitive, which each backend supplies.
    `fieldwise` operations take vectors and structs, field by field.
    """

    params: tuple[Param, ...] = ()
    group: str = "subgroup"
    doc: str = ""
    expand: Callable[..., Any] | None = None
    fieldwise: bool = False
    min_subgroup_size: int = 1
    uses_log2_size: bool = False


@dataclass(frozen=True, eq=False)
class Function:
    """A function of `simt.*` that kernels call; calling it anywhere else is an error."""

    name: str
    op: SimtOp
    params: tuple[Param, ...]
    tiled: bool = False
    forwards_to: str = ""  # the new name, where this is a deprecated one
    __doc__: str = field(default="", compare=False)

    @property
    def qualified_name(self) -> str:
        return f"{self.op.group}.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LanewiseError(
            f"{self.qualified_name}() was called outside a kernel",
            why="it acts between the threads of a running kernel",
            hint="call it inside a function decorated with @lw.kernel or @lw.func",
        )


FUNCTIONS: dict[str, Function] = {}
"""Every user-visible function by its qualified name ("subgroup.reduce_add_tiled")."""


def declare(op: SimtOp, *, tiled: bool = False, name: str = "") -> Function:
    """Register an operation and its plain function, and with `tiled` its `_tiled` one; gives the plain one."""
    register(op)
    short = name or op.name.split(".", 1)[1]
    plain = Function(short, op, op.params, __doc__=op.doc)
    FUNCTIONS[plain.qualified_name] = plain
    if tiled:
        both = Function(f"{short}_tiled", op, (*op.params, LOG2_SIZE), tiled=True, __doc__=op.doc)
        FUNCTIONS[both.qualified_name] = both
    return plain


def uniform_if_whole(attrs: Any, subgroup_size: int) -> Level:
    """The level of a result that every lane of a tile shares: subgroup-uniform where the tile is the subgroup."""
    return Level.SUBGROUP if 1 << attrs["log2_size"] == subgroup_size else Level.VARYING


CROSS_LANE = Effect.CROSS_LANE
BARRIER = Effect.BARRIER | Effect.CROSS_LANE | Effect.WRITES
