"""`lanewise source --target vulkan --out kernel.spv`: another program runs it by the description alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lanewise as lw
from lanewise.tools.cli import app
from lanewise.tools.source import load_kernel

from .bare import ALIGNMENT, Program, packed

KERNELS = """
import lanewise as lw
from lanewise.simt import subgroup

@lw.kernel
def scaled_totals(
    x: lw.types.ndarray(dtype=lw.f32, ndim=2),
    weight: lw.types.ndarray(dtype=lw.f32, ndim=1),
    out: lw.types.ndarray(dtype=lw.f32, ndim=2),
    factor: lw.f32,
    shift: lw.i32,
):
    for i, j in lw.ndrange(x.shape[0], x.shape[1]):
        out[i, j] = subgroup.inclusive_add(x[i, j] * weight[j]) * factor + shift
    for j in range(1, x.shape[1]):
        weight[j] = weight[j] + subgroup.subgroup_id()
"""
FACTOR, SHIFT = 0.5, 3


# For what SwiftShader has too, which is the least of all; with addresses, and with arrays bound by descriptors.
@pytest.fixture(params=["swiftshader", "descriptors"])
def exported(vulkan: lw.Device, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, dict[str, Any]]:
    """The folder with the files, and the description."""
    source, out = tmp_path / "kernels.py", tmp_path / "code" / "totals.spv"
    source.write_text(KERNELS, encoding="utf-8")
    out.parent.mkdir()
    options = ["--target", "vulkan", "--arch", request.param, "--subgroup-size", str(vulkan.subgroup_size)]
    result = CliRunner().invoke(app, ["source", f"{source}:scaled_totals", *options, "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    return out.parent, json.loads((out.parent / "totals.json").read_text(encoding="utf-8"))


def test_files(exported: tuple[Path, dict[str, Any]], vulkan: lw.Device) -> None:
    folder, description = exported
    modules = [module for loop in description["loops"] for module in loop["modules"]]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*(m["file"] for m in modules), "totals.json"])
    assert [m["file"] for m in modules] == [
        "totals.0.spv", "totals.0.regular.spv", "totals.1.spv", "totals.1.regular.spv"
    ]  # fmt: skip
    first, second = description["loops"]
    assert first["extents"] == ["max(x.extent0, 0)", "max(x.extent1, 0)"]
    assert second["extents"] == ["max((x.extent1 - 1), 0)"]
    slots = {slot["name"]: slot for slot in first["argument_block"]["slots"]}
    assert slots["shift"] == {"name": "shift", "offset": slots["factor"]["offset"] + 8, "type": "i32", "value": "shift"}
    bound = "bindings" in modules[0]
    assert slots["x"] == {"name": "x", "offset": 0, "type": "first element" if bound else "address"}
    for module in modules:
        assert module["subgroup_size"] == vulkan.subgroup_size
        assert "subgroupSizeControl" in module["features"]
        assert ("bufferDeviceAddress" in module["features"]) is not bound
        assert module["device_extensions"] == []
    if bound:
        rows = [[(row["name"], row["set"], row["binding"]) for row in module["bindings"]] for module in modules]
        assert rows[:2] == [[("arguments", 0, 0), ("x", 0, 1), ("weight", 0, 2), ("out", 0, 3)]] * 2
        assert rows[2:] == [[("arguments", 0, 0), ("weight", 0, 1)]] * 2


@pytest.mark.parametrize("columns", [64, 50], ids=["regular blocks", "ragged rows"])
def test_another_program_runs_it(exported: tuple[Path, dict[str, Any]], vulkan: lw.Device, columns: int) -> None:
    folder, description = exported
    program = Program()
    rng = np.random.default_rng(0)
    arrays = {
        "x": rng.integers(-9, 9, (21, columns)).astype(np.float32),
        "weight": rng.integers(-9, 9, columns).astype(np.float32),
        "out": np.zeros((21, columns), np.float32),
    }
    want = {name: array.copy() for name, array in arrays.items()}
    values: dict[str, Any] = {"factor": FACTOR, "shift": SHIFT}
    there: dict[str, Any] = {}
    for name, array in arrays.items():
        values[name], there[name] = program.put(array)
        for axis, extent in enumerate(array.shape):
            values[f"{name}.extent{axis}"] = extent
            values[f"{name}.stride{axis}"] = array.strides[axis] // array.itemsize
    for loop in description["loops"]:
        launch(program, folder, loop, values)
    with lw.use(vulkan):
        kernel = load_kernel(f"{folder.parent / 'kernels.py'}:scaled_totals")
        kernel(want["x"], want["weight"], want["out"], FACTOR, SHIFT)
    for name, array in want.items():
        np.testing.assert_array_equal(there[name], array, name)
    first = (arrays["x"] * arrays["weight"]).reshape(-1)[: vulkan.subgroup_size]
    np.testing.assert_array_equal(there["out"].reshape(-1)[: len(first)], first.cumsum() * FACTOR + SHIFT)


def launch(program: Program, folder: Path, loop: dict[str, Any], given: dict[str, Any]) -> None:
    """One parallel loop, by what its description says."""

    def evaluated(expression: str) -> int:
        names = {name.replace(".", "_"): value for name, value in given.items()}
        return eval(expression.replace(".", "_"), {"max": max, "min": min}, names)  # noqa: S307  our own file

    extents = [evaluated(text) for text in loop["extents"]]
    items = int(np.prod(extents))
    slots = loop["argument_block"]["slots"]
    values = {s["name"]: evaluated(s["value"]) if "value" in s else given[s["name"]] for s in slots}
    # Bound from a little before it on, an array begins at an element that is not the first.
    starts = {s["name"]: given[s["name"]] - program.address for s in slots if s["type"] == "first element"}
    bound = {name: max(start - ALIGNMENT, 0) for name, start in starts.items()}
    values |= {name: (start - bound[name]) // 4 for name, start in starts.items()}
    block, _ = program.put(np.frombuffer(packed(slots, values), np.uint8))
    general = next(m for m in loop["modules"] if m["variant"] == "general")
    regular = next(m for m in loop["modules"] if m["variant"] == "regular")
    num_blocks = -(-items // loop["block_dim"])
    whole = items // loop["block_dim"]
    if "only_if" in regular["covers"] and extents[-1] % regular["subgroup_size"]:
        whole = 0
    for module, first, end in ((regular, 0, whole), (general, whole, num_blocks)):
        if first < end:
            pushed = {"arguments": block, "first_block": first, "num_blocks": num_blocks, "end_block": end}
            code = (folder / module["file"]).read_bytes()
            bound["arguments"] = block - program.address
            buffers = [bound[row["name"]] for row in module.get("bindings", ())]
            program.run(code, packed(loop["push_constants"], pushed), end - first, module, buffers)
