"""Vulkan as a device."""

from __future__ import annotations

from functools import partial

from ...errors import DeviceError
from ..engine import SUBGROUP_SIZES, Properties
from ..gpu.engine import GpuEngine
from .card import card
from .details import details
from .devices import physical_devices
from .pipelines import SpirvCompiler
from .probe import Facts


def cards() -> int:
    """How many devices of this kind there are."""
    return len(physical_devices())


class VulkanEngine(GpuEngine):
    """One Vulkan device with one of its subgroup sizes."""

    def __init__(self, subgroup_size: int | None = None, device: int | str | None = None) -> None:
        found = card(device)
        facts = found.facts
        size = _chosen(facts, subgroup_size)
        properties = Properties(
            name=facts.device.name,
            arch="vulkan",
            subgroup_size=size,
            subgroup_sizes=tuple(n for n in facts.sizes if n in SUBGROUP_SIZES),
            max_block_dim=facts.max_block_dim(size),
            max_shared_bytes=found.limits.max_shared_bytes,
            dtypes=facts.dtypes,
            host_memory=False,
            number=found.number,
            details=details(facts),
        )
        super().__init__(found, properties, partial(SpirvCompiler, found, size))


def _chosen(facts: Facts, wanted: int | None) -> int:
    """The subgroup size to use."""
    size = facts.subgroup_size if wanted is None else wanted
    if size in facts.sizes and size in SUBGROUP_SIZES:
        return size
    low, high = facts.sizes[0], facts.sizes[-1]
    raise DeviceError(
        f"expected a subgroup_size from {low} to {high}, got {size}"
        if low != high
        else f"expected a subgroup_size of {low}, got {size}",
        why=f"{facts.device.name!r} has subgroups of {low if low == high else f'{low} to {high}'} lanes",
        hint=f"lw.init(arch=lw.vulkan), or lw.init(arch=lw.cpu, subgroup_size={size})",
    )
