"""The CPU as a device: programs in, executables out."""

from __future__ import annotations

import ctypes
import platform
import struct
import threading
from collections.abc import Sequence
from math import prod

import numpy as np

from ... import dtypes
from ...cache import Entry, fetch
from ...dtypes import DType
from ...ir import Kernel, Op, Program, to_text
from ...passes import parallel_loops, prepare
from ...passes.host import compile_host
from ...passes.outline import captured_scalars
from ..engine import SUBGROUP_SIZES, Properties, View
from . import pool as pools
from .driver import SHARED_BYTES, suspends
from .emit import emit_module
from .host import default_threads, host
from .jit import Linked, jit
from .pool import BLOCKS, FUNCTION, JOB_WORDS, NEXT, RUNNING, THREADS, Pool
from .records import Records, Site

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
            dtypes=dtypes.ALL,
            threads=self.threads,
            forward_progress=True,
        )

    def load(self, program: Program, debug: bool) -> CpuExecutable:
        return CpuExecutable(program, self.threads, debug)


class CpuExecutable:
    """One program: its host code, and native code for each of its parallel loops."""

    def __init__(self, program: Program, threads: int, debug: bool) -> None:
        self._host = compile_host(program)
        records = Records() if debug else None
        self._records = records
        self._debug_lock = threading.Lock()
        self._sites: list[Site] = []
        self._loops = [
            _Loop(program, number, op, threads, self._sites, records)
            for number, op in enumerate(parallel_loops(program))
        ]

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        """Run every parallel loop in turn."""
        if self._records is None:
            self._run(arrays, scalars)
            return
        with self._debug_lock:
            self._run(arrays, scalars)
            self._records.deliver(self._sites)

    def _run(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        words: list[int] = []
        for view in arrays:
            words.append(view.address)
            words += view.shape
            words += view.strides
        for loop, values in zip(self._loops, self._host(scalars, [view.shape for view in arrays]), strict=True):
            loop.run(words, values)

    @property
    def source(self) -> str:
        """LLVM IR as it goes into the optimiser."""
        return "\n".join(text for loop in self._loops for text in loop.texts)

    def assembly(self) -> str:
        """The processor's instructions."""
        return "\n".join(jit().assembly(text) for loop in self._loops for text in loop.texts)


_PACKED = {"f16": "e6x", "f32": "f4x", "f64": "d"}


def _slot_format(dtype: DType) -> str:
    """How `struct` writes a scalar into its 8 bytes."""
    return _PACKED.get(dtype.name, "q" if dtype.is_signed else "Q")


class _Job(threading.local):
    """Each launching thread's own memory for a loop's job and arguments."""

    def __init__(self, words: int) -> None:
        self.words = (ctypes.c_int64 * words)()
        self.address = ctypes.addressof(self.words)


class _Loop:
    """One parallel loop: the regular code, compiled at once, and the general code, compiled when a launch needs it."""

    def __init__(
        self, program: Program, number: int, op: Op, threads: int, sites: list[Site], records: Records | None
    ) -> None:
        self._program, self._number, self._sites = program, number, sites
        self._block_dim: int = op.attrs["block_dim"]
        self._width = program.subgroup_size
        scalars = captured_scalars(program, op)
        self._extents = [scalars.index(v) for v in op.operands]
        self._types = [v.type for v in scalars]
        memory_words = sum(1 + 2 * memory.ndim for memory in program.memories)
        self._layout = struct.Struct(
            f"{JOB_WORDS}q{memory_words}q" + "".join(_slot_format(v.type) for v in scalars) + "QQ"
        )
        self._records = records.address if records is not None else 0
        self._job = _Job(self._layout.size // 8)
        self._threads = threads
        self._pool: Pool | None = None
        self._lock = threading.Lock()
        self._general: Linked | None = None
        self._regular, self._suspends = self._compiled(regular=True)
        self._run_address = self._regular["run"]

    @property
    def texts(self) -> list[str]:
        """The LLVM IR of the variants that are loaded."""
        variants = (True,) if self._general is None else (True, False)
        return [emit_module(self._prepared(regular), host(), []) for regular in variants]

    def _prepared(self, regular: bool) -> Kernel:
        return prepare(self._program, self._number, regular=regular, max_shared_bytes=SHARED_BYTES)

    def _compiled(self, *, regular: bool) -> tuple[Linked, bool]:
        """The code of a variant, and whether it suspends; from the disk cache where it was compiled before."""

        def make() -> Entry:
            kernel = self._prepared(regular)
            return Entry(jit().compile(emit_module(kernel, host(), self._sites)), {"suspends": suspends(kernel)})

        name = "run" if regular else "general"
        if self._records:  # emission notes the places of print and assert, too
            entry = make()
        else:
            entry = fetch((to_text(self._program), f"{name} {self._number}", *jit().target), make)
        return jit().link(entry.code, (name,)), entry.header["suspends"]

    def _general_address(self) -> int:
        general = self._general
        if general is None:
            with self._lock:
                if self._general is None:
                    self._general, _ = self._compiled(regular=False)
                general = self._general
        return general["general"]

    def run(self, words: Sequence[int], values: Sequence[int | float]) -> None:
        """Launch with the arrays' words of the argument block and the host's values."""
        extents = [int(values[place]) for place in self._extents]
        total = prod(extents)
        if total <= 0:
            return
        width = self._width
        # Subgroups without any item are skipped, but not where the others wait for them at a barrier.
        regular = not (
            total % (self._block_dim if self._suspends else width)
            or self._block_dim % width
            or (len(extents) > 1 and extents[-1] % width)
        )
        general = 0 if regular else self._general_address()
        blocks = -(-total // self._block_dim)
        job = self._job
        head = (self._run_address, blocks, 0, 0, self._threads, 0, 0, 0)
        try:
            self._layout.pack_into(job.words, 0, *head, *words, *values, general, self._records)
        except (OverflowError, struct.error):
            values = [_fitting(v, t) for v, t in zip(values, self._types, strict=True)]
            self._layout.pack_into(job.words, 0, *head, *words, *values, general, self._records)
        pool = self._pool
        if pool is None or pool is not pools.pool(self._threads):  # a forked child has another
            pool = self._pool = pools.pool(self._threads)
        pool.run(job.words, job.address)


def _fitting(value: int | float, dtype: DType) -> int | float:
    """A float beyond its type's range as the infinity that it rounds to; an integer wrapped into its slot."""
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return float(dtype.np.type(value))
    bits = int(value) & ((1 << 64) - 1)
    return bits - (1 << 64) if dtype.is_signed and bits >> 63 else bits


assert (FUNCTION, BLOCKS, NEXT, RUNNING, THREADS) == (0, 1, 2, 3, 4)
