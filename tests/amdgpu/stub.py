"""HIP as the tests have it: `stub.c`, built by the C compiler, with kernels run by the interpreter."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lanewise as lw
from lanewise.backends.amdgpu import card, hip, link, modules, rocm
from lanewise.backends.llvm.target import entry_name
from lanewise.ir import Kernel

from ..gpu.emulate import Fake, Launch, run
from .elf import AMDGPU, HSA, SHARED_OBJECT, CodeObject

SOURCE = Path(__file__).parent / "stub.c"
LAUNCH_FAILURE = 719
CODES = {"invalid value": 1, "illegal address": 700}


def compile_c(source: Path, target: Path) -> None:
    """A shared library; the test is skipped where nothing can build it, and fails there in CI."""
    compiler = next((found for found in map(shutil.which, ("cc", "gcc", "clang")) if found), None)
    if compiler is None:
        reason = "no C compiler, which builds the library that stands for HIP"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    options = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]
    subprocess.run([compiler, *options, "-o", target, source], check=True)


@cache
def library() -> ctypes.CDLL:
    """The library that stands for HIP."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "stub.so"  # not HIP's name: a process that has loaded it has no HIP
        compile_c(SOURCE, target)
        return ctypes.CDLL(str(target))


class Call(NamedTuple):
    """A call of one of its functions."""

    name: str
    device: int
    """The calling thread's current one."""
    arguments: tuple[int, ...]


class _Call(Structure):
    _fields_ = (("name", c_char_p), ("device", c_int64), ("count", c_int64), ("arguments", c_int64 * 12))


_LOAD = CFUNCTYPE(c_int, c_void_p)
_FIND = CFUNCTYPE(c_int, c_void_p, c_char_p)
_RUN = CFUNCTYPE(c_int, c_int, POINTER(c_uint), c_void_p, c_void_p, c_size_t)


class StubHip(Fake):
    """The library, and what it is to do."""

    arch = lw.amdgpu
    other_size = 16
    default_stream = None
    device_type = 10

    def __init__(self, library: ctypes.CDLL, subgroup_size: int, gfx: str, devices: int) -> None:
        self.library = library
        self.subgroup_size = subgroup_size
        self.launches: list[Launch] = []
        self.kernels: list[Kernel] = []
        self.objects: dict[int, CodeObject] = {}
        """What was loaded, by its address, where it is real code."""
        self.metadata: dict[int, dict[str, Any]] = {}
        """What real code says of a kernel, by its number."""
        self.failures: list[BaseException] = []
        self._start = c_int.in_dll(library, "stub_live").value
        self._callbacks = _LOAD(self._load), _FIND(self._find), _RUN(self._run)  # alive as long as the library may call
        for name, callback in zip(("stub_load", "stub_find", "stub_run"), self._callbacks, strict=True):
            c_void_p.in_dll(library, name).value = ctypes.cast(callback, c_void_p).value
        self.library.stub_reset()
        self._gfx = gfx.encode()  # alive as long as the library may read it
        c_char_p.in_dll(library, "stub_arch").value = self._gfx
        c_int.in_dll(library, "stub_device_count").value = devices
        c_int.in_dll(library, "stub_warp_size").value = 64 if gfx.startswith("gfx9") else 32

    # ---- what the tests ask --------------------------------------------------------------------------------------
    @property
    def live(self) -> int:
        return c_int.in_dll(self.library, "stub_live").value - self._start

    def fail(self, step: str, how: str) -> str:
        function = {"launch": "hipModuleLaunchKernel", "wait": "hipDeviceSynchronize"}[step]
        return self.script(function, CODES[how])

    def script(self, function: str, code: int) -> str:
        """Let a function fail; HIP's name of the error."""
        self.library.stub_fail(function.encode(), code)
        self.library.hipGetErrorName.restype = c_char_p
        return self.library.hipGetErrorName(code).decode()

    def calls(self, *names: str) -> list[Call]:
        """The calls so far, of some functions."""
        made = (_Call * (1 << 16)).in_dll(self.library, "stub_calls")
        count = c_int64.in_dll(self.library, "stub_call_count").value
        found = ((made[n].name.decode(), made[n]) for n in range(count))
        return [Call(name, c.device, tuple(c.arguments[: c.count])) for name, c in found if name in names or not names]

    def forget(self) -> None:
        """Forget the calls so far."""
        c_int64.in_dll(self.library, "stub_call_count").value = 0

    # ---- code ----------------------------------------------------------------------------------------------------
    def learn(self, kernel: Kernel) -> bytes:
        """In place of a kernel's code object: its number and its name."""
        self.kernels.append(kernel)
        return f"{len(self.kernels) - 1} {entry_name(kernel)}".encode() + b"\0"

    def _load(self, image: int) -> int:
        if ctypes.string_at(image, 4) != b"\x7fELF":
            return ctypes.string_at(image).split(b" ")[0].isdigit()
        code = CodeObject.at(image)
        self.objects[image] = code
        return (code.type, code.machine, code.os_abi) == (SHARED_OBJECT, AMDGPU, HSA)

    def _find(self, image: int, name: bytes) -> int:
        if image not in self.objects:
            number, _, known = ctypes.string_at(image).partition(b" ")
            return int(number) if known == name else -1
        code, text = self.objects[image], name.decode()
        if text not in code.kernels or f"{text}.kd" not in code.symbols(".dynsym"):
            return -1
        found = max(number for number, kernel in enumerate(self.kernels) if entry_name(kernel) == text)
        self.metadata[found] = code.kernels[text]
        return found

    def _run(self, number: int, sizes: Sequence[int], stream: int | None, arguments: int, size: int) -> int:
        try:
            grid, gy, gz, threads, by, bz, shared = sizes[:7]
            assert (gy, gz, by, bz, shared) == (1, 1, 1, 1, 0)
            kernel = self.kernels[number]
            if number in self.metadata:
                facts = self.metadata[number]
                assert (facts[".kernarg_segment_size"], facts[".max_flat_workgroup_size"]) == (size, threads)
                assert facts[".wavefront_size"] == kernel.subgroup_size
                assert facts[".group_segment_fixed_size"] == kernel.shared_bytes
            data = ctypes.string_at(arguments, size)
            self.launches.append(run(kernel, data, grid, threads, stream or 0))
        except Exception as error:  # noqa: BLE001  it cannot pass through C
            self.failures.append(error)
            return LAUNCH_FAILURE
        return 0


@contextmanager
def forgetting(*cached: Any) -> Generator[None]:
    """What is known of a real library is forgotten, and then what was learnt of the one that is made up."""
    for function in cached:
        function.cache_clear()
    yield
    gc.collect()  # its memory is given back to it
    for function in cached:
        function.cache_clear()


@contextmanager
def installed(
    patch: pytest.MonkeyPatch, subgroup_size: int, gfx: str = "gfx1100", devices: int = 1, *, real: bool = False
) -> Generator[StubHip]:
    """The library in the place of the real one; `real` code is compiled and linked, else nothing is."""
    made = StubHip(library(), subgroup_size, gfx, devices)
    compiled = modules.CodeObjectCompiler.machine_code

    def machine_code(self: modules.CodeObjectCompiler, kernel: Kernel) -> bytes:
        learnt = made.learn(kernel)
        return compiled(self, kernel) if real else learnt

    patch.setenv("LANEWISE_CACHE_DIR", "")
    patch.setattr(rocm, "library", lambda stem, versions: made.library if stem == "libamdhip64" else None)
    patch.setattr(modules.CodeObjectCompiler, "machine_code", machine_code)
    patch.setattr("lanewise.device._homes", {})
    patch.setattr("lanewise.device._checked", set())
    with forgetting(hip.hip, card.made, link.comgr):
        yield made
        made.library.stub_reset()
    assert not made.failures
