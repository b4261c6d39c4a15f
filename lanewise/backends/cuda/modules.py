"""Machine code for a GPU: the kernels of a program as cubins, kept on disk so that the driver compiles each once."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...cache import Entry, fetch
from ...errors import DeviceError
from ...ir import Kernel, Program, to_text
from ..gpu.launch import Part
from .card import CudaCard
from .driver import call, driver, failure
from .launch import CudaSend
from .target import STATIC_SHARED_LIMIT, CudaTarget

# Capabilities that LLVM knows, and the version of PTX that each came with (PTX ISA, release notes).  Code for one runs
# on every later GPU.
PTX_OF_CAPABILITY: Mapping[int, str] = {
    70: "6.3", 75: "6.3", 80: "7.0", 86: "7.1", 89: "7.8", 90: "7.8", 100: "8.6", 103: "8.8", 120: "8.7", 121: "8.8",
}  # fmt: skip

# The first CUDA version (1000 * major + 10 * minor) whose driver knows a version of PTX.
PTX_OF_CUDA: Mapping[int, str] = {
    11000: "7.0", 11010: "7.1", 11020: "7.2", 11030: "7.3", 11040: "7.4", 11050: "7.5", 11060: "7.6", 11070: "7.7",
    11080: "7.8", 12000: "8.0", 12010: "8.1", 12020: "8.2", 12030: "8.3", 12040: "8.4", 12050: "8.5", 12070: "8.6",
    12080: "8.7", 12090: "8.8",
}  # fmt: skip


def architecture(capability: int) -> str:
    """The newest architecture that LLVM knows and a GPU runs: `sm_90` for 90."""
    known = sorted(PTX_OF_CAPABILITY)
    place = bisect_right(known, capability)
    if not place:
        raise DeviceError(f"sm_{capability} is too old", why="warp operations that synchronise came with sm_70")
    return f"sm_{known[place - 1]}"


def ptx_version(driver_version: int) -> str:
    """The newest version of PTX that the driver takes, as far as we know them."""
    known = sorted(PTX_OF_CUDA)
    place = bisect_right(known, driver_version)
    if not place:
        raise DeviceError(
            f"the NVIDIA driver is for CUDA {driver_version // 1000}.{driver_version % 1000 // 10}",
            why="lanewise needs one for CUDA 11.0 or later",
            hint="a newer driver",
        )
    return PTX_OF_CUDA[known[place - 1]]


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel on a GPU, ready to be launched."""

    handle: Any
    name: str
    threads: int
    """Threads of a hardware block."""
    items: int
    """Logical blocks that a thread carries at a time."""
    waves: int
    """The most hardware blocks of a launch, for each multiprocessor."""
    shared_bytes: int
    """Shared memory to ask for at the launch."""
    module: Any
    """Keeps the code."""


class PtxCompiler:
    """From programs to functions and launches on one GPU."""

    def __init__(self, card: CudaCard) -> None:
        self.card = card
        self.arch = architecture(card.capability)
        self.driver_version = int(call("cuDriverGetVersion"))
        self.ptx = ptx_version(self.driver_version)
        self.target = CudaTarget(self.arch)

    def function(self, program: Program, number: int, *, regular: bool) -> Function:
        """One variant of the `number`-th parallel loop, from the disk cache where it was compiled before."""
        flags = f"{number} {'regular' if regular else 'general'}"
        target = f"{self.arch} ptx {self.ptx} driver {self.driver_version} sm_{self.card.capability}"
        entry = fetch((to_text(program), flags, target), lambda: self._compile(program, number, regular=regular))
        return self._load(entry)

    def send(self, part: Part, block: bytes, stream: int) -> CudaSend:
        return CudaSend(self.card, part, block, stream)

    def source(self, program: Program) -> str:
        """PTX, one module."""
        from ..llvm.source import variants
        from .codegen import emit_ptx

        return emit_ptx(variants(program, self.target, self.card.limits.max_shared_bytes), self.arch, self.ptx)

    def _compile(self, program: Program, number: int, *, regular: bool) -> Entry:
        from ...passes import prepare  # a process that finds its kernels on disk needs neither these nor LLVM
        from ..gpu.schedule import schedule
        from ..llvm.target import entry_name

        limit = self.card.limits.max_shared_bytes
        kernel = prepare(program, number, regular=regular, natives=self.target.keeps, max_shared_bytes=limit)
        chosen = schedule(kernel)
        header = {
            "name": entry_name(kernel),
            "threads": self.target.threads(kernel),
            "items": chosen.items,
            "waves": chosen.waves,
            "shared_bytes": kernel.shared_bytes if kernel.shared_bytes > STATIC_SHARED_LIMIT else 0,
        }
        return Entry(self.assemble(self.ptx_of(kernel)), header)

    def ptx_of(self, kernel: Kernel) -> str:
        """The PTX of a kernel as it is launched."""
        from .codegen import emit_ptx

        return emit_ptx([kernel], self.arch, self.ptx)

    def assemble(self, ptx: str) -> bytes:
        """PTX to the GPU's machine code, by the driver's own assembler."""
        cuda = driver()
        log = bytearray(1 << 13)
        option = cuda.CUjit_option
        options = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        with self.card.current():
            state = call("cuLinkCreate", len(options), options, [log, len(log)])
            try:
                text = ptx.encode() + b"\0"
                kind = cuda.CUjitInputType.CU_JIT_INPUT_PTX
                (code,) = cuda.cuLinkAddData(state, kind, text, len(text), b"lanewise", 0, [], [])
                if code:
                    said = log.split(b"\0")[0].decode(errors="replace").strip()
                    raise failure(cuda, code, f"the driver's assembler failed{': ' if said else ''}{said}")
                address, size = call("cuLinkComplete", state)
                return ctypes.string_at(int(address), size)
            finally:
                call("cuLinkDestroy", state)

    def _load(self, entry: Entry) -> Function:
        header = entry.header
        with self.card.current():
            module = call("cuModuleLoadData", entry.code, doing=f"loading {header['name']}")
            handle = call("cuModuleGetFunction", module, header["name"].encode())
            if header["shared_bytes"]:
                attribute = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                call("cuFuncSetAttribute", handle, attribute, header["shared_bytes"])
        return Function(handle, module=module, **header)
