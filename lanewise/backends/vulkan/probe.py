"""What a physical device says of itself: its limits, and its features as the generated code knows them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from ... import dtypes
from ...dtypes import DType
from ...errors import DeviceError
from . import structures as vk
from .devices import CPU, INTEGRATED, PhysicalDevice
from .features import Features

VERSION_1_2 = (1 << 22) | (2 << 12)
VERSION_1_3 = (1 << 22) | (3 << 12)
_COMPUTE_STAGE = 0x20
_COMPUTE_QUEUE = 0x2
SIZE_CONTROL = "VK_EXT_subgroup_size_control"
HOST_MEMORY = "VK_EXT_external_memory_host"
WITHOUT = "LANEWISE_VULKAN_WITHOUT"
"""The environment variable with Vulkan's names of features that a device is to be used without."""
_PORTABILITY_SUBSET = "VK_KHR_portability_subset"


class _Structure(NamedTuple):
    """A features structure, and the field of `Features` that each of its members sets."""

    kind: Any
    fields: Mapping[str, str]
    extension: str = ""
    """What a device must offer, and enable, to have the structure; none is in Vulkan 1.2."""
    core: int = VERSION_1_2
    """The version of Vulkan from which on no extension is needed; 0 if there is none."""


def _structure(stype: int, members: str, extension: str = "", core: int | None = None, /, **names: str) -> _Structure:
    core = (0 if extension else VERSION_1_2) if core is None else core
    found = {member: name for name, member in names.items()}
    return _Structure(vk.feature_structure(f"Features{stype}", stype, members.split()), found, extension, core)


# VkPhysicalDeviceFeatures: `fN` stands for the N-th of its 55 members.
_CORE = _structure(
    1000059000,
    " ".join({39: "shaderFloat64", 40: "shaderInt64", 41: "shaderInt16"}.get(n, f"f{n}") for n in range(55)),
    float64="shaderFloat64", int64="shaderInt64", int16="shaderInt16",
)  # fmt: skip
_STRUCTURES: tuple[_Structure, ...] = (
    _CORE,
    _structure(
        1000083000,
        "storageBuffer16BitAccess uniformAndStorageBuffer16BitAccess storagePushConstant16 storageInputOutput16",
        storage16="storageBuffer16BitAccess",
    ),
    _structure(
        1000177000,
        "storageBuffer8BitAccess uniformAndStorageBuffer8BitAccess storagePushConstant8",
        storage8="storageBuffer8BitAccess",
    ),
    _structure(1000082000, "shaderFloat16 shaderInt8", float16="shaderFloat16", int8="shaderInt8"),
    _structure(
        1000257000,
        "bufferDeviceAddress bufferDeviceAddressCaptureReplay bufferDeviceAddressMultiDevice",
        buffer_device_address="bufferDeviceAddress",
    ),
    _structure(
        1000211000,
        "vulkanMemoryModel vulkanMemoryModelDeviceScope vulkanMemoryModelAvailabilityVisibilityChains",
        vulkan_memory_model="vulkanMemoryModel",
    ),
    _structure(
        1000180000,
        "shaderBufferInt64Atomics shaderSharedInt64Atomics",
        buffer_int64_atomics="shaderBufferInt64Atomics", shared_int64_atomics="shaderSharedInt64Atomics",
    ),
    _structure(1000175000, "shaderSubgroupExtendedTypes", subgroup_extended_types="shaderSubgroupExtendedTypes"),
    _structure(
        1000260000,
        "shaderBufferFloat32Atomics shaderBufferFloat32AtomicAdd shaderBufferFloat64Atomics "
        "shaderBufferFloat64AtomicAdd shaderSharedFloat32Atomics shaderSharedFloat32AtomicAdd "
        "shaderSharedFloat64Atomics shaderSharedFloat64AtomicAdd shaderImageFloat32Atomics "
        "shaderImageFloat32AtomicAdd sparseImageFloat32Atomics sparseImageFloat32AtomicAdd",
        "VK_EXT_shader_atomic_float",
        buffer_float32_atomic_add="shaderBufferFloat32AtomicAdd",
        buffer_float64_atomic_add="shaderBufferFloat64AtomicAdd",
        shared_float32_atomic_add="shaderSharedFloat32AtomicAdd",
        shared_float64_atomic_add="shaderSharedFloat64AtomicAdd",
    ),
    _structure(
        1000181000, "shaderSubgroupClock shaderDeviceClock", "VK_KHR_shader_clock", shader_clock="shaderSubgroupClock"
    ),
    _structure(
        1000416000,
        "shaderSubgroupRotate shaderSubgroupRotateClustered",
        "VK_KHR_shader_subgroup_rotate",
        subgroup_rotate="shaderSubgroupRotate", subgroup_rotate_clustered="shaderSubgroupRotateClustered",
    ),
    _structure(
        1000434000,
        "shaderMaximalReconvergence",
        "VK_KHR_shader_maximal_reconvergence",
        maximal_reconvergence="shaderMaximalReconvergence",
    ),
)  # fmt: skip
_SIZE_CONTROL = _structure(1000225002, "subgroupSizeControl computeFullSubgroups", SIZE_CONTROL, VERSION_1_3)

FEATURE_NAMES: Mapping[str, str] = {name: member for row in _STRUCTURES for member, name in row.fields.items()}
"""Vulkan's names of the fields of `Features` that are members of these structures."""
FEATURE_EXTENSIONS: Mapping[str, str] = {
    member: row.extension for row in _STRUCTURES if not row.core for member in row.fields
}
"""The extension that brings a feature, where no version of Vulkan does."""

# VkSubgroupFeatureFlagBits
_OPERATIONS: Mapping[int, str] = {
    0x001: "subgroup_basic",
    0x002: "subgroup_vote",
    0x004: "subgroup_arithmetic",
    0x008: "subgroup_ballot",
    0x010: "subgroup_shuffle",
    0x020: "subgroup_shuffle_relative",
    0x040: "subgroup_clustered",
    0x080: "subgroup_quad",
}
_WIDTHS = (16, 32, 64)
_INDEPENDENT = 1  # VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL

NEEDED: Mapping[str, str] = {
    "subgroup_basic": "subgroup operations in compute shaders",
}
"""Without these fields of `Features`, named as Vulkan does, no kernel runs at all."""

_DTYPES: Mapping[str, tuple[str, ...]] = {
    "i8": ("int8", "storage8"), "u8": ("int8", "storage8"),
    "i16": ("int16", "storage16"), "u16": ("int16", "storage16"),
    "i64": ("int64",), "u64": ("int64",),
    "f16": ("float16", "storage16"),
    "f64": ("float64",),
}  # fmt: skip
"""The features that arrays and values of a type need; only arrays of bool need any, which the emitter says."""
OTHER_UNITS = 32
"""The multiprocessors of a GPU that does not say how many it has."""


@dataclass(frozen=True)
class Facts:
    """A physical device, with all that the run time asks it."""

    device: PhysicalDevice
    version: int
    driver: str
    """The driver's name and version: compiled code is for it alone."""
    header: bytes
    """How the driver's pipeline caches begin: the vendor, the device, the driver's UUID of its format."""
    features: Features
    limits: Any
    memory: Any
    """VkPhysicalDeviceMemoryProperties."""
    extensions: frozenset[str]
    """Those that are enabled."""
    enabled: Sequence[Any]
    """The features that are enabled, as structures to be chained."""
    family: int
    """The queue family that launches use."""
    timestamp_bits: int
    subgroup_size: int
    """The device's own."""
    subgroup_stages: int
    """VkShaderStageFlags with subgroup operations."""
    subgroup_operations: int
    """VkSubgroupFeatureFlags."""
    sizes: tuple[int, ...]
    """Those that may be chosen."""
    full_subgroups: bool
    """Whether a pipeline may ask for full subgroups."""
    chooses_size: bool
    """Whether it may ask for their size."""
    max_subgroups: int
    """Of a block, where the size is asked for."""
    units: int
    """Multiprocessors, as far as they are known."""
    max_allocation: int
    """The bytes of one buffer and its memory."""
    host_alignment: int
    """Of host memory that is used in place; 0 where none can be."""

    @property
    def is_cpu(self) -> bool:
        return self.device.kind == CPU

    @property
    def is_integrated(self) -> bool:
        """Whether the device works on the host's own memory."""
        return self.device.kind in (CPU, INTEGRATED)

    @cached_property
    def dtypes(self) -> tuple[DType, ...]:
        """The scalar types of arrays and values."""
        return tuple(t for t in dtypes.ALL if all(getattr(self.features, name) for name in _DTYPES.get(t.name, ())))

    def requires_size(self, subgroup_size: int, threads: int) -> bool:
        """Whether a pipeline with blocks of so many threads requires its subgroup size.

        maxComputeWorkgroupSubgroups holds for pipelines that do (VUID-VkPipelineShaderStageCreateInfo-pNext-02756); a
        larger block has the device's own size without that.
        """
        return self.chooses_size and threads <= self.max_subgroups * subgroup_size

    def max_block_dim(self, subgroup_size: int) -> int:
        """The threads of a block."""
        most = min(self.limits.maxComputeWorkGroupInvocations, self.limits.maxComputeWorkGroupSize[0])
        if subgroup_size != self.subgroup_size:
            most = min(most, self.max_subgroups * subgroup_size)
        return most // subgroup_size * subgroup_size


def probe(device: PhysicalDevice) -> Facts:
    """Ask a physical device; DeviceError where it lacks what every kernel needs."""
    functions = device.instance.functions
    offered = frozenset(
        row.name.decode()
        for row in functions.listed("EnumerateDeviceExtensionProperties", vk.ExtensionProperties, device.handle, None)
    )
    general = _ask_properties(device, [])
    version = min(general.apiVersion, _instance_version(device))
    if version < VERSION_1_2:
        raise _unfit(device, f"it has Vulkan {version >> 22}.{version >> 12 & 0x3FF}, lanewise needs 1.2")
    structures = [row for row in _STRUCTURES if _has(row, offered, version)]
    sizing = _has(_SIZE_CONTROL, offered, version)
    asked = _ask_features(device, [*structures, *([_SIZE_CONTROL] if sizing else [])])
    _leave_out(structures, asked)
    sizing = sizing and bool(asked[-1].subgroupSizeControl and asked[-1].computeFullSubgroups)
    subgroup, floats, driver = vk.SubgroupProperties(), vk.FloatControlsProperties(), vk.DriverProperties()
    size, third, fourth = (
        vk.SubgroupSizeControlProperties(),
        vk.Maintenance3Properties(),
        vk.Maintenance4Properties(maxBufferSize=2**64 - 1),
    )
    host, nvidia, amd = vk.ExternalMemoryHostProperties(), vk.SmBuiltinsPropertiesNV(), vk.ShaderCoreProperties2AMD()
    optional = {
        HOST_MEMORY: host,
        "VK_NV_shader_sm_builtins": nvidia,
        "VK_AMD_shader_core_properties2": amd,
    }
    asked_for = [subgroup, floats, driver, third, *(s for name, s in optional.items() if name in offered)]
    asked_for += [size] * sizing + [fourth] * (version >= VERSION_1_3)
    general = _ask_properties(device, asked_for)
    family, timestamp_bits = _queue_family(device)
    features = _features(structures, asked, subgroup, floats)
    for name, called in NEEDED.items():
        if not getattr(features, name):
            raise _unfit(device, f"it has no {called}")
    own = subgroup.size
    chooses = sizing and bool(size.stages & _COMPUTE_STAGE)
    sizes = (own,)
    if chooses:
        sizes = tuple(2**n for n in range(8) if size.minSize <= 2**n <= size.maxSize)
    wanted = {row.extension for row in structures if row.extension} | ({SIZE_CONTROL} if sizing else set())
    wanted |= {HOST_MEMORY, _PORTABILITY_SUBSET}
    return Facts(
        device=device,
        version=version,
        driver=f"{driver.name.decode(errors='replace')} {driver.info.decode(errors='replace')} {general.driverVersion}",
        header=_cache_header(general),
        features=features,
        limits=general.limits,
        memory=_memory(device),
        extensions=frozenset(wanted & offered),
        enabled=_enabled(structures, asked, sizing),
        family=family,
        timestamp_bits=timestamp_bits,
        subgroup_size=own,
        subgroup_stages=subgroup.stages,
        subgroup_operations=subgroup.operations,
        sizes=tuple(sorted({*sizes, own})),
        full_subgroups=sizing,
        chooses_size=chooses,
        max_subgroups=size.maxWorkgroupSubgroups,
        units=(os.cpu_count() or 1) if device.kind == CPU else nvidia.count or amd.units or OTHER_UNITS,
        max_allocation=min(third.maxMemoryAllocationSize, fourth.maxBufferSize),
        host_alignment=host.alignment if device.kind in (CPU, INTEGRATED) else 0,
    )


def _unfit(device: PhysicalDevice, why: str) -> DeviceError:
    return DeviceError(
        f"the Vulkan device {device.name!r} cannot run kernels: {why}",
        hint="another device= of lw.init(arch=lw.vulkan), a newer driver, or lw.init(arch=lw.cpu)",
    )


def _has(row: _Structure, offered: frozenset[str], version: int) -> bool:
    return row.extension in offered or bool(row.core and version >= row.core)


def _instance_version(device: PhysicalDevice) -> int:
    from .driver import loader

    version = ctypes.c_uint32()
    loader().EnumerateInstanceVersion(ctypes.byref(version))
    return version.value


def _ask_properties(device: PhysicalDevice, chained: Sequence[Any]) -> Any:
    general = vk.Properties2(pNext=vk.chain(chained))
    device.instance.functions.GetPhysicalDeviceProperties2(device.handle, ctypes.byref(general))
    return general


def _ask_features(device: PhysicalDevice, rows: Sequence[_Structure]) -> list[Any]:
    made = [row.kind() for row in rows]
    vk.chain(made)
    device.instance.functions.GetPhysicalDeviceFeatures2(device.handle, vk.address(made[0]))
    return made


def _leave_out(structures: Sequence[_Structure], asked: Sequence[Any]) -> None:
    """Forget the features that LANEWISE_VULKAN_WITHOUT names."""
    named = os.environ.get(WITHOUT, "").replace(",", " ").split()
    known = set(FEATURE_NAMES.values())
    if unknown := sorted(set(named) - known):
        raise DeviceError(
            f"{WITHOUT}: expected names of features, got {unknown[0]!r}",
            hint=f"some of these: {', '.join(sorted(known))}",
        )
    for row, answer in zip(structures, asked, strict=False):
        for member in row.fields.keys() & set(named):
            setattr(answer, member, 0)


def _features(structures: Sequence[_Structure], asked: Sequence[Any], subgroup: Any, floats: Any) -> Features:
    found: dict[str, Any] = {field.name: False for field in fields(Features) if field.type == "bool"}
    for row, answer in zip(structures, asked, strict=False):
        found.update({name: bool(getattr(answer, member)) for member, name in row.fields.items()})
    if subgroup.stages & _COMPUTE_STAGE:
        found.update({name: bool(subgroup.operations & bit) for bit, name in _OPERATIONS.items()})
    return Features(
        **found,
        signed_zero_inf_nan_preserve=_widths(floats.signedZeroInfNanPreserve),
        denorm_preserve=_widths(floats.denormPreserve, floats.denormIndependence),
        rounding_mode_rte=_widths(floats.roundingModeRTE, floats.roundingIndependence),
    )


def _widths(flags: Sequence[int], independence: int = _INDEPENDENT) -> frozenset[int]:
    """The widths whose mode may be set; where modes hang together, only if all can be."""
    found = frozenset(width for width, flag in zip(_WIDTHS, flags, strict=True) if flag)
    return found if independence == _INDEPENDENT or len(found) == len(_WIDTHS) else frozenset()


def _enabled(structures: Sequence[_Structure], asked: Sequence[Any], sizing: bool) -> list[Any]:
    """The same structures with no more than what lanewise uses."""
    made: list[Any] = []
    for row, answer in zip(structures, asked, strict=False):
        made.append(row.kind(**{member: getattr(answer, member) for member in row.fields}))
    if sizing:
        made.append(_SIZE_CONTROL.kind(subgroupSizeControl=1, computeFullSubgroups=1))
    return made


def _memory(device: PhysicalDevice) -> Any:
    found = vk.MemoryProperties()
    device.instance.functions.GetPhysicalDeviceMemoryProperties(device.handle, ctypes.byref(found))
    return found


def _queue_family(device: PhysicalDevice) -> tuple[int, int]:
    """A family that computes, and how many bits its timestamps have."""
    listed = device.instance.functions.listed(
        "GetPhysicalDeviceQueueFamilyProperties", vk.QueueFamilyProperties, device.handle
    )
    for number, family in enumerate(listed):
        if family.flags & _COMPUTE_QUEUE and family.count:
            return number, family.timestampValidBits
    raise _unfit(device, "it has no queue for compute shaders")


def _cache_header(general: Any) -> bytes:
    """VkPipelineCacheHeaderVersionOne."""
    words = (32, 1, general.vendorID, general.deviceID)
    return b"".join(word.to_bytes(4, "little") for word in words) + bytes(general.pipelineCacheUUID)
