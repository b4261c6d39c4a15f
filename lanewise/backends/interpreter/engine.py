"""The interpreter: runs a program as the front end made it, with NumPy, as the definition that others are compared to.

It needs none of the passes: masks follow the control flow, and every operation is evaluated by its meaning.  They only
refuse what no other backend runs: misplaced barriers, and too much shared memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ... import dtypes
from ...ir import Kernel, Memory, Op, Program, to_text
from ...passes.convergence import check_places
from ...passes.layout import layout
from ...passes.outline import outline, parallel_loops
from ...simt.op import Arr, Lanes
from ..engine import SUBGROUP_SIZES, Properties, View
from .evaluate import Evaluator, one

BATCH = 1 << 15
"""Threads that are evaluated at once: enough to make NumPy's cost a call small, few enough to stay in the cache."""


class InterpreterEngine:
    """The engine of `arch=interpreter`."""

    def __init__(self, subgroup_size: int | None = None) -> None:
        self.subgroup_size = subgroup_size or 32
        self.properties = Properties(
            name="NumPy interpreter",
            arch="interpreter",
            subgroup_size=self.subgroup_size,
            subgroup_sizes=SUBGROUP_SIZES,
            max_block_dim=1024,
            max_shared_bytes=1 << 16,
            dtypes=dtypes.ALL,
        )

    def load(self, program: Program, debug: bool) -> InterpretedProgram:
        """Nothing to compile: a program is its own executable."""
        for number in range(len(parallel_loops(program))):
            kernel = outline(program, number, regular=False)
            check_places(kernel)
            layout(kernel, self.properties.max_shared_bytes)
        return InterpretedProgram(program)


class InterpretedProgram:
    """A program and the memories it is run on."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @property
    def source(self) -> str:
        """The IR, which is what is run."""
        return to_text(self.program)

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        """Run the host code, and each parallel loop where it stands."""
        program = self.program
        memories: dict[Memory, Arr] = {m: v.owner for m, v in zip(program.memories, arrays, strict=True)}
        values = {v: one(s, v.type) for v, s in zip(program.scalars, scalars, strict=True)}
        mask = np.ones((1, 1, 1), bool)
        host = Evaluator(Lanes(mask, 1), memories, values)
        with np.errstate(all="ignore"):
            for op in program.body.ops:
                if op.opcode == "parallel":
                    self._parallel(host, op)
                else:
                    host.op(op, mask)

    def _parallel(self, host: Evaluator, op: Op) -> None:
        extents = [int(v.item()) for v in host.read(op.operands)]
        (body,) = op.regions
        count = math.prod(max(n, 0) for n in extents)
        for lanes, item in batches(count, op.attrs["block_dim"], self.program.subgroup_size):
            evaluator = Evaluator(lanes, host.arrays, host.values)
            for arg, index in zip(body.args, np.unravel_index(item, extents), strict=True):
                evaluator.values[arg] = index.astype(arg.type.np)
            evaluator.run(body, lanes.mask)


def batches(count: int, block_dim: int, width: int) -> Iterator[tuple[Lanes, Arr]]:
    """The blocks of a launch some at a time: their lanes, and the item of each (0 where there is none)."""
    num_blocks = -(-count // block_dim)
    subgroups = -(-block_dim // width)
    step = max(BATCH // (subgroups * width), 1)
    thread = np.arange(subgroups * width).reshape(subgroups, width)
    for first in range(0, num_blocks, step):
        block = np.arange(first, min(first + step, num_blocks))[:, None, None]
        item = block * block_dim + thread
        mask = (thread < block_dim) & (item < count)
        yield Lanes(mask, block_dim, first, num_blocks), np.where(mask, item, 0)


def interpret(kernel: Kernel, arrays: Sequence[Arr], scalars: Sequence[int | float], num_blocks: int) -> None:
    """Run one converged kernel, where a mask of None means every lane: what the passes are tested with."""
    subgroups, width = kernel.num_subgroups, kernel.subgroup_size
    mask = np.ones((num_blocks, subgroups, width), bool)
    values = {v: one(s, v.type) for v, s in zip(kernel.scalars, scalars, strict=True)}
    lanes = Lanes(mask, kernel.block_dim, 0, num_blocks)
    with np.errstate(all="ignore"):
        Evaluator(lanes, dict(zip(kernel.memories, arrays, strict=True)), values).run(kernel.body, mask)
