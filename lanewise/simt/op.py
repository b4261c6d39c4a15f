"""How an operation between threads is declared: once, with everything that anyone needs to know of it.

A `SimtOp` is a row of the IR's table of opcodes with, besides, its parameters, the types it takes, its documentation,
its meaning as a NumPy function over the lanes, and its expansion into primitives.  The type errors, the interpreter,
the tests of every backend, the support matrix and the reference pages come from it.

A `Function` is what a kernel's author calls.  Most operations have two: the plain one acts on the whole subgroup, the
`_tiled` one takes `log2_size` and acts on each aligned tile; in the IR both are the same opcode with a `log2_size`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
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
    """What a meaning may know of the lanes: arrays have the shape (blocks, subgroups of a block, W).

    `mask` is true in the active lanes.  Values in the others are to be left out: they may be anything.  The blocks are
    `num_blocks` of the launch, or a run of them from `first_block`.
    """

    mask: Arr
    block_dim: int
    first_block: int = 0
    num_blocks: int = 1

    @property
    def W(self) -> int:  # noqa: N802  the field's name for the subgroup size
        return self.mask.shape[-1]

    @property
    def lane(self) -> Arr:
        """Each lane's index, of shape (W,)."""
        return np.arange(self.W, dtype=np.int32)

    @property
    def subgroup(self) -> Arr:
        """Each subgroup's index in its block, of shape (subgroups, 1)."""
        return np.arange(self.mask.shape[-2], dtype=np.int32)[:, None]

    @property
    def block(self) -> Arr:
        """Each block's index in the launch, of shape (blocks, 1, 1)."""
        return self.first_block + np.arange(self.mask.shape[-3], dtype=np.int64)[:, None, None]

    def spread(self, value: Any) -> Arr:
        """The value in every lane."""
        return np.broadcast_to(value, self.mask.shape)


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
    """One parameter.

    `limit` bounds a constant: "tile" [0, 2**log2_size), "subgroup" [0, W), or a (low, high) pair, inclusive.
    """

    name: str
    kind: Kind = Kind.VALUE
    dtypes: Sequence[DType] = dtypes.ALL
    limit: str | tuple[int, int] | None = None
    optional: bool = False
    default: Any = None


VALUE = Param("value")
PREDICATE = Param("predicate", Kind.PREDICATE)
LOG2_SIZE = Param("log2_size", Kind.CONST)
_TILED_DOC = """Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""


@dataclass(frozen=True, eq=False)
class SimtOp(Opcode):
    """One operation between threads.

    `meaning(lanes, *operands, **attrs)` gives an array, or a tuple of them; operands and results have the shape of
    `lanes.mask`.  `expand(builder, active, *operands, **attrs)` emits the same in primitives, in control flow that
    every lane reaches, `active` being None where all lanes are.
    A compile-time INDEX is an attribute named after its parameter.  An operation with a FUNC parameter gets it in its
    meaning as `combine(a, b)` over tuples of arrays, in its expansion as `region`.

    `fieldwise` operations take vectors and structs, field by field.  The result of an `indexed` one has the launch's
    index type, which the front end gives as the attribute `dtype`.
    """

    params: tuple[Param, ...] = ()
    group: str = "subgroup"
    doc: str = ""
    expand: Callable[..., Any] | None = None
    fieldwise: bool = False
    min_subgroup_size: int = 1
    uses_log2_size: bool = False
    indexed: bool = False


@dataclass(eq=False, repr=False)
class Function:
    """A function of `simt.*` that kernels call; calling it anywhere else is an error.

    The few whose value is known outside a kernel have a `host` meaning, which the current device supplies.
    """

    name: str
    op: SimtOp
    params: tuple[Param, ...]
    tiled: bool = False
    forwards_to: str = ""  # the new name, where this is a deprecated one
    host: Callable[..., Any] | None = None
    doc: str = field(default="", repr=False)
    __name__: str = field(init=False, repr=False)
    __signature__: inspect.Signature = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.__name__, self.__doc__ = self.name, self.doc
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    p.name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=p.default if p.optional else inspect.Parameter.empty,
                )
                for p in self.params
            ]
        )

    @property
    def qualified_name(self) -> str:
        return f"{self.op.group}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self.qualified_name}{self.__signature__}>"

    def current(self) -> Function:
        """This function, or what a deprecated name stands for now (which warns, once a process)."""
        if not self.forwards_to:
            return self
        _warn_renamed(self.qualified_name, self.forwards_to)
        return FUNCTIONS[f"{self.op.group}.{self.forwards_to}"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.host is not None:
            return self.host(*args, **kwargs)
        raise LanewiseError(
            f"{self.qualified_name}() was called outside a kernel",
            why="it acts between the threads of a running kernel",
            hint="call it inside a function decorated with @lw.kernel or @lw.func",
        )


FUNCTIONS: dict[str, Function] = {}
"""Every user-visible function by its qualified name ("subgroup.reduce_add_tiled")."""


@cache
def _warn_renamed(old: str, new: str) -> None:
    warnings.warn(f"{old}() is now called {new}()", DeprecationWarning, stacklevel=3)


def declare(op: SimtOp, *, tiled: bool = False) -> Function:
    """Register an operation and its plain function, and with `tiled` its `_tiled` one; gives the plain one."""
    register(op)
    if tiled:
        doc = paragraphs(op.doc, _TILED_DOC)
        publish(Function(f"{_short(op)}_tiled", op, (*op.params, LOG2_SIZE), tiled=True, doc=doc))
    return publish(Function(_short(op), op, op.params, doc=op.doc))


def declare_tiled(op: SimtOp) -> Function:
    """Register an operation that exists for tiles only: its result has another type than that of the plain one."""
    register(op)
    return publish(Function(_short(op), op, (*op.params, LOG2_SIZE), tiled=True, doc=op.doc))


def deprecate(old: str, new: str) -> Function:
    """The old qualified name of a function of the same group, which still works."""
    group, name = old.split(".", 1)
    function = FUNCTIONS[f"{group}.{new}"]
    return publish(Function(name, function.op, function.params, forwards_to=new, doc=f"The old name of `{new}`."))


def publish(function: Function) -> Function:
    """Make a function visible to users under its qualified name."""
    FUNCTIONS[function.qualified_name] = function
    return function


def members(group: str) -> dict[str, Function]:
    """The functions of a group, by name."""
    return {f.name: f for f in FUNCTIONS.values() if f.op.group == group}


def member(group: str, name: str) -> Function:
    """An attribute of a public module, which has the functions of one group."""
    function = FUNCTIONS.get(f"{group}.{name}")
    if function is None:
        raise AttributeError(f"module 'lanewise.simt.{group}' has no attribute {name!r}")
    return function


def paragraphs(*texts: str) -> str:
    """A docstring of these paragraphs."""
    return "\n\n".join(inspect.cleandoc(text) for text in texts)


def _short(op: SimtOp) -> str:
    return op.name.split(".", 1)[1]


def uniform_if_whole(attrs: Any, subgroup_size: int) -> Level:
    """The level of a result that every lane of a tile shares: subgroup-uniform where the tile is the subgroup."""
    return Level.SUBGROUP if 1 << attrs["log2_size"] == subgroup_size else Level.VARYING


CROSS_LANE = Effect.CROSS_LANE
BARRIER = Effect.BARRIER | Effect.CROSS_LANE | Effect.WRITES
