"""Machine code for a GPU: each kernel compiled on its own, when it is first launched, and kept on disk.

A backend says how a kernel becomes text and machine code, and how its maker's library loads that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...cache import Entry, fetch
from ...ir import Kernel, Program, to_text
from ...ir.arith import MATH
from .card import Card

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..llvm.target import Target


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel on a GPU, ready to be launched."""

    handle: Any
    name: str
    threads: int
    """Threads of a hardware block."""
    items: int
    """Logical blocks that a thread carries at a time."""
    waves: int
    """The most hardware blocks of a launch, for each multiprocessor."""
    shared_bytes: int
    """Shared memory to ask for at the launch."""
    module: Any
    """Keeps the code."""


class ModuleCompiler(ABC):
    """From programs to functions on one GPU."""

    def __init__(self, card: Card, target: Target, key: str) -> None:
        self.card = card
        self.target = target
        self._key = key
        """All that shapes machine code besides the program."""
        self.max_shared_bytes = card.limits.max_shared_bytes
        """Of a kernel; less where the backend takes some for itself."""

    def function(self, program: Program, number: int, *, regular: bool) -> Function:
        """One variant of the `number`-th parallel loop, from the disk cache where it was compiled before."""
        flags = f"{number} {'regular' if regular else 'general'}"
        key = (to_text(program), flags, self._key, self._mathematics(program))
        entry = fetch(key, lambda: self._compile(program, number, regular=regular))
        with self.card.current():
            handle, module = self.load(entry)
        return Function(handle, module=module, **entry.header)

    def source(self, program: Program) -> str:
        """The text of a program's kernels, one module."""
        from ..llvm.source import variants

        return self.text(variants(program, self.target, self.max_shared_bytes))

    def _compile(self, program: Program, number: int, *, regular: bool) -> Entry:
        from ...passes import prepare  # a process that finds its kernels on disk needs neither these nor LLVM
        from ..llvm.target import entry_name
        from .schedule import schedule

        target, limit = self.target, self.max_shared_bytes
        kernel = prepare(program, number, regular=regular, natives=target.keeps, max_shared_bytes=limit)
        chosen = schedule(kernel)
        header = {
            "name": entry_name(kernel),
            "threads": target.threads(kernel),
            "items": chosen.items,
            "waves": chosen.waves,
            "shared_bytes": self.dynamic_shared_bytes(kernel),
        }
        return Entry(self.machine_code(kernel), header)

    def _mathematics(self, program: Program) -> str:
        """Which library a program's mathematics comes from, if it has any: code that is kept is made of that one."""
        if not any(op.opcode in MATH for op in program.body.walk()):
            return ""
        path = self.library()
        facts = path.stat() if path is not None else None
        return f"{path} {facts.st_size} {facts.st_mtime_ns}" if facts is not None else ""

    # ---- what the backend says -------------------------------------------------------------------------------------
    @abstractmethod
    def text(self, kernels: Sequence[Kernel]) -> str:
        """Kernels as they are launched, in the form that people read."""

    @abstractmethod
    def library(self) -> Path | None:
        """The maker's mathematics as LLVM bitcode, where it is found."""

    @abstractmethod
    def machine_code(self, kernel: Kernel) -> bytes: ...

    @abstractmethod
    def load(self, entry: Entry) -> tuple[Any, Any]:
        """The handle of the function, and what keeps its code; with the GPU current."""

    def dynamic_shared_bytes(self, kernel: Kernel) -> int:
        """Shared memory that the launch must ask for, because the code does not say it."""
        return 0
