"""Pipelines: a program's kernels as SPIR-V, and what the driver makes of it, both kept on disk."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from ...cache import Entry, fetch
from ...errors import DeviceError
from ...ir import Program, to_text
from ..gpu.launch import Part
from . import descriptors
from . import structures as vk
from .bindings import Binding
from .card import VulkanCard
from .launch import BoundSend, Function, VulkanSend
from .queue import DESCRIPTORS

_COMPUTE_STAGE = 0x20
_FULL_SUBGROUPS = 2  # VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT


class SpirvCompiler:
    """From programs to functions and launches on one device, with one subgroup size."""

    def __init__(self, card: VulkanCard, subgroup_size: int) -> None:
        self.card = card
        self._size = subgroup_size
        self._layouts: dict[tuple[int, int], tuple[int, int]] = {}

    def function(self, program: Program, number: int, *, regular: bool) -> Function:
        """One variant of the `number`-th parallel loop, from the disk cache where it was compiled before."""
        facts = self.card.facts
        flags = f"{number} {'regular' if regular else 'general'}"
        # The driver's part is good for this driver on this device alone.
        driver = f"{facts.device.name} {facts.driver} {facts.header.hex()}"
        target = f"W={self._size} {driver} {facts.features} {self.card.limits}"
        made: list[int] = []

        def build() -> Entry:
            code = self._compile(program, number, regular=regular)
            pipeline, kept = self._pipeline(code, b"")
            made.append(pipeline)
            return Entry(code.code + kept, code.header)

        entry = fetch((to_text(program), flags, target), build)
        header = entry.header
        layout, set_layout = self._layout(header)
        return Function(
            made[0] if made else self._pipeline(entry, entry.code[header["spirv_bytes"] :])[0],
            layout,
            header["name"],
            header["threads"],
            tuple(header["pushed"]),
            header["shared_bytes"],
            header["items"],
            header["waves"],
            tuple(Binding(*row) for row in header["bindings"]) if "bindings" in header else None,
            set_layout,
        )

    def send(self, part: Part, block: bytes, stream: int) -> VulkanSend:
        if stream:
            raise DeviceError(
                f"kernel {part.loop.name}: expected no stream, got {stream:#x}",
                why="a Vulkan device runs launches in the order of the calls, in the one queue that lanewise has",
                hint="leave stream out",
            )
        send = VulkanSend if part.function.bindings is None else BoundSend
        return send(self.card, part, block)

    def source(self, program: Program) -> str:
        """SPIR-V's text, a module a kernel."""
        from .source import modules

        made = modules(program, self.card.facts.features, self.card.limits.max_shared_bytes)
        return "\n".join(module.text for module in made)

    def _compile(self, program: Program, number: int, *, regular: bool) -> Entry:
        from ..gpu.schedule import ONE_BY_ONE, schedule  # a process that finds its kernels on disk needs none of these
        from .emit import emit_spirv
        from .natives import prepared

        facts, limit = self.card.facts, self.card.limits.max_shared_bytes
        kernel = prepared(program, number, facts.features, regular=regular, max_shared_bytes=limit)
        # A CPU's lanes wait for no memory that several blocks a thread would hide.
        chosen = ONE_BY_ONE if facts.is_cpu else schedule(kernel)
        module = emit_spirv(kernel, facts.features, chosen.items)
        interface = module.interface
        header = {
            "name": program.name,
            "entry": interface.entry_point,
            "threads": interface.local_size,
            "items": interface.items,
            "waves": chosen.waves,
            "shared_bytes": interface.shared_bytes,
            "pushed": list(interface.push_constants),
            "spirv_bytes": len(module.bytes),
        }
        if interface.bindings is not None:
            header["bindings"] = interface.bindings
        return Entry(module.bytes, header)

    # ---- the driver's part -------------------------------------------------------------------------------------------
    def _layout(self, header: Mapping[str, Any]) -> tuple[int, int]:
        """The layout of a pipeline with a kernel's push constants and bindings, and of its set; 0 is none."""
        functions = self.card.functions
        bound = 1 + len(header["bindings"]) if "bindings" in header else 0
        most = min(self.card.facts.limits.maxPerStageDescriptorStorageBuffers, DESCRIPTORS)
        if bound > most:
            raise DeviceError(
                f"kernel {header['name']}: it uses {bound - 1} arrays",
                why=f"the device has no bufferDeviceAddress, and binds {most - 1} arrays at most besides the arguments "
                "(maxPerStageDescriptorStorageBuffers)",
                hint="parts of one large array in place of several",
            )
        key = 8 * len(header["pushed"]), bound
        if key not in self._layouts:
            pushed = vk.PushConstantRange(stages=_COMPUTE_STAGE, size=key[0])
            info = vk.PipelineLayoutCreateInfo(rangeCount=1, ranges=vk.address(pushed))
            of_set = descriptors.set_layout(functions, bound) if bound else 0
            if of_set:
                layouts = (ctypes.c_uint64 * 1)(of_set)
                info.setCount, info.sets = 1, vk.address(layouts)
            self._layouts[key] = functions.create("PipelineLayout", info), of_set
        return self._layouts[key]

    def _cache(self, data: bytes) -> int:
        """A VkPipelineCache with what another process left, where it was this driver's."""
        if data.startswith(self.card.facts.header):
            known = ctypes.create_string_buffer(data, len(data))
            info = vk.PipelineCacheCreateInfo(size=len(data), data=vk.address(known))
            try:
                return self.card.functions.create("PipelineCache", info)
            except DeviceError:
                pass  # the driver does without
        return self.card.functions.create("PipelineCache", vk.PipelineCacheCreateInfo())

    def _pipeline(self, code: Entry, known: bytes) -> tuple[int, bytes]:
        """A pipeline, and what the driver wants to be kept for the next time."""
        functions = self.card.functions
        name, threads = code.header["name"], code.header["threads"]
        doing = f"kernel {name}: the driver cannot compile it for blocks of {threads} threads"
        size = code.header["spirv_bytes"]
        words = ctypes.create_string_buffer(code.code[:size], size)
        info = vk.ShaderModuleCreateInfo(size=size, code=vk.address(words))
        module = functions.create("ShaderModule", info)
        cache = self._cache(known)
        try:
            required = vk.RequiredSubgroupSize(size=self._size)
            stage = vk.ShaderStageCreateInfo(stage=_COMPUTE_STAGE, module=module, name=code.header["entry"].encode())
            facts = self.card.facts
            if facts.full_subgroups:
                stage.flags = _FULL_SUBGROUPS
            if facts.requires_size(self._size, threads):
                stage.pNext = vk.address(required)
            layout, _ = self._layout(code.header)
            info = vk.ComputePipelineCreateInfo(stage=stage, layout=layout, baseIndex=-1)
            return functions.create_pipeline(cache, info, doing), self._cache_data(cache)
        finally:
            functions.destroy("PipelineCache", cache)
            functions.destroy("ShaderModule", module)

    def _cache_data(self, cache: int) -> bytes:
        functions, device = self.card.functions, self.card.handle
        size = ctypes.c_size_t()
        functions.call("GetPipelineCacheData", device, cache, ctypes.byref(size), None)
        data = ctypes.create_string_buffer(max(size.value, 1))
        functions.call("GetPipelineCacheData", device, cache, ctypes.byref(size), data)
        return data.raw[: size.value]
