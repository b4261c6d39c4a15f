"""Kernels to PTX."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Kernel
from ..gpu.schedule import can_interleave, schedule
from ..llvm.module import module_text, optimised, target_machine
from .libdevice import libdevice
from .target import CudaTarget


def emit_llvm(kernels: Sequence[Kernel], arch: str = "sm_90", ptx: str = "8.3", items: int | None = None) -> str:
    """The LLVM IR that `emit_ptx` compiles."""
    target = CudaTarget(arch)
    machine = target_machine(target.triple, arch, _features(ptx))
    carried = (schedule(k).items if items is None else items if can_interleave(k) else 1 for k in kernels)
    return module_text(target, list(zip(kernels, carried, strict=True)), machine)


def emit_ptx(kernels: Sequence[Kernel], arch: str = "sm_90", ptx: str = "8.3", items: int | None = None) -> str:
    """PTX for kernels in convergent form, one entry a kernel.

    The entry takes one parameter, the argument block by value.  `items` is the number of logical blocks that a thread
    carries at a time, where the kernel allows it; without it the schedule's, which is what a launch runs.
    """
    text = emit_llvm(kernels, arch, ptx, items)
    library = libdevice() if "@__nv_" in text else None
    machine = target_machine(CudaTarget.triple, arch, _features(ptx))
    return machine.emit_assembly(optimised(text, machine, kernels, library))


def _features(ptx: str) -> str:
    return f"+ptx{ptx.replace('.', '')}"
