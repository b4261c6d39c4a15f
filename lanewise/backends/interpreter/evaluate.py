"""Evaluates blocks of operations over all threads of some blocks at once.

A value is an array that broadcasts to (blocks, subgroups, W).  Control flow goes by masks: an `if` runs both sides
under theirs, a `loop` runs while any thread is in it.  All threads go in step, so barriers have nothing to do.  The
meaning of everything else is in the table of opcodes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...dtypes import DType
from ...errors import KernelAssertionError
from ...ir import OPCODES, Array, Block, Memory, Op, Shared, Value
from ...simt.op import Arr, Lanes, SimtOp
from .memory import Place, scratch


class Evaluator:
    """The state of one batch of blocks; of the host code, where there is one thread in all."""

    def __init__(self, lanes: Lanes, arrays: Mapping[Memory, Arr], values: Mapping[Value, Arr]) -> None:
        self.lanes = lanes
        self.arrays = dict(arrays)
        self.values = dict(values)

    def run(self, block: Block, mask: Arr) -> tuple[Arr, ...]:
        """Evaluate a block for the threads in `mask`; what it yields."""
        for op in block.ops:
            self.op(op, mask)
        return self.read(block.yields)

    def read(self, values: tuple[Value, ...]) -> tuple[Arr, ...]:
        return tuple(self.values[v] for v in values)

    def bind(self, values: tuple[Value, ...], arrays: tuple[Arr, ...]) -> None:
        self.values.update(zip(values, arrays, strict=True))

    def op(self, op: Op, mask: Arr) -> None:
        evaluate = _HANDLERS.get(op.opcode)
        if evaluate is None:
            row = OPCODES[op.opcode]
            evaluate = _between_lanes if isinstance(row, SimtOp) or row.convergent else _arithmetic
        result = evaluate(self, op, mask)
        self.bind(op.results, result if isinstance(result, tuple) else (result,))

    # ---- memory ------------------------------------------------------------------------------------------------
    def place(self, op: Op, indices: tuple[Value, ...], mask: Arr) -> Place:
        mem: Memory = op.attrs["mem"]
        blocks, subgroups, width = self.lanes.mask.shape
        outer: tuple[Arr, ...] = ()
        if isinstance(mem, Shared):
            outer = (np.arange(blocks)[:, None, None],)
        elif not isinstance(mem, Array):
            outer = tuple(np.ix_(np.arange(blocks), np.arange(subgroups), np.arange(width)))
        if mem not in self.arrays:
            self.arrays[mem] = scratch(mem, (blocks, subgroups, width)[: len(outer)])
        return Place(self.arrays[mem], mem, outer, self.read(indices), mask, op.loc)


def one(value: Any, dtype: DType) -> Arr:
    """A constant as a value: it has all three axes, so that it broadcasts along each."""
    return np.full((1, 1, 1), value, dtype.np)


_Result = Arr | tuple[Arr, ...]


# ---- rows of the table --------------------------------------------------------------------------------------------
def _arithmetic(e: Evaluator, op: Op, mask: Arr) -> _Result:
    meaning = OPCODES[op.opcode].meaning
    if meaning is None:
        raise NotImplementedError(f"the interpreter has no meaning for {op.opcode}")
    attrs = {"dtype": op.attrs["dtype"]} if "dtype" in op.attrs else {}
    return np.asarray(meaning(*e.read(op.operands), **attrs))


def _between_lanes(e: Evaluator, op: Op, mask: Arr) -> _Result:
    """The active lanes are those that got here, and in converged code those of the operation's mask."""
    meaning = OPCODES[op.opcode].meaning
    if meaning is None:  # a barrier
        return ()
    if op.mask is not None:
        mask = mask & e.values[op.mask]
    lanes = Lanes(mask, e.lanes.block_dim, e.lanes.first_block, e.lanes.num_blocks)
    attrs = {k: v for k, v in op.attrs.items() if k != "called"}
    if op.regions:
        attrs["combine"] = _combination(e, op.regions[0])
    return meaning(lanes, *(lanes.spread(v) for v in e.read(op.operands)), **attrs)


def _combination(e: Evaluator, region: Block) -> Callable[[tuple[Arr, ...], tuple[Arr, ...]], tuple[Arr, ...]]:
    """A generic operation's function, over arrays of any three axes."""

    def combine(a: tuple[Arr, ...], b: tuple[Arr, ...]) -> tuple[Arr, ...]:
        shape = np.broadcast_shapes(*(v.shape for v in (*a, *b)))
        e.bind(region.args, tuple(np.broadcast_to(v, shape) for v in (*a, *b)))
        return tuple(np.broadcast_to(v, shape) for v in e.run(region, np.ones(shape, bool)))

    return combine


# ---- values from nowhere ------------------------------------------------------------------------------------------
def _const(e: Evaluator, op: Op, mask: Arr) -> _Result:
    return one(op.attrs["value"], op.attrs["dtype"])


def _undef(e: Evaluator, op: Op, mask: Arr) -> _Result:
    return one(0, op.attrs["dtype"])


def _extent(e: Evaluator, op: Op, mask: Arr) -> _Result:
    return one(e.arrays[op.attrs["mem"]].shape[op.attrs["axis"]], op.attrs["dtype"])


def _id(meaning: Callable[[Lanes], Any]) -> Callable[[Evaluator, Op, Arr], _Result]:
    return lambda e, op, mask: e.lanes.spread(np.asarray(meaning(e.lanes)).astype(op.result.type.np))


def _clock(e: Evaluator, op: Op, mask: Arr) -> _Result:
    row = OPCODES["simt.clock"]
    assert row.meaning is not None
    return row.meaning(e.lanes)


# ---- memory and the world -----------------------------------------------------------------------------------------
def _load(e: Evaluator, op: Op, mask: Arr) -> _Result:
    return e.place(op, op.operands, mask).load()


def _store(e: Evaluator, op: Op, mask: Arr) -> _Result:
    *indices, value = op.operands
    e.place(op, tuple(indices), mask).store(e.values[value])
    return ()


def _atomic(e: Evaluator, op: Op, mask: Arr) -> _Result:
    count = 2 if op.attrs["kind"] == "cas" else 1
    place = e.place(op, op.operands[:-count], mask)
    return place.atomic(op.attrs["kind"], *e.read(op.operands[-count:]))


def _texts(parts: tuple[str | None, ...], values: tuple[Arr, ...], mask: Arr) -> list[str]:
    """The literal parts with the values in their places, for each active thread."""
    columns = iter([np.broadcast_to(v, mask.shape)[mask].tolist() for v in values])
    pieces = [next(columns) if part is None else [part] * int(mask.sum()) for part in parts]
    return ["".join(map(str, row)) for row in zip(*pieces, strict=True)] or [""] * int(mask.sum())


def _print(e: Evaluator, op: Op, mask: Arr) -> _Result:
    for line in _texts(op.attrs["parts"], e.read(op.operands), mask):
        sys.stdout.write(line + "\n")
    return ()


def _assert(e: Evaluator, op: Op, mask: Arr) -> _Result:
    failed = mask & ~e.values[op.operands[0]]
    if failed.any():
        block, subgroup, lane = (int(i[0]) for i in np.nonzero(failed))
        item = (e.lanes.first_block + block) * e.lanes.block_dim + subgroup * e.lanes.W + lane
        text = _texts(op.attrs["parts"], e.read(op.operands[1:]), failed)[0]
        raise KernelAssertionError(text or "assertion failed", loc=op.loc, why=f"in item {item}")
    return ()


# ---- control flow -------------------------------------------------------------------------------------------------
def _zeros(op: Op) -> tuple[Arr, ...]:
    return tuple(one(0, v.type) for v in op.results)


def _if(e: Evaluator, op: Op, mask: Arr) -> _Result:
    """A side that no thread takes is not run, and its results are never chosen."""
    cond = e.values[op.operands[0]]
    results = {side: e.run(region, m) for side, region, m in _sides(op, cond, mask) if m.any()}
    if len(results) < 2:
        return next(iter(results.values()), _zeros(op))
    return tuple(np.where(cond, a, b) for a, b in zip(results[True], results[False], strict=True))


def _sides(op: Op, cond: Arr, mask: Arr) -> list[tuple[bool, Block, Arr]]:
    then, orelse = op.regions
    return [(True, then, mask & cond), (False, orelse, mask & ~cond)]


def _loop(e: Evaluator, op: Op, mask: Arr) -> _Result:
    """A thread's results are what the first region forwarded in the round in which it left."""
    before, after = op.regions
    values, results = e.read(op.operands), _zeros(op)
    while mask.any():
        e.bind(before.args, values)
        go_on, *forwarded = e.run(before, mask)
        results = tuple(np.where(mask & ~go_on, f, r) for f, r in zip(forwarded, results, strict=True))
        mask = mask & go_on
        if mask.any():
            e.bind(after.args, tuple(forwarded))
            values = e.run(after, mask)
    return results


_HANDLERS: dict[str, Callable[[Evaluator, Op, Arr], _Result]] = {
    "const": _const,
    "undef": _undef,
    "extent": _extent,
    "lane": _id(lambda lanes: lanes.lane),
    "subgroup_id": _id(lambda lanes: lanes.subgroup),
    "block_idx": _id(lambda lanes: lanes.block),
    "num_blocks": _id(lambda lanes: lanes.num_blocks),
    "clock": _clock,
    "load": _load,
    "store": _store,
    "atomic": _atomic,
    "print": _print,
    "assert": _assert,
    "if": _if,
    "loop": _loop,
    "fence": lambda e, op, mask: (),
}
