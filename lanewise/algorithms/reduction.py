"""One value from a whole array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lanewise as lw
from lanewise.simt import block

from .arrays import Line, first, source
from .operations import operation

THREADS = 256
ITEMS = 16  # of a thread, at the least
BLOCKS = 1024  # at the most: as many partial results as one block folds with few items a thread


@lw.kernel
def _fold(x: Line, op: lw.types.Template, identity: lw.types.Template, out: Line):
    """out[b] = what the threads of block b found, which stride over x."""
    threads = out.shape[0] * THREADS
    lw.loop_config(block_dim=THREADS)
    for thread in range(threads):
        total = lw.cast(identity, x.dtype)
        i = thread
        while i < x.shape[0]:
            total = op(total, x[i])
            i += threads
        total = block.reduce(total, op, lw.cast(identity, x.dtype))
        if block.thread_idx() == 0:
            out[block.block_idx()] = total


def reduce(x: Any, op: str | Callable[..., Any] = "add", identity: int | float | None = None) -> Any:
    """r = x[0] op x[1] op ... x[n - 1], a NumPy scalar of x's type; the identity, where x is empty.

    `op` is "add", "mul", "min", "max", or an `@lw.func` of two arguments, associative and commutative, with its
    `identity`.  Integers wrap; floats fold in an order that depends on n and the subgroup size alone; `min` and `max`
    skip NaN, and give their identity (+inf or -inf) where there is nothing else.
    """
    given = source(x)
    chosen = operation(op, identity, given.dtype)
    blocks = min(max(-(-given.length // (THREADS * ITEMS)), 1), BLOCKS)
    partial = given.like(blocks)
    _fold(given.array, chosen.function, chosen.identity, partial)
    if blocks == 1:
        return first(partial)
    result = given.like(1)
    _fold(partial, chosen.function, chosen.identity, result)
    return first(result)
