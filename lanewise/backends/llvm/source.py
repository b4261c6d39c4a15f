"""Code for a device that need not be here: what `kernel.source(target)` loads programs into."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import DeviceError
from ...ir import Kernel, Program
from ...passes import parallel_loops, prepare
from ..engine import Properties, View
from .target import Target


def variants(program: Program, target: Target, max_shared_bytes: int) -> list[Kernel]:
    """What the launches of a program may need: of each loop the general kernel and, in whole subgroups, the regular."""
    return [
        prepare(program, number, regular=regular, natives=target.keeps, max_shared_bytes=max_shared_bytes)
        for number, loop in enumerate(parallel_loops(program))
        for regular in (False, True)
        if not (regular and loop.attrs["block_dim"] % target.subgroup_size)
    ]


class SourceEngine:
    """An engine that compiles and never runs."""

    def __init__(self, target: Target, properties: Properties, emit: Callable[[Sequence[Kernel]], str]) -> None:
        self.target = target
        self.subgroup_size = target.subgroup_size
        self.properties = properties
        self._emit = emit

    def load(self, program: Program, debug: bool) -> SourceExecutable:
        """Compile all of a program's kernels."""
        return SourceExecutable(self._emit(variants(program, self.target, self.properties.max_shared_bytes)))


class SourceExecutable:
    """The text of a program's kernels."""

    def __init__(self, source: str) -> None:
        self.source = source

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        raise DeviceError("this code was compiled to be read, for a device that may not be here", hint="lw.init()")
