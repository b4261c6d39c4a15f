"""The bitonic network: which lanes meet, and which of a pair keeps the larger.

For runs of 2, 4 ... size lanes, pairs l, l ^ d with d = run/2 ... 1 meet, and the lower lane keeps the smaller, or the
larger where the run's bit of l is set.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import Builder, Value
from . import emit


def network(log2_size: int) -> Iterator[tuple[int, int]]:
    """The steps: (run, distance)."""
    for stage in range(1, log2_size + 1):
        for step in reversed(range(stage)):
            yield 1 << stage, 1 << step


def keeps_large(b: Builder, run: int, distance: int, log2_size: int) -> Value:
    """Whether the lane keeps the larger in one step, as IR."""

    def has(bit: int) -> Value:
        return emit.is_nonzero(b, b.and_(mine, b.i32(bit)))

    mine = emit.lane_in_tile(b, log2_size)
    return has(distance) if run == 1 << log2_size else b("xor", has(distance), has(run))
