"""The launches of one parallel loop: which blocks go to which variant, in how many hardware blocks.

What a launch sends depends on the arrays' shapes and on few scalars, and is the same time after time.  So it is made
once, as a `Send` with an argument block of its own, into which a launch writes no more than the addresses of its arrays
and the scalars that it merely passes on.
"""

from __future__ import annotations

import struct
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from ...ir import OPCODES, Effect, Op, Program, Value
from ...passes.outline import captured_scalars
from ..engine import View
from ..slots import fitting, slot_format
from .card import Card

SMALL = 2
"""Below so many blocks of a loop for each multiprocessor the whole loop runs in one launch, unsplit."""


class Function(Protocol):
    """A kernel on a GPU, ready to be launched."""

    @property
    def threads(self) -> int:
        """Threads of a hardware block."""
        ...

    @property
    def items(self) -> int:
        """Logical blocks that a thread carries at a time."""
        ...

    @property
    def waves(self) -> int:
        """The most hardware blocks of a launch, for each multiprocessor."""
        ...

    @property
    def shared_bytes(self) -> int: ...


class Compiler(Protocol):
    """From programs to functions and launches on one GPU."""

    @property
    def card(self) -> Card: ...

    def function(self, program: Program, number: int, *, regular: bool) -> Function:
        """One variant of the `number`-th parallel loop."""
        ...

    def send(self, part: Part, block: bytes, stream: int) -> Send:
        """A launch, with this argument block as far as arrays and scalars go."""
        ...

    def source(self, program: Program) -> str:
        """The generated code."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """Some consecutive logical blocks of a loop, which one launch runs."""

    loop: Loop
    function: Any
    """A `Function` of the backend's own type."""
    first: int
    end: int
    """The block after the last one."""
    blocks: int
    """The blocks of the whole loop."""
    grid: int
    """How many hardware blocks share these out."""

    def __str__(self) -> str:
        function: Function = self.function
        shared = f" and {function.shared_bytes} bytes of shared memory" if function.shared_bytes else ""
        return f"kernel {self.loop.name}: a launch of {self.grid} blocks of {function.threads} threads{shared}"


class Send(ABC):
    """One launch of one variant, ready but for the arrays' addresses and the scalars that are passed on."""

    def __init__(self, part: Part, block: Any) -> None:
        self.part = part
        self.block = block
        """The argument block in memory, as an array of 8-byte integers."""

    @abstractmethod
    def __call__(self) -> None:
        """Queue it."""


class Loop:
    """One parallel loop: regular code for blocks whose threads all have an item, general code for the rest.

    Each is compiled when it is first needed.
    """

    def __init__(self, program: Program, number: int, op: Op, compiler: Compiler) -> None:
        self.name = program.name
        self._program, self._number, self._compiler = program, number, compiler
        self._width = program.subgroup_size
        self._block_dim: int = op.attrs["block_dim"]
        scalars = captured_scalars(program, op)
        self._extents = [scalars.index(v) for v in op.operands]
        self._types = [v.type for v in scalars]
        words = sum(1 + 2 * memory.ndim for memory in program.memories)
        self._layout = struct.Struct(f"<{words}q{''.join(slot_format(t) for t in self._types)}")
        self.passed: Mapping[Value, int] = {v: 8 * (words + place) for place, v in enumerate(scalars)}
        """The offset in the argument block of each of the program's scalars that this loop reads."""
        self._limits = compiler.card.limits
        self._lock = threading.RLock()
        self._functions: dict[bool, Function] = {}
        self._whole_blocks = self._block_dim % self._width == 0

    def _function(self, regular: bool) -> Function:
        with self._lock:
            if regular not in self._functions:
                self._functions[regular] = self._compiler.function(self._program, self._number, regular=regular)
        return self._functions[regular]

    def sends(self, words: Sequence[int], values: Sequence[int | float], stream: int) -> Iterator[Send]:
        """The launches for the arrays' words of the argument block and the host's values."""
        extents = [values[place] for place in self._extents]
        total = int(prod(extents))
        if total <= 0:
            return
        blocks = -(-total // self._block_dim)
        full = self._full_blocks(total, int(extents[-1]))
        values = [fitting(v, t) for v, t in zip(values, self._types, strict=True)]
        for regular, first, end in ((True, 0, full), (False, full, blocks)):
            if first < end:
                function = self._function(regular)
                most = min(function.waves * self._limits.multiprocessors, self._limits.max_grid)
                grid = min(-(-(end - first) // function.items), most)
                part = Part(self, function, first, end, blocks, grid)
                yield self._compiler.send(part, self._layout.pack(*words, *values), stream)

    def _full_blocks(self, total: int, row: int) -> int:
        """How many blocks, from the first one, run the regular code: those where no lane needs a mask.

        Each of their subgroups lies within one row of the last axis.  A small loop that has other blocks too is not
        split: a second launch would cost more than masks.
        """
        if not self._whole_blocks or (len(self._extents) > 1 and row % self._width):
            return 0
        full, rest = divmod(total, self._block_dim)
        return 0 if rest and full < SMALL * self._limits.multiprocessors else full


class Plan:
    """All launches of a program for arrays of some shapes."""

    def __init__(self, sends: Sequence[Send], addresses: Sequence[int], passed: Sequence[Passed]) -> None:
        self.sends = sends
        self._blocks = [(send.block, [p for p in passed if p.loop is send.part.loop]) for send in sends]
        self._addresses = addresses  # the word of the argument block for each array's address

    def run(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        """Launch with the arrays' addresses and the program's scalars; not in two threads at once."""
        places = self._addresses
        for block, passed in self._blocks:
            for place, view in zip(places, arrays, strict=True):
                block[place] = view[0]  # its address
            for scalar in passed:
                scalar.write(block, scalars)
        self.repeat()

    def repeat(self) -> None:
        """Launch what was launched last."""
        for send in self.sends:
            send()


class Passed:
    """A scalar of the program that a loop's code reads as it is given."""

    def __init__(self, loop: Loop, value: Value, position: int) -> None:
        self.loop = loop
        self._type = value.type
        self._position = position  # among the program's scalars
        self._offset = loop.passed[value]
        self._pack = struct.Struct(f"<{slot_format(value.type)}").pack_into

    def write(self, block: Any, scalars: Sequence[int | float]) -> None:
        value = scalars[self._position]
        try:
            self._pack(block, self._offset, value)
        except (OverflowError, struct.error):
            self._pack(block, self._offset, fitting(value, self._type))


def shaping_scalars(program: Program) -> set[Value]:
    """The scalars that host code or a loop's extent reads; the others are merely passed on to the kernels."""
    found: set[Value] = set()
    for op in program.body.ops:
        found.update(op.uses)
        if op.opcode != "parallel":
            for region in op.regions:
                for inner in region.walk():
                    found.update(inner.uses)
                    for block in inner.regions:
                        found.update(block.yields)
                found.update(region.yields)
    return found & set(program.scalars)


def written_memories(program: Program) -> list[bool]:
    """For each of the program's memories, whether a kernel may write to it."""
    changed = {
        op.attrs["mem"] for op in program.body.walk() if "mem" in op.attrs and OPCODES[op.opcode].effect & Effect.WRITES
    }
    return [memory in changed for memory in program.memories]
