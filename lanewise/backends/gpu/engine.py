"""A GPU as a device: programs in, executables out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from threading import get_ident
from typing import Any

import numpy as np

from ...ir import Program
from ...passes import parallel_loops
from ...passes.host import compile_host
from ..engine import Properties, View
from .card import Allocation, Card
from .launch import Compiler, Loop, Passed, Plan, shaping_scalars, written_memories
from .staging import is_host, staged

PLANS_KEPT = 64
"""Plans that one variant keeps for arrays of the same layouts: for threads, streams and scalars."""


class GpuEngine:
    """One GPU; a backend's engine finds its card and says what it is and what compiles for it."""

    def __init__(self, card: Card, properties: Properties, make_compiler: Callable[[], Compiler]) -> None:
        self.card = card
        self.properties = properties
        self._make_compiler = make_compiler

    @property
    def subgroup_size(self) -> int:
        return self.properties.subgroup_size

    @cached_property
    def compiler(self) -> Compiler:
        return self._make_compiler()

    def load(self, program: Program, debug: bool) -> GpuExecutable:
        if debug:
            from .debugging import RecordingExecutable

            return RecordingExecutable(self, program)
        return GpuExecutable(self, program)

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
            event = self.card.event(timed=True)
            self.card.record(event, stream)
        return event

    def seconds(self, first: Any, last: Any) -> float:
        """The time that the GPU took between two marks, which it has passed."""
        with self.card.current():
            return self.card.seconds(first, last)


class GpuExecutable:
    """One program: its host code, and machine code for each of its parallel loops."""

    def __init__(self, engine: GpuEngine, program: Program) -> None:
        self._engine = engine
        self._program = program
        self._host = compile_host(program)
        self._loops = [Loop(program, number, op, engine.compiler) for number, op in enumerate(parallel_loops(program))]
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
        return Plan(sends, places, self._passed)

    @property
    def source(self) -> str:
        """The generated code."""
        return self._engine.compiler.source(self._program)


def _exact(scalar: int | float) -> Any:
    """A key that tells 0.0 and -0.0 apart."""
    return scalar.hex() if type(scalar) is float else scalar
