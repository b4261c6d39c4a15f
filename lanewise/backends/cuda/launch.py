"""The launches of one parallel loop: which blocks go to which variant, in how many hardware blocks."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...dtypes import DType
from ...ir import Op, Program
from ...passes.outline import captured_scalars
from .card import Card
from .driver import driver, failure, last_launch
from .modules import Compiler, Function

ITEMS = 4
"""Logical blocks a thread carries at a time: with one load each in flight, the memory's latency is covered."""
MAX_GRID = 2**31 - 1
SMALL = 2
"""Below so many hardware blocks of a loop on each multiprocessor the whole loop runs in one launch, unsplit."""

_PACKED = {"f16": "e6x", "f32": "f4x", "f64": "d"}
_WRONG_CONTEXT = (201, 400)  # CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE


def slot_format(dtype: DType) -> str:
    """How `struct` writes a scalar into its 8 bytes."""
    return _PACKED.get(dtype.name, "q" if dtype.is_signed else "Q")


class _Arguments(threading.local):
    """Each launching thread's own argument block, and the list of parameters that points to it."""

    def __init__(self, size: int) -> None:
        self.block = ctypes.create_string_buffer(size)
        self._list = (ctypes.c_void_p * 1)(ctypes.addressof(self.block))
        self.parameters = ctypes.addressof(self._list)


class Loop:
    """One parallel loop: regular code for blocks whose threads all have an item, general code for the rest.

    Each is compiled when it is first needed.
    """

    def __init__(self, program: Program, number: int, op: Op, compiler: Compiler, card: Card) -> None:
        self._program, self._number, self._compiler, self._card = program, number, compiler, card
        self._width = program.subgroup_size
        self._block_dim: int = op.attrs["block_dim"]
        scalars = captured_scalars(program, op)
        self._extents = [scalars.index(v) for v in op.operands]
        self._types = [v.type for v in scalars]
        memory_words = sum(1 + 2 * memory.ndim for memory in program.memories)
        self._layout = struct.Struct(f"<{memory_words}q{''.join(slot_format(t) for t in self._types)}3q")
        self._arguments = _Arguments(self._layout.size)
        self._small = SMALL * card.limits.multiprocessors
        self._lock = threading.RLock()
        self._functions: dict[bool, Function] = {}
        self._launch = driver().cuLaunchKernel
        self._whole_blocks = self._block_dim % self._width == 0

    def _function(self, regular: bool) -> Function:
        with self._lock:
            if regular not in self._functions:
                items = ITEMS if regular else 1
                self._functions[regular] = self._compiler.function(
                    self._program, self._number, regular=regular, items=items
                )
        return self._functions[regular]

    # ---- launch --------------------------------------------------------------------------------------------------
    def run(self, words: Sequence[int], values: Sequence[int | float], stream: Any) -> None:
        """Launch with the arrays' words of the argument block and the host's values."""
        extents = [values[place] for place in self._extents]
        total = int(prod(extents))
        if total <= 0:
            return
        blocks = -(-total // self._block_dim)
        full = self._full_blocks(total, int(extents[-1]))
        if full:
            self._send(self._functions.get(True) or self._function(True), 0, full, words, values, stream)
        if full < blocks:
            self._send(self._functions.get(False) or self._function(False), full, blocks, words, values, stream)

    def _full_blocks(self, total: int, row: int) -> int:
        """How many blocks, from the first one, run the regular code: those where no lane needs a mask.

        Each of their subgroups lies within one row of the last axis.  A small loop that has other blocks too is not
        split: a second launch would cost more than masks.
        """
        if not self._whole_blocks or (len(self._extents) > 1 and row % self._width):
            return 0
        full, rest = divmod(total, self._block_dim)
        return 0 if rest and full < self._small else full

    def _send(
        self, function: Function, first: int, end: int, words: Sequence[int], values: Sequence[int | float], stream: Any
    ) -> None:
        grid = min(-(-(end - first) // function.items), MAX_GRID)
        arguments = self._arguments
        try:
            self._layout.pack_into(arguments.block, 0, *words, *values, first, end, grid)
        except (OverflowError, struct.error):
            values = [_fitting(v, t) for v, t in zip(values, self._types, strict=True)]
            self._layout.pack_into(arguments.block, 0, *words, *values, first, end, grid)
        code = self._launched(function, grid, stream)
        if code:
            raise failure(driver(), code, self.describe(function, grid))

    def _launched(self, function: Function, grid: int, stream: Any) -> int:
        """Launch in this GPU's context, which nearly always is the thread's current one."""
        last_launch.loop = self
        launch, parameters = self._launch, self._arguments.parameters
        sizes = (function.handle, grid, 1, 1, function.threads, 1, 1, function.shared_bytes, stream, parameters, 0)
        code = _WRONG_CONTEXT[0]
        if self._card.alone or self._card.is_current():
            (code,) = launch(*sizes)
        if code in _WRONG_CONTEXT:
            if self._card.adopt_thread():
                (code,) = launch(*sizes)
            else:
                with self._card.current():
                    (code,) = launch(*sizes)
        return code

    def describe(self, function: Function | None = None, grid: int = 0) -> str:
        """The launch in words, for errors."""
        name = f"kernel {self._program.name}"
        if function is None:
            return f"{name} (blocks of {self._block_dim} threads)"
        shared = f" and {function.shared_bytes} bytes of shared memory" if function.shared_bytes else ""
        return f"{name}: a launch of {grid} blocks of {function.threads} threads{shared} failed"


def _fitting(value: int | float, dtype: DType) -> int | float:
    """A float beyond its type's range as the infinity that it rounds to; an integer wrapped into its slot."""
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return float(dtype.np.type(value))
    bits = int(value) & ((1 << 64) - 1)
    return bits - (1 << 64) if dtype.is_signed and bits >> 63 else bits
