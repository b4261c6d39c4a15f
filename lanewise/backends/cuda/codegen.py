"""Kernels to PTX."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from os import environ
from pathlib import Path

from ...errors import CompileError
from ...ir import Kernel
from ..llvm.kernel import can_interleave
from ..llvm.module import module_text, optimised, target_machine
from .target import CudaTarget

LIBRARY_CALL = "@__nv_"


def emit_llvm(kernels: Sequence[Kernel], arch: str = "sm_90", ptx: str = "8.3", items: int = 1) -> str:
    """The LLVM IR that `emit_ptx` compiles."""
    target = CudaTarget(arch)
    machine = target_machine(target.triple, arch, _features(ptx))
    return module_text(target, [(k, items if can_interleave(k) else 1) for k in kernels], machine)


def emit_ptx(kernels: Sequence[Kernel], arch: str = "sm_90", ptx: str = "8.3", items: int = 1) -> str:
    """PTX for kernels in convergent form, one entry a kernel.

    The entry takes one parameter, the argument block by value.  `items` is the number of logical blocks that a thread
    carries at a time, where the kernel allows it.
    """
    text = emit_llvm(kernels, arch, ptx, items)
    libraries = [libdevice()] if LIBRARY_CALL in text else []
    machine = target_machine(CudaTarget.triple, arch, _features(ptx))
    return machine.emit_assembly(optimised(text, machine, kernels, libraries))


def _features(ptx: str) -> str:
    return f"+ptx{ptx.replace('.', '')}"


def libdevice() -> Path:
    """NVIDIA's mathematics as bitcode: from CUDA_HOME, the PyPI package nvidia-nvvm, or /usr/local/cuda."""
    roots = [Path(environ["CUDA_HOME"]) / "nvvm"] if "CUDA_HOME" in environ else []
    spec = find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        roots += sorted(Path(place).glob("cu*/nvvm"), reverse=True) + [Path(place) / "cuda_nvcc/nvvm"]
    roots.append(Path("/usr/local/cuda/nvvm"))
    for root in roots:
        if (found := root / "libdevice/libdevice.10.bc").is_file():
            return found
    raise CompileError(
        "the kernel uses functions of NVIDIA's mathematics library, and libdevice.10.bc was not found",
        why=f"looked in {', '.join(map(str, roots))}",
        hint="pip install nvidia-nvvm, or set CUDA_HOME",
    )
