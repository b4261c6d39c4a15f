"""What an editor and a type checker see: stubs that are current, examples without an error, signatures, wrong calls.

pyright runs once, in its standard mode, with nothing of this project's configuration.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import lanewise as lw
from lanewise.simt.families import FUNCTIONS
from lanewise.tools import stubs

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "lanewise"

PROBE = '''
from collections.abc import Callable

import lanewise as lw
import numpy as np
from lanewise.simt import block, quad, subgroup

Floats = lw.types.NDArray[lw.f32, 1]


@lw.func
def twice(x: lw.f32, times: int = 2) -> lw.f32:
    """x + x."""
    return x * times


@lw.kernel
def scale(x: Floats, out: lw.types.NDArray[lw.f64, 2], factor: lw.f32, n: lw.i32, k: lw.types.Template[int]):
    """out = x * factor."""
    shared = block.SharedArray((4, 8), lw.f32)
    for i, j in lw.ndrange(out.shape[0], x.shape[0]):
        shared[0, 1] = x[i] * factor
        out[i, j] = twice(x[i]) + subgroup.reduce_add(x[i] * factor)
        out[i, j] += quad.swap_horizontal(lw.f32(1)) + lw.sqrt(x[0])
        lw.atomic_add(out[i, j], 1.0)
        if subgroup.elect() and n > k:
            block.sync()


class Model:
    @lw.kernel
    def step(self, x: Floats, dt: lw.f32): ...


x, y = np.zeros(3, np.float32), np.zeros((3, 3))
scale(x, y, 2.0, 3, 4)
scale(x, lw.ndarray(lw.f64, (3, 3)), factor=2, n=3, k=4, stream=0)
Model().step(x, 0.5)
reveal_type(scale)  # Kernel[(x: NDArray, out: NDArray, factor: float, n: int, k: int)]
reveal_type(twice)  # (x: float, times: int = 2) -> float
reveal_type(Model().step)  # (x: NDArray, dt: float) -> None
reveal_type(subgroup.shuffle)  # (value: _T@shuffle, index: int) -> _T@shuffle
reveal_type(subgroup.bitonic_sort_kv(1.5, 2))  # tuple[float, int]
reveal_type(subgroup.ballot(True))  # int
reveal_type(subgroup.sync())  # None
reveal_type(lw.fma)  # (a: Any, b: Any, c: Any) -> Any
reveal_type(lw.cache_info().hits)  # int
scale(x, y, 2.0)  # error: No overloads for "__call__" match
scale(x, y, "two", 3, 4)  # error: "Literal['two']" is not assignable to "float"
scale(x, y, 2.0, 3, 4, queue=0)  # error: No overloads for "__call__" match
scale(3, y, 2.0, 3, 4)  # error: "Literal[3]" is incompatible with protocol "NDArray"
subgroup.reduce_ad(1)  # error: "reduce_ad" is not a known attribute
subgroup.shuffle(1)  # error: Argument missing for parameter "index"
subgroup.shuffle(1, 0.5)  # error: "float" is not assignable to "int"
subgroup.mem_fence("none")  # error: "Literal['none']" is not assignable to type
quad.broadcast(1, 2, 3)  # error: Expected 2 positional arguments
lw.clzz(1)  # error: "clzz" is not a known attribute
'''


@dataclass(frozen=True)
class Seen:
    """What pyright said: of the examples, and of each line of the probe."""

    files: int
    examples: list[str]
    probe: dict[int, list[str]]


def check(folder: Path) -> Seen:
    """Run it over the examples and the probe."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "probe.py").write_text(PROBE, encoding="utf-8")
    options = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT)], "pythonVersion": "3.10"}
    (folder / "pyrightconfig.json").write_text(json.dumps(options), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable, "--outputjson"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    report: dict[str, Any] = json.loads(ran.stdout)
    examples: list[str] = []
    probe: dict[int, list[str]] = {}
    for found in report["generalDiagnostics"]:
        if Path(found["file"]).name == "probe.py":
            probe.setdefault(found["range"]["start"]["line"], []).append(found["message"].replace("\xa0", " "))
        else:
            examples.append(f"{found['file']}: {found['message']}")
    return Seen(report["summary"]["filesAnalyzed"], examples, probe)


def test_examples_signatures_and_wrong_calls(tmp_path: Path) -> None:
    seen = check(tmp_path)
    paths = list((ROOT / "examples").glob("*.py"))
    assert seen.files == len(paths) + 1
    assert seen.examples == []
    assert not any(re.search("type: ignore|pyright:", p.read_text(encoding="utf-8")) for p in paths)
    for number, line in enumerate(PROBE.splitlines()):
        code, _, promised = line.partition("  # ")
        said = "\n".join(seen.probe.get(number, []))
        if promised.startswith("error: "):
            assert promised.removeprefix("error: ") in said, line
        elif code.startswith("reveal_type"):
            assert said.endswith(f'is "{promised}"'), line
        else:
            assert not said, line


# ---- stubs --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", stubs.stubs(), ids=str)
def test_the_stub_is_current(path: Path) -> None:
    written = (PACKAGE / path).read_text(encoding="utf-8")
    assert written == stubs.stubs()[path], "python -m lanewise.tools.stubs writes it anew"


def test_every_operation_is_in_a_stub() -> None:
    for name, function in FUNCTIONS.items():
        group, short = name.split(".")
        text = (PACKAGE / "simt" / ("__init__.pyi" if group == "simt" else f"{group}.pyi")).read_text(encoding="utf-8")
        (parameters,) = [line for line in text.splitlines() if line.startswith(f"def {short}(")]
        assert all(f"{p}: " in parameters for p in function.__signature__.parameters), name


def test_every_public_name_has_a_docstring() -> None:
    for name in lw.__all__:
        value = getattr(lw, name)
        if callable(value) or inspect.ismodule(value):
            assert inspect.getdoc(value), name


def test_arrays_and_templates_can_be_written_as_types(few_devices: lw.Device) -> None:
    assert lw.types.NDArray[lw.f32, 1] == lw.types.ndarray(dtype=lw.f32, ndim=1)
    assert lw.types.NDArray[lw.f32] == lw.types.ndarray(lw.f32)
    assert lw.types.Template[int] == lw.template()
