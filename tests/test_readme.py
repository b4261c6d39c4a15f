"""The README's example runs, and prints what its comments say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_first_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    file = tmp_path / "first.py"  # a kernel is compiled from its source, so it has to lie in a file
    file.write_text(program, encoding="utf-8")
    runpy.run_path(str(file), run_name="__main__")
    promised = re.findall(r"^print\(.*\)  # (.*)$", program, re.MULTILINE)
    assert len(promised) == 2
    assert capsys.readouterr().out.splitlines() == promised
