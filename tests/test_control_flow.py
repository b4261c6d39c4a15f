"""Who is active: divergence, early exits and lane-dependent loops, against lanes simulated one by one.

Each kernel has a twin, a generator that runs one lane and yields at each operation a key (its place in execution order:
statement numbers and loop rounds, outermost first) and its value.  The simulation lets the lanes with the smallest key
do the operation together, which is what the contract means by the active lanes of a structured program.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

Lane = Generator[tuple[tuple[int, ...], Any], Any, int]
F32 = np.float32


def simulate(
    twin: Callable[[int, int], Lane], operation: Callable[[dict[int, Any]], dict[int, Any]], xs: Any
) -> list[int]:
    """Run the lanes of one subgroup; `operation` maps the active lanes' values to their results."""
    lanes = {lane: twin(lane, int(x)) for lane, x in enumerate(xs)}
    pending: dict[int, tuple[tuple[int, ...], Any]] = {}
    done: dict[int, int] = {}

    def advance(lane: int, result: Any) -> None:
        try:
            pending[lane] = lanes[lane].send(result)
        except StopIteration as end:
            pending.pop(lane, None)
            done[lane] = end.value

    for lane in lanes:
        advance(lane, None)
    while pending:
        key = min(k for k, _ in pending.values())
        here = {lane: value for lane, (k, value) in pending.items() if k == key}
        for lane, result in operation(here).items():
            advance(lane, result)
    return [done[lane] for lane in range(len(xs))]


def total(active: dict[int, Any]) -> dict[int, Any]:
    return {lane: sum(active.values()) for lane in active}


def prefix(active: dict[int, Any]) -> dict[int, Any]:
    return {lane: sum(v for other, v in active.items() if other <= lane) for lane in active}


# ---- the kernels and their twins ----------------------------------------------------------------------------------
@lw.kernel
def nested_branches(x: lw.types.ndarray(dtype=lw.i32, ndim=1), out: lw.types.ndarray(dtype=lw.i32, ndim=1)):
    for i in range(x.shape[0]):
        r = x[i]
        if x[i] % 2 == 0:
            r = subgroup.reduce_all_add(r)
            if x[i] % 3 == 0:
                r += subgroup.reduce_all_add(1)
            else:
                r -= subgroup.reduce_all_add(1)
        elif x[i] % 5 == 0:
            r = subgroup.reduce_all_add(r) * 2
        out[i] = r + subgroup.reduce_all_add(r)


def nested_branches_twin(lane: int, x: int) -> Lane:
    r = x
    if x % 2 == 0:
        r = yield (0, 0), r
        if x % 3 == 0:
            r += yield (0, 1, 0), 1
        else:
            r -= yield (0, 1, 1), 1
    elif x % 5 == 0:
        r = (yield (0, 2), r) * 2
    return r + (yield (1,), r)


@lw.kernel
def lane_dependent_while(x: lw.types.ndarray(dtype=lw.i32, ndim=1), out: lw.types.ndarray(dtype=lw.i32, ndim=1)):
    for i in range(x.shape[0]):
        r = 0
        left = x[i] % 7
        while left > 0:
            r += subgroup.inclusive_add(left)
            left -= 1
            if r > 40:
                break
        out[i] = r


def lane_dependent_while_twin(lane: int, x: int) -> Lane:
    r, left, turn = 0, x % 7, 0
    while left > 0:
        r += yield (0, turn), left
        left -= 1
        turn += 1
        if r > 40:
            break
    return r


@lw.kernel
def break_continue_return(x: lw.types.ndarray(dtype=lw.i32, ndim=1), out: lw.types.ndarray(dtype=lw.i32, ndim=1)):
    for i in range(x.shape[0]):
        r = x[i]
        out[i] = -1
        for k in range(5):
            if (x[i] + k) % 4 == 0:
                continue
            r = subgroup.inclusive_add(r) % 1000
            if r % 11 == 0:
                break
            if r % 13 == 0:
                out[i] = r
                return
            r += subgroup.inclusive_add(k)
        out[i] = subgroup.inclusive_add(r % 100)


def break_continue_return_twin(lane: int, x: int) -> Lane:
    r = x
    for k in range(5):
        if (x + k) % 4 == 0:
            continue
        r = (yield (0, k, 0), r) % 1000
        if r % 11 == 0:
            break
        if r % 13 == 0:
            return r
        r += yield (0, k, 1), k
    return (yield (1,), r % 100)


@lw.kernel
def nested_loops(x: lw.types.ndarray(dtype=lw.i32, ndim=1), out: lw.types.ndarray(dtype=lw.i32, ndim=1)):
    for i in range(x.shape[0]):
        r = 1
        for j in range(x[i] % 4):
            for k in range(3):
                if k > x[i] % 3:
                    break
                r += subgroup.reduce_all_add(r % 8 + j)
            if r % 5 == 0:
                continue
            r += subgroup.reduce_all_add(1)
        out[i] = r


def nested_loops_twin(lane: int, x: int) -> Lane:
    r = 1
    for j in range(x % 4):
        for k in range(3):
            if k > x % 3:
                break
            r += yield (0, j, 0, k), r % 8 + j
        if r % 5 == 0:
            continue
        r += yield (0, j, 1), 1
    return r


@lw.func
def climb(v, limit):
    steps = 0
    while v < limit:
        v += subgroup.reduce_all_add(1)
        steps += 1
        if steps > 6:
            return -v
    return v


@lw.kernel
def early_return_in_a_func(x: lw.types.ndarray(dtype=lw.i32, ndim=1), out: lw.types.ndarray(dtype=lw.i32, ndim=1)):
    for i in range(x.shape[0]):
        r = climb(x[i], 20)
        out[i] = r + climb(x[i] % 3, x[i])


def climb_twin(place: int, v: int, limit: int) -> Lane:
    steps = 0
    while v < limit:
        v += yield (place, steps), 1
        steps += 1
        if steps > 6:
            return -v
    return v


def early_return_twin(lane: int, x: int) -> Lane:
    r = yield from climb_twin(0, x, 20)
    return r + (yield from climb_twin(1, x % 3, x))


CASES = [
    (nested_branches, nested_branches_twin, total),
    (lane_dependent_while, lane_dependent_while_twin, prefix),
    (break_continue_return, break_continue_return_twin, prefix),
    (nested_loops, nested_loops_twin, total),
    (early_return_in_a_func, early_return_twin, total),
]


@pytest.mark.parametrize(("kernel", "twin", "operation"), CASES, ids=lambda p: getattr(p, "__name__", ""))
def test_active_lanes(device: lw.Device, kernel: Any, twin: Any, operation: Any) -> None:
    size = device.subgroup_size
    for n in (128, 128 + size // 2 + 1):
        x = np.random.default_rng(n).integers(0, 30, n).astype(np.int32)
        out = np.zeros(n, np.int32)
        with lw.use(device):
            kernel(x, out)
        want = [r for start in range(0, n, size) for r in simulate(twin, operation, x[start : start + size])]
        assert out.tolist() == want
