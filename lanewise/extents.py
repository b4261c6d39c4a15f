"""When a launch needs 64-bit indices: an array or a parallel loop of more than 2**31 - 1 elements.

Arrays are looked at as they are passed.  A loop can be larger than every array where scalars or several extents
multiply: whether a program has such a loop is seen once, and a small function then counts the items of each launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .backends.engine import View
from .ir import Array, Op, Program, Value
from .passes.host import compile_host
from .passes.outline import captured_scalars, parallel_loops
from .views import INDEX_LIMIT

TooLarge: TypeAlias = Callable[[Sequence[Any], Sequence[View]], bool]
"""Whether a launch with these scalars and arrays has a loop above the limit."""


def needs_wide_index(arrays: Sequence[View]) -> bool:
    """Whether one of the arrays has more elements than an i32 counts."""
    return any(math.prod(view.shape) > INDEX_LIMIT for view in arrays)


def too_large(program: Program, wide: Callable[[], Program]) -> TooLarge | None:
    """The test that the launches of `program`, of i32 indices, need; None where arrays alone decide.

    `wide` gives the same program with i64 indices, in which the true extents can be computed.
    """
    if all(_bounded_by_arrays(program, loop) for loop in parallel_loops(program)):
        return None
    counted = wide()
    loops = parallel_loops(counted)
    host = compile_host(counted)
    places = [[captured_scalars(counted, loop).index(extent) for extent in loop.operands] for loop in loops]

    def test(scalars: Sequence[Any], arrays: Sequence[View]) -> bool:
        launches = host(scalars, [view.shape for view in arrays])
        items = (math.prod(launch[p] for p in place) for launch, place in zip(launches, places, strict=True))
        return max(items) > INDEX_LIMIT

    return test


def _bounded_by_arrays(program: Program, loop: Op) -> bool:
    """Whether the items are constant in number, one axis of an array, or different axes of one array."""
    sources = {op.result: op for op in program.body.ops if len(op.results) == 1}
    axes: list[tuple[Array, int]] = []
    constant = 1
    for extent in loop.operands:
        source = _uncast(extent, sources)
        if source is None or source.opcode not in ("const", "extent"):
            return False
        if source.opcode == "const":
            constant *= max(int(source.attrs["value"]), 0)
        else:
            axes.append((source.attrs["mem"], source.attrs["axis"]))
    if not axes:
        return constant <= INDEX_LIMIT
    return constant <= 1 and len({mem for mem, _ in axes}) == 1 and len(set(axes)) == len(axes)


def _uncast(value: Value, sources: dict[Value, Op]) -> Op | None:
    """The operation that computes an extent; `max(extent, 0)` of a range is looked through."""
    op = sources.get(value)
    while op is not None:
        below = [sources.get(v) for v in op.operands]
        zeros = [b for b in below if b is not None and b.opcode == "const" and b.attrs["value"] == 0]
        if op.opcode == "max" and len(zeros) == 1:
            op = next(b for b in below if b is not zeros[0])
        else:
            return op
    return None
