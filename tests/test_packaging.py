"""A wheel and a source distribution: built, looked into, installed into a clean environment and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import lanewise as lw
from lanewise.tools import stubs

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, cwd: Path) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    ran = subprocess.run([str(c) for c in command], cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def clean_environment(folder: Path) -> Path:
    """The Python of a new environment that has what lanewise depends on from this one, but nothing of lanewise.

    A folder named in a .pth file is searched for modules; its own .pth files, such as that of an editable install,
    are not read.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    places = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    (site / "dependencies.pth").write_text("\n".join(places), encoding="utf-8")
    return python


def test_the_distributions(tmp_path: Path) -> None:
    dist = tmp_path / "dist"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", dist, ROOT, cwd=tmp_path)
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    assert lw.__version__ in wheel.name
    check_wheel(wheel)
    check_source(source)

    python = clean_environment(tmp_path / "clean")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--quiet")
    run(*pip, "--disable-pip-version-check", wheel, cwd=tmp_path)
    where = run(python, "-c", "import lanewise; print(lanewise.__file__)", cwd=tmp_path)
    assert where.startswith(str(tmp_path / "clean"))
    use(python, tmp_path)


def check_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        facts = archive.read(metadata).decode()
    written = {f"lanewise/{path}" for path in stubs.stubs()}
    assert written | {"lanewise/py.typed", "lanewise/tools/bench/pairs.py", "lanewise/simt/op.py"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("share/doc/lanewise/CHANGELOG.md") for name in names)
    assert not [name for name in names if name.split("/")[0] in ("tests", "docs", "benchmarks", "examples")]
    assert not [name for name in names if "__pycache__" in name]
    for fact in (f"Version: {lw.__version__}", "License-Expression: Apache-2.0", "Requires-Python: <3.14,>=3.10"):
        assert fact in facts
    assert "# lanewise" in facts  # the README, as the index shows it


def check_source(source: Path) -> None:
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "PKG-INFO")
    assert {*wanted, "docs/conf.py", "examples/reduction.py", "tests/test_packaging.py"} <= names
    assert not [name for name in names if name.startswith(("docs/reference/", "docs/_build/", ".venv"))]


def use(python: Path, folder: Path) -> None:
    """The README's first kernel, an example, and the command."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    (folder / "first.py").write_text(program, encoding="utf-8")
    assert run(python, "first.py", cwd=folder).splitlines() == re.findall(
        r"^print\(.*\)  # (.*)$", program, re.MULTILINE
    )
    command = python.parent / "lanewise"
    assert run(command, "--version", cwd=folder) == f"lanewise {lw.__version__}\n"
    assert "reduce_all_add" in run(command, "bench", "reduce", "--size", "1000", "--runs", "1", cwd=folder)
