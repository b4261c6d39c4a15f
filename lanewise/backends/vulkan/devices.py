"""The Vulkan devices of this machine: the one instance of the process, and which device a user means."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...errors import DeviceError
from . import structures as vk
from .driver import Functions, instance_functions, loader

API_VERSION = (1 << 22) | (3 << 12)
"""Vulkan 1.3 is what an instance is made for; a device may be older."""
_ENUMERATE_PORTABILITY = 1  # VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR
_PORTABILITY = "VK_KHR_portability_enumeration"

KINDS = {0: "other", 1: "integrated GPU", 2: "discrete GPU", 3: "virtual GPU", 4: "CPU"}
_ORDER = (2, 1, 3, 0, 4)
"""VkPhysicalDeviceType: real GPUs first."""
CPU, INTEGRATED = 4, 1


@dataclass(frozen=True, slots=True)
class Instance:
    """The instance and its functions."""

    handle: int
    functions: Functions


@dataclass(frozen=True, slots=True)
class PhysicalDevice:
    """A device that may be chosen."""

    instance: Instance
    handle: int
    number: int
    """Its place in the order: real GPUs before CPUs."""
    name: str
    kind: int
    """Its VkPhysicalDeviceType."""
    uuid: str
    """Its deviceUUID, in 32 hexadecimal digits."""

    def __str__(self) -> str:
        return f"{self.number}: {self.name!r} ({KINDS.get(self.kind, 'other')}, uuid {self.uuid})"


_lock = threading.Lock()


@cache
def _instance() -> Instance:
    functions = loader()
    offered = {
        row.name.decode()
        for row in functions.listed("EnumerateInstanceExtensionProperties", vk.ExtensionProperties, None)
    }
    extensions = [_PORTABILITY] if _PORTABILITY in offered else []
    names = vk.texts(extensions)
    application = vk.ApplicationInfo(name=b"lanewise", engine=b"lanewise", apiVersion=API_VERSION)
    info = vk.InstanceCreateInfo(
        flags=_ENUMERATE_PORTABILITY if extensions else 0,
        application=vk.address(application),
        extensionCount=len(extensions),
        extensions=vk.address(names),
    )
    handle = functions.made(
        "CreateInstance", ctypes.c_void_p, ctypes.byref(info), None, doing="Vulkan does not start on this machine"
    )
    return Instance(handle, instance_functions(handle))


@cache
def _found() -> tuple[PhysicalDevice, ...]:
    instance = _instance()
    listed: list[tuple[Any, ...]] = []
    for handle in instance.functions.listed("EnumeratePhysicalDevices", ctypes.c_void_p, instance.handle):
        identity, properties = vk.IDProperties(), vk.Properties2()
        properties.pNext = vk.address(identity)
        instance.functions.GetPhysicalDeviceProperties2(handle, ctypes.byref(properties))
        listed.append((handle, properties.name.decode(), properties.deviceType, bytes(identity.deviceUUID).hex()))
    rank = {kind: place for place, kind in enumerate(_ORDER)}
    listed.sort(key=lambda row: rank.get(row[2], len(rank)))
    return tuple(PhysicalDevice(instance, row[0], number, *row[1:]) for number, row in enumerate(listed))


def physical_devices() -> tuple[PhysicalDevice, ...]:
    """Every Vulkan device, in the order in which `device=` counts them; there may be none.

    The instance is kept for the life of the process: a driver has been seen to give wrong lane ids after some more.
    """
    with _lock:
        return _found()


def choose(wanted: int | str | None) -> PhysicalDevice:
    """The device of this number, with this in its name, or of this UUID; None is the first one."""
    found = physical_devices()
    if not found:
        raise DeviceError(
            "no Vulkan device was found on this machine",
            why="the loader is here, but no driver of a device (look at vulkaninfo --summary)",
            hint="the GPU's driver, or a device that needs no GPU (Debian, Ubuntu: apt install mesa-vulkan-drivers)",
        )
    if wanted is None:
        return found[0]
    if isinstance(wanted, str):
        fitting = [device for device in found if _matches(device, wanted)]
    else:
        fitting = [device for device in found if device.number == wanted]
    if len(fitting) == 1 or (fitting and isinstance(wanted, str) and len({d.name for d in fitting}) == 1):
        return fitting[0]
    raise DeviceError(
        f"expected device to name one Vulkan device, got {wanted!r}, which fits {len(fitting)} of them",
        why=f"there are {'; '.join(map(str, found))}",
        hint="lw.init(arch=lw.vulkan, device=0), or a part of one device's name, or its uuid",
    )


def _matches(device: PhysicalDevice, wanted: str) -> bool:
    plain = wanted.lower().replace("-", "")
    return bool(wanted) and (wanted.lower() in device.name.lower() or plain == device.uuid)
