"""What a GPU supplies to the shared emission: its intrinsics, its address spaces, its own versions of operations."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...errors import CompileError
from ...ir import Kernel, Op
from .lanes import Pattern
from .text import Writer

GLOBAL, SHARED = 1, 3
"""Address spaces that NVPTX and AMDGPU agree upon."""


def entry_name(kernel: Kernel) -> str:
    """The symbol of a kernel: its two variants may stand in one module, and PTX has no letters beyond ASCII."""
    return re.sub(r"\W", "_", kernel.name, flags=re.ASCII) + ("_regular" if kernel.regular else "")


@dataclass(frozen=True, slots=True)
class Native:
    """An operation that the hardware does better than its expansion.

    `accepts` says for which operations (their types, their tile); `emit` is given the operands and the active mask,
    None where all lanes are active, and returns the result, or the tuple of several.  `together` does the same for a
    power of two of items that one thread carries side by side: their operands, their masks, their results.
    """

    accepts: Callable[[Op], bool]
    emit: Callable[[Writer, Op, Sequence[str], str | None], str | tuple[str, ...]]
    together: Callable[[Writer, Op, Sequence[Sequence[str]], Sequence[str | None]], list[str]] | None = None


class Target(ABC):
    """One architecture at one subgroup size."""

    name: ClassVar[str]
    triple: ClassVar[str]
    local_space: ClassVar[int]
    """The address space of stack slots."""
    argument_space: ClassVar[int]
    """The address space of the argument block."""
    scopes: ClassVar[Mapping[str, str]]
    """LLVM's synchronisation scope for "subgroup", "block" and "grid"."""
    atomic_notes: ClassVar[str] = ""
    """Metadata for atomics, with a leading comma."""

    subgroup_size: int
    natives: Mapping[str, Native]

    def keeps(self, op: Op) -> bool:
        """Whether expansion leaves this operation to the target."""
        native = self.natives.get(op.opcode)
        return native is not None and native.accepts(op)

    def threads(self, kernel: Kernel) -> int:
        """Threads of a hardware block: whole subgroups."""
        return kernel.num_subgroups * self.subgroup_size

    # ---- the function --------------------------------------------------------------------------------------------
    @abstractmethod
    def signature(self, kernel: Kernel, argument_bytes: int) -> str:
        """`define ... void @name(...) ...` with the argument block as `%args`."""

    @abstractmethod
    def shared_memory(self, kernel: Kernel) -> str:
        """The definition of the symbol that `shared_symbol` names."""

    def shared_symbol(self, kernel: Kernel) -> str:
        return f"@{entry_name(kernel)}_shared"

    def module_text(self) -> str:
        """Metadata of the module."""
        return ""

    # ---- where am I ----------------------------------------------------------------------------------------------
    @abstractmethod
    def lane(self, w: Writer) -> str:
        """The lane, i32."""

    @abstractmethod
    def subgroup_id(self, w: Writer) -> str:
        """The subgroup within the block, i32."""

    @abstractmethod
    def hardware_block(self, w: Writer) -> str:
        """The hardware's block number, i32."""

    # ---- between lanes; every lane of the subgroup runs these --------------------------------------------------
    @abstractmethod
    def permute(self, w: Writer, word: str, sources: Pattern, lane: str) -> str:
        """The word of lane `sources[lane]`, which is not everyone's own."""

    @abstractmethod
    def gather(self, w: Writer, word: str, index: str, lane: str, *, uniform: bool) -> str:
        """The word of lane `index`; `uniform` where every lane of the subgroup names the same."""

    @abstractmethod
    def ballot(self, w: Writer, predicate: str) -> str:
        """The lanes in which an i1 is true, i64."""

    @abstractmethod
    def any(self, w: Writer, predicate: str) -> str:
        """Whether an i1 is true in any lane, i1."""

    @abstractmethod
    def subgroup_barrier(self, w: Writer) -> None:
        """Every lane arrives, and sees what the others wrote before."""

    @abstractmethod
    def block_barrier(self, w: Writer) -> None:
        """Every thread of the block arrives, and sees what the others wrote before."""

    # ---- the rest ------------------------------------------------------------------------------------------------
    @abstractmethod
    def math(self, w: Writer, op: Op, arguments: Sequence[str]) -> str:
        """A function of the vendor's mathematics library."""

    def unsupported(self, op: Op, reason: str, hint: str = "") -> CompileError:
        types = ", ".join(str(v.type) for v in op.operands)
        return CompileError(f"{op.opcode}({types}) is not available on {self.name}", loc=op.loc, why=reason, hint=hint)
