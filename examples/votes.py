"""Which lanes hold a positive number?  A ballot answers with one bit a lane, in every lane of the subgroup."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from options import compare, start

import lanewise as lw
from lanewise.simt import subgroup

Floats = lw.types.NDArray[lw.f32, 1]
Ints = lw.types.NDArray[lw.i32, 1]
Masks = lw.types.NDArray[lw.u64, 1]


@lw.kernel
def which_are_positive(x: Floats, masks: Masks, counts: Ints, all_of_them: Ints):
    """One mask, one count and one verdict a subgroup."""
    W = subgroup.group_size()
    for i in range(x.shape[0]):
        mask = subgroup.ballot(x[i] > 0.0)
        verdict = subgroup.all_true(x[i] > 0.0)
        if subgroup.elect():  # one lane writes for all
            masks[i // W] = mask
            counts[i // W] = lw.popcnt(mask)
            all_of_them[i // W] = verdict


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it over an array whose last subgroup is not full: lanes without an item have 0 in the mask."""
    options = start(__doc__, arguments, size=1000)
    W, n = options.W, options.size
    subgroups = -(-n // W)
    x = options.random.normal(0.5, 0.5, n).astype(np.float32)
    masks = np.zeros(subgroups, np.uint64)
    counts, verdicts = np.zeros(subgroups, np.int32), np.zeros(subgroups, np.int32)
    which_are_positive(x, masks, counts, verdicts)

    rows = [x[start : start + W] > 0 for start in range(0, n, W)]
    compare("masks", masks, [sum(1 << lane for lane, positive in enumerate(row) if positive) for row in rows])
    compare("counts", counts, [row.sum() for row in rows])
    compare("votes", verdicts, [row.all() for row in rows])


if __name__ == "__main__":
    main()
