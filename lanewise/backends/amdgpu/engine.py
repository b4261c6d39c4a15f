"""AMD GPUs as devices."""

from __future__ import annotations

from functools import partial

from ... import dtypes
from ...errors import DeviceError
from ..engine import Properties
from ..gpu.engine import GpuEngine
from .arch import default_subgroup_size, features, subgroup_sizes
from .card import card, count
from .hip import hip, version
from .modules import CodeObjectCompiler


def cards() -> int:
    """How many devices of this kind there are."""
    hip()
    return count()


class AmdEngine(GpuEngine):
    """One AMD GPU at one wavefront size."""

    def __init__(self, subgroup_size: int | None = None, device: int | None = None) -> None:
        found = card(device or 0)
        sizes = subgroup_sizes(found.arch)
        size = subgroup_size or default_subgroup_size(found.arch)
        if size not in sizes:
            raise DeviceError(
                f"expected a subgroup_size of {' or '.join(map(str, sizes))}, got {size}",
                why=f"{found.limits.name} is a {found.arch}, whose wavefronts have so many lanes",
                hint=f"lw.init(arch=lw.amdgpu), or lw.init(arch=lw.cpu, subgroup_size={size})",
            )
        limits = found.limits
        properties = Properties(
            name=limits.name,
            arch="amdgpu",
            subgroup_size=size,
            subgroup_sizes=sizes,
            max_block_dim=limits.max_block_dim,
            max_shared_bytes=limits.max_shared_bytes - features(found.arch, size).exchange_bytes,
            dtypes=dtypes.ALL,
            forward_progress=False,
            host_memory=False,
            number=found.number,
            details={"architecture": found.arch, "HIP": version(), "library": str(hip()._name)},
        )
        super().__init__(found, properties, partial(CodeObjectCompiler, found, size))
