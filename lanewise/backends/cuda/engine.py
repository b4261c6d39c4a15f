"""CUDA as a device: programs in, executables out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import get_ident
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import CompileError, DeviceError
from ...ir import Program
from ...passes import parallel_loops
from ...passes.host import compile_host
from ..engine import Properties, View
from .card import Allocation, card, count
from .driver import call, driver
from .launch import Loop, Passed, Plan, shaping_scalars, written_memories
from .modules import Compiler
from .staging import is_host, staged

WARP = 32
PLANS_KEPT = 64
"""Plans that one variant keeps for arrays of the same layouts: for threads, streams and scalars."""


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


class CudaExecutable:
    """One program: its host code, and machine code for each of its parallel loops."""

    def __init__(self, engine: CudaEngine, program: Program) -> None:
        self._engine = engine
        self._program = program
        self._host = compile_host(program)
        self._loops = [
            Loop(program, number, op, engine.compiler, engine.card) for number, op in enumerate(parallel_loops(program))
        ]
        self._written = written_memories(program)
        shaping = shaping_scalars(program)
        self._shaping = [place for place, value in enumerate(program.scalars) if value in shaping]
        self._passed = [
            Passed(loop, value, place)
            for loop in self._loops
            for place, value in enumerate(program.scalars)
            if value not in shaping and value in loop.passed
        ]

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int = 0) -> None:
        """Queue every parallel loop in turn on a stream; arrays in host memory are copied there and back."""
        if any(is_host(view) for view in arrays):
            with staged(self._engine.card, arrays, self._written, stream) as moved:
                self._plan(moved, scalars, stream).run(moved, scalars)
        else:
            self._plan(arrays, scalars, stream).run(arrays, scalars)

    def queue(
        self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int, plans: dict[Any, Plan]
    ) -> None:
        """Queue every parallel loop in turn on a stream, by a plan made when the same was launched before."""
        # A plan is of one thread: while the driver reads its argument block, another thread may launch.
        key: Any = (get_ident(), stream)
        if self._shaping:
            key += tuple(_exact(scalars[place]) for place in self._shaping)
        plan = plans.get(key)
        if plan is None:
            if len(plans) >= PLANS_KEPT:
                plans.clear()
            plan = plans[key] = self._plan(arrays, scalars, stream)
        plan.run(arrays, scalars)

    def prepare(self, arrays: Sequence[View], stream: int) -> Callable[[], None]:
        """A function that queues all loops for just these arrays; the program has no scalars."""
        return self._plan(arrays, (), stream).repeat

    def _plan(self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int) -> Plan:
        words: list[int] = []
        places: list[int] = []
        for address, shape, strides, _ in arrays:
            places.append(len(words))
            words += (address, *shape, *strides)
        launches = self._host(scalars, [view.shape for view in arrays])
        sends = [
            send
            for loop, values in zip(self._loops, launches, strict=True)
            for send in loop.sends(words, values, stream)
        ]
        return Plan(self._engine.card, sends, places, self._passed)

    @property
    def source(self) -> str:
        """PTX, a module a kernel."""
        from ..llvm.source import variants

        compiler = self._engine.compiler
        kernels = variants(self._program, compiler.target, self._engine.properties.max_shared_bytes)
        return "\n".join(map(compiler.ptx_of, kernels))


def _exact(scalar: int | float) -> Any:
    """A key that tells 0.0 and -0.0 apart."""
    return scalar.hex() if type(scalar) is float else scalar
