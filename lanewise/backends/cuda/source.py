"""PTX for any compute capability, on a machine without a GPU."""

from __future__ import annotations

from functools import partial

from ... import dtypes
from ...errors import CompileError
from ..engine import Properties
from ..llvm.source import SourceEngine
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
