"""Reductions and scans: every operation, dtype, tile size and subgroup size, full and masked."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from . import reference as ref
from .harness import NUMERIC_DTYPES, Expected, cases, parts, values

BIT_OPS = ("and", "or", "xor")
ALL_OPS = ("add", "mul", "min", "max", *BIT_OPS)
FAMILIES = {
    **dict.fromkeys(("reduce", "reduce_all", "inclusive", "exclusive"), ALL_OPS),
    **dict.fromkeys(("segmented_reduce", "segmented_reduce_all"), ("add", "min", "max")),
}


@lw.kernel
def fold(
    x: lw.types.ndarray(),
    flags: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out: lw.types.ndarray(),
    functions: lw.template(),
    segmented: lw.template(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(x.shape[0]):
        v = x[i]
        flag = flags[i]
        here = active[i] != 0
        for f in lw.static(range(len(functions))):
            for k in lw.static(range(subgroup.log2_group_size() + 1)):
                r = v
                if here or lw.static(not masked):
                    if lw.static(segmented):
                        r = functions[f](v, flag, k)
                    else:
                        r = functions[f](v, k)
                out[f, k, i] = r


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
@pytest.mark.parametrize("family", FAMILIES)
def test_fold(size: int, family: str, dtype: lw.DType) -> None:
    segmented = family.startswith("segmented")
    ops = [op for op in FAMILIES[family] if dtype.is_int or op not in BIT_OPS]
    steps = size.bit_length()
    for case in cases(size, dtype):
        x = values(dtype, case.n)
        flags = (np.random.default_rng(case.n).random(case.n) < 0.3).astype(np.int32) * 7
        lanes, heads = case.lanes(x), case.lanes(flags)
        for part in parts(size, ops):
            want: dict[tuple[str, int], Expected] = {}
            with np.errstate(all="ignore"):
                for op, k in itertools.product(part, range(steps)):
                    per_tile = functools.partial(ref.per_tile, 1 << k, expect(family, op, x.dtype))
                    want[op, k] = case.each(per_tile, lanes, heads)
            functions = tuple(getattr(subgroup, f"{family}_{op}_tiled") for op in part)
            for device in case.devices:
                out = np.zeros((len(part), steps, case.n), dtype.np)
                fold(x, flags, case.active, out, functions, segmented, case.block_dim, case.masked)
                for (f, op), k in itertools.product(enumerate(part), range(steps)):
                    case.check(out[f, k], want[op, k], f"{family}_{op}_tiled(log2_size={k}) on {device.arch}")
