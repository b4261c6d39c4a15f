"""Random kernels give the same bits on every engine; the interpreter runs them as they are written."""

from __future__ import annotations

import importlib.util
import itertools
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import lanewise as lw

from ..conftest import ARCHES, SIZES, SIZES_OF, made
from ..ops.harness import bits, values
from .programs import kernels

EXAMPLES = int(os.environ.get("LANEWISE_FUZZ_EXAMPLES", "12"))
numbers = itertools.count()


def load(source: str, folder: Path) -> ModuleType:
    path = folder / f"fuzzed_{next(numbers)}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module: ModuleType, device: lw.Device, n: int) -> list[np.ndarray]:
    ints, floats = values(lw.i32, n, seed=n), values(lw.f32, n, seed=n)
    outs = [np.zeros(n, t) for t in (np.int32, np.uint8, np.float32, np.uint64, np.int64)]
    with lw.use(device):
        module.kernel(ints, floats, *outs, n)
    return outs


@pytest.mark.parametrize("size", sorted({1, 4, 8, 32, 64, *(n for a in ARCHES for n in SIZES_OF.get(a, ()))}))
def test_engines_agree(size: int, tmp_path: Path) -> None:
    oracle = made("interpreter", size)
    others = [made(arch, size) for arch in ARCHES if arch != "interpreter" and size in SIZES_OF.get(arch, SIZES)]
    if not others:
        pytest.skip(f"no {' or '.join(ARCHES)} device has {size} lanes")

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize="LANEWISE_FUZZ_EXAMPLES" not in os.environ,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        phases=[Phase.generate, Phase.shrink],
    )
    @given(kernels())
    def agree(source: str) -> None:
        module = load(source, tmp_path)
        for n in (128, 67):
            want = run(module, oracle, n)
            for device in others:
                got = run(module, device, n)
                for g, w in zip(got, want, strict=True):
                    wrong = np.flatnonzero(bits(g) != bits(w))
                    assert not len(wrong), f"{device}, n={n}: item {wrong[0]}: {g[wrong[0]]} != {w[wrong[0]]}\n{source}"

    agree()
