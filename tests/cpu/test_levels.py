"""Code for processors with fewer instructions than this one: `LANEWISE_CPU` names a level of the x86-64 ABI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lanewise as lw

LEVELS = ("x86-64-v2", "x86-64-v3")
HERE = Path(__file__).parents[1]


def run(level: str, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LANEWISE_CPU": level, "LANEWISE_TEST_ARCHES": "cpu"}
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("level", LEVELS)
def test_operations(level: str) -> None:
    """A part of the operations' own tests, where strips of lanes are one vector and several."""
    known = run(level, "-c", "import lanewise as lw; print(lw.init().name)")
    if "this processor does not have" in known.stderr:
        pytest.skip(f"this processor is below {level}")
    assert level in known.stdout
    # Conversions of f16 came with v3.
    tests = [f"ops/test_{name}.py" for name in ("quad", "votes", "sorting", "synchronization")]
    done = run(
        level, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *(str(HERE / test) for test in tests),
        "-k", "(W8 or cpu-8 or cpu-16) and not f16 and not test_pairs and not test_keys",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]


def test_an_unknown_level(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanewise.backends.cpu import host

    host.host.cache_clear()
    monkeypatch.setenv("LANEWISE_CPU", "pentium")
    with pytest.raises(lw.DeviceError, match="expected LANEWISE_CPU to be empty or among x86-64-v2"):
        host.host()
    host.host.cache_clear()
