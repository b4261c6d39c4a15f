"""The bitonic sort: pairs and keys, every tile of every subgroup, whoever is active."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from . import reference as ref
from .harness import NUMERIC_DTYPES, bits, cases, check, lanes_of, values


@lw.kernel
def sort_pairs(
    keys: lw.types.ndarray(),
    payload: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out_keys: lw.types.ndarray(),
    out_payload: lw.types.ndarray(),
    alone: lw.types.ndarray(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(keys.shape[0]):
        if lw.static(masked):
            if active[i] == 0:
                return
        for k in lw.static(range(subgroup.log2_group_size() + 1)):
            key, value = subgroup.bitonic_sort_kv_tiled(keys[i], payload[i], k)
            out_keys[k, i] = key
            out_payload[k, i] = value
            alone[k, i] = subgroup.bitonic_sort_tiled(keys[i], k)


@pytest.mark.parametrize("masked", [False, True], ids=["everyone", "masked"])
@pytest.mark.parametrize(("number", "dtype"), list(enumerate(NUMERIC_DTYPES)), ids=str)
def test_sort(device: lw.Device, number: int, dtype: lw.DType, masked: bool) -> None:
    size, steps = device.subgroup_size, device.subgroup_size.bit_length()
    payload_type = NUMERIC_DTYPES[(number * 7 + 3) % len(NUMERIC_DTYPES)]
    for case in cases(size, dtype):
        keys, payload = values(dtype, case.n), values(payload_type, case.n, seed=1)
        out_keys, out_payload = np.zeros((steps, case.n), dtype.np), np.zeros((steps, case.n), payload_type.np)
        alone = np.zeros_like(out_keys)
        with lw.use(device):
            sort_pairs(keys, payload, case.active, out_keys, out_payload, alone, case.block_dim, masked)
        active = case.active if masked else np.ones(case.n, np.uint8)
        pairs = list(zip(keys, payload, strict=True))
        for items in case.subgroups(size):
            lanes, only = lanes_of(items, active, pairs), lanes_of(items, active, [(k, 0) for k in keys])
            for k in range(steps):
                note = f"sort of {dtype}, {payload_type}, log2_size={k}, {case.name}"
                tiles = list(
                    zip(ref.tiles(lanes, 1 << k), ref.tiles(only, 1 << k), ref.tiles(items, 1 << k), strict=True)
                )
                for tile, singles, places in tiles:
                    present = [p for p in tile if p is not None]
                    here = [int(i) for i, p in zip(places, tile, strict=True) if p is not None]
                    if any(np.isnan(key) or np.isnan(v) for key, v in present):
                        got = sorted(zip(bits(out_keys[k, here]), bits(out_payload[k, here]), strict=True))
                        need = sorted((bits(np.array(key)).item(), bits(np.array(v)).item()) for key, v in present)
                        assert [(int(a), int(b)) for a, b in got] == need, f"{note}: pairs were lost"
                        continue
                    want = ref.bitonic(tile)
                    check(out_keys[k], [p and p[0] for p in want], places, note)
                    check(out_payload[k], [p and p[1] for p in want], places, note)
                    check(alone[k], [p and p[0] for p in ref.bitonic(singles)], places, note)


@lw.kernel
def sort_whole(keys: lw.types.ndarray(dtype=lw.f32), order: lw.types.ndarray(dtype=lw.i32)):
    for i in range(keys.shape[0]):
        key, place = subgroup.bitonic_sort_kv(keys[i], i)
        keys[i] = key
        order[i] = place


def test_whole_subgroup_is_a_stable_argsort(device: lw.Device) -> None:
    size = device.subgroup_size
    data = np.round(np.random.default_rng(3).standard_normal(256) * 2).astype(np.float32) + 0.0
    keys, order = data.copy(), np.zeros(256, np.int32)
    with lw.use(device):
        sort_whole(keys, order)
    rows = data.reshape(-1, size)
    want = np.argsort(rows, axis=1, kind="stable")
    assert (keys.reshape(-1, size) == np.take_along_axis(rows, want, 1)).all()
    assert (order.reshape(-1, size) % size == want).all()
