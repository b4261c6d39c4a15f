"""The bitonic sort: pairs and keys, every tile of every subgroup, whoever is active."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from . import reference as ref
from .harness import NUMERIC_DTYPES, WIDE, Arr, Case, bits, cases, values

ALONE = (lw.u8, lw.i32, lw.u64, lw.f16, lw.f32)
"""At a wide W the keys of other types are sorted with values alone: the network is the same."""


@lw.kernel
def sort_pairs(
    keys: lw.types.ndarray(),
    payload: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out_keys: lw.types.ndarray(),
    out_payload: lw.types.ndarray(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(keys.shape[0]):
        key, value = keys[i], payload[i]
        here = active[i] != 0
        for k in lw.static(range(subgroup.log2_group_size() + 1)):
            a, b = key, value
            if here or lw.static(not masked):
                a, b = subgroup.bitonic_sort_kv_tiled(key, value, k)
            out_keys[k, i] = a
            out_payload[k, i] = b


@lw.kernel
def sort_keys(
    keys: lw.types.ndarray(),
    active: lw.types.ndarray(),
    out: lw.types.ndarray(),
    block_dim: lw.template(),
    masked: lw.template(),
):
    lw.loop_config(block_dim=block_dim)
    for i in range(keys.shape[0]):
        key = keys[i]
        here = active[i] != 0
        for k in lw.static(range(subgroup.log2_group_size() + 1)):
            r = key
            if here or lw.static(not masked):
                r = subgroup.bitonic_sort_tiled(key, k)
            out[k, i] = r


@pytest.mark.parametrize(("number", "dtype"), list(enumerate(NUMERIC_DTYPES)), ids=str)
def test_pairs(size: int, number: int, dtype: lw.DType) -> None:
    steps = size.bit_length()
    payload_type = NUMERIC_DTYPES[(number * 7 + 3) % len(NUMERIC_DTYPES)]
    for case in cases(size, dtype):
        keys, payload = values(dtype, case.n), values(payload_type, case.n, seed=1)
        for device in case.devices:
            out_keys, out_payload = np.zeros((steps, case.n), dtype.np), np.zeros((steps, case.n), payload_type.np)
            sort_pairs(keys, payload, case.active, out_keys, out_payload, case.block_dim, case.masked)
            check_sorted(case, (keys, payload), (out_keys, out_payload), f"{dtype}, {payload_type} on {device.arch}")


@pytest.mark.parametrize("dtype", NUMERIC_DTYPES, ids=str)
def test_keys(size: int, dtype: lw.DType) -> None:
    if size > WIDE and dtype not in ALONE:
        return
    for case in cases(size, dtype):
        keys = values(dtype, case.n)
        for device in case.devices:
            out = np.zeros((size.bit_length(), case.n), dtype.np)
            sort_keys(keys, case.active, out, case.block_dim, case.masked)
            check_sorted(case, (keys,), (out,), f"{dtype} on {device.arch}")


def check_sorted(case: Case, given: tuple[Arr, ...], got: tuple[Arr, ...], note: str) -> None:
    """Each tile against the network; where a NaN is among them, nothing may be lost."""
    rows = list(zip(*given, strict=True))
    lanes, places = case.lanes(rows), case.lanes(range(case.n))
    for k in range(case.size.bit_length()):
        want = case.each(functools.partial(ref.per_tile, 1 << k, network), lanes)
        for column, out in enumerate(got):
            case.check(out[k], [row and row[column] for row in want], f"{note}, log2_size={k}")
        for subgroup_places in places:
            for start in range(0, case.size, 1 << k):
                here = [i for i in subgroup_places[start : start + (1 << k)] if i is not None]
                if any(unordered(rows[i]) for i in here):
                    kept, all_of_them = (
                        sorted(zip(*(bits(c[here]) for c in columns), strict=True))
                        for columns in ([out[k] for out in got], given)
                    )
                    assert kept == all_of_them, f"{note}, log2_size={k}: items {here} are not those that were given"


def unordered(row: tuple[Any, ...]) -> bool:
    return any(np.isnan(v) for v in row)


def network(tile: list[Any]) -> list[Any]:
    """The sorted rows; nothing where a NaN makes their places unspecified."""
    if any(row is not None and unordered(row) for row in tile):
        return [None] * len(tile)
    return ref.bitonic([row and (*row, 0)[:2] for row in tile])


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


@lw.kernel
def sort_both(keys: lw.types.ndarray(), payload: lw.types.ndarray(), alone: lw.types.ndarray(), k: lw.template()):
    for i in range(keys.shape[0]):
        alone[i] = subgroup.bitonic_sort_tiled(keys[i], k)
        keys[i], payload[i] = subgroup.bitonic_sort_kv_tiled(keys[i], payload[i], k)


KINDS = [(lw.f32, lw.i32), (lw.f32, lw.f32), (lw.i32, lw.u32), (lw.u32, lw.f32), (lw.f16, lw.i16), (lw.i8, lw.u16)]


@pytest.mark.parametrize(("key_type", "value_type"), KINDS, ids=str)
def test_ordinary_values(key_type: lw.DType, value_type: lw.DType, device: lw.Device) -> None:
    """Values of which any order is the order of integers, as backends may take it; NaN keys keep their values."""
    rng, size, n = np.random.default_rng(5), device.subgroup_size, 512
    low, high = (-9, 9) if "u" not in f"{key_type}{value_type}" else (0, 18)
    keys, payload = (rng.integers(low, high, n).astype(t.np) + t.np.type(0) for t in (key_type, value_type))
    if key_type.is_float:
        keys = (keys / key_type.np.type(4)) + key_type.np.type(0)
        keys[3 * 64 + 5 :: 130] = np.nan
    for k in {size.bit_length() - 1, size.bit_length() // 2}:
        got_keys, got_payload, alone = keys.copy(), payload.copy(), np.zeros_like(keys)
        sort_both(got_keys, got_payload, alone, k)
        rows = [a.reshape(-1, 1 << k) for a in (keys, payload, got_keys, got_payload, alone)]
        for key, value, got_key, got_value, got_alone in zip(*rows, strict=True):
            want = sorted(zip(key.tolist(), value.tolist(), strict=True))
            if np.isnan(key).any():
                got = sorted(zip(bits(got_key).tolist(), bits(got_value).tolist(), strict=True))
                assert got == sorted(zip(bits(key).tolist(), bits(value).tolist(), strict=True))
                assert sorted(bits(got_alone).tolist()) == sorted(bits(key).tolist())
            else:
                assert list(zip(got_key.tolist(), got_value.tolist(), strict=True)) == want
                assert got_alone.tolist() == [key for key, _ in want]
