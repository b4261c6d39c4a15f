"""Six kernels over a map of elevations, as first examples of the language.

None of them knows the subgroup size: `subgroup.group_size()` is a compile-time constant, so the same source serves
subgroups of 8, 32 and 64 lanes.  Where a kernel goes over a long array, each subgroup takes a run of consecutive
elements and walks it W at a time: neighbouring lanes read neighbouring elements, which is what every device likes best.
"""

from __future__ import annotations

import math

import lanewise as lw
from lanewise.simt import quad, subgroup

Floats = lw.types.ndarray(dtype=lw.f32, ndim=1)
Ints = lw.types.ndarray(dtype=lw.i32, ndim=1)
Map = lw.types.ndarray(dtype=lw.f32, ndim=2)

STEPS = 64
"""How many elements each lane handles where a subgroup walks along a run."""

TILE_COLUMNS = 8
"""A tile of `tile_order` is this many pixels wide, and W / 8 high."""

SUN = math.sqrt(0.5)
"""Sine and cosine of the sun's height, 45 degrees."""


@lw.func
def run_of(item):
    """The number of this subgroup's run, and the first element of it that is this lane's."""
    W = subgroup.group_size()
    lane = subgroup.invocation_id()
    run = (item - lane) // W  # the same in every lane
    return run, run * (STEPS * W) + lane


@lw.kernel
def value_range(z: Floats, lowest: Floats, highest: Floats):
    """lowest[0], highest[0] = the smallest and the largest of z."""
    n = z.shape[0]
    W = subgroup.group_size()
    runs = (n + STEPS * W - 1) // (STEPS * W)

    for _ in range(1):
        lowest[0] = math.inf
        highest[0] = -math.inf

    for item in range(runs * W):
        _, first = run_of(item)
        low = lw.f32(math.inf)
        high = lw.f32(-math.inf)
        for step in range(STEPS):
            k = first + step * W
            if k < n:
                low = min(low, z[k])
                high = max(high, z[k])
        low = subgroup.reduce_min(low)
        high = subgroup.reduce_max(high)
        if subgroup.elect():  # one atomic for a whole run
            lw.atomic_min(lowest[0], low)
            lw.atomic_max(highest[0], high)


@lw.kernel
def mean(z: Floats, sums: Floats, result: Floats):
    """result[0] = sum(z) / len(z); `sums` has room for one partial sum a run.

    Which numbers are added to which depends on W alone, so the result has the same bits in every run on every device.
    """
    n = z.shape[0]
    W = subgroup.group_size()
    runs = (n + STEPS * W - 1) // (STEPS * W)

    for item in range(runs * W):
        run, first = run_of(item)
        total = 0.0
        for step in range(STEPS):
            k = first + step * W
            if k < n:
                total += z[k]
        total = subgroup.reduce_add(total)
        if subgroup.elect():
            sums[run] = total

    for lane in range(W):  # one subgroup folds the partial sums
        total = 0.0
        for run in range(lane, runs, W):
            total += sums[run]
        total = subgroup.reduce_add(total)
        if subgroup.elect():
            result[0] = total / n


@lw.kernel
def histogram(z: Floats, low: lw.f32, high: lw.f32, counts: Ints):
    """counts[b] += how many values lie in the b-th of len(counts) equal bins of [low, high]."""
    bins = counts.shape[0]
    scale = bins / (high - low)

    for item in range(z.shape[0]):
        b = min(lw.cast((z[item] - low) * scale, lw.i32), bins - 1)
        peers = subgroup.match_any(b)  # bit l is set where lane l's value falls into my bin
        if subgroup.ballot_find_lsb(peers) == subgroup.invocation_id():
            counts[b] += subgroup.ballot_bit_count(peers)  # atomic: one for each bin that the subgroup met


@lw.kernel
def cumulative_departure(z: Ints, normal: lw.i32, sums: Ints, out: Ints):
    """out[k] = sum(z[j] - normal for j <= k); `sums` has room for one number a run.

    A whole-array prefix sum in three passes: the sum of each run, then a scan of those sums by a single subgroup, then
    the scan of each run from where it starts.
    """
    n = z.shape[0]
    W = subgroup.group_size()
    runs = (n + STEPS * W - 1) // (STEPS * W)

    for item in range(runs * W):
        run, first = run_of(item)
        total = 0
        for step in range(STEPS):
            k = first + step * W
            if k < n:
                total += z[k] - normal
        total = subgroup.reduce_add(total)
        if subgroup.elect():
            sums[run] = total

    for lane in range(W):
        before = 0  # the sum of all runs before these W
        for step in range((runs + W - 1) // W):
            run = step * W + lane
            total = sums[run] if run < runs else 0
            upto = before + subgroup.inclusive_add(total)
            if run < runs:
                sums[run] = upto - total
            before = subgroup.broadcast(upto, W - 1)

    for item in range(runs * W):
        run, first = run_of(item)
        before = sums[run]
        for step in range(STEPS):
            k = first + step * W
            departure = z[k] - normal if k < n else 0
            upto = before + subgroup.inclusive_add(departure)
            if k < n:
                out[k] = upto
            before = subgroup.broadcast(upto, W - 1)


@lw.kernel
def tile_order(z: Map, ordered: Map, medians: Map):
    """Sort each tile of W pixels, TILE_COLUMNS wide, in row-major order; medians[tile] = its median.

    Pixels right of and below the last whole tile are left alone.
    """
    W = subgroup.group_size()
    tile_rows = W // TILE_COLUMNS

    for down, item in lw.ndrange(z.shape[0] // tile_rows, z.shape[1] // TILE_COLUMNS * W):
        lane = subgroup.invocation_id()
        across = (item - lane) // W
        row = down * tile_rows + lane // TILE_COLUMNS
        column = across * TILE_COLUMNS + lane % TILE_COLUMNS
        value = subgroup.bitonic_sort(z[row, column])
        ordered[row, column] = value
        middle = subgroup.broadcast(value, W // 2 - 1) + subgroup.broadcast(value, W // 2)
        if subgroup.elect():
            medians[down, across] = middle * 0.5


@lw.kernel
def shaded_relief(z: Map, steepness_x: lw.f32, steepness_y: lw.f32, light: Map):
    """light = cos(angle between the surface's normal and the sun), the sun in the north-west, 45 degrees high.

    The four lanes of a quad hold a block of 2 x 2 pixels, so both slopes are differences to a lane next door.
    `steepness` is the vertical exaggeration over the size of a pixel.
    """
    for down, item in lw.ndrange(z.shape[0] // 2, z.shape[1] // 2 * 4):
        right = item & 1
        lower = item >> 1 & 1
        row = down * 2 + lower
        column = (item >> 2) * 2 + right

        here = z[row, column]
        beside = quad.swap_horizontal(here)
        above = quad.swap_vertical(here)
        east = lw.select(right == 1, here - beside, beside - here) * steepness_x
        south = lw.select(lower == 1, here - above, above - here) * steepness_y

        facing = (east + south) * 0.5 + SUN
        light[row, column] = max(facing / lw.sqrt(1.0 + east * east + south * south), 0.0)
