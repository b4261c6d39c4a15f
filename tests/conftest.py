"""The devices that tests run on: every backend at every subgroup size; a test is written once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import lanewise as lw
from lanewise import passes
from lanewise.ir.verifier import verify

# A machine with a GPU runs the same tests there: LANEWISE_TEST_ARCHES=cuda (`make test-gpu`).
ARCHES = tuple(os.environ.get("LANEWISE_TEST_ARCHES", "interpreter cpu").split())


def _sizes_of_vulkan() -> tuple[int, ...]:
    """The one that the device of this process has, which LP_NATIVE_VECTOR_WIDTH chooses on lavapipe."""
    device = lw.init(lw.vulkan)
    lw.reset()
    return (device.subgroup_size,)


def _sizes_of_amdgpu() -> tuple[int, ...]:
    """What the card of this machine offers: 64, on RDNA 32 as well."""
    offered = lw.init(lw.amdgpu).properties.subgroup_sizes
    lw.reset()
    return offered


SIZES_OF: dict[str, tuple[int, ...]] = {"cuda": (32,)}  # where the hardware leaves no choice
if "amdgpu" in ARCHES:
    SIZES_OF["amdgpu"] = _sizes_of_amdgpu()
if "vulkan" in ARCHES:
    SIZES_OF["vulkan"] = _sizes_of_vulkan()
# Assembly for an AMD GPU, interpreted (`make test-isa`): LANEWISE_TEST_ARCHES="isa:gfx90a:64 isa:gfx1100:32".
SIZES_OF |= {arch: (int(arch.rpartition(":")[2]),) for arch in ARCHES if arch.startswith("isa:")}
SIZES = (1, 2, 4, 8, 16, 32, 64)
FEW = (1, 8, 64)
SIMPLE = (1, 8, 16)  # on the CPU: scalars, one native vector, several


@pytest.fixture(scope="session", autouse=True)
def _cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compiled kernels are kept for this run alone (of each process), and so is what hypothesis writes."""
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANEWISE_CACHE_DIR", str(folder))
        patch.setenv("HYPOTHESIS_STORAGE_DIRECTORY", str(tmp_path_factory.mktemp("hypothesis")))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def _verified_passes() -> Iterator[None]:
    """What each pass gives is checked, whichever test runs it."""

    def verified(run: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*args: Any, **options: Any) -> Any:
            made = run(*args, **options)
            verify(made)
            return made

        return checked

    with pytest.MonkeyPatch.context() as patch:
        for name in ("outline", "converge", "expand", "fold"):
            patch.setattr(passes, name, verified(getattr(passes, name)))
        yield


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """No test sees the device that another one chose."""
    lw.reset()
    yield
    lw.reset()


@cache
def made(arch: str, subgroup_size: int) -> lw.Device:
    """One device of each sort for the whole run, so that a kernel is compiled once for it."""
    if arch.startswith("isa:"):
        from .amdgpu.isa.engine import device as interpreted

        return interpreted(arch.split(":")[1], subgroup_size)
    device = lw.init(arch, subgroup_size=subgroup_size)
    lw.reset()
    return device


def _params(sizes: tuple[int, ...]) -> list[tuple[str, int]]:
    return [(arch, size) for arch in ARCHES for size in SIZES_OF.get(arch, sizes)]


def _name(param: tuple[str, int]) -> str:
    return f"{param[0]}-{param[1]}"


@pytest.fixture(params=_params(SIZES), ids=_name)
def device(request: pytest.FixtureRequest) -> Iterator[lw.Device]:
    """Every backend at every subgroup size, as the current device."""
    with lw.use(made(*request.param)) as chosen:
        yield chosen


@pytest.fixture(params=_params(FEW), ids=_name)
def few_devices(request: pytest.FixtureRequest) -> Iterator[lw.Device]:
    """Every backend at a narrow, a middling and the widest subgroup size: for tests where W matters little."""
    with lw.use(made(*request.param)) as chosen:
        yield chosen


@pytest.fixture(params=_params(SIMPLE), ids=_name)
def simple_devices(request: pytest.FixtureRequest) -> Iterator[lw.Device]:
    """Every backend where lanes have nothing to do with one another: for arithmetic."""
    with lw.use(made(*request.param)) as chosen:
        yield chosen


@pytest.fixture(params=ARCHES)
def arch(request: pytest.FixtureRequest) -> str:
    """Every backend, with no device made yet."""
    return request.param


@pytest.fixture(name="W")
def subgroup_size(device: lw.Device) -> int:
    """The subgroup size of `device`."""
    return device.subgroup_size


def arches(size: int) -> tuple[str, ...]:
    """The backends that can have this subgroup size."""
    return tuple(arch for arch in ARCHES if size in SIZES_OF.get(arch, SIZES))


@pytest.fixture(params=[size for size in SIZES if arches(size)], ids=lambda size: f"W{size}")
def size(request: pytest.FixtureRequest) -> int:
    """Every subgroup size, for tests that choose their devices themselves."""
    return request.param
