"""A function without a tile size is its tiled form over the whole subgroup; old names are the new ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup
from lanewise.simt.op import FUNCTIONS, Function, Kind

from ..conftest import SIZES_OF, made
from .harness import bits, values

TWINS = [f for f in FUNCTIONS.values() if f"{f.qualified_name}_tiled" in FUNCTIONS]


@lw.func
def added(a, b):
    return a + b


@lw.kernel
def twins(
    x: lw.types.ndarray(dtype=lw.i32),
    y: lw.types.ndarray(dtype=lw.i32),
    out: lw.types.ndarray(dtype=lw.u64),
    plain: lw.template(),
    tiled: lw.template(),
    arity: lw.template(),
    generic: lw.template(),
    pair: lw.template(),
):
    """Both forms, in the lanes that a varying branch leaves."""
    lw.loop_config(block_dim=128)
    for i in range(x.shape[0]):
        k = lw.static(subgroup.log2_group_size())
        if x[i] % 3 != 0:
            if lw.static(generic):
                out[0, i] = plain(x[i], added, 0)
                out[1, i] = tiled(x[i], added, 0, k)
            elif lw.static(pair):
                a, b = plain(x[i], y[i])
                c, d = tiled(x[i], y[i], k)
                out[0, i] = lw.cast(a, lw.u64) * 1000003 + lw.cast(b, lw.u64)
                out[1, i] = lw.cast(c, lw.u64) * 1000003 + lw.cast(d, lw.u64)
            elif lw.static(arity == 1):
                out[0, i] = plain(x[i])
                out[1, i] = tiled(x[i], k)
            else:
                out[0, i] = plain(x[i], y[i])
                out[1, i] = tiled(x[i], y[i], k)


@pytest.mark.parametrize("function", TWINS, ids=lambda f: f.qualified_name)
def test_plain_is_tiled(arch: str, function: Function) -> None:
    size = SIZES_OF.get(arch, (8,))[0]
    n = 128 + size // 2 + 1
    x = np.random.default_rng(7).integers(1, 90, n).astype(np.int32)
    y = np.random.default_rng(8).integers(-2, size, n).astype(np.int32)
    out = np.full((2, n), 77, np.uint64)
    tiled = FUNCTIONS[f"{function.qualified_name}_tiled"]
    generic = any(p.kind is Kind.FUNC for p in function.params)
    with lw.use(made(arch, size)):
        twins(x, y, out, function, tiled, len(function.params), generic, function.name == "bitonic_sort_kv")
    defined = x % 3 != 0
    if function.name.startswith("reduce") and not function.name.startswith("reduce_all"):
        rows = np.arange(n) // size
        first = {rows[i]: i for i in reversed(np.flatnonzero(defined))}
        defined = np.isin(np.arange(n), list(first.values()))
    assert defined.any()
    assert (out[0, defined] == out[1, defined]).all()
    assert (out[0, x % 3 == 0] == 77).all()
    assert (out[0, defined] != 77).any()


@lw.kernel
def old_names(x: lw.types.ndarray(dtype=lw.i32), masks: lw.types.ndarray(dtype=lw.u64)):
    for i in range(x.shape[0]):
        subgroup.barrier()
        subgroup.memory_barrier()
        masks[0, i] = subgroup.ballot_full_subgroup(x[i])
        masks[1, i] = subgroup.ballot(x[i])


def test_old_names_forward(arch: str) -> None:
    from lanewise.simt import op

    op._warn_renamed.cache_clear()
    expected = 3
    for size in SIZES_OF.get(arch, (4, 8)):  # compiled twice, told once
        x, masks = values(lw.i32, 64), np.zeros((2, 64), np.uint64)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with lw.use(made(arch, size)):
                old_names(x, masks)
        assert len([w for w in told if w.category is DeprecationWarning]) == expected
        assert (bits(masks[0]) == bits(masks[1])).all()
        assert masks.any()
        expected = 0
