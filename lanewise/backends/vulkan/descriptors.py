"""Descriptor sets, on devices without bufferDeviceAddress: a launch binds its argument block and its arrays."""

from __future__ import annotations

import ctypes

from . import structures as vk
from .driver import DeviceFunctions

ALIGNMENT = 256
"""Of what is bound: the most that minStorageBufferOffsetAlignment can be."""
_COMPUTE_STAGE = 0x20
_STORAGE_BUFFER = 7  # VK_DESCRIPTOR_TYPE_STORAGE_BUFFER


def set_layout(functions: DeviceFunctions, count: int) -> int:
    """The layout of a set with so many storage buffers, from binding 0 on."""
    rows = (vk.DescriptorSetLayoutBinding * count)(
        *[
            vk.DescriptorSetLayoutBinding(binding=number, type=_STORAGE_BUFFER, count=1, stages=_COMPUTE_STAGE)
            for number in range(count)
        ]
    )
    info = vk.DescriptorSetLayoutCreateInfo(bindingCount=count, bindings=vk.address(rows))
    return functions.create("DescriptorSetLayout", info)


def pool(functions: DeviceFunctions, sets: int, descriptors: int) -> int:
    """A pool for so many sets, with so many storage buffers in all of them."""
    size = vk.DescriptorPoolSize(type=_STORAGE_BUFFER, count=descriptors)
    info = vk.DescriptorPoolCreateInfo(maxSets=sets, sizeCount=1, sizes=vk.address(size))
    return functions.create("DescriptorPool", info)


class Writer:
    """Makes sets of one layout, one after the other, each with the buffers that `infos` describes then."""

    def __init__(self, functions: DeviceFunctions, layout: int, count: int) -> None:
        self._functions = functions
        self.infos = (vk.DescriptorBufferInfo * count)()
        self._layouts = (ctypes.c_uint64 * 1)(layout)
        self._sets = (ctypes.c_uint64 * 1)()
        self._from = vk.DescriptorSetAllocateInfo(count=1, layouts=vk.address(self._layouts))
        # A write goes on to the next binding where one has no more room.
        self._write = vk.WriteDescriptorSet(count=count, type=_STORAGE_BUFFER, buffers=vk.address(self.infos))

    def bind(self, commands: int, bind_point: int, pipeline_layout: int, from_pool: int) -> None:
        functions, sets = self._functions, self._sets
        self._from.pool = from_pool
        functions.call("AllocateDescriptorSets", functions.device, ctypes.byref(self._from), sets)
        self._write.set = sets[0]
        functions.UpdateDescriptorSets(functions.device, 1, ctypes.byref(self._write), 0, None)
        functions.CmdBindDescriptorSets(commands, bind_point, pipeline_layout, 0, 1, sets, 0, None)
