"""Values that move between lanes: broadcast, a shuffle to anywhere, a swap of neighbours, groups of four reversed.

No memory is involved: each kernel loads one value a lane, exchanges it within the subgroup, and stores one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import subgroup

Floats = lw.types.NDArray[lw.f32, 1]


@lw.kernel
def share_the_first(x: Floats, out: Floats):
    """Every lane gets what lane 0 of its subgroup has."""
    for i in range(x.shape[0]):
        out[i] = subgroup.broadcast(x[i], 0)


@lw.kernel
def stay(x: Floats, out: Floats):
    """Each lane asks for its own value: nothing changes."""
    for i in range(x.shape[0]):
        out[i] = subgroup.shuffle(x[i], subgroup.invocation_id())


@lw.kernel
def swap_neighbours(x: Floats, out: Floats):
    """Lanes 0 and 1 exchange, 2 and 3 do ..."""
    for i in range(x.shape[0]):
        out[i] = subgroup.shuffle_xor(x[i], 1)


@lw.kernel
def reverse_fours(x: Floats, out: Floats):
    """Each group of four lanes turns round; `lane ^ 3` would say the same."""
    for i in range(x.shape[0]):
        lane = subgroup.invocation_id()
        first = lane // 4 * 4
        out[i] = subgroup.shuffle(x[i], first + 3 - lane % 4)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run each, and compare."""
    options = start(__doc__, arguments, size=1024)
    W = options.W
    n = max(options.size // W, 1) * W  # whole subgroups, so that every lane asked has a value
    x = options.random.random(n, np.float32)
    out = np.empty_like(x)

    share_the_first(x, out)
    compare("broadcast", out, np.repeat(x[::W], W))
    stay(x, out)
    compare("shuffle from the lane itself", out, x)
    if W >= 2:
        swap_neighbours(x, out)
        compare("neighbours swapped", out, x.reshape(-1, 2)[:, ::-1].ravel())
    if W >= 4:
        reverse_fours(x, out)
        compare("groups of four reversed", out, x.reshape(-1, 4)[:, ::-1].ravel())


if __name__ == "__main__":
    main()
