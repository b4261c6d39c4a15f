"""The interpreter as a device: programs compiled to assembly as for the hardware, launched as the run time launches."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import byte_bounds

from lanewise import dtypes
from lanewise.backends.amdgpu.arch import subgroup_sizes
from lanewise.backends.amdgpu.codegen import emit_amdgpu
from lanewise.backends.amdgpu.target import AmdTarget
from lanewise.backends.engine import Properties, View
from lanewise.backends.gpu.card import Limits
from lanewise.backends.gpu.launch import Loop, Part, Send
from lanewise.backends.llvm.target import entry_name
from lanewise.device import Arch, Device
from lanewise.errors import CompileError
from lanewise.ir import Program
from lanewise.passes import parallel_loops, prepare
from lanewise.passes.host import compile_host

from . import machine
from .state import Model
from .text import parse_module

MAX_SHARED_BYTES = 1 << 16
LIMITS = Limits(
    "interpreted", multiprocessors=2, max_block_dim=1024, max_shared_bytes=MAX_SHARED_BYTES, max_grid=1 << 30
)


@dataclass(frozen=True)
class Card:
    """What the run time asks of a GPU to plan its launches."""

    limits: Limits = LIMITS


@dataclass(frozen=True)
class Function:
    """A variant of a kernel, compiled and decoded."""

    program: machine.Program
    source: str
    threads: int
    shared_bytes: int
    items: int = 1
    waves: int = 2
    """So few that a hardware block runs several logical ones in larger launches."""


class Compiler:
    """From programs to functions and launches."""

    def __init__(self, target: AmdTarget) -> None:
        self.target = target
        self.model = Model(target.arch, target.subgroup_size, convergent=True)
        self.max_shared_bytes = MAX_SHARED_BYTES - target.features.exchange_bytes
        self.card = cast(Any, Card())
        self.bounds: list[tuple[int, int]] = []
        """The memory of the arrays of the launch that goes on."""

    def function(self, program: Program, number: int, *, regular: bool) -> Function:
        kernel = prepare(
            program, number, regular=regular, natives=self.target.keeps, max_shared_bytes=self.max_shared_bytes
        )
        source = emit_amdgpu([kernel], self.target.arch, self.target.subgroup_size)
        decoded = machine.Program.of(parse_module(source)[entry_name(kernel)], self.model)
        return Function(decoded, source, self.target.threads(kernel), kernel.shared_bytes)

    def send(self, part: Part, block: bytes, stream: int) -> Send:
        return Launch(self, part, block)

    def source(self, program: Program) -> str:
        """The generated code, a module a kernel."""
        return "\n".join(
            self.function(program, number, regular=False).source for number in range(len(parallel_loops(program)))
        )


class Launch(Send):
    """One launch of one variant."""

    def __init__(self, compiler: Compiler, part: Part, block: bytes) -> None:
        super().__init__(part, block + struct.pack("<3q", part.first, part.end, part.grid))
        self._compiler = compiler

    def __call__(self) -> None:
        function: Function = self.part.function
        function.program.launch(self.part.grid, function.threads, self.block, self._compiler.bounds)


class IsaEngine:
    """One architecture at one wave size."""

    def __init__(self, arch: str, subgroup_size: int) -> None:
        self.target = AmdTarget(arch, subgroup_size)
        self.subgroup_size = subgroup_size
        self.properties = Properties(
            name=f"interpreted {arch} in wave{subgroup_size}",
            arch="amdgpu",
            subgroup_size=subgroup_size,
            subgroup_sizes=subgroup_sizes(arch),
            max_block_dim=LIMITS.max_block_dim,
            max_shared_bytes=MAX_SHARED_BYTES - self.target.features.exchange_bytes,
            dtypes=dtypes.ALL,
        )

    def load(self, program: Program, debug: bool) -> IsaExecutable:
        if debug:
            raise CompileError(f"{program.name}: debug=True does not work on a GPU")
        return IsaExecutable(Compiler(self.target), program)


class IsaExecutable:
    """One program, whose arrays are host memory."""

    def __init__(self, compiler: Compiler, program: Program) -> None:
        self._compiler = compiler
        self._program = program
        self._host = compile_host(program)
        self._loops = [Loop(program, number, op, compiler) for number, op in enumerate(parallel_loops(program))]

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        words = [word for address, shape, strides, _ in arrays for word in (address, *shape, *strides)]
        bounds = [_bounds(view) for view in arrays]
        for loop, values in zip(self._loops, self._host(scalars, [view.shape for view in arrays]), strict=True):
            for send in loop.sends(words, values, 0):
                self._compiler.bounds = bounds
                send()

    @property
    def source(self) -> str:
        return self._compiler.source(self._program)


def _bounds(view: View) -> tuple[int, int]:
    owner: np.ndarray[Any, Any] = view.owner
    return byte_bounds(owner) if owner.size else (view.address, view.address)


@cache
def device(arch: str, subgroup_size: int) -> Device:
    """The architecture as a device, which `lw.use` takes."""
    engine = IsaEngine(arch, subgroup_size)
    return Device(engine, Arch.amdgpu, engine.properties)
