"""The structures of vulkan_core.h that the run time passes, as ctypes tables.

A row is the member names with their types; a number after a type is the length of an array.  What begins with sType and
pNext has its VkStructureType first.  Names are Vulkan's, without the prefix `p`; handles and pointers are integers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

_TYPES: dict[str, Any] = {
    "u8": ctypes.c_uint8,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "size": ctypes.c_size_t,
    "f32": ctypes.c_float,
    "ptr": ctypes.c_void_p,
    "text": ctypes.c_char_p,
    "char": ctypes.c_char,
}
"""A handle that dispatches (instance, device, queue, command buffer) is a ptr, every other one a u64."""


def _members(text: str) -> list[tuple[str, Any]]:
    """Words of `type` or `type*length`, each followed by the names of that type; `;` ends a type's names."""
    found: list[tuple[str, Any]] = []
    for part in text.split(";"):
        kind, *names = part.split()
        base, _, length = kind.partition("*")
        type_ = _TYPES.get(base) or globals()[base]
        found += [(name, type_ * int(length) if length else type_) for name in names]
    return found


def _plain(name: str, members: str) -> Any:
    return type(name, (ctypes.Structure,), {"_fields_": _members(members)})


class Chained(ctypes.Structure):
    """A structure with its sType set, made with keywords alone."""

    STYPE = 0
    sType: int  # noqa: N815
    pNext: int | None  # noqa: N815

    def __init__(self, **members: Any) -> None:
        super().__init__(sType=self.STYPE, **members)


def _chained(name: str, stype: int, members: str) -> Any:
    fields = [("sType", ctypes.c_uint32), ("pNext", ctypes.c_void_p), *_members(members)]
    return type(name, (Chained,), {"_fields_": fields, "STYPE": stype})


def address(structure: Any) -> int:
    """Where a structure or array is; the caller keeps it alive."""
    return ctypes.addressof(structure)


def chain(structures: Sequence[Any]) -> int | None:
    """Link structures by pNext; the address of the first one."""
    link: int | None = None
    for structure in reversed(structures):
        structure.pNext = link
        link = address(structure)
    return link


def texts(names: Sequence[str]) -> Any:
    """A `const char * const *`."""
    return (ctypes.c_char_p * len(names))(*[name.encode() for name in names])


# ---- making an instance and a device ---------------------------------------------------------------------------------
ApplicationInfo = _chained("ApplicationInfo", 0, "text name; u32 version; text engine; u32 engineVersion apiVersion")
InstanceCreateInfo = _chained(
    "InstanceCreateInfo",
    1,
    "u32 flags; ptr application; u32 layerCount; ptr layers; u32 extensionCount; ptr extensions",
)
QueueCreateInfo = _chained("QueueCreateInfo", 2, "u32 flags family count; ptr priorities")
DeviceCreateInfo = _chained(
    "DeviceCreateInfo",
    3,
    "u32 flags queueCount; ptr queues; u32 layerCount; ptr layers; u32 extensionCount; ptr extensions features",
)
ExtensionProperties = _plain("ExtensionProperties", "char*256 name; u32 version")
QueueFamilyProperties = _plain("QueueFamilyProperties", "u32 flags count timestampValidBits; u32*3 granularity")

# ---- memory and buffers ----------------------------------------------------------------------------------------------
MemoryType = _plain("MemoryType", "u32 flags heap")
MemoryHeap = _plain("MemoryHeap", "u64 size; u32 flags")
MemoryProperties = _plain("MemoryProperties", "u32 typeCount; MemoryType*32 types; u32 heapCount; MemoryHeap*16 heaps")
MemoryRequirements = _plain("MemoryRequirements", "u64 size alignment; u32 typeBits")
BufferCreateInfo = _chained("BufferCreateInfo", 12, "u32 flags; u64 size; u32 usage sharing families; ptr indices")
MemoryAllocateInfo = _chained("MemoryAllocateInfo", 5, "u64 size; u32 type")
MemoryAllocateFlagsInfo = _chained("MemoryAllocateFlagsInfo", 1000060000, "u32 flags deviceMask")
BufferDeviceAddressInfo = _chained("BufferDeviceAddressInfo", 1000244001, "u64 buffer")
ExternalMemoryBufferCreateInfo = _chained("ExternalMemoryBufferCreateInfo", 1000072000, "u32 handleTypes")
ImportMemoryHostPointerInfo = _chained("ImportMemoryHostPointerInfo", 1000178000, "u32 handleType; ptr pointer")
MemoryHostPointerProperties = _chained("MemoryHostPointerProperties", 1000178001, "u32 typeBits")
BufferCopy = _plain("BufferCopy", "u64 source target size")

# ---- pipelines -------------------------------------------------------------------------------------------------------
ShaderModuleCreateInfo = _chained("ShaderModuleCreateInfo", 16, "u32 flags; size size; ptr code")
PushConstantRange = _plain("PushConstantRange", "u32 stages offset size")
PipelineLayoutCreateInfo = _chained(
    "PipelineLayoutCreateInfo", 30, "u32 flags setCount; ptr sets; u32 rangeCount; ptr ranges"
)
RequiredSubgroupSize = _chained("RequiredSubgroupSize", 1000225001, "u32 size")
ShaderStageCreateInfo = _chained("ShaderStageCreateInfo", 18, "u32 flags stage; u64 module; text name; ptr constants")
ComputePipelineCreateInfo = _chained(
    "ComputePipelineCreateInfo", 29, "u32 flags; ShaderStageCreateInfo stage; u64 layout base; i32 baseIndex"
)
PipelineCacheCreateInfo = _chained("PipelineCacheCreateInfo", 17, "u32 flags; size size; ptr data")

# ---- descriptors -----------------------------------------------------------------------------------------------------
DescriptorSetLayoutBinding = _plain("DescriptorSetLayoutBinding", "u32 binding type count stages; ptr samplers")
DescriptorSetLayoutCreateInfo = _chained("DescriptorSetLayoutCreateInfo", 32, "u32 flags bindingCount; ptr bindings")
DescriptorPoolSize = _plain("DescriptorPoolSize", "u32 type count")
DescriptorPoolCreateInfo = _chained("DescriptorPoolCreateInfo", 33, "u32 flags maxSets sizeCount; ptr sizes")
DescriptorSetAllocateInfo = _chained("DescriptorSetAllocateInfo", 34, "u64 pool; u32 count; ptr layouts")
DescriptorBufferInfo = _plain("DescriptorBufferInfo", "u64 buffer offset range")
WriteDescriptorSet = _chained(
    "WriteDescriptorSet", 35, "u64 set; u32 binding element count type; ptr images buffers views"
)

# ---- commands --------------------------------------------------------------------------------------------------------
CommandPoolCreateInfo = _chained("CommandPoolCreateInfo", 39, "u32 flags family")
CommandBufferAllocateInfo = _chained("CommandBufferAllocateInfo", 40, "u64 pool; u32 level count")
CommandBufferBeginInfo = _chained("CommandBufferBeginInfo", 42, "u32 flags; ptr inheritance")
MemoryBarrier = _chained("MemoryBarrier", 46, "u32 source target")
QueryPoolCreateInfo = _chained("QueryPoolCreateInfo", 11, "u32 flags type count statistics")
FenceCreateInfo = _chained("FenceCreateInfo", 8, "u32 flags")
SubmitInfo = _chained(
    "SubmitInfo",
    4,
    "u32 waitCount; ptr waits stages; u32 commandCount; ptr commands; u32 signalCount; ptr signals",
)

# ---- what a device can do --------------------------------------------------------------------------------------------
# VkPhysicalDeviceLimits: runs of members that nothing here reads have one name.
Limits = _plain(
    "Limits",
    "u32*7 images; u32 maxStorageBufferRange maxPushConstantsSize maxMemoryAllocationCount maxSamplers;"
    "u64 granularity sparse; u32*3 sets; u32 maxPerStageDescriptorStorageBuffers; u32*34 other;"
    "u32 maxComputeSharedMemorySize; u32*3 maxComputeWorkGroupCount; u32 maxComputeWorkGroupInvocations;"
    "u32*3 maxComputeWorkGroupSize; u32*5 raster; f32*2 sampler; u32*3 viewports; f32*2 bounds; u32 viewportBits;"
    "size minMemoryMapAlignment; u64*3 alignments; u32*4 offsets; f32*2 interpolation; u32*15 samples;"
    "u32 timestampComputeAndGraphics; f32 timestampPeriod; u32*4 clips; f32*6 points; u32*2 strict;"
    "u64*2 copies; u64 nonCoherentAtomSize",
)
Properties2 = _chained(
    "Properties2",
    1000059001,
    "u32 apiVersion driverVersion vendorID deviceID deviceType; char*256 name; u8*16 pipelineCacheUUID;"
    "Limits limits; u32*5 sparse",
)
SubgroupProperties = _chained("SubgroupProperties", 1000094000, "u32 size stages operations quadInAllStages")
SubgroupSizeControlProperties = _chained(
    "SubgroupSizeControlProperties", 1000225000, "u32 minSize maxSize maxWorkgroupSubgroups stages"
)
FloatControlsProperties = _chained(
    "FloatControlsProperties",
    1000197000,
    "u32 denormIndependence roundingIndependence;"
    "u32*3 signedZeroInfNanPreserve denormPreserve denormFlushToZero roundingModeRTE roundingModeRTZ",
)
"""Three flags each: for f16, f32 and f64."""
IDProperties = _chained("IDProperties", 1000071004, "u8*16 deviceUUID driverUUID; u8*8 luid; u32 nodeMask luidValid")
DriverProperties = _chained("DriverProperties", 1000196000, "u32 id; char*256 name info; u8*4 conformance")
Maintenance3Properties = _chained("Maintenance3Properties", 1000168000, "u32 sets; u64 maxMemoryAllocationSize")
Maintenance4Properties = _chained("Maintenance4Properties", 1000413001, "u64 maxBufferSize")
ExternalMemoryHostProperties = _chained("ExternalMemoryHostProperties", 1000178002, "u64 alignment")
SmBuiltinsPropertiesNV = _chained("SmBuiltinsPropertiesNV", 1000154001, "u32 count warps")
ShaderCoreProperties2AMD = _chained("ShaderCoreProperties2AMD", 1000227000, "u32 features units")


def feature_structure(name: str, stype: int, members: Sequence[str]) -> Any:
    """A VkPhysicalDevice...Features: nothing but VkBool32s."""
    return _chained(name, stype, f"u32 {' '.join(members)}")
