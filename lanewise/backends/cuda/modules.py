"""Machine code for a GPU: cubins, which the driver's assembler makes of PTX."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...cache import Entry
from ...errors import DeviceError
from ...ir import Kernel
from ..gpu.launch import Part
from ..gpu.modules import ModuleCompiler
from .card import CudaCard
from .driver import call, driver, failure
from .launch import CudaSend
from .libdevice import libdevice
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


class PtxCompiler(ModuleCompiler):
    """From programs to functions and launches on one GPU."""

    def __init__(self, card: CudaCard) -> None:
        self.arch = architecture(card.capability)
        driver_version = int(call("cuDriverGetVersion"))
        self.ptx = ptx_version(driver_version)
        key = f"{self.arch} ptx {self.ptx} driver {driver_version} sm_{card.capability}"
        super().__init__(card, CudaTarget(self.arch), key)
        self._card = card

    def send(self, part: Part, block: bytes, stream: int) -> CudaSend:
        return CudaSend(self._card, part, block, stream)

    def library(self) -> Path | None:
        return libdevice()

    def text(self, kernels: Sequence[Kernel]) -> str:
        """PTX."""
        from .codegen import emit_ptx  # LLVM is for a process that finds no kernel on disk

        return emit_ptx(kernels, self.arch, self.ptx)

    def machine_code(self, kernel: Kernel) -> bytes:
        return self.assemble(self.text([kernel]))

    def dynamic_shared_bytes(self, kernel: Kernel) -> int:
        return kernel.shared_bytes if kernel.shared_bytes > STATIC_SHARED_LIMIT else 0

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

    def load(self, entry: Entry) -> tuple[Any, Any]:
        header = entry.header
        module = call("cuModuleLoadData", entry.code, doing=f"loading {header['name']}")
        handle = call("cuModuleGetFunction", module, header["name"].encode())
        if header["shared_bytes"]:
            attribute = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", handle, attribute, header["shared_bytes"])
        return handle, module
