"""Devices: the table of backends, `init()`, and which device is current.

This is the only file that knows which backends exist.  A backend is a row of `_BACKENDS`, a target that code can be
written for without a device a row of `_TARGETS`; both name an engine as "module:class", imported when it is asked for.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from importlib import import_module
from typing import Any, cast

import numpy as np

from . import dtypes
from .backends.engine import SUBGROUP_SIZES, Engine, Executable, Properties
from .dtypes import DType, as_dtype
from .errors import DeviceError, LanewiseTypeError
from .ir import Array, Block, Builder, Op, Program, Value
from .simt.families import FUNCTIONS
from .views import view_of


class Arch(Enum):
    """A kind of device."""

    cpu = "cpu"
    interpreter = "interpreter"
    cuda = "cuda"
    amdgpu = "amdgpu"
    vulkan = "vulkan"
    metal = "metal"
    gpu = "gpu"
    """The first of cuda, amdgpu, vulkan and metal that this machine has."""

    def __repr__(self) -> str:
        return f"lw.{self.value}"

    __str__ = __repr__


cpu, interpreter, cuda, amdgpu, vulkan, metal, gpu = Arch


@dataclass(frozen=True, slots=True)
class _Backend:
    """How to make an engine: a callable of `subgroup_size` and those of init's other options that `takes` names."""

    engine: str
    takes: tuple[str, ...] = ()
    named: bool = False
    """Whether `device` may be a name or a UUID; else it is a number."""
    count: str = ""
    """How many devices of the kind there are; without it one, if any."""
    owner: str = ""
    """The number of the device that an address belongs to, where arrays come by the CUDA array interface."""


_BACKENDS: dict[Arch, _Backend] = {
    cpu: _Backend("lanewise.backends.cpu.engine:CpuEngine", ("threads",)),
    interpreter: _Backend("lanewise.backends.interpreter.engine:InterpreterEngine"),
    cuda: _Backend(
        "lanewise.backends.cuda.engine:CudaEngine",
        ("device",),
        count="lanewise.backends.cuda.engine:cards",
        owner="lanewise.backends.cuda.card:card_of",
    ),
    amdgpu: _Backend(
        "lanewise.backends.amdgpu.engine:AmdEngine",
        ("device",),
        count="lanewise.backends.amdgpu.engine:cards",
        owner="lanewise.backends.amdgpu.card:card_of",
    ),
    vulkan: _Backend(
        "lanewise.backends.vulkan.engine:VulkanEngine",
        ("device",),
        named=True,
        count="lanewise.backends.vulkan.engine:cards",
    ),
}
_GPUS = (cuda, amdgpu, vulkan, metal)


@dataclass(frozen=True, slots=True)
class Target:
    """Code that can be written without a device: the engine that compiles, and where its executable has the text."""

    engine: str
    text: str = "source"
    default_subgroup_size: int | None = 32  # None: the engine knows, by its architecture
    takes: tuple[str, ...] = ()  # "arch", where one target has several architectures
    binary: str = ""
    """How the names of files end that hold more than the text: its executable's `binaries(name)` makes them."""

    def make_engine(self, subgroup_size: int | None, arch: str | None) -> Engine:
        """An engine that need not be able to run anything."""
        if arch is not None and "arch" not in self.takes:
            raise DeviceError(f"expected no arch: this target has only one, got {arch!r}", hint="leave arch out")
        options: dict[str, Any] = {"arch": arch} if "arch" in self.takes else {}
        return _load(self.engine)(subgroup_size=subgroup_size or self.default_subgroup_size, **options)

    def read(self, executable: Executable) -> str:
        """The text."""
        found: str | Callable[[], str] = getattr(executable, self.text)
        return found if isinstance(found, str) else found()

    def files(self, executable: Executable, name: str) -> dict[str, bytes]:
        """The code as files by name: one of this name with the text, or where the name asks for it the binaries."""
        if self.binary and name.endswith(self.binary):
            make: Callable[[str], dict[str, bytes]] = getattr(executable, "binaries")  # noqa: B009
            return make(name)
        return {name: self.read(executable).encode()}


_TARGETS: dict[str, Target] = {
    "ir": Target("lanewise.backends.interpreter.engine:InterpreterEngine"),
    "cpu": Target("lanewise.backends.cpu.engine:CpuEngine"),
    "asm": Target("lanewise.backends.cpu.engine:CpuEngine", text="assembly"),
    "cuda": Target("lanewise.backends.cuda.source:PtxWriter", takes=("arch",)),
    "ptx": Target("lanewise.backends.cuda.source:PtxWriter", takes=("arch",)),
    "sass": Target("lanewise.backends.cuda.source:SassWriter"),
    "amdgpu": Target("lanewise.backends.amdgpu.source:AmdgpuWriter", default_subgroup_size=None, takes=("arch",)),
    "vulkan": Target("lanewise.backends.vulkan.source:SpirvWriter", takes=("arch",), binary=".spv"),
    "spirv": Target("lanewise.backends.vulkan.source:SpirvWriter", takes=("arch",), binary=".spv"),
}


def target(name: str) -> Target:
    """The row of a target; a DeviceError that lists them where there is none of this name."""
    found = _TARGETS.get(name)
    if found is None:
        raise DeviceError(f"expected a target among {', '.join(_TARGETS)}, got {name!r}")
    return found


def targets() -> tuple[str, ...]:
    """The names that `kernel.source(target)` takes."""
    return tuple(_TARGETS)


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


# ---- one device ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Device:
    """A device in use, with its subgroup size and its options; `init()` makes them.  Devices share no compiled code."""

    engine: Engine = field(repr=False)
    arch: Arch
    properties: Properties
    debug: bool = False
    fast_float: bool = False
    default_ip: DType = dtypes.i32
    default_fp: DType = dtypes.f32
    compiled: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = field(
        default_factory=weakref.WeakKeyDictionary[Any, "dict[Any, Any]"], repr=False
    )
    """What each kernel has compiled for this device."""

    @property
    def subgroup_size(self) -> int:
        """W, the lanes of a subgroup."""
        return self.properties.subgroup_size

    @property
    def name(self) -> str:
        """The device's name, as its maker gives it."""
        return self.properties.name

    def __repr__(self) -> str:
        return f"{self.arch.value}[W={self.subgroup_size}]"

    def require_host_memory(self) -> None:
        """Raise a DeviceError where this device cannot work on host memory."""
        if not self.properties.host_memory:
            raise DeviceError(
                f"expected an array on {self}, got one in host memory", hint="copy it there with lw.from_numpy(a)"
            )

    @cached_property
    def place(self) -> tuple[Arch, int]:
        """The kind of device and its number: what memory belongs to."""
        return self.arch, self.properties.number

    def sync(self) -> None:
        """Wait until every launch on this device has ended."""
        wait = getattr(self.engine, "sync", None)  # engines in host memory return from a launch when it has ended
        if wait is not None:
            wait()


def _make(arch: Arch, subgroup_size: int | None, options: Mapping[str, Any], **choices: Any) -> Device:
    backend = _BACKENDS.get(arch)
    if backend is None:
        raise DeviceError(f"the {arch.value} backend is not built yet", hint="lw.init(arch=lw.cpu)")
    if isinstance(options.get("device"), str) and not backend.named:
        raise DeviceError(
            f"expected device to be a number, got {options['device']!r}",
            why=f"only Vulkan's devices are chosen by name, not those of {arch}",
            hint=f"lw.init(arch={arch}, device=0)",
        )
    wanted = {name: value for name, value in options.items() if name in backend.takes and value is not None}
    if subgroup_size is not None:
        wanted["subgroup_size"] = subgroup_size
    engine: Engine = _load(backend.engine)(**wanted)
    _check_lanes(arch, engine)
    return Device(engine, arch, engine.properties, **choices)


def _check_lanes(arch: Arch, engine: Engine) -> None:
    """Run one small kernel, once a process and width: its lanes must count 0 ... W - 1, again and again."""
    width = engine.subgroup_size
    if (arch, engine.properties.name, width) in _checked:
        return
    out = np.full(2 * width, -1, np.int32)
    engine.load(_lanes_program(width), False).launch([view_of(out)[1]], [])
    if not np.array_equal(out, np.arange(2 * width) % width):
        raise DeviceError(
            f"{engine.properties.name}: lanes are not {width} wide: they count {out.tolist()}",
            why="every subgroup operation depends on it",
            hint="another subgroup_size, or lw.init(arch=lw.cpu)",
        )
    _checked.add((arch, engine.properties.name, width))


_checked: set[tuple[Arch, str, int]] = set()


def _lanes_program(width: int) -> Program:
    """`for j in range(2 * W): out[j] = lane`."""
    out = Array("out", dtypes.i32, 1)
    b = Builder(width)
    extent = b.i32(2 * width)
    j = Value(dtypes.i32, "j")
    with b.at(Block((j,))) as body:
        b.store(out, (j,), b.lane())
    b.append(Op("parallel", (extent,), (), {"block_dim": 2 * width}, (body,)))
    return Program("lanes", [], [out], b.block, width, dtypes.i32)


# ---- the current device -------------------------------------------------------------------------------------------
_lock = threading.Lock()
_process: Device | None = None
_thread: ContextVar[Device | None] = ContextVar("lanewise_device", default=None)


def init(
    arch: Arch | str = cpu,
    *,
    subgroup_size: int | None = None,
    device: int | str | None = None,
    debug: bool = False,
    fast_float: bool = False,
    threads: int | None = None,
    default_ip: Any = dtypes.i32,
    default_fp: Any = dtypes.f32,
) -> Device:
    """Make a device and set it as the process's current one.

    `subgroup_size` is W, a power of two from 1 to 64 (None: the device's own).  `device` counts devices of one kind; on
    Vulkan, where GPUs come before CPUs, it may also be a part of a device's name, or its UUID.
    `debug` checks array indices and runs `assert` and `print`; `fast_float` allows native float reductions and
    contraction, so the last bits of floats may differ between devices; `threads` limits a CPU's threads.  `default_ip`
    and `default_fp` are the types of integer and float literals that meet no typed partner.  Raises DeviceError where
    the machine has no such device, or its lanes turn out not to be W wide.
    """
    global _process
    if subgroup_size is not None and (type(subgroup_size) is not int or subgroup_size not in SUBGROUP_SIZES):
        raise DeviceError(
            f"expected a subgroup_size among {', '.join(map(str, SUBGROUP_SIZES))}, got {subgroup_size!r}",
            why="a subgroup has a power of two of lanes, 64 at most",
        )
    if device is not None and (isinstance(device, bool) or not isinstance(cast(object, device), (int, str))):
        raise DeviceError(f"expected device to be a number or a name, got {device!r}", hint="device=0")
    if threads is not None and (not isinstance(cast(object, threads), int) or threads < 1):
        raise DeviceError(f"expected threads to be 1 or more, got {threads!r}", hint="leave it out to use every core")
    made = _find(
        _as_arch(arch),
        subgroup_size,
        {"device": device, "threads": threads},
        debug=debug,
        fast_float=fast_float,
        default_ip=_as_default("default_ip", default_ip, dtypes.INTEGERS),
        default_fp=_as_default("default_fp", default_fp, dtypes.FLOATS),
    )
    with _lock:
        _process = made
    return made


def _as_arch(arch: Arch | str) -> Arch:
    try:
        return Arch(arch)
    except ValueError:
        names = ", ".join(f"lw.{a.value}" for a in Arch)
        raise DeviceError(f"expected an arch among {names}, got {arch!r}") from None


def _as_default(name: str, given: Any, allowed: tuple[DType, ...]) -> DType:
    dtype = as_dtype(given)
    if dtype not in allowed:
        raise LanewiseTypeError(f"expected {name} among {', '.join(map(str, allowed))}, got {given!r}")
    return dtype


def _find(arch: Arch, subgroup_size: int | None, options: Mapping[str, Any], **choices: Any) -> Device:
    if arch is not gpu:
        return _make(arch, subgroup_size, options, **choices)
    reasons: list[str] = []
    for candidate in _GPUS:
        found = _try(candidate, subgroup_size, options, **choices)
        if isinstance(found, Device):
            return found
        reasons.append(f"{candidate.value}: {found.what}")
    raise DeviceError("expected a GPU, found none", why="; ".join(reasons), hint="lw.init(arch=lw.cpu)")


def _try(arch: Arch, *args: Any, **choices: Any) -> Device | DeviceError:
    try:
        return _make(arch, *args, **choices)
    except DeviceError as error:
        return error


def current_device() -> Device:
    """The device that `use()` set in this thread, else the one of `init()`, else the CPU with 32 lanes."""
    return _thread.get() or _process or _default()


def _default() -> Device:
    global _process
    with _lock:
        if _process is None:
            _process = _make(cpu, None, {})
        return _process


def device_of(place: tuple[Arch, int], wanted: Device | None = None) -> Device:
    """The device for memory of another library: `wanted` or the current one where they are there, else one of its own.

    `place` is the kind of device and its number; a DeviceError where `wanted` is elsewhere.
    """
    if wanted is not None:
        if wanted.place == place:
            return wanted
        arch, number = place
        raise DeviceError(
            f"expected an array on {wanted}, got one in the memory of {arch.value} device {number}",
            why="a kernel runs on one device, where all its arrays are",
            hint="copy it there first",
        )
    current = _thread.get() or _process
    if current is not None and current.place == place:
        return current
    with _lock:
        found = _homes.get(place)
        if found is None:
            found = _homes[place] = _make(place[0], None, {"device": place[1]})
    return found


_homes: dict[tuple[Arch, int], Device] = {}


def place_of(address: int) -> tuple[Arch, int]:
    """The kind of device and the number of the one that an address of a GPU belongs to."""
    failures: list[DeviceError] = []
    for arch, backend in _BACKENDS.items():
        if backend.owner:
            try:
                return arch, _load(backend.owner)(address)
            except DeviceError as error:
                failures.append(error)
    reasons = "; ".join(f"{error.what}" for error in failures)
    raise DeviceError("expected memory of a GPU, got an address that none knows", why=reasons)


@contextmanager
def use(device: Device) -> Generator[Device]:
    """`with lw.use(device):` makes it the current device of this thread."""
    token = _thread.set(device)
    try:
        yield device
    finally:
        _thread.reset(token)


def sync() -> None:
    """Wait until every launch on the current device has ended."""
    device = _thread.get() or _process
    if device is not None:
        device.sync()


def reset() -> None:
    """Forget the process's current device and what was compiled for it; arrays on it stay usable."""
    global _process
    with _lock:
        _process = None


def devices() -> dict[Arch, Device | DeviceError]:
    """Every kind of device: one of it with its own subgroup size, or why there is none."""
    return {arch: _try(arch, None, {}) for arch in Arch if arch is not gpu}


def every_device() -> dict[str, Device | DeviceError]:
    """Like `devices()`, with every device of each kind: the second NVIDIA GPU is `cuda:1`."""
    found: dict[str, Device | DeviceError] = {}
    for arch, first in devices().items():
        found[arch.value] = first
        count = _BACKENDS[arch].count if isinstance(first, Device) else ""
        for number in range(1, _load(count)() if count else 1):
            found[f"{arch.value}:{number}"] = _try(arch, None, {"device": number})
    return found


def _log2_group_size() -> int:
    return current_device().subgroup_size.bit_length() - 1


# These two have a value outside kernels as well.
FUNCTIONS["subgroup.group_size"].host = lambda: current_device().subgroup_size
FUNCTIONS["subgroup.log2_group_size"].host = _log2_group_size
