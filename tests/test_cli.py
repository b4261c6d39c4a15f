"""The command line, run in this process: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lanewise as lw
from lanewise.backends.engine import Detail
from lanewise.device import every_device
from lanewise.tools.cli import app

KERNELS = """
import lanewise as lw
from lanewise.simt import subgroup

LINE = lw.types.ndarray(dtype=lw.f32, ndim=1)

@lw.kernel
def totals(x: LINE, out: LINE):
    for i in range(x.shape[0]):
        out[i] = subgroup.reduce_all_add(x[i])

@lw.kernel
def scaled(x: LINE, factor: lw.template()):
    for i in range(x.shape[0]):
        x[i] = x[i] * factor

@lw.kernel
def tiles(x: lw.types.ndarray(dtype=lw.i32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] = subgroup.reduce_all_add_tiled(x[i], 2)

@lw.kernel
def too_large_a_tile(x: LINE):
    for i in range(x.shape[0]):
        x[i] = subgroup.reduce_add_tiled(x[i], 6)

def plain():
    pass
"""

WIDE = {"COLUMNS": "160", "NO_COLOR": "1"}


def lanewise(*arguments: str) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    result = CliRunner().invoke(app, arguments, env=WIDE)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS, encoding="utf-8")
    return path


def test_version() -> None:
    assert lanewise("--version") == (0, f"lanewise {lw.__version__}\n", "")


def test_devices_as_json() -> None:
    status, out, _ = lanewise("devices", "--json")
    found = json.loads(out)
    assert status == 0
    assert found["cpu"]["subgroup_size"] in found["cpu"]["subgroup_sizes"]
    assert found["cpu"]["max_block_dim"] >= 1024
    assert {"i32", "u64", "f16", "f64", "bool"} <= set(found["cpu"]["dtypes"])
    assert "unavailable" in found["metal"]


def test_details_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a backend tells of a device beyond the table's columns, whatever it is."""
    found = every_device()
    details: dict[str, Detail] = {"driver": "7.1", "stages": ["vertex", "compute"], "features": {"a": True, "b": False}}
    device = found["interpreter"]
    assert isinstance(device, lw.Device)
    properties = replace(device.properties, details=details)
    monkeypatch.setattr("lanewise.device.every_device", lambda: {"interpreter": replace(device, properties=properties)})
    _, out, _ = lanewise("devices", "--json")
    assert json.loads(out)["interpreter"]["details"] == details
    _, out, _ = lanewise("devices")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert {"driver 7.1", "stages vertex, compute", "features yes: a", "no: b"} <= set(lines)


def test_devices_as_a_table() -> None:
    status, out, _ = lanewise("devices")
    assert status == 0
    for word in ("interpreter", "cpu", "1 to 64", "KiB", "types", "all", "metal: "):
        assert word in out


EXPECTED = {
    "ir": "subgroup.reduce_all_add",
    "cpu": "shufflevector",
    "asm": ".text",
    "ptx": "shfl.sync",
    "amdgpu": "_dpp",
    "vulkan": "OpGroupNonUniform",
    "spirv": "OpGroupNonUniform",
}


@pytest.mark.parametrize(("target", "expected"), EXPECTED.items(), ids=EXPECTED)
def test_source(file: Path, target: str, expected: str) -> None:
    status, out, err = lanewise("source", f"{file}:totals", "--target", target)
    assert (status, err) == (0, "")
    assert expected in out


def test_source_has_the_subgroup_size_asked_for(file: Path) -> None:
    texts = [lanewise("source", f"{file}:totals", "--target", "ir", "--subgroup-size", size)[1] for size in ("8", "64")]
    assert "W=8 " in texts[0]
    assert "W=64 " in texts[1]


def test_source_to_a_file(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "totals.txt"
    assert lanewise("source", f"{file}:totals", "--target", "ir", "--out", str(out)) == (0, "", "")
    assert out.read_text(encoding="utf-8") == lanewise("source", f"{file}:totals", "--target", "ir")[1]


def test_source_as_modules(file: Path, tmp_path: Path) -> None:
    """SPIR-V's magic number in each, and a description beside them."""
    out = tmp_path / "code.spv"
    arguments = ("--target", "vulkan", "--subgroup-size", "64", "--arch", "typical", "--out", str(out))
    assert lanewise("source", f"{file}:totals", *arguments) == (0, "", "")
    described = json.loads((tmp_path / "code.json").read_text(encoding="utf-8"))
    (loop,) = described["loops"]
    assert [module["file"] for module in loop["modules"]] == ["code.spv", "code.regular.spv"]
    for module in loop["modules"]:
        assert (tmp_path / module["file"]).read_bytes()[:4] == bytes.fromhex("03022307")
        assert module["subgroup_size"] == 64
        assert module["local_size"] == [128, 1, 1]
        assert "vulkanMemoryModel" in module["features"]
    assert loop["extents"] == ["max(x.extent0, 0)"]
    names = [slot["name"] for slot in loop["argument_block"]["slots"]]
    assert names[:6] == ["x", "x.extent0", "x.stride0", "out", "out.extent0", "out.stride0"]
    assert [slot["name"] for slot in loop["push_constants"]] == ["arguments", "first_block", "num_blocks", "end_block"]


def test_source_for_a_known_device(file: Path) -> None:
    """A preset of features: Mesa 22 has no reductions in tiles, so they take shuffles."""
    texts = {
        arch: lanewise("source", f"{file}:tiles", "--target", "vulkan", "--arch", arch)[1]
        for arch in ("lavapipe22", "lavapipe25")
    }
    assert "ClusteredReduce" in texts["lavapipe25"]
    assert "ClusteredReduce" not in texts["lavapipe22"]
    status, _, err = lanewise("source", f"{file}:totals", "--target", "vulkan", "--arch", "abacus")
    assert status == 1
    assert "'abacus' is no architecture of the vulkan backend" in err
    assert "typical" in err


def test_source_with_a_template(file: Path) -> None:
    status, out, _ = lanewise("source", f"{file}:scaled", "--target", "ir", "--template", "factor=0.75")
    assert status == 0
    assert (0.75).hex() in out


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("kernels.py", "expected FILE:KERNEL"),
        ("{file}:total", "has no kernel 'total'"),
        ("{file}:total", "{file}:totals"),
        ("{file}:plain", "is no kernel"),
        ("{folder}/none.py:totals", "there is no file"),
    ],
)
def test_source_of_nothing(file: Path, place: str, message: str) -> None:
    names = {"file": str(file), "folder": str(file.parent)}
    status, out, err = lanewise("source", place.format(**names))
    assert (status, out) == (1, "")
    assert message.format(**names) in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("line", "message"), [("1 / 0", "ZeroDivisionError"), ("x = (", "SyntaxError")])
def test_source_of_a_file_that_fails(file: Path, line: str, message: str) -> None:
    file.write_text(f"import math\n{line}\n", encoding="utf-8")
    status, _, err = lanewise("source", f"{file}:totals")
    assert status == 1
    assert message in err
    assert "line 2" in err
    assert line in err
    assert "Traceback" not in err


def test_a_file_may_import_its_neighbour(file: Path) -> None:
    (file.parent / "user_of_a_neighbour.py").write_text("from kernels import totals\n", encoding="utf-8")
    status, out, _ = lanewise("source", f"{file.parent / 'user_of_a_neighbour.py'}:totals", "--target", "ir")
    assert status == 0
    assert "reduce_all_add" in out


def test_an_error_in_a_kernel_is_drawn(file: Path) -> None:
    status, _, err = lanewise("source", f"{file}:too_large_a_tile", "--subgroup-size", "32")
    assert status == 1
    assert "subgroup.reduce_add_tiled(x[i], 6)" in err
    assert "^" in err
    assert "Traceback" not in err


def test_templates_are_literals(file: Path) -> None:
    status, _, err = lanewise("source", f"{file}:scaled", "--template", "factor=open")
    assert status == 1
    assert "expected NAME=VALUE" in err


def test_bench(tmp_path: Path) -> None:
    out = tmp_path / "bench.png"
    sizes = "--subgroup-size", "4", "--subgroup-size", "16"
    status, text, err = lanewise("bench", *sizes, "--size", "600", "--runs", "1", "--out", str(out))
    assert (status, err) == (0, "")
    for word in (
        "reduce_all_add",
        "shared memory",
        "NumPy's x[x > 0]",
        "600 elements",
        "cpu[W=4], cpu[W=16]",
        f"Drawn: {out}",
    ):
        assert word in text
    assert out.read_bytes().startswith(b"\x89PNG")


def test_bench_of_some() -> None:
    status, text, _ = lanewise("bench", "histogram", "copy", "--size", "500", "--runs", "1", "--arch", "interpreter")
    assert status == 0
    assert "histogram by match_any" in text
    assert "bitonic_sort" not in text


def test_bench_of_nothing() -> None:
    status, _, err = lanewise("bench", "bitonic sort")
    assert status == 1
    assert "there is no benchmark 'bitonic sort'" in err
    assert "write instead: bitonic_sort" in err


def test_bench_compares_before_it_times(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanewise.tools.bench import kernels

    monkeypatch.setattr(kernels, "copy", lambda x, out: None)
    status, _, err = lanewise("bench", "copy", "--size", "100")
    assert status == 1
    assert "the results at W = 32 differ from NumPy's copy" in err


def test_an_unknown_device_is_refused(tmp_path: Path) -> None:
    status, _, err = lanewise("demo", "--arch", "abacus", "--out", str(tmp_path / "page.png"))
    assert status == 1
    assert "abacus" in err
    assert not (tmp_path / "page.png").exists()


def test_the_package_is_the_command():
    ran = subprocess.run([sys.executable, "-m", "lanewise", "--help"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "Usage: lanewise" in ran.stdout
    assert "devices" in ran.stdout
