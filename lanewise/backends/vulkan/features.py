"""What a Vulkan device can do, as far as generated code depends on it, and which capability needs which feature."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

from .spirv import Capability


@dataclass(frozen=True, slots=True)
class Features:
    """The device's features; the defaults are what nearly every Vulkan 1.2 device has.

    The run time fills one in from VkPhysicalDeviceFeatures2 and VkPhysicalDeviceSubgroupProperties; drivers do not
    check a module, so a capability that is not here is never emitted.
    """

    # scalar types in registers, and in buffers
    int8: bool = True
    int16: bool = True
    int64: bool = True
    float16: bool = True
    float64: bool = False
    storage8: bool = True
    storage16: bool = True
    # memory
    buffer_device_address: bool = True
    vulkan_memory_model: bool = True
    buffer_int64_atomics: bool = False
    shared_int64_atomics: bool = False
    buffer_float32_atomic_add: bool = False
    buffer_float64_atomic_add: bool = False
    shared_float32_atomic_add: bool = False
    shared_float64_atomic_add: bool = False
    shader_clock: bool = False
    # subgroup operations
    subgroup_basic: bool = True
    subgroup_vote: bool = True
    subgroup_arithmetic: bool = True
    subgroup_ballot: bool = True
    subgroup_shuffle: bool = True
    subgroup_shuffle_relative: bool = True
    subgroup_clustered: bool = False
    subgroup_quad: bool = True
    subgroup_rotate: bool = False
    subgroup_rotate_clustered: bool = False
    subgroup_extended_types: bool = True
    maximal_reconvergence: bool = False
    # float controls: the widths in bits for which the execution mode may be set
    signed_zero_inf_nan_preserve: frozenset[int] = frozenset()
    rounding_mode_rte: frozenset[int] = frozenset()
    denorm_preserve: frozenset[int] = frozenset()


TYPICAL = Features()
FULL = replace(
    TYPICAL,
    **{f.name: True for f in fields(Features) if f.type == "bool"},
    signed_zero_inf_nan_preserve=frozenset({16, 32, 64}),
    rounding_mode_rte=frozenset({16, 32, 64}),
    denorm_preserve=frozenset({16, 32, 64}),
)
"""A device that has everything; no real one is needed to look at its code."""


_LAVAPIPE = replace(
    TYPICAL,
    float64=True,
    buffer_int64_atomics=True,
    shared_int64_atomics=True,
    buffer_float32_atomic_add=True,
    shared_float32_atomic_add=True,
    shader_clock=True,
    signed_zero_inf_nan_preserve=frozenset({16, 32, 64}),
    rounding_mode_rte=frozenset({16, 32, 64}),
)
PRESETS: dict[str, Features] = {
    "full": FULL,
    "typical": TYPICAL,
    "descriptors": replace(TYPICAL, buffer_device_address=False),
    "lavapipe22": _LAVAPIPE,
    "lavapipe25": replace(
        _LAVAPIPE,
        subgroup_clustered=True,
        subgroup_rotate=True,
        subgroup_rotate_clustered=True,
        maximal_reconvergence=True,
    ),
    "swiftshader": replace(
        TYPICAL,
        int8=False,
        int16=False,
        int64=False,
        float16=False,
        storage8=False,
        storage16=False,
        signed_zero_inf_nan_preserve=frozenset({16, 32, 64}),
    ),
}
"""Devices to write code for where there is none: everything, nearly every GPU, one that binds arrays by
descriptors as it has no addresses, and the drivers that run on a CPU (of Mesa 22 and 25, and SwiftShader) as they
describe themselves."""


class MissingFeature(Exception):
    """The device lacks a feature; whoever knows the operation turns it into an error with the user's line."""


class Need(NamedTuple):
    """The field of Features that a capability needs, and the device's own name for it."""

    field: str
    vulkan: str


NEEDS: dict[Capability, Need] = {
    Capability.Int8: Need("int8", "shaderInt8"),
    Capability.Int16: Need("int16", "shaderInt16"),
    Capability.Int64: Need("int64", "shaderInt64"),
    Capability.Float16: Need("float16", "shaderFloat16"),
    Capability.Float64: Need("float64", "shaderFloat64"),
    Capability.StorageBuffer8BitAccess: Need("storage8", "storageBuffer8BitAccess"),
    Capability.StorageBuffer16BitAccess: Need("storage16", "storageBuffer16BitAccess"),
    Capability.PhysicalStorageBufferAddresses: Need("buffer_device_address", "bufferDeviceAddress"),
    Capability.VulkanMemoryModel: Need("vulkan_memory_model", "vulkanMemoryModel"),
    Capability.ShaderClockKHR: Need("shader_clock", "shaderSubgroupClock"),
    Capability.GroupNonUniform: Need("subgroup_basic", "VK_SUBGROUP_FEATURE_BASIC_BIT"),
    Capability.GroupNonUniformVote: Need("subgroup_vote", "VK_SUBGROUP_FEATURE_VOTE_BIT"),
    Capability.GroupNonUniformArithmetic: Need("subgroup_arithmetic", "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT"),
    Capability.GroupNonUniformBallot: Need("subgroup_ballot", "VK_SUBGROUP_FEATURE_BALLOT_BIT"),
    Capability.GroupNonUniformShuffle: Need("subgroup_shuffle", "VK_SUBGROUP_FEATURE_SHUFFLE_BIT"),
    Capability.GroupNonUniformShuffleRelative: Need(
        "subgroup_shuffle_relative", "VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT"
    ),
    Capability.GroupNonUniformClustered: Need("subgroup_clustered", "VK_SUBGROUP_FEATURE_CLUSTERED_BIT"),
    Capability.GroupNonUniformQuad: Need("subgroup_quad", "VK_SUBGROUP_FEATURE_QUAD_BIT"),
    Capability.GroupNonUniformRotateKHR: Need("subgroup_rotate", "VK_SUBGROUP_FEATURE_ROTATE_BIT"),
}
"""Capabilities that depend on one feature.  Where it depends on more (an atomic's memory), the emitter asks itself."""
