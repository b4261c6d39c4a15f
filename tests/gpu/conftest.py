"""CUDA as these tests have it: the machine's own, or a driver that is made up."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

import lanewise as lw
from lanewise.backends.cuda import card, modules
from lanewise.backends.cuda.driver import driver

from .fake import FakeDriver


@pytest.fixture(scope="session")
def gpu() -> lw.Device:
    """The machine's NVIDIA GPU."""
    try:
        device = lw.init(lw.cuda)
    except lw.DeviceError as error:
        pytest.skip(f"no NVIDIA GPU: {error.what}")
    lw.reset()
    return device


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """The driver that is made up, in place of cuda-bindings."""
    made = FakeDriver()

    def ptx_of(self: modules.PtxCompiler, kernel: Any) -> str:
        return made.learn(kernel)

    bindings = SimpleNamespace(driver=made)
    monkeypatch.setenv("LANEWISE_CACHE_DIR", "")
    monkeypatch.setitem(sys.modules, "cuda", cast(Any, SimpleNamespace(bindings=bindings)))
    monkeypatch.setitem(sys.modules, "cuda.bindings", cast(Any, bindings))
    monkeypatch.setattr(modules.PtxCompiler, "ptx_of", ptx_of)
    monkeypatch.setattr("lanewise.device._homes", {})
    monkeypatch.setattr("lanewise.device._checked", set())
    for cached in (driver, card.made):
        cached.cache_clear()
    yield made
    made.failing.clear()
    gc.collect()  # its memory is given back to it
    for cached in (driver, card.made):
        cached.cache_clear()


@pytest.fixture
def device(fake: FakeDriver) -> Iterator[lw.Device]:
    """The GPU of that driver, as the current device."""
    with lw.use(lw.init(lw.cuda)) as chosen:
        fake.launches.clear()
        yield chosen
