"""GPUs as these tests have them: the machine's own, or makers' libraries that are made up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

import lanewise as lw
from lanewise.backends.cuda import card, modules
from lanewise.backends.cuda.driver import driver

from ..amdgpu import stub
from .emulate import Fake
from .fake import FakeDriver


@pytest.fixture(scope="session")
def gpu() -> lw.Device:
    """The machine's NVIDIA or AMD GPU."""
    found = lw.devices()
    lw.reset()
    for arch in (lw.cuda, lw.amdgpu):
        device = found[arch]
        if isinstance(device, lw.Device):
            return device
    pytest.skip("no NVIDIA GPU and no AMD GPU")


@pytest.fixture
def nvidia(gpu: lw.Device) -> Iterator[lw.Device]:
    """The same, for tests of what only NVIDIA's have."""
    if gpu.arch is not lw.cuda:
        pytest.skip("no NVIDIA GPU")
    with lw.use(gpu):
        yield gpu


# ---- each made-up library in the place of the real one --------------------------------------------------------------
@contextmanager
def _cuda(patch: pytest.MonkeyPatch) -> Generator[FakeDriver]:
    made = FakeDriver()
    bindings = SimpleNamespace(driver=made)
    patch.setitem(sys.modules, "cuda", cast(Any, SimpleNamespace(bindings=bindings)))
    patch.setitem(sys.modules, "cuda.bindings", cast(Any, bindings))
    patch.setattr(modules.PtxCompiler, "text", lambda self, kernels: made.learn(kernels[0]))
    with stub.forgetting(driver, card.made):
        yield made
        made.failing.clear()


_FAKES: dict[str, Callable[..., Any]] = {
    "cuda": _cuda,
    "amdgpu-64": partial(stub.installed, subgroup_size=64),
    "amdgpu-32": partial(stub.installed, subgroup_size=32),
}


@pytest.fixture(params=_FAKES)
def fake(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Fake]:
    """Each maker's library, made up."""
    monkeypatch.setenv("LANEWISE_CACHE_DIR", "")
    monkeypatch.setattr("lanewise.device._homes", {})
    monkeypatch.setattr("lanewise.device._checked", set())
    with _FAKES[request.param](monkeypatch) as made:
        yield made


@pytest.fixture
def device(fake: Fake) -> Iterator[lw.Device]:
    """The GPU of that library, as the current device."""
    with lw.use(fake.init()) as chosen:
        fake.launches.clear()
        yield chosen
