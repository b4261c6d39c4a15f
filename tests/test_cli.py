"""The command line, run in this process: what it prints, what it writes, how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lanewise as lw
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


def test_devices_as_a_table() -> None:
    status, out, _ = lanewise("devices")
    assert status == 0
    for word in ("interpreter", "cpu", "1 to 64", "KiB", "quad", "metal: "):
        assert word in out


EXPECTED = {
    "ir": "subgroup.reduce_all_add",
    "cpu": "shufflevector",
    "asm": ".text",
    "ptx": "shfl.sync",
    "amdgpu": "_dpp",
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


def test_an_unknown_device_is_refused(tmp_path: Path) -> None:
    status, _, err = lanewise("demo", "--arch", "abacus", "--out", str(tmp_path / "page.png"))
    assert status == 1
    assert "abacus" in err
    assert not (tmp_path / "page.png").exists()
