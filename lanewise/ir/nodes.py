"""The IR: typed, structured, in SSA form.  The whole grammar:

    program  = name, scalars, memories, body: block         host code; each `parallel` op in it is one launch
    kernel   = name, scalars, memories, body: block         one launch, cut out of a program for a device
    block    = args, ops, yields                            values in, operations, values out; one exit
    op       = results, opcode, operands, attrs, mask, regions, loc
    value    = type, hint
    memory   = Array | Shared | Local                       named by an op's `mem` attribute; never a value

    control  = if cond {then} {orelse}                      both yield one value a result
             | loop inits {before} {after}                  before(args) yields (go on?, forwarded...);
                                                            after(forwarded) yields the next args;
                                                            results: what was forwarded when the answer was no
             | parallel extents {body(indices)}             one item a tuple of indices, the last axis fastest

Every other opcode is a row of the table in `opcodes.py`.  `mask` is the explicit active mask that the convergence pass
gives to each cross-lane op: before the pass it is None ("the lanes that got here"), after it None means "all lanes".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..dtypes import DType
from ..errors import Loc

NOWHERE = Loc("<lanewise>", 0)
EXIT_FLAG = "$exit"
"""The hint of a bool that says whether the lane has ended its item; no user can write it."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One SSA value: identity is the object, `hint` is the name that the user gave it."""

    type: DType
    hint: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An array parameter in device memory: a pointer, `ndim` extents and `ndim` strides in elements.

    `contiguous` arrays are C-contiguous, so their strides follow from the extents and the last one is 1.
    """

    name: str
    dtype: DType
    ndim: int
    contiguous: bool = True
    writable: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """An array that the threads of one block share; uninitialised at the block's start."""

    name: str
    dtype: DType
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """An array of static size that each thread has for itself; uninitialised where it is declared."""

    name: str
    dtype: DType
    shape: tuple[int, ...]


Memory: TypeAlias = Array | Shared | Local


@dataclass(slots=True, eq=False)
class Block:
    """A straight list of operations with values in and values out."""

    args: tuple[Value, ...] = ()
    ops: list[Op] = field(default_factory=list)
    yields: tuple[Value, ...] = ()

    def walk(self) -> Iterator[Op]:
        """Every operation here and in nested regions, outer before inner."""
        for op in self.ops:
            yield op
            for region in op.regions:
                yield from region.walk()


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation.  `attrs` are compile-time facts: a constant's value, the memory, a tile's size."""

    opcode: str
    operands: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    regions: tuple[Block, ...] = ()
    mask: Value | None = None
    loc: Loc = NOWHERE

    @property
    def result(self) -> Value:
        (value,) = self.results
        return value

    @property
    def uses(self) -> tuple[Value, ...]:
        """The values read: the operands, and the mask where there is one."""
        return self.operands if self.mask is None else (*self.operands, self.mask)


@dataclass(slots=True, eq=False)
class Program:
    """What the front end makes of one kernel for one signature.

    `scalars` are the scalar parameters in order; `memories` the array parameters in order (closed-over arrays last).
    `index_type` is i32, or i64 where an array or a range is too large for it.
    """

    name: str
    scalars: list[Value]
    memories: list[Array]
    body: Block
    subgroup_size: int
    index_type: DType
    loc: Loc = NOWHERE


@dataclass(slots=True, eq=False)
class Kernel:
    """One launch, ready for a device.

    The body has no arguments: it computes its item from `block_idx`, `subgroup_id` and `lane`.  `scalars` are the
    host's values it reads, in the order of the argument block: the program's scalars, then values that host code
    computed.  `extents` are the launch's extents, among the scalars.  `exists` is the mask of the lanes that have an
    item, None in the regular variant, where every lane has one.
    """

    name: str
    scalars: list[Value]
    memories: list[Array]
    extents: tuple[Value, ...]
    body: Block
    subgroup_size: int
    block_dim: int
    index_type: DType
    exists: Value | None = None
    regular: bool = False
    shared: dict[Shared, int] = field(default_factory=dict)
    shared_bytes: int = 0
    loc: Loc = NOWHERE

    @property
    def num_subgroups(self) -> int:
        """Subgroups of a block, the last one perhaps with absent lanes."""
        return -(-self.block_dim // self.subgroup_size)
