"""AMDGPU assembly for any architecture of the table, on a machine without a GPU."""

from __future__ import annotations

from functools import partial

from ... import dtypes
from ..engine import Properties
from ..llvm.source import SourceEngine
from .arch import default_subgroup_size, subgroup_sizes
from .codegen import emit_amdgpu
from .target import AmdTarget

DEFAULT_ARCH = "gfx942"
MAX_SHARED_BYTES = 64 << 10


class AmdgpuWriter(SourceEngine):
    """The engine of `kernel.source("amdgpu")`; without a subgroup size, the widest that the architecture has."""

    def __init__(self, subgroup_size: int | None = None, arch: str | None = None) -> None:
        arch = arch or DEFAULT_ARCH
        sizes = subgroup_sizes(arch)
        target = AmdTarget(arch, subgroup_size or default_subgroup_size(arch))
        properties = Properties(
            name=f"AMDGPU assembly for {arch}",
            arch="amdgpu",
            subgroup_size=target.subgroup_size,
            subgroup_sizes=sizes,
            max_block_dim=1024,
            max_shared_bytes=MAX_SHARED_BYTES - target.features.exchange_bytes,
            dtypes=dtypes.ALL,
            host_memory=False,
        )
        super().__init__(target, properties, partial(emit_amdgpu, arch=arch, subgroup_size=target.subgroup_size))
