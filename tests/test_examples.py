"""Every example runs, at several subgroup sizes and awkward lengths: each compares itself with NumPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lanewise.tools.source import import_file

from .conftest import ARCHES, SIZES_OF

FOLDER = Path(__file__).parent.parent / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "options")
FEW_ITEMS = {"reduction": 3000, "scan": 3001, "histogram": 2000, "mandelbrot": 1200}
FEW_SIZES = {"cpu": (8, 64), "interpreter": (16,)} | SIZES_OF
DEVICES = [(arch, W) for arch in ARCHES if not arch.startswith("isa:") for W in FEW_SIZES[arch]]


def test_there_are_examples() -> None:
    assert {"reduction", "maximum", "scan", "histogram", "compaction"} <= set(PROGRAMS)


@pytest.mark.parametrize(("arch", "W"), DEVICES, ids=[f"{arch}-{W}" for arch, W in DEVICES])
@pytest.mark.parametrize("name", PROGRAMS)
def test_example(name: str, arch: str, W: int, capsys: pytest.CaptureFixture[str]) -> None:
    size = FEW_ITEMS.get(name, 1000) // (1 if arch == "cpu" else 4)
    program = import_file(FOLDER / f"{name}.py")
    program.main(["--arch", arch, "--subgroup-size", str(W), "--size", str(size)])
    assert "as NumPy has it" in capsys.readouterr().out


def test_a_wrong_result_stops_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    options = import_file(FOLDER / "options.py")
    options.compare("a sum", [1.0], [1.0 + 1e-7], tolerance=1e-6)
    with pytest.raises(AssertionError, match="a sum"):
        options.compare("a sum", [1, 2], [1, 3])
    assert capsys.readouterr().out.count("as NumPy has it") == 1


def test_an_example_is_a_program() -> None:
    command = [sys.executable, str(FOLDER / "maximum.py"), "--size", "500", "--subgroup-size", "4"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "W = 4, 500 elements" in ran.stdout
