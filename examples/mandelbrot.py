"""The Mandelbrot set, whose points take anything from one step to hundreds: how many lanes does a subgroup keep busy?

A subgroup goes on until its last lane is done.  Each step counts the lanes that are still at work, so the kernel tells
what divergence costs at any subgroup size, also at one that no device at hand has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import subgroup

Image = lw.types.NDArray[lw.i32, 2]
Counts = lw.types.NDArray[lw.i64, 1]
LIMIT = 200
SHADES = " .:-=+*#%@"


@lw.kernel
def draw(image: Image, busy: Counts):
    """image = steps until |z| > 2; busy[0] = steps of lanes with work, busy[1] = steps of all lanes."""
    W = subgroup.group_size()
    rows, columns = image.shape[0], image.shape[1]
    for row, column in lw.ndrange(rows, columns):
        cx = column * (3.0 / columns) - 2.2
        cy = row * (2.4 / rows) - 1.2
        x = 0.0
        y = 0.0
        steps = 0
        at_work = lw.i64(0)
        while steps < LIMIT and x * x + y * y <= 4.0:
            lanes = lw.popcnt(subgroup.active_mask())  # not under the `if`: there one lane is active
            if subgroup.elect():
                at_work += lanes
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            steps += 1
        image[row, column] = steps
        longest = subgroup.reduce_all_max(steps)
        at_work = subgroup.reduce_all_add(at_work)
        if subgroup.elect():
            lw.atomic_add(busy[0], at_work)
            lw.atomic_add(busy[1], lw.i64(longest) * W)


def with_numpy(rows: int, columns: int) -> np.ndarray:
    """The same in float32 arrays, all points at once."""
    one = np.float32(1)
    cx = (np.arange(columns, dtype=np.float32) * (np.float32(3) / np.float32(columns)) - np.float32(2.2)) * one
    cy = (np.arange(rows, dtype=np.float32) * (np.float32(2.4) / np.float32(rows)) - np.float32(1.2))[:, None]
    x, y = np.zeros((rows, columns), np.float32), np.zeros((rows, columns), np.float32)
    steps = np.zeros((rows, columns), np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(LIMIT):
            inside = x * x + y * y <= 4
            x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
            steps += inside
    return steps


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw it in characters, and say how many lanes were at work."""
    options = start(__doc__, arguments, size=100_000)
    rows = max(int((options.size / 3) ** 0.5), 1)
    image, busy = np.zeros((rows, rows * 3), np.int32), np.zeros(2, np.int64)
    draw(image, busy)
    compare("steps of every point", image, with_numpy(*image.shape))
    compare("steps of lanes with work", busy[0], image.sum())
    for row in image[:: max(rows // 16, 1)]:
        shades = np.log(row[:: max(rows * 3 // 64, 1)]) / np.log(LIMIT) * (len(SHADES) - 1)
        print("  " + "".join(SHADES[int(shade)] for shade in shades))
    print(f"  lanes at work: {busy[0] / busy[1]:.0%} at W = {options.W}")


if __name__ == "__main__":
    main()
