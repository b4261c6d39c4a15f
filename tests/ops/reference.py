"""What every operation must give, lane by lane, in plain Python over NumPy scalars: written from the contract alone.

A tile is a list of values with None for each lane that is not active.  Each function gives a list with the value of
each lane, None where it is not defined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Lanes = Sequence[Any]
Op2 = Callable[[Any, Any], Any]


def smaller(a: Any, b: Any) -> Any:
    """min: NaN is skipped, -0 is below +0."""
    if isinstance(a, np.floating):
        if np.isnan(a):
            return b
        if np.isnan(b):
            return a
        if a == b:
            return a if np.signbit(a) else b
    return a if a < b else b


def larger(a: Any, b: Any) -> Any:
    """max: NaN is skipped, +0 is above -0."""
    if isinstance(a, np.floating):
        if np.isnan(a):
            return b
        if np.isnan(b):
            return a
        if a == b:
            return b if np.signbit(a) else a
    return a if a > b else b


OPS: dict[str, Op2] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": smaller,
    "max": larger,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def identity(op: str, dtype: np.dtype[Any]) -> Any:
    """Of an exclusive scan with nothing before it."""
    if op in ("min", "max") and dtype.kind == "f":
        return dtype.type(math.inf if op == "min" else -math.inf)
    if op in ("min", "max"):
        return dtype.type(np.iinfo(dtype).max if op == "min" else np.iinfo(dtype).min)
    if op == "and":
        return ~dtype.type(0)
    return dtype.type(1 if op == "mul" else 0)


def _merge(op: Op2, a: Any, b: Any) -> Any:
    """Fold two lanes of a tree, a lane without a value (None) changing nothing."""
    if a is None:
        return b
    return a if b is None else op(a, b)


def tree(values: Lanes, op: Op2) -> Any:
    """The fold with offsets size/2 ... 1, as lane 0 sees it."""
    level = list(values)
    while len(level) > 1:
        half = len(level) // 2
        level = [_merge(op, level[lane], level[lane + half]) for lane in range(half)]
    return level[0]


def first_active(values: Lanes) -> int | None:
    return next((lane for lane, v in enumerate(values) if v is not None), None)


def lowest(values: Lanes) -> Any:
    """The value of the lowest active lane."""
    return next((v for v in values if v is not None), None)


def reduce(values: Lanes, op: Op2) -> list[Any]:
    result: list[Any] = [None] * len(values)
    first = first_active(values)
    if first is not None:
        result[first] = tree(values, op)
    return result


def reduce_all(values: Lanes, op: Op2) -> list[Any]:
    total = tree(values, op)
    return [None if v is None else total for v in values]


def inclusive(values: Lanes, op: Op2, starts: Sequence[int] | None = None) -> list[Any]:
    """The scan with offsets 1, 2, 4 ..., within segments that begin at `starts[lane]`."""
    level = list(values)
    offset = 1
    while offset < len(level):
        level = [
            _merge(op, level[lane - offset], level[lane])
            if lane - offset >= (starts[lane] if starts else 0)
            else level[lane]
            for lane in range(len(level))
        ]
        offset *= 2
    return [None if v is None else total for v, total in zip(values, level, strict=True)]


def exclusive(values: Lanes, op: Op2, start: Any) -> list[Any]:
    """The inclusive value of the nearest active lane below."""
    totals = inclusive(values, op)
    result: list[Any] = []
    below = start
    for value, total in zip(values, totals, strict=True):
        result.append(None if value is None else below)
        if value is not None:
            below = total
    return result


def segment_starts(values: Lanes, flags: Lanes) -> list[int]:
    """Where each lane's segment begins: the last head at or below it, the first active lane being one."""
    starts: list[int] = []
    start, seen = 0, False
    for lane, (value, flag) in enumerate(zip(values, flags, strict=True)):
        if value is not None and (flag or not seen):
            start, seen = lane, True
        starts.append(start)
    return starts


def segmented(values: Lanes, flags: Lanes, op: Op2) -> list[Any]:
    return inclusive(values, op, segment_starts(values, flags))


def segmented_all(values: Lanes, flags: Lanes, op: Op2) -> list[Any]:
    """Each lane gets the running value of its segment's last active lane."""
    starts, running = segment_starts(values, flags), segmented(values, flags, op)
    last = {start: total for start, total in zip(starts, running, strict=True) if total is not None}
    return [None if v is None else last[start] for v, start in zip(values, starts, strict=True)]


def bitonic(pairs: Lanes) -> list[Any]:
    """The network on (key, value) pairs, inactive lanes (None) last; the r-th active lane gets the r-th pair."""
    net = list(pairs)
    size = len(net)

    def less(a: Any, b: Any) -> bool:
        if a is None or b is None:
            return a is not None and b is None
        return bool(a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]))

    width = 2
    while width <= size:
        offset = width // 2
        while offset:
            for low in range(size):
                high = low ^ offset
                if high < low:
                    continue
                up = not low & width or width == size
                a, b = (low, high) if up else (high, low)
                if less(net[b], net[a]):
                    net[low], net[high] = net[high], net[low]
            offset //= 2
        width *= 2
    ranked = iter(net)
    return [None if pair is None else next(ranked) for pair in pairs]


# ---- data movement: `own` is what a lane keeps when it would read an inactive lane, or past the edge ---------------
def move(values: Lanes, source: Callable[[int], int]) -> list[Any]:
    result: list[Any] = []
    for lane, value in enumerate(values):
        other = source(lane)
        inside = 0 <= other < len(values) and values[other] is not None
        result.append(None if value is None else values[other] if inside else value)
    return result


def ballot(predicates: Lanes) -> int:
    return sum(1 << lane for lane, p in enumerate(predicates) if p is not None and p != 0)


def match(values: Lanes, lane: int) -> int:
    return sum(1 << l for l, v in enumerate(values) if v is not None and (l == lane or v == values[lane]))


def per_tile(size: int, function: Callable[..., list[Any]], *lanes: Lanes) -> list[Any]:
    """Apply a function of one tile to each tile of a subgroup, and join what it gives."""
    result: list[Any] = []
    for start in range(0, len(lanes[0]), size):
        result += function(*(v[start : start + size] for v in lanes))
    return result
