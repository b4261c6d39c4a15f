"""Code objects for a GPU: compiled by LLVM, linked, and loaded by HIP."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_void_p
from pathlib import Path
from typing import Any

from ...cache import Entry
from ...ir import Kernel
from ..gpu.launch import Part
from ..gpu.modules import ModuleCompiler
from .card import AmdCard
from .hip import ask
from .launch import AmdSend
from .ocml import device_library
from .target import AmdTarget


class CodeObjectCompiler(ModuleCompiler):
    """From programs to functions and launches on one GPU, at one wavefront size."""

    def __init__(self, card: AmdCard, subgroup_size: int) -> None:
        target = AmdTarget(card.arch, subgroup_size)
        super().__init__(card, target, f"{card.arch} wave{subgroup_size}")
        self.max_shared_bytes -= target.features.exchange_bytes
        self._card = card
        self._size = subgroup_size

    def send(self, part: Part, block: bytes, stream: int) -> AmdSend:
        return AmdSend(self._card, part, block, stream)

    def library(self) -> Path | None:
        return device_library()

    def text(self, kernels: Sequence[Kernel]) -> str:
        """Assembly."""
        from .codegen import emit_amdgpu  # LLVM is for a process that finds no kernel on disk

        return emit_amdgpu(kernels, self._card.arch, self._size)

    def machine_code(self, kernel: Kernel) -> bytes:
        from .codegen import emit_object
        from .link import link

        return link(emit_object([kernel], self._card.arch, self._size), self._card.arch)

    def load(self, entry: Entry) -> tuple[Any, Any]:
        name = entry.header["name"]
        module = ask("hipModuleLoadData", c_void_p, entry.code, doing=f"loading {name}")
        handle = ask("hipModuleGetFunction", c_void_p, module, name.encode(), doing=f"loading {name}")
        return handle, (module, entry.code)  # HIP does not promise to copy the code
