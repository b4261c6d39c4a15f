"""The Vulkan loader and the functions that are called through it; every failure is a DeviceError in our words."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from ...errors import DeviceError

LIBRARIES: dict[str, tuple[str, ...]] = {
    "win32": ("vulkan-1.dll",),
    "darwin": ("libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"),
}
"""The loader by platform, the first that is there; MoltenVK does without one."""
_LINUX = ("libvulkan.so.1",)
_INSTALL = {
    "win32": "the driver of the GPU's maker brings Vulkan along",
    "darwin": "MoltenVK (brew install molten-vk vulkan-loader)",
}
_INSTALL_LINUX = (
    "a Vulkan loader and driver (Debian, Ubuntu: apt install libvulkan1 mesa-vulkan-drivers, which also has lavapipe, "
    "a device that needs no GPU)"
)

_KINDS: dict[str, Any] = {
    "v": None,
    "i": ctypes.c_int32,
    "u": ctypes.c_uint32,
    "w": ctypes.c_uint64,
    "z": ctypes.c_size_t,
    "p": ctypes.c_void_p,
}
"""v: void.  i: int32_t, as VkResult.  u: uint32_t.  w: uint64_t, as handles and sizes.  z: size_t.  p: a pointer, or a
handle that dispatches."""

# The result, then the parameters.
SIGNATURES: dict[str, str] = {
    "CreateInstance": "ippp",
    "EnumerateInstanceVersion": "ip",
    "EnumerateInstanceExtensionProperties": "ippp",
    "EnumeratePhysicalDevices": "ippp",
    "EnumerateDeviceExtensionProperties": "ipppp",
    "GetPhysicalDeviceProperties2": "vpp",
    "GetPhysicalDeviceFeatures2": "vpp",
    "GetPhysicalDeviceMemoryProperties": "vpp",
    "GetPhysicalDeviceQueueFamilyProperties": "vppp",
    "CreateDevice": "ipppp",
    "GetDeviceProcAddr": "ppp",
    "DestroyDevice": "vpp",
    "GetDeviceQueue": "vpuup",
    "CreateBuffer": "ipppp",
    "DestroyBuffer": "vpwp",
    "GetBufferMemoryRequirements": "vpwp",
    "GetBufferDeviceAddress": "wpp",
    "AllocateMemory": "ipppp",
    "FreeMemory": "vpwp",
    "BindBufferMemory": "ipwww",
    "MapMemory": "ipwwwup",
    "GetMemoryHostPointerPropertiesEXT": "ipupp",
    "CreateShaderModule": "ipppp",
    "DestroyShaderModule": "vpwp",
    "CreatePipelineLayout": "ipppp",
    "DestroyPipelineLayout": "vpwp",
    "CreatePipelineCache": "ipppp",
    "DestroyPipelineCache": "vpwp",
    "GetPipelineCacheData": "ipwpp",
    "CreateComputePipelines": "ipwuppp",
    "DestroyPipeline": "vpwp",
    "CreateDescriptorSetLayout": "ipppp",
    "DestroyDescriptorSetLayout": "vpwp",
    "CreateDescriptorPool": "ipppp",
    "DestroyDescriptorPool": "vpwp",
    "ResetDescriptorPool": "ipwu",
    "AllocateDescriptorSets": "ippp",
    "UpdateDescriptorSets": "vpupup",
    "CreateCommandPool": "ipppp",
    "DestroyCommandPool": "vpwp",
    "AllocateCommandBuffers": "ippp",
    "BeginCommandBuffer": "ipp",
    "EndCommandBuffer": "ip",
    "CmdBindPipeline": "vpuw",
    "CmdBindDescriptorSets": "vpuwuupup",
    "CmdPushConstants": "vpwuuup",
    "CmdDispatch": "vpuuu",
    "CmdPipelineBarrier": "vpuuuupupup",
    "CmdCopyBuffer": "vpwwup",
    "CmdFillBuffer": "vpwwwu",
    "CmdResetQueryPool": "vpwuu",
    "CmdWriteTimestamp": "vpuwu",
    "CreateQueryPool": "ipppp",
    "DestroyQueryPool": "vpwp",
    "GetQueryPoolResults": "ipwuuzpwu",
    "CreateFence": "ipppp",
    "DestroyFence": "vpwp",
    "ResetFences": "ipup",
    "GetFenceStatus": "ipw",
    "WaitForFences": "ipupuw",
    "QueueSubmit": "ipupw",
}

_LOST = "the memory of this process on the device is lost with it: start the process anew"
FAILURES: dict[int, tuple[str, str, str]] = {
    -1: ("VK_ERROR_OUT_OF_HOST_MEMORY", "the driver has no host memory left", "free arrays, or use smaller ones"),
    -2: ("VK_ERROR_OUT_OF_DEVICE_MEMORY", "the device has not so much memory left", "free arrays, or use smaller ones"),
    -3: ("VK_ERROR_INITIALIZATION_FAILED", "the driver does not start", "look at vulkaninfo --summary"),
    -4: (
        "VK_ERROR_DEVICE_LOST",
        f"a kernel used memory outside its arrays, or ran longer than the system allows; {_LOST}",
        "on the CPU, lw.init(arch=lw.cpu, debug=True) reports the index that went wrong",
    ),
    -5: ("VK_ERROR_MEMORY_MAP_FAILED", "the memory cannot be mapped", "free arrays, or use smaller ones"),
    -6: ("VK_ERROR_LAYER_NOT_PRESENT", "a layer that VK_INSTANCE_LAYERS names is not installed", "look at vulkaninfo"),
    -7: ("VK_ERROR_EXTENSION_NOT_PRESENT", "the driver lacks an extension that it lists", "a newer driver"),
    -8: ("VK_ERROR_FEATURE_NOT_PRESENT", "the driver lacks a feature that it lists", "a newer driver"),
    -9: ("VK_ERROR_INCOMPATIBLE_DRIVER", "no driver was found that is new enough", "look at vulkaninfo --summary"),
    -10: ("VK_ERROR_TOO_MANY_OBJECTS", "the driver has no more allocations", "fewer or larger arrays"),
    -13: ("VK_ERROR_UNKNOWN", "the driver does not say why", "a newer driver"),
    -1000012000: (
        "VK_ERROR_INVALID_SHADER_NV",
        "the driver rejects the code",
        "report it, with kernel.source('spirv')",
    ),
    -1000072003: ("VK_ERROR_INVALID_EXTERNAL_HANDLE", "the driver cannot use that host memory", "copy the array first"),
}
"""A VkResult below 0: its name, what it means here, what to do."""

OUT_OF_MEMORY = (-1, -2)


def failure(code: int, what: str) -> DeviceError:
    """The error for a failed call; `what` opens its text."""
    name, why, hint = FAILURES.get(code, (f"VkResult {code}", "", ""))
    return DeviceError(f"{what}: {name}", why=why, hint=hint)


class Functions:
    """The functions of an instance or a device without their prefix `vk`, each looked up when it is first named."""

    def __init__(self, lookup: Callable[[bytes], int | None]) -> None:
        self._lookup = lookup

    def __getattr__(self, name: str) -> Any:
        signature = SIGNATURES.get(name)
        if signature is None:
            raise AttributeError(name)
        found = self._lookup(f"vk{name}".encode())
        if not found:
            raise DeviceError(f"the Vulkan driver has no vk{name}", hint="a newer driver")
        result, *parameters = (_KINDS[letter] for letter in signature)
        function = ctypes.CFUNCTYPE(result, *parameters)(found)
        setattr(self, name, function)
        return function

    def call(self, name: str, *args: Any, doing: str = "") -> int:
        """Call a function that returns a VkResult; `doing` opens an error's text.  What is not below 0 is returned."""
        code: int = getattr(self, name)(*args)
        if code < 0:
            raise failure(code, doing or f"vk{name} failed")
        return code

    def made(self, name: str, kind: Any, *args: Any, doing: str = "") -> int:
        """Call a function that stores a handle behind its last parameter; the handle."""
        handle = kind()
        self.call(name, *args, ctypes.byref(handle), doing=doing)
        return handle.value or 0

    def listed(self, name: str, kind: Any, *args: Any) -> list[Any]:
        """Call one of the functions that say how many there are, and then which."""
        count = ctypes.c_uint32()
        getattr(self, name)(*args, ctypes.byref(count), None)
        found = (kind * count.value)()
        getattr(self, name)(*args, ctypes.byref(count), found)
        return list(found[: count.value])


@cache
def _entry() -> Any:
    """vkGetInstanceProcAddr; DeviceError where this machine has no Vulkan."""
    names = LIBRARIES.get(sys.platform, _LINUX)
    for name in names:
        try:
            entry = ctypes.CDLL(name).vkGetInstanceProcAddr
        except (OSError, AttributeError):
            continue
        entry.restype, entry.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p)
        return entry
    what = f"no Vulkan loader was found on this machine ({', '.join(names)})"
    raise DeviceError(what, hint=f"{_INSTALL.get(sys.platform, _INSTALL_LINUX)}, or lw.init(arch=lw.cpu)")


def loader() -> Functions:
    """The functions that need no instance."""
    entry = _entry()
    return Functions(lambda wanted: entry(None, wanted))


def instance_functions(instance: int) -> Functions:
    """The functions of an instance and of its physical devices."""
    entry = _entry()
    return Functions(lambda wanted: entry(instance, wanted))


# What a device's objects are made by and given back by, in the order in which a device gives up those that are left.
OBJECTS: dict[str, tuple[str, str]] = {
    "Pipeline": ("CreateComputePipelines", "DestroyPipeline"),
    "PipelineLayout": ("CreatePipelineLayout", "DestroyPipelineLayout"),
    "DescriptorSetLayout": ("CreateDescriptorSetLayout", "DestroyDescriptorSetLayout"),
    "DescriptorPool": ("CreateDescriptorPool", "DestroyDescriptorPool"),
    "PipelineCache": ("CreatePipelineCache", "DestroyPipelineCache"),
    "ShaderModule": ("CreateShaderModule", "DestroyShaderModule"),
    "QueryPool": ("CreateQueryPool", "DestroyQueryPool"),
    "CommandPool": ("CreateCommandPool", "DestroyCommandPool"),
    "Fence": ("CreateFence", "DestroyFence"),
    "Buffer": ("CreateBuffer", "DestroyBuffer"),
    "Memory": ("AllocateMemory", "FreeMemory"),
}


class DeviceFunctions(Functions):
    """The functions of a device, without the loader between, and all objects made by them."""

    def __init__(self, functions: Functions, device: int) -> None:
        super().__init__(lambda wanted: functions.GetDeviceProcAddr(device, wanted))
        self.device = device
        self._alive: dict[str, set[int]] = {kind: set() for kind in OBJECTS}

    def create(self, kind: str, info: Any, doing: str = "") -> int:
        """A new object of a kind of OBJECTS, as its structure describes it."""
        handle = self.made(OBJECTS[kind][0], ctypes.c_uint64, self.device, ctypes.byref(info), None, doing=doing)
        self._alive[kind].add(handle)
        return handle

    def create_pipeline(self, cache: int, info: Any, doing: str) -> int:
        """A compute pipeline: they are made several at a time."""
        arguments = (self.device, cache, 1, ctypes.byref(info), None)
        handle = self.made("CreateComputePipelines", ctypes.c_uint64, *arguments, doing=doing)
        self._alive["Pipeline"].add(handle)
        return handle

    def destroy(self, kind: str, handle: int) -> None:
        """Give an object back; 0 is none."""
        self._alive[kind].discard(handle)
        getattr(self, OBJECTS[kind][1])(self.device, handle, None)

    def close(self) -> None:
        """Give the device back with all that is left of it; no function can be called any more."""
        for kind, handles in self._alive.items():
            for handle in list(handles):
                self.destroy(kind, handle)
        self.DestroyDevice(self.device, None)
        for name in SIGNATURES:
            vars(self).pop(name, None)
        self._lookup = _closed


def _closed(wanted: bytes) -> int:
    raise DeviceError("the Vulkan device was given back: the process ends")
