"""CUDA as a device: programs in, executables out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import CompileError, DeviceError
from ...ir import OPCODES, Effect, Program
from ...passes import parallel_loops
from ...passes.host import compile_host
from ..engine import Properties, View
from .card import Allocation, card, count
from .driver import call, driver
from .launch import Loop
from .modules import Compiler
from .staging import staged

WARP = 32


def cards() -> int:
    """How many devices of this kind there are."""
    driver()
    return count()


class CudaEngine:
    """One NVIDIA GPU."""

    def __init__(self, subgroup_size: int | None = None, device: int | None = None) -> None:
        if subgroup_size not in (None, WARP):
            raise DeviceError(
                f"expected a subgroup_size of {WARP}, got {subgroup_size}",
                why="a warp has 32 lanes on every NVIDIA GPU",
                hint=f"lw.init(arch=lw.cuda), or lw.init(arch=lw.cpu, subgroup_size={subgroup_size})",
            )
        self.card = card(device or 0)
        self.card.adopt_thread()
        self.subgroup_size = WARP
        limits = self.card.limits
        self.properties = Properties(
            name=limits.name,
            arch="cuda",
            subgroup_size=WARP,
            subgroup_sizes=(WARP,),
            max_block_dim=limits.max_block_dim,
            max_shared_bytes=limits.max_shared_bytes,
            dtypes=dtypes.ALL,
            forward_progress=True,
            host_memory=False,
            number=self.card.number,
        )

    @cached_property
    def compiler(self) -> Compiler:
        return Compiler(self.card)

    def load(self, program: Program, debug: bool) -> CudaExecutable:
        if debug:
            raise CompileError(
                f"{program.name}: debug=True does not work on cuda",
                why="indices, assert and print are checked by the host",
                hint="lw.init(arch=lw.cpu, debug=True) for finding faults",
            )
        return CudaExecutable(self, program)

    # ---- memory --------------------------------------------------------------------------------------------------
    def allocate(self, nbytes: int, what: str) -> Allocation:
        return self.card.allocate(nbytes, what)

    def upload(self, address: int, data: np.ndarray[Any, Any]) -> None:
        self.card.upload(address, data)

    def download(self, data: np.ndarray[Any, Any], address: int) -> None:
        self.card.download(data, address)

    # ---- time ----------------------------------------------------------------------------------------------------
    def sync(self) -> None:
        self.card.sync()

    def mark(self, stream: int = 0) -> Any:
        """A point in the order of a stream."""
        with self.card.current():
            event = call("cuEventCreate", 0)
            call("cuEventRecord", event, stream)
        return event

    def seconds(self, first: Any, last: Any) -> float:
        """The time that the GPU took between two marks, which it has passed."""
        with self.card.current():
            elapsed = call("cuEventElapsedTime", first, last) * 1e-3
            for event in (first, last):
                call("cuEventDestroy", event)
        return elapsed


@cache
def _stream(handle: int) -> Any:
    """A stream's handle as cuda-bindings takes it fastest."""
    return driver().CUstream(handle)


class CudaExecutable:
    """One program: its host code, and machine code for each of its parallel loops."""

    def __init__(self, engine: CudaEngine, program: Program) -> None:
        self._engine = engine
        self._program = program
        self._host = compile_host(program)
        self._loops = [
            Loop(program, number, op, engine.compiler, engine.card) for number, op in enumerate(parallel_loops(program))
        ]
        changed = {
            op.attrs["mem"]
            for op in program.body.walk()
            if "mem" in op.attrs and OPCODES[op.opcode].effect & Effect.WRITES
        }
        self._written = [memory in changed for memory in program.memories]

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int = 0) -> None:
        """Queue every parallel loop in turn on a stream; arrays in host memory are copied there and back."""
        words: list[int] = []
        shapes: list[tuple[int, ...]] = []
        for address, shape, strides, owner in arrays:
            if type(owner) is np.ndarray:
                self._launch_staged(arrays, scalars, stream)
                return
            words += (address, *shape, *strides)
            shapes.append(shape)
        handle = _stream(stream)
        for loop, values in zip(self._loops, self._host(scalars, shapes), strict=True):
            loop.run(words, values, handle)

    def _launch_staged(self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int) -> None:
        with staged(self._engine.card, arrays, self._written, _stream(stream)) as moved:
            self.launch(moved, scalars, stream)

    @property
    def source(self) -> str:
        """PTX."""
        from ..llvm.source import variants
        from .codegen import emit_ptx

        compiler = self._engine.compiler
        kernels = variants(self._program, compiler.target, self._engine.properties.max_shared_bytes)
        return emit_ptx(kernels, compiler.arch, compiler.ptx)
