"""PTX for any compute capability, on a machine without a GPU; a GPU's instructions on one that has it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import partial
from os import environ
from pathlib import Path

from ... import dtypes
from ...errors import CompileError, DeviceError
from ...ir import Program
from ..engine import Properties
from ..llvm.source import SourceEngine, SourceExecutable, variants
from .codegen import emit_ptx
from .target import CudaTarget

DEFAULT_ARCH = "sm_90"
MAX_SHARED_BYTES = 227 << 10  # of sm_90, when the launch asks for it


class PtxWriter(SourceEngine):
    """The engine of `kernel.source("ptx")`."""

    def __init__(self, subgroup_size: int | None = None, arch: str | None = None) -> None:
        arch = arch or DEFAULT_ARCH
        target = CudaTarget(arch)
        if subgroup_size not in (None, target.subgroup_size):
            raise CompileError(f"expected a subgroup size of {target.subgroup_size} on cuda, got {subgroup_size}")
        properties = Properties(
            name=f"PTX for {arch}",
            arch="cuda",
            subgroup_size=target.subgroup_size,
            subgroup_sizes=(target.subgroup_size,),
            max_block_dim=1024,
            max_shared_bytes=MAX_SHARED_BYTES,
            dtypes=dtypes.ALL,
            forward_progress=True,
            host_memory=False,
        )
        super().__init__(target, properties, partial(emit_ptx, arch=arch))


class SassWriter(PtxWriter):
    """The engine of `kernel.source("sass")`: the first GPU's instructions, by its driver and CUDA's disassembler."""

    def load(self, program: Program, debug: bool) -> SourceExecutable:
        from .card import card
        from .modules import PtxCompiler

        compiler = PtxCompiler(card(0))
        kernels = variants(program, compiler.target, self.properties.max_shared_bytes)
        return SourceExecutable("\n".join(disassemble(compiler.machine_code(k)) for k in kernels))


def disassemble(cubin: bytes) -> str:
    """Machine code as text."""
    tool = next((path for path in map(_tool, ("nvdisasm", "cuobjdump")) if path), None)
    if tool is None:
        raise DeviceError(
            "neither nvdisasm nor cuobjdump was found",
            why="NVIDIA's machine code has no public description: only its own tools print it",
            hint="install the CUDA toolkit, or set CUDA_HOME; kernel.source('ptx') needs neither",
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        options = ["-sass"] if tool.stem == "cuobjdump" else []
        done = subprocess.run([tool, *options, path], capture_output=True, text=True, check=False)
    if done.returncode:
        raise DeviceError(f"{tool.name} failed", why=done.stderr.strip())
    return done.stdout


def _tool(name: str) -> Path | None:
    homes = [environ.get("CUDA_HOME"), environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places = [Path(home) / "bin" / name for home in homes if home]
    found = shutil.which(name)
    return Path(found) if found else next((place for place in places if place.is_file()), None)
