"""The CPU as a device: programs in, executables out."""

from __future__ import annotations

import ctypes
import platform
import struct
import threading
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

from ... import dtypes
from ...cache import Entry, fetch
from ...ir import Kernel, Op, Program, to_text
from ...passes import parallel_loops, prepare, record
from ...passes.host import compile_host
from ...passes.outline import captured_scalars
from ...views import view_of
from .. import records
from ..engine import SUBGROUP_SIZES, Properties, View
from ..slots import fitting, slot_format
from . import pool as pools
from .emit import emit_module
from .frames import SHARED_BYTES, suspends
from .host import default_threads, host
from .jit import Linked, jit
from .parked import BLOCKS, FUNCTION, JOB_WORDS, NEXT, RUNNING, THREADS
from .reductions import reductions
from .sorting import sorts

MAX_BLOCK_DIM = 4096


class CpuEngine:
    """This machine's processor with a subgroup size; `threads` run blocks at the same time."""

    def __init__(self, subgroup_size: int = 32, threads: int | None = None) -> None:
        self._subgroup_size = subgroup_size
        self.threads = max(1, threads if threads is not None else default_threads())

    @property
    def subgroup_size(self) -> int:
        return self._subgroup_size

    @property
    def properties(self) -> Properties:
        return Properties(
            name=f"{platform.processor() or platform.machine()} ({host().cpu})",
            arch="cpu",
            subgroup_size=self._subgroup_size,
            subgroup_sizes=SUBGROUP_SIZES,
            max_block_dim=MAX_BLOCK_DIM,
            max_shared_bytes=SHARED_BYTES,
            dtypes=dtypes.ALL if host().half else tuple(t for t in dtypes.ALL if t != dtypes.f16),
            threads=self.threads,
            forward_progress=True,
        )

    def load(self, program: Program, debug: bool) -> CpuExecutable:
        return RecordingExecutable(program, self.threads) if debug else CpuExecutable(program, self.threads)


class CpuExecutable:
    """One program: its host code, and native code for each of its parallel loops."""

    def __init__(self, program: Program, threads: int) -> None:
        self._host = compile_host(program)
        self._loops = [_Loop(program, number, op, threads) for number, op in enumerate(parallel_loops(program))]

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        """Run every parallel loop in turn."""
        words, shapes = _words(arrays)
        for loop, values in zip(self._loops, self._host(scalars, shapes), strict=True):
            loop.run(words, values)

    def prepare(self, arrays: Sequence[View], stream: int) -> Callable[[], None]:
        """A function that runs just this, for programs without scalars; any thread may call it."""
        words, shapes = _words(arrays)
        runs = [loop.prepare(words, values) for loop, values in zip(self._loops, self._host((), shapes), strict=True)]
        if len(runs) == 1:
            return runs[0]

        def all_of_them() -> None:
            for run in runs:
                run()

        return all_of_them

    @property
    def source(self) -> str:
        """LLVM IR as it goes into the optimiser."""
        return "\n".join(text for loop in self._loops for text in loop.texts)

    def assembly(self) -> str:
        """The processor's instructions."""
        return "\n".join(jit().assembly(text) for loop in self._loops for text in loop.texts)


def _words(arrays: Sequence[View]) -> tuple[list[int], list[tuple[int, ...]]]:
    """What the argument block has of arrays, and their shapes."""
    words: list[int] = []
    shapes: list[tuple[int, ...]] = []
    for address, shape, strides, _ in arrays:
        words += (address, *shape, *strides)
        shapes.append(shape)
    return words, shapes


class RecordingExecutable(CpuExecutable):
    """With debug=True: prints and raises when a launch has ended."""

    def __init__(self, program: Program, threads: int) -> None:
        recorded, self._sites = record(program)
        super().__init__(recorded, threads)

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        words = records.empty()
        super().launch([*arrays, view_of(words)[1]], scalars)
        records.deliver(words, self._sites)

    def prepare(self, arrays: Sequence[View], stream: int) -> Callable[[], None]:
        return partial(self.launch, [view._replace(owner=None) for view in arrays], ())


class _Job(threading.local):
    """Each launching thread's own memory for a loop's job and arguments, on cache lines of its own."""

    def __init__(self, size: int) -> None:
        buffer = ctypes.create_string_buffer(size + 64)
        start = -ctypes.addressof(buffer) % 64
        self.words = (ctypes.c_int64 * (size // 8)).from_buffer(buffer, start)
        self.bytes = memoryview(self.words).cast("B")
        self.address = ctypes.addressof(self.words)


class _Loop:
    """One parallel loop: regular code for whole subgroups, general code for the rest, compiled when first needed."""

    def __init__(self, program: Program, number: int, op: Op, threads: int) -> None:
        self._program, self._number = program, number
        self._block_dim: int = op.attrs["block_dim"]
        self._width = program.subgroup_size
        scalars = captured_scalars(program, op)
        self._extents = [scalars.index(v) for v in op.operands]
        self._types = [v.type for v in scalars]
        memory_words = sum(1 + 2 * memory.ndim for memory in program.memories)
        self._layout = struct.Struct(f"{JOB_WORDS + memory_words}q{''.join(slot_format(v.type) for v in scalars)}Q")
        self._job = _Job(self._layout.size)
        self._threads = threads
        self._lock = threading.RLock()
        self._run_address = 0
        self._general_address = 0
        self._suspends = False
        self._linked: list[Linked] = []  # keeps the code

    # ---- code ----------------------------------------------------------------------------------------------------
    @property
    def texts(self) -> list[str]:
        """The LLVM IR of both variants."""
        return [emit_module(self._prepared(regular), host()) for regular in (True, False)]

    def _prepared(self, regular: bool) -> Kernel:
        return prepare(
            self._program,
            self._number,
            regular=regular,
            aligned=False,  # a row may begin anywhere: `driver` asks only that a subgroup lies within one
            expansions={**sorts(host()), **reductions()},
            max_shared_bytes=SHARED_BYTES,
        )

    def _compiled(self, name: str) -> int:
        """The address of a variant, `run` or `general`; from the disk cache where it was compiled before."""

        def make() -> Entry:
            kernel = self._prepared(name == "run")
            return Entry(jit().compile(emit_module(kernel, host())), {"suspends": suspends(kernel)})

        entry = fetch((to_text(self._program), f"{name} {self._number}", *jit().target), make)
        linked = jit().link(entry.code, (name,))
        self._linked.append(linked)
        self._suspends = entry.header["suspends"]
        return linked[name]

    def _load_regular(self) -> int:
        with self._lock:
            self._run_address = self._run_address or self._compiled("run")
        return self._run_address

    def _load_general(self) -> int:
        with self._lock:
            self._general_address = self._general_address or self._compiled("general")
        return self._general_address

    # ---- launch --------------------------------------------------------------------------------------------------
    def run(self, words: Sequence[int], values: Sequence[int | float]) -> None:
        """Launch with the arrays' words of the argument block and the host's values."""
        job = self._job
        if self._pack(job.words, words, values):
            pools.pool(self._threads).run(job.words, job.address)

    def prepare(self, words: Sequence[int], values: Sequence[int | float]) -> Callable[[], None]:
        """What launches with just these."""
        packed = bytearray(self._layout.size)
        if not self._pack(packed, words, values):
            return lambda: None

        def run() -> None:
            job = self._job
            job.bytes[:] = packed
            pools.pool(self._threads).run(job.words, job.address)

        return run

    def _pack(self, target: Any, words: Sequence[int], values: Sequence[int | float]) -> bool:
        """Write a job with its argument block; false where there is nothing to do."""
        extents = [values[place] for place in self._extents]
        total = int(prod(extents))
        if total <= 0:
            return False
        function = self._run_address or self._load_regular()
        general = 0 if self._is_regular(total, int(extents[-1])) else self._general_address or self._load_general()
        head = (function, -(-total // self._block_dim), 0, 0, self._threads, 0, 0, 0)
        try:
            self._layout.pack_into(target, 0, *head, *words, *values, general)
        except (OverflowError, struct.error):
            values = [fitting(v, t) for v, t in zip(values, self._types, strict=True)]
            self._layout.pack_into(target, 0, *head, *words, *values, general)
        return True

    def _is_regular(self, total: int, row: int) -> bool:
        """Whether the launch has whole subgroups alone, each within one row.

        Subgroups without any item are skipped, but not where the others wait for them at a barrier.
        """
        width, block_dim = self._width, self._block_dim
        return not (
            total % (block_dim if self._suspends else width)
            or block_dim % width
            or (len(self._extents) > 1 and row % width)
        )


assert (FUNCTION, BLOCKS, NEXT, RUNNING, THREADS) == (0, 1, 2, 3, 4)
