"""What the tests of AMD's code need."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lanewise.backends.amdgpu.link import OLDEST_LLD, Command, lld

from . import stub


@pytest.fixture(scope="session")
def linker() -> Command:
    """LLVM's linker; the test is skipped without it, and fails in CI."""
    found = lld()
    if found is None:
        reason = f"no ld.lld of LLVM {OLDEST_LLD} or later"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    return found


@pytest.fixture
def hip(monkeypatch: pytest.MonkeyPatch) -> Iterator[stub.StubHip]:
    """A gfx1100, in wave64 unless a test asks for wave32."""
    with stub.installed(monkeypatch, 64) as made:
        yield made
