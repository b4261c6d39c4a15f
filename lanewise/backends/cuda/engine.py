"""CUDA as a device."""

from __future__ import annotations

from functools import partial

from ... import dtypes
from ...errors import DeviceError
from ..engine import Properties
from ..gpu.engine import GpuEngine
from .card import card, count
from .driver import driver
from .modules import PtxCompiler

WARP = 32


def cards() -> int:
    """How many devices of this kind there are."""
    driver()
    return count()


class CudaEngine(GpuEngine):
    """One NVIDIA GPU."""

    def __init__(self, subgroup_size: int | None = None, device: int | None = None) -> None:
        if subgroup_size not in (None, WARP):
            raise DeviceError(
                f"expected a subgroup_size of {WARP}, got {subgroup_size}",
                why="a warp has 32 lanes on every NVIDIA GPU",
                hint=f"lw.init(arch=lw.cuda), or lw.init(arch=lw.cpu, subgroup_size={subgroup_size})",
            )
        found = card(device or 0)
        found.adopt_thread()
        limits = found.limits
        properties = Properties(
            name=limits.name,
            arch="cuda",
            subgroup_size=WARP,
            subgroup_sizes=(WARP,),
            max_block_dim=limits.max_block_dim,
            max_shared_bytes=limits.max_shared_bytes,
            dtypes=dtypes.ALL,
            forward_progress=True,
            host_memory=False,
            number=found.number,
        )
        super().__init__(found, properties, partial(PtxCompiler, found))
