"""Prefix sums, and prefix anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lanewise as lw
from lanewise.simt import block

from ..errors import LanewiseTypeError
from .arrays import Line, source
from .operations import operation

CHUNK = 256


@lw.kernel
def _scan(
    x: Line, op: lw.types.Template, identity: lw.types.Template, inclusive: lw.types.Template, sums: Line, out: Line
):
    """The fold of each chunk; an exclusive scan of those by one block; the scan of each chunk from where it starts."""
    n = x.shape[0]
    chunks = sums.shape[0]

    lw.loop_config(block_dim=CHUNK)
    for i in range(chunks * CHUNK):
        value = x[i] if i < n else lw.cast(identity, x.dtype)
        total = block.inclusive_scan(value, op, lw.cast(identity, x.dtype))
        if block.thread_idx() == CHUNK - 1:
            sums[block.block_idx()] = total

    lw.loop_config(block_dim=CHUNK)
    for thread in range(CHUNK):
        last = block.SharedArray(1, x.dtype)
        before = lw.cast(identity, x.dtype)
        for start in range(0, chunks, CHUNK):
            k = start + thread
            value = sums[k] if k < chunks else lw.cast(identity, x.dtype)
            upto = block.inclusive_scan(value, op, lw.cast(identity, x.dtype))
            below = block.exclusive_scan(value, op, lw.cast(identity, x.dtype))
            if k < chunks:
                sums[k] = op(before, below)
            if thread == CHUNK - 1:
                last[0] = upto
            block.sync()
            before = op(before, last[0])
            block.sync()

    lw.loop_config(block_dim=CHUNK)
    for i in range(n):
        if lw.static(inclusive):
            out[i] = op(sums[i // CHUNK], block.inclusive_scan(x[i], op, lw.cast(identity, x.dtype)))
        else:
            out[i] = op(sums[i // CHUNK], block.exclusive_scan(x[i], op, lw.cast(identity, x.dtype)))


def _scanned(x: Any, op: str | Callable[..., Any], identity: int | float | None, out: Any, *, inclusive: bool) -> Any:
    given = source(x)
    chosen = operation(op, identity, given.dtype)
    result = given.like(given.length) if out is None else out
    if len(result) != given.length:
        raise LanewiseTypeError(f"expected an `out` of {given.length} elements, got {len(result)}")
    sums = given.like(-(-given.length // CHUNK))
    _scan(given.array, chosen.function, chosen.identity, inclusive, sums, result)
    return result


def inclusive_scan(
    x: Any, op: str | Callable[..., Any] = "add", identity: int | float | None = None, *, out: Any = None
) -> Any:
    """out[i] = x[0] op ... op x[i], in x's type; a new array unless `out`, as long as x, is given; it may be x.

    `op` is "add", "mul", "min", "max", or an associative `@lw.func` of two arguments with its `identity`.
    """
    return _scanned(x, op, identity, out, inclusive=True)


def exclusive_scan(
    x: Any, op: str | Callable[..., Any] = "add", identity: int | float | None = None, *, out: Any = None
) -> Any:
    """out[i] = x[0] op ... op x[i - 1], and the identity for i = 0; else as `inclusive_scan`."""
    return _scanned(x, op, identity, out, inclusive=False)
