"""Reductions and scans: every operation, dtype, tile size and subgroup size, full and masked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from . import reference as ref
from .harness import NUMERIC_DTYPES, Case, cases, check, lanes_of, values

ALL_OPS = ("add", "mul", "min", "max", "and", "or", "xor")
SEGMENTED_OPS = ("add", "min", "max")


@lw.kernel
def fold(
    x: lw.types.ndarray(),
    flags: lw.types.ndarray(),
    active: lw.types.ndarray(),
    everyone: lw.types.ndarray(),
    masked: lw.types.ndarray(),
    functions: lw.template(),
    segmented: lw.template(),
    block_dim: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        for f in lw.static(range(len(functions))):
            for k in lw.static(range(subgroup.log2_group_size() + 1)):
                if lw.static(segmented):
                    everyone[f, k, i] = functions[f](x[i], flags[i], k)
                    if active[i] != 0:
                        masked[f, k, i] = functions[f](x[i], flags[i], k)
                else:
                    everyone[f, k, i] = functions[f](x[i], k)
                    if active[i] != 0:
                        masked[f, k, i] = functions[f](x[i], k)


def expect(family: str, op: str, dtype: np.dtype[Any]) -> Callable[..., list[Any]]:
    combine = ref.OPS[op]
    return {
        "reduce": lambda v, f: ref.reduce(v, combine),
        "reduce_all": lambda v, f: ref.reduce_all(v, combine),
        "inclusive": lambda v, f: ref.inclusive(v, combine),
        "exclusive": lambda v, f: ref.exclusive(v, combine, ref.identity(op, dtype)),
        "segmented_reduce": lambda v, f: ref.segmented(v, f, combine),
        "segmented_reduce_all": lambda v, f: ref.segmented_all(v, f, combine),
    }[family]


@pytest.mark.parametrize("dtype", NUMERIC_DTYPES, ids=str)
@pytest.mark.parametrize(
    "family", ["reduce", "reduce_all", "inclusive", "exclusive", "segmented_reduce", "segmented_reduce_all"]
)
def test_fold(device: lw.Device, family: str, dtype: lw.DType) -> None:
    segmented = family.startswith("segmented")
    ops = [
        op for op in (SEGMENTED_OPS if segmented else ALL_OPS) if not (dtype.is_float and op in ("and", "or", "xor"))
    ]
    functions = tuple(getattr(subgroup, f"{family}_{op}_tiled") for op in ops)
    for case in cases(device.subgroup_size, dtype):
        run_case(device, case, family, ops, functions, dtype, segmented)


def run_case(
    device: lw.Device, case: Case, family: str, ops: list[str], functions: Any, dtype: lw.DType, segmented: bool
) -> None:
    size = device.subgroup_size
    steps = size.bit_length()
    x = values(dtype, case.n)
    flags = (np.random.default_rng(case.n).random(case.n) < 0.3).astype(np.int32) * 7
    everyone = np.zeros((len(ops), steps, case.n), dtype.np)
    masked = np.zeros_like(everyone)
    with lw.use(device):
        fold(x, flags, case.active, everyone, masked, functions, segmented, case.block_dim)
    with np.errstate(all="ignore"):
        for f, op in enumerate(ops):
            function = expect(family, op, x.dtype)
            for items in case.subgroups(size):
                for active, got in ((np.ones(case.n, bool), everyone), (case.active, masked)):
                    lanes, heads = lanes_of(items, active, x), lanes_of(items, active, flags)
                    for k in range(steps):
                        want = ref.per_tile(lanes, 1 << k, function, heads)
                        check(got[f, k], want, items, f"{family}_{op}_tiled(log2_size={k}), {case.name}")
