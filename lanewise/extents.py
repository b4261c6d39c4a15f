"""When a launch needs 64-bit indices: an array or a parallel loop has more elements than an i32 counts.

Arrays are looked at as they are passed.  A loop can be larger than every array where scalars or several extents
multiply: whether a program has such a loop is seen once, and a small function then counts the items of each launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from . import dtypes
from .backends.engine import View
from .frontend.specs import Translation
from .ir import Array, Op, Program, Value
from .views import INDEX_LIMIT

TooLarge: TypeAlias = Callable[[Sequence[Any], Sequence[View]], bool]
"""Whether a launch with these scalars and arrays has a loop above the limit."""


def needs_wide_index(arrays: Sequence[View]) -> bool:
    """Whether one of the arrays has more elements than an i32 counts."""
    return any(math.prod(view.shape) > INDEX_LIMIT for view in arrays)


def too_large(program: Program, wide: Callable[[], Translation]) -> TooLarge | None:
    """The test that the launches of `program`, of i32 indices, need; None where arrays alone decide.

    `wide` gives the same program with i64 indices, in which the true extents can be computed.
    """
    from .passes.host import compile_host
    from .passes.outline import parallel_loops

    if all(_bounded(program, loop) for loop in parallel_loops(program)):
        return None
    made = wide()
    counted, bounds = made.program, iter(made.bounds)
    loops: list[Op] = []
    for number, op in enumerate(counted.body.ops):
        if op.opcode == "parallel":
            loops.append(op)
            counted.body.ops[number] = replace(op, operands=(*op.operands, *next(bounds)))
    host = compile_host(counted)
    places: list[tuple[list[int], list[int]]] = []
    for loop, ends in zip(loops, made.bounds, strict=True):
        asked = list(dict.fromkeys((*loop.operands, *ends)))  # they come first
        places.append(([asked.index(v) for v in loop.operands], [asked.index(v) for v in ends]))

    def test(scalars: Sequence[Any], arrays: Sequence[View]) -> bool:
        for launch, (counts, ends) in zip(host(scalars, [view.shape for view in arrays]), places, strict=True):
            items = math.prod(launch[place] for place in counts)
            if items > INDEX_LIMIT or (items and not all(dtypes.i32.holds(launch[place]) for place in ends)):
                return True
        return False

    return test


def _bounded(program: Program, loop: Op) -> bool:
    """Whether no launch can exceed the limit: the items are those of one extent that an i32 holds, or of one array."""
    sources = {op.result: op for op in program.body.ops if len(op.results) == 1}
    factors = [_factor(extent, sources, program.scalars) for extent in loop.operands]
    factors = [factor for factor in factors if factor not in (0, 1)]
    if None in factors:
        return False
    arrays = {factor[0] for factor in factors if isinstance(factor, tuple)}
    one_array = len(arrays) == 1 and all(isinstance(factor, tuple) for factor in factors)
    return len(factors) <= 1 or (one_array and len(set(factors)) == len(factors))


def _factor(value: Value, sources: dict[Value, Op], scalars: Sequence[Value]) -> int | Value | tuple[Array, int] | None:
    """What an extent is: a constant, a scalar of 32 bits, an axis of an array, or None for anything else."""
    op = sources.get(value)
    if op is None:
        return value if value in scalars and _counts_in_i32(value) else None
    if op.opcode == "const":
        return int(op.attrs["value"])
    if op.opcode == "extent":
        return op.attrs["mem"], op.attrs["axis"]
    if op.opcode == "cast" and _counts_in_i32(op.operands[0]):
        return _factor(op.operands[0], sources, scalars)
    if op.opcode == "max":  # a range without items
        factors = [_factor(operand, sources, scalars) for operand in op.operands]
        return next((f for f in factors if f != 0), 0) if 0 in factors else None
    return None


def _counts_in_i32(value: Value) -> bool:
    return value.type.is_int and all(dtypes.i32.holds(int(limit)) for limit in (value.type.lowest, value.type.highest))
