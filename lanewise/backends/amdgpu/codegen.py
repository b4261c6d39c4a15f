"""Kernels to AMDGPU assembly and relocatable objects."""

from __future__ import annotations

from collections.abc import Sequence
from os import environ
from pathlib import Path

import llvmlite.binding as llvm

from ...errors import CompileError
from ...ir import Kernel
from ..llvm.kernel import can_interleave
from ..llvm.module import module_text, optimised, target_machine
from .target import AmdTarget

LIBRARY_CALL = "@__ocml_"

# The switches that ROCm's library reads: IEEE arithmetic, denormals kept, roots rounded correctly.
_SWITCHES = {
    "finite_only_opt": "i8 0",
    "unsafe_math_opt": "i8 0",
    "daz_opt": "i8 0",
    "correctly_rounded_sqrt32": "i8 1",
    "wavefrontsize64": "i8 {wave64}",
    "ISA_version": "i32 {isa}",
    "ABI_version": "i32 500",
}


def emit_llvm(kernels: Sequence[Kernel], arch: str = "gfx942", subgroup_size: int = 64, items: int = 1) -> str:
    """The LLVM IR that `emit_amdgpu` compiles."""
    target = AmdTarget(arch, subgroup_size)
    text = module_text(target, [(k, items if can_interleave(k) else 1) for k in kernels], _machine(target))
    return text + _switches(target) if LIBRARY_CALL in text else text


def emit_amdgpu(kernels: Sequence[Kernel], arch: str = "gfx942", subgroup_size: int = 64, items: int = 1) -> str:
    """Assembly of kernels in convergent form; the one argument of each is its argument block.

    `items` is the number of logical blocks that a thread carries at a time, where the kernel allows it.
    """
    target = AmdTarget(arch, subgroup_size)
    return _machine(target).emit_assembly(_compiled(target, kernels, items))


def emit_object(kernels: Sequence[Kernel], arch: str = "gfx942", subgroup_size: int = 64, items: int = 1) -> bytes:
    """A relocatable ELF object, which a linker turns into a code object."""
    target = AmdTarget(arch, subgroup_size)
    return _machine(target).emit_object(_compiled(target, kernels, items))


def _machine(target: AmdTarget) -> llvm.TargetMachine:
    return target_machine(target.triple, target.arch, target.machine_features)


def _compiled(target: AmdTarget, kernels: Sequence[Kernel], items: int) -> llvm.ModuleRef:
    text = emit_llvm(kernels, target.arch, target.subgroup_size, items)
    libraries = [device_library()] if LIBRARY_CALL in text else []
    return optimised(text, _machine(target), kernels, libraries)


def _switches(target: AmdTarget) -> str:
    major, minor, stepping = int(target.arch[3:-2]), int(target.arch[-2]), int(target.arch[-1], 16)
    facts = {"wave64": int(target.subgroup_size == 64), "isa": major * 1000 + minor * 100 + stepping}
    kind = "linkonce_odr hidden local_unnamed_addr addrspace(4) constant"
    return "".join(f"@__oclc_{name} = {kind} {value.format(**facts)}\n" for name, value in _SWITCHES.items())


def device_library() -> Path:
    """ROCm's mathematics as bitcode."""
    rocm, debian = Path(environ.get("ROCM_PATH", "/opt/rocm")), Path("/usr/lib/x86_64-linux-gnu")
    roots = [root / "amdgcn/bitcode" for root in (rocm, debian)]
    for root in roots:
        if (found := root / "ocml.bc").is_file():
            return found
    raise CompileError(
        "the kernel uses functions of ROCm's mathematics library, and ocml.bc was not found",
        why=f"looked in {', '.join(map(str, roots))}",
        hint="install ROCm's device libraries, or set ROCM_PATH",
    )
