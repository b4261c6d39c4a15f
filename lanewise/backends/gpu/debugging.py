"""Launches with debug=True: each is waited for, then what it printed is printed and what it asserted is raised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir import Program
from ...passes import record
from .. import records
from ..engine import View
from .engine import GpuEngine, GpuExecutable


class RecordingExecutable(GpuExecutable):
    """One program, whose kernels write down what they print and assert."""

    def __init__(self, engine: GpuEngine, program: Program) -> None:
        recorded, self._sites = record(program)
        super().__init__(engine, recorded)

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int = 0) -> None:
        words = records.empty()
        room = self._engine.allocate(words.nbytes, "what print and assert say")
        super().launch([*arrays, View(room.address, words.shape, (1,), room)], scalars, stream)
        with self._engine.card.current():
            self._engine.card.wait_stream(stream)
        self._engine.download(words.view(np.uint8), room.address)
        records.deliver(words, self._sites)

    def queue(self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int, plans: dict[Any, Any]) -> None:
        self.launch(arrays, scalars, stream)

    def prepare(self, arrays: Sequence[View], stream: int) -> Callable[[], None]:
        kept = list(arrays)
        return lambda: self.launch(kept, (), stream)
