"""Every operation between threads, compiled, against the interpreter: any type, tile, mask, block and subgroup size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lanewise import dtypes
from lanewise.backends.interpreter.engine import InterpreterEngine
from lanewise.ir import Builder, Program, Value
from lanewise.passes.uniformity import EXIT_FLAG
from tests.ops.test_expansions import OPERATIONS, Case, cases, defined

from .kernels import Arr, load, program, same_bits, view

SIZES = (1, 4, 32)  # below a strip, several


def built(case: Case, result_types: Sequence[dtypes.DType]) -> Program:
    """`if active[i]: out[i] = op(operands[i]...)`, the condition left out where every lane is active."""
    types = [dtypes.BY_NUMPY[v.dtype] for v in case.operands]

    def build(b: Builder, indices: Sequence[Value], memories: Sequence[Any]) -> None:
        (item,) = indices
        operands = [b.load(memory, item) for memory in memories[: len(types)]]
        if case.region is not None:  # the second half are identities: constants, also for lanes that take no part
            half = len(types) // 2
            operands[half:] = [b.const(v.flat[0].item(), t) for v, t in zip(case.operands, types, strict=True)][half:]
        active, outputs = memories[len(types)], memories[len(types) + 1 :]

        def operate() -> tuple[Value, ...]:
            regions = () if case.region is None else (case.region,)
            results = b.emit(case.row.name, *operands, regions=regions, **case.attrs)
            for memory, result in zip(outputs, results, strict=True):
                b.store(memory, [item], result)
            return ()

        if case.mask is None:
            operate()
        else:
            # As after `if not active: continue`: a barrier does not wait for lanes that ended their item.
            (ended,) = b.emit("not", b.load(active, item), hint=EXIT_FLAG)
            b.if_(b.not_(ended), operate, exit_guard=True)

    arrays = [(t, 1) for t in (*types, dtypes.bool_, *result_types)]
    return program(case.width, build, arrays, block_dim=case.block_dim)


def items(case: Case, array: Arr) -> Arr:
    """A case's lanes in the order of items, absent ones left out."""
    blocks = array.reshape(array.shape[0], -1)
    return np.ascontiguousarray(blocks[:, : case.block_dim]).reshape(-1)


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_as_interpreted(name: str, width: int) -> None:
    if width < 4 and name.startswith("quad."):
        return
    for case in cases(name, width, 1, 2):
        types = tuple(dtypes.BY_NUMPY[v.dtype] for v in case.operands)
        result_types = case.row.infer(types, case.attrs)
        made = built(case, result_types)
        inputs = [items(case, np.broadcast_to(v, case.shape)) for v in (*case.operands, case.active)]
        got, want = ([np.zeros(len(inputs[-1]), t.np) for t in result_types] for _ in range(2))
        InterpreterEngine(width).load(made, False).launch([view(a) for a in (*inputs, *want)], [len(inputs[-1])])
        load(made).launch([view(a) for a in (*inputs, *got)], [len(inputs[-1])])
        where = items(case, defined(case))
        for ours, theirs in zip(got, want, strict=True):
            same_bits(ours[where], theirs[where])
