"""A Vulkan program of its own, with nothing of lanewise in it: loads modules and runs them on the first device.

It stands for another project that takes what `lanewise source --target vulkan --out kernel.spv` wrote.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

u32, u64, ptr = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
API_1_3 = 1 << 22 | 3 << 12
BYTES = 1 << 20
"""All memory there is: one buffer."""
ALIGNMENT = 256
"""As much as minStorageBufferOffsetAlignment is on any device."""


def info(stype: int, *members: tuple[Any, Any], next_: Any = None) -> Any:
    """A structure with its type and chain, of (ctype, value) pairs."""
    fields = [("stype", u32), ("next", ptr)] + [(f"m{n}", kind) for n, (kind, _) in enumerate(members)]
    made = type("Info", (ctypes.Structure,), {"_fields_": fields})(stype, None if next_ is None else at(next_))
    for number, (_, value) in enumerate(members):
        setattr(made, f"m{number}", value)
    made.keep = next_
    return made


def at(thing: Any) -> int:
    return ctypes.addressof(thing)


def names(texts: Sequence[str]) -> Any:
    return (ctypes.c_char_p * max(len(texts), 1))(*[t.encode() for t in texts])


# Feature structures: VkStructureType and number of flags.  The device is made with all that it offers.
CORE_FEATURES = {1000059000: 55, 49: 12, 51: 47, 53: 15}
FEATURES_OF_EXTENSION = {
    "VK_KHR_shader_clock": (1000181000, 2),
    "VK_KHR_shader_subgroup_rotate": (1000416000, 2),
    "VK_KHR_shader_maximal_reconvergence": (1000434000, 1),
    "VK_EXT_shader_atomic_float": (1000260000, 12),
}


class Program:
    """An instance, the first device, one queue, one buffer of host memory."""

    def __init__(self, extensions: Sequence[str] = ()) -> None:
        self.vk = ctypes.CDLL("libvulkan.so.1")
        instance = self.new(
            "vkCreateInstance",
            info(
                1,
                (u32, 0),
                (ptr, at(app := info(0, (ptr, None), (u32, 0), (ptr, None), (u32, 0), (u32, API_1_3)))),
                (u32, 0),
                (ptr, None),
                (u32, 0),
                (ptr, None),
            ),
            owner=(),
        )
        self.keep: list[Any] = [app]
        self.instance = ptr(instance)
        gpus = (ptr * 1)()
        self.vk.vkEnumeratePhysicalDevices(self.instance, ctypes.byref(u32(1)), gpus)  # VK_INCOMPLETE is fine
        self.gpu = ptr(gpus[0])
        chain: Any = None
        features = dict(CORE_FEATURES) | dict(FEATURES_OF_EXTENSION[e] for e in extensions)
        for stype, flags in reversed(features.items()):
            chain = info(stype, (u32 * flags, (u32 * flags)()), next_=chain)
        self.vk.vkGetPhysicalDeviceFeatures2(self.gpu, ctypes.byref(chain))
        queue = info(2, (u32, 0), (u32, 0), (u32, 1), (ptr, at(priority := ctypes.c_float(1))))
        wanted = names(extensions)
        create = info(
            3,
            (u32, 0),
            (u32, 1),
            (ptr, at(queue)),
            (u32, 0),
            (ptr, None),
            (u32, len(extensions)),
            (ptr, at(wanted)),
            (ptr, None),
            next_=chain,
        )
        self.keep += [priority, wanted]
        self.device = ptr(self.new("vkCreateDevice", create, owner=(self.gpu,)))
        self.queue = ptr()
        self.vk.vkGetDeviceQueue(self.device, 0, 0, ctypes.byref(self.queue))
        self._make_buffer()

    def check(self, function: str, *arguments: Any) -> None:
        result = getattr(self.vk, function)(*arguments)
        assert result == 0, f"{function} gave {result}"

    def new(self, function: str, create: Any, owner: tuple[Any, ...] | None = None) -> int:
        """vkCreate..., vkAllocateMemory: the handle."""
        made = u64()
        self.check(function, *((self.device,) if owner is None else owner), at_ref(create), None, ctypes.byref(made))
        return made.value

    def _make_buffer(self) -> None:
        usage = 0x20 | 0x20000  # storage buffer, device address
        size, none = (u64, BYTES), (ptr, None)
        buffer = u64(self.new("vkCreateBuffer", info(12, (u32, 0), size, (u32, usage), (u32, 0), (u32, 0), none)))
        self.buffer = buffer.value
        memory_types = (u32 * 260)()
        self.vk.vkGetPhysicalDeviceMemoryProperties(self.gpu, memory_types)
        visible = next(n for n in range(memory_types[0]) if memory_types[1 + 2 * n] & 6 == 6)  # and coherent
        flags = info(1000060000, (u32, 2), (u32, 0))
        memory = u64(self.new("vkAllocateMemory", info(5, size, (u32, visible), next_=flags)))
        self.check("vkBindBufferMemory", self.device, buffer, memory, u64(0))
        mapped = ptr()
        self.check("vkMapMemory", self.device, memory, u64(0), u64(BYTES), u32(0), ctypes.byref(mapped))
        self.vk.vkGetBufferDeviceAddress.restype = u64
        self.address = self.vk.vkGetBufferDeviceAddress(self.device, at_ref(info(1000244001, (u64, buffer.value))))
        self.memory = np.ctypeslib.as_array((ctypes.c_uint8 * BYTES).from_address(mapped.value or 0))
        self.used = 0

    def put(self, data: Any) -> tuple[int, Any]:
        """Copy bytes to the device: their address, and a view of them there."""
        array = np.ascontiguousarray(data)
        start = self.used
        self.used += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        there = self.memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        there[...] = array
        return self.address + start, there

    def _descriptors(self, starts: Sequence[int]) -> tuple[u64, u64]:
        """A set with a storage buffer from each of these bytes on, and its layout."""
        count = len(starts)
        rows = (u32 * (6 * count))(*[word for number in range(count) for word in (number, 7, 1, 0x20, 0, 0)])
        layout = u64(self.new("vkCreateDescriptorSetLayout", info(32, (u32, 0), (u32, count), (ptr, at(rows)))))
        size = (u32 * 2)(7, count)
        pool = self.new("vkCreateDescriptorPool", info(33, (u32, 0), (u32, 1), (u32, 1), (ptr, at(size))))
        made = u64()
        create = info(34, (u64, pool), (u32, 1), (ptr, at(layout)))
        self.check("vkAllocateDescriptorSets", self.device, at_ref(create), ctypes.byref(made))
        whole = 2**64 - 1  # VK_WHOLE_SIZE
        ranges = (u64 * (3 * count))(*[word for start in starts for word in (self.buffer, start, whole)])
        for number in range(count):
            buffer = (ptr, at(ranges) + 24 * number)
            write = info(35, (u64, made.value), (u32, number), (u32, 0), (u32, 1), (u32, 7), (ptr, None), buffer)
            self.vk.vkUpdateDescriptorSets(self.device, 1, at_ref(write), 0, None)
        return made, layout

    def run(self, code: bytes, pushed: bytes, groups: int, facts: Mapping[str, Any], bound: Sequence[int] = ()) -> None:
        """Dispatch one module and wait for it; its descriptor set has buffers from these bytes on."""
        words = ctypes.create_string_buffer(code, len(code))
        module = self.new("vkCreateShaderModule", info(16, (u32, 0), (ctypes.c_size_t, len(code)), (ptr, at(words))))
        ranges = (u32 * 3)(0x20, 0, len(pushed))
        descriptors, of_set = self._descriptors(bound) if bound else (None, u64())
        sets = ((u32, len(bound[:1])), (ptr, at(of_set)))
        layout = self.new("vkCreatePipelineLayout", info(30, (u32, 0), *sets, (u32, 1), (ptr, at(ranges))))
        size = info(1000225001, (u32, facts["subgroup_size"]))
        name = ctypes.create_string_buffer(facts["entry_point"].encode())
        full = 2  # VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
        stage = info(18, (u32, full), (u32, 0x20), (u64, module), (ptr, at(name)), (ptr, None), next_=size)
        create = info(29, (u32, 0), (type(stage), stage), (u64, layout), (u64, 0), (ctypes.c_int32, -1))
        pipeline = u64()
        self.check("vkCreateComputePipelines", self.device, u64(0), 1, at_ref(create), None, ctypes.byref(pipeline))
        pool = u64(self.new("vkCreateCommandPool", info(39, (u32, 0), (u32, 0))))
        commands = ptr()
        allocate = info(40, (u64, pool.value), (u32, 0), (u32, 1))
        self.check("vkAllocateCommandBuffers", self.device, at_ref(allocate), ctypes.byref(commands))
        self.check("vkBeginCommandBuffer", commands, at_ref(info(42, (u32, 1), (ptr, None))))
        self.vk.vkCmdBindPipeline(commands, 1, pipeline)
        if descriptors is not None:
            self.vk.vkCmdBindDescriptorSets(commands, 1, u64(layout), 0, 1, ctypes.byref(descriptors), 0, None)
        self.vk.vkCmdPushConstants(commands, u64(layout), 0x20, 0, len(pushed), pushed)
        self.vk.vkCmdDispatch(commands, groups, 1, 1)
        to_host = info(46, (u32, 0x40), (u32, 0x2000))
        self.vk.vkCmdPipelineBarrier(commands, 0x800, 0x4000, 0, 1, at_ref(to_host), 0, None, 0, None)
        self.check("vkEndCommandBuffer", commands)
        listed = (ptr * 1)(commands)
        submit = info(4, (u32, 0), (ptr, None), (ptr, None), (u32, 1), (ptr, at(listed)), (u32, 0), (ptr, None))
        self.check("vkQueueSubmit", self.queue, 1, at_ref(submit), u64(0))
        self.check("vkQueueWaitIdle", self.queue)


def at_ref(structure: Any) -> Any:
    return ctypes.byref(structure)


FORMATS = {"address": "Q", "first element": "q", "bool": "?", "f16": "e", "f32": "f", "f64": "d"}
FORMATS |= {f"{sign}{bits}": letter for sign, letters in (("i", "bhiq"), ("u", "BHIQ"))
            for bits, letter in zip((8, 16, 32, 64), letters, strict=True)}  # fmt: skip


def packed(slots: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> bytes:
    """A block whose slots have a name, an offset and a type, as the description of a kernel lists them."""
    block = bytearray(max((slot["offset"] + 8 for slot in slots), default=0))
    for slot in slots:
        struct.pack_into(f"<{FORMATS[slot['type']]}", block, slot["offset"], values[slot["name"]])
    return bytes(block)
