"""Kernels to AMDGPU assembly and relocatable objects."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.binding as llvm

from ...ir import Kernel
from ..gpu.schedule import can_interleave, schedule
from ..llvm.module import module_text, optimised, target_machine
from .ocml import device_library, switches
from .target import AmdTarget


def emit_llvm(
    kernels: Sequence[Kernel], arch: str = "gfx942", subgroup_size: int = 64, items: int | None = None
) -> str:
    """The LLVM IR that `emit_amdgpu` compiles."""
    target = AmdTarget(arch, subgroup_size)
    carried = (schedule(k).items if items is None else items if can_interleave(k) else 1 for k in kernels)
    text = module_text(target, list(zip(kernels, carried, strict=True)), _machine(target))
    return text + switches(arch, subgroup_size) if "@__ocml_" in text else text


def emit_amdgpu(
    kernels: Sequence[Kernel], arch: str = "gfx942", subgroup_size: int = 64, items: int | None = None
) -> str:
    """Assembly of kernels in convergent form; the one argument of each is its argument block.

    `items` is the number of logical blocks that a thread carries at a time, where the kernel allows it; without it the
    schedule's, which is what a launch runs.
    """
    target = AmdTarget(arch, subgroup_size)
    return _machine(target).emit_assembly(_compiled(target, kernels, items))


def emit_object(
    kernels: Sequence[Kernel], arch: str = "gfx942", subgroup_size: int = 64, items: int | None = None
) -> bytes:
    """A relocatable ELF object, which a linker turns into a code object."""
    target = AmdTarget(arch, subgroup_size)
    return _machine(target).emit_object(_compiled(target, kernels, items))


def _machine(target: AmdTarget) -> llvm.TargetMachine:
    return target_machine(target.triple, target.arch, target.machine_features)


def _compiled(target: AmdTarget, kernels: Sequence[Kernel], items: int | None) -> llvm.ModuleRef:
    text = emit_llvm(kernels, target.arch, target.subgroup_size, items)
    library = device_library() if "@__ocml_" in text else None
    return optimised(text, _machine(target), kernels, library)
