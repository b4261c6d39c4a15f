"""What is measured: each operation, and the same work done in another way."""

from __future__ import annotations

import lanewise as lw
from lanewise.simt import block, subgroup

Floats = lw.types.NDArray[lw.f32, 1]
Ints = lw.types.NDArray[lw.i32, 1]

STEPS = 32
"""How many elements a lane handles where a subgroup walks along a run."""


@lw.kernel
def copy(x: Floats, out: Floats):
    for i in range(x.shape[0]):
        out[i] = x[i]


@lw.kernel
def sum_all(x: Floats, out: Floats):
    """out[0] += the sum of x: one atomic for each run of STEPS * W elements."""
    n = x.shape[0]
    W = subgroup.group_size()
    for item in range((n + STEPS * W - 1) // (STEPS * W) * W):
        lane = subgroup.invocation_id()
        first = (item - lane) * STEPS + lane
        total = 0.0
        for step in range(STEPS):
            i = first + step * W
            if i < n:
                total += x[i]
        total = subgroup.reduce_add(total)
        if subgroup.elect():
            lw.atomic_add(out[0], total)


@lw.kernel
def share_by_operation(x: Floats, out: Floats):
    for i in range(x.shape[0]):
        out[i] = subgroup.reduce_all_add(x[i])


@lw.kernel
def share_through_memory(x: Floats, out: Floats):
    """The same through shared memory: each lane reads what its subgroup wrote there."""
    W = subgroup.group_size()
    for i in range(x.shape[0]):
        shared = block.SharedArray(128, lw.f32)
        thread = block.thread_idx()
        lane = subgroup.invocation_id()
        total = x[i]
        for step in lw.static(range(subgroup.log2_group_size())):
            subgroup.sync()
            shared[thread] = total
            subgroup.sync()
            total += shared[thread - lane + (lane ^ (W >> (step + 1)))]
        out[i] = total


@lw.kernel
def scan_by_operation(x: Ints, out: Ints):
    for i in range(x.shape[0]):
        out[i] = subgroup.inclusive_add(x[i])


@lw.kernel
def scan_by_shuffles(x: Ints, out: Ints):
    """As one writes it by hand: log2 W steps, each adding what lies 1, 2, 4 ... lanes below."""
    for i in range(x.shape[0]):
        lane = subgroup.invocation_id()
        total = x[i]
        for step in lw.static(range(subgroup.log2_group_size())):
            below = subgroup.shuffle_up(total, 1 << step)
            total += lw.select(lane >= 1 << step, below, 0)
        out[i] = total


@lw.kernel
def histogram_by_match(x: Ints, counts: Ints):
    """One atomic for each value that a subgroup holds."""
    for i in range(x.shape[0]):
        peers = subgroup.match_any(x[i])
        if subgroup.ballot_find_lsb(peers) == subgroup.invocation_id():
            lw.atomic_add(counts[x[i]], subgroup.ballot_bit_count(peers))


@lw.kernel
def histogram_by_atomics(x: Ints, counts: Ints):
    """One atomic for each element."""
    for i in range(x.shape[0]):
        lw.atomic_add(counts[x[i]], 1)


@lw.kernel
def sort_subgroups(x: Floats, out: Floats):
    for i in range(x.shape[0]):
        out[i] = subgroup.bitonic_sort(x[i])


@lw.kernel
def swap_by_shuffle(x: Floats, out: Floats):
    for i in range(x.shape[0]):
        out[i] = subgroup.shuffle_xor(x[i], 1)


@lw.kernel
def swap_through_memory(x: Floats, out: Floats):
    """The same through shared memory and a barrier of the block."""
    for i in range(x.shape[0]):
        shared = block.SharedArray(128, lw.f32)
        thread = block.thread_idx()
        shared[thread] = x[i]
        block.sync()
        out[i] = shared[thread ^ 1]


@lw.kernel
def compact(x: Ints, starts: Ints, out: Ints):
    """The elements above 0, in order; `starts` has room for one number a subgroup."""
    W = subgroup.group_size()
    n = x.shape[0]
    subgroups = (n + W - 1) // W
    for i in range(n):
        kept = subgroup.ballot(x[i] > 0)
        if subgroup.elect():
            starts[i // W] = lw.popcnt(kept)
    for lane in range(W):
        before = 0
        for first in range(0, subgroups, W):
            k = first + lane
            count = starts[k] if k < subgroups else 0
            if k < subgroups:
                starts[k] = before + subgroup.exclusive_add(count)
            before += subgroup.reduce_all_add(count)
    for i in range(n):
        kept = subgroup.ballot(x[i] > 0)
        if x[i] > 0:
            out[starts[i // W] + subgroup.ballot_exclusive_bit_count(kept)] = x[i]


@lw.kernel
def escape_steps(width: lw.i32, limit: lw.i32, out: Ints):
    """Steps until a point of the plane leaves the disc of radius 2: lanes end at very different times."""
    for i in range(out.shape[0]):
        cx = (i % width) * (3.0 / width) - 2.2
        cy = (i // width) * (3.0 / width) - 1.5
        x = 0.0
        y = 0.0
        steps = 0
        while steps < limit and x * x + y * y <= 4.0:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            steps += 1
        out[i] = steps
