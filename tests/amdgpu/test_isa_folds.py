"""Reductions and scans with code of their own on AMD: every type, tile and mask, against the NumPy interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup
from tests.amdgpu.isa.engine import device
from tests.conftest import made

from .test_isa_lanes import GENERATIONS

FORMS = ("reduce_all", "inclusive", "exclusive")
# Each type and each operation, not each of both: they meet in few ways, and tests/ops has them all.
OPERATIONS = {
    lw.i8: ("add", "min"),
    lw.u8: ("or",),
    lw.i16: ("mul",),
    lw.u16: ("max", "and"),
    lw.i32: ("add", "mul", "max"),
    lw.u32: ("min", "xor"),
    lw.i64: ("add", "min", "and"),
    lw.u64: ("max", "or"),
    lw.f16: ("min", "add"),
    lw.f32: ("max", "add"),
    lw.f64: ("min", "max", "mul"),
}
N = 300


@lw.kernel
def fold(
    x: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out: lw.types.ndarray(),
    functions: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=128)
    for i in range(x.shape[0]):
        v = x[i]
        here = active[i] != 0
        for f in lw.static(range(len(functions))):
            for k in lw.static(range(subgroup.log2_group_size() + 1)):
                r = v
                if here or lw.static(not masked):
                    r = functions[f](v, k)
                out[f, k, i] = r


def values(dtype: lw.DType) -> np.ndarray:
    rng = np.random.default_rng(1)
    with np.errstate(invalid="ignore"):
        x = (rng.standard_normal(N) * 50).astype(np.int64).astype(dtype.np)
    if dtype.is_float:
        x[rng.random(N) < 0.1] = np.nan
        x[:6] = [-0.0, 0.0, -np.inf, np.inf, -np.nan, -0.0]
        x[64:128] = np.nan  # a subgroup without a number
    return x


@pytest.mark.parametrize("masked", [False, True], ids=["all", "masked"])
@pytest.mark.parametrize(("arch", "size"), GENERATIONS, ids=str)
def test_folds(arch: str, size: int, masked: bool) -> None:
    """The last block is not full, so that absent lanes are left out as well."""
    active = (np.random.default_rng(2).random(N) < 0.5).astype(np.uint8)
    for dtype, operations in OPERATIONS.items():
        functions = tuple(getattr(subgroup, f"{form}_{op}_tiled") for op in operations for form in FORMS)
        x, outs = values(dtype), []
        for one in (device(arch, size), made("interpreter", size)):
            out = np.zeros((len(functions), size.bit_length(), N), dtype.np)
            with lw.use(one):
                fold(x, active, out, functions, masked)
            outs.append(np.where(np.isnan(out), np.nan, out).astype(dtype.np) if dtype.is_float else out)
        got, want = (out.view(f"u{dtype.itemsize}") for out in outs)
        np.testing.assert_array_equal(got, want, err_msg=f"{dtype} on {arch} in wave{size}")
