"""A sparse matrix times a vector by a segmented reduction: rows of any length, and every lane has work.

Lanes go along the non-zeros, not along the rows.  Where a row begins, a segment begins; the last lane of a segment in
the subgroup holds the sum of its part of the row and adds it to the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import subgroup

Floats = lw.types.NDArray[lw.f32, 1]
Ints = lw.types.NDArray[lw.i32, 1]


@lw.kernel
def multiply(rows: Ints, columns: Ints, values: Floats, x: Floats, y: Floats):
    """y += A @ x; A's non-zeros are sorted by row."""
    W = subgroup.group_size()
    n = values.shape[0]
    for i in range(n):
        row = rows[i]
        product = values[i] * x[columns[i]]
        begins = i == 0 or rows[max(i - 1, 0)] != row
        so_far = subgroup.segmented_reduce_add(product, begins)
        is_last = i == n - 1 or subgroup.invocation_id() == W - 1 or rows[min(i + 1, n - 1)] != row
        if is_last:
            lw.atomic_add(y[row], so_far)


def main(arguments: Sequence[str] | None = None) -> None:
    """Multiply a matrix some of whose rows are long and many of which are empty."""
    options = start(__doc__, arguments, size=100_000)
    n = max(int(options.size**0.5), 1)
    rows = np.sort(np.minimum(options.random.exponential(n / 4, options.size), n - 1).astype(np.int32))
    columns = options.random.integers(0, n, options.size, dtype=np.int32)
    values = options.random.random(options.size, np.float32)
    x = options.random.random(n, np.float32)
    y = np.zeros(n, np.float32)
    multiply(rows, columns, values, x, y)

    wanted = np.zeros(n)
    np.add.at(wanted, rows, values.astype(np.float64) * x[columns])
    lengths = np.bincount(rows, minlength=n)
    compare(f"{n} rows of 0 to {lengths.max()} non-zeros", y, wanted, tolerance=1e-4)


if __name__ == "__main__":
    main()
