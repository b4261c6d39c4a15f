"""What `lanewise devices` tells of a Vulkan device beyond its properties: the driver's answers to what was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..engine import Detail
from .devices import KINDS
from .probe import FEATURE_NAMES, HOST_MEMORY, Facts

# VkShaderStageFlagBits
_STAGES: Mapping[int, str] = {
    0x01: "vertex",
    0x02: "tessellation control",
    0x04: "tessellation evaluation",
    0x08: "geometry",
    0x10: "fragment",
    0x20: "compute",
    0x40: "task",
    0x80: "mesh",
}
# VkSubgroupFeatureFlagBits
_OPERATIONS: Mapping[int, str] = {
    0x001: "basic",
    0x002: "vote",
    0x004: "arithmetic",
    0x008: "ballot",
    0x010: "shuffle",
    0x020: "shuffle relative",
    0x040: "clustered",
    0x080: "quad",
    0x200: "rotate",
    0x400: "rotate clustered",
}
_FLOAT_CONTROLS = {
    "signed_zero_inf_nan_preserve": "shaderSignedZeroInfNanPreserve",
    "denorm_preserve": "shaderDenormPreserve",
    "rounding_mode_rte": "shaderRoundingModeRTE",
}


def details(facts: Facts) -> dict[str, Detail]:
    """By name; features are those that lanewise uses, by Vulkan's names."""
    version = f"{facts.version >> 22}.{facts.version >> 12 & 0x3FF}.{facts.version & 0xFFF}"
    low, high = facts.sizes[0], facts.sizes[-1]
    return {
        "kind": KINDS.get(facts.device.kind, "other"),
        "uuid": facts.device.uuid,
        "driver": facts.driver,
        "vulkan": version,
        "subgroup size": f"{facts.subgroup_size}, and no other" if low == high else f"{low} to {high}",
        "subgroup stages": _names(_STAGES, facts.subgroup_stages),
        "subgroup operations": _names(_OPERATIONS, facts.subgroup_operations),
        "features": _switches(facts),
    }


def _names(names: Mapping[int, str], bits: int) -> Sequence[str]:
    return tuple(name for bit, name in names.items() if bits & bit)


def _switches(facts: Facts) -> Mapping[str, bool]:
    found = {vulkan: bool(getattr(facts.features, name)) for name, vulkan in FEATURE_NAMES.items()}
    for name, vulkan in _FLOAT_CONTROLS.items():
        found |= {f"{vulkan}Float{width}": width in getattr(facts.features, name) for width in (16, 32, 64)}
    found["subgroupSizeControl"] = facts.chooses_size
    found["computeFullSubgroups"] = facts.full_subgroups
    found[HOST_MEMORY] = facts.host_alignment > 0
    found["timestamps"] = facts.timestamp_bits > 0
    return found
