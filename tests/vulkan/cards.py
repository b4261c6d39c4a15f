"""Devices of the first physical device that differ from it in one thing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import lanewise as lw
from lanewise.backends.gpu.engine import GpuEngine
from lanewise.backends.vulkan.card import VulkanCard
from lanewise.backends.vulkan.pipelines import SpirvCompiler


def another(device: lw.Device, kind: int | None = None, **facts: Any) -> lw.Device:
    """A second device over the same hardware, with other facts; `kind` is its VkPhysicalDeviceType."""
    known = card_of(device).facts
    if kind is not None:
        facts["device"] = replace(known.device, kind=kind)
    card = VulkanCard(replace(known, **facts))
    engine = GpuEngine(card, device.properties, partial(SpirvCompiler, card, device.subgroup_size))
    return lw.Device(engine, lw.vulkan, device.properties)


def card_of(device: lw.Device) -> VulkanCard:
    engine = device.engine
    assert isinstance(engine, GpuEngine)
    assert isinstance(engine.card, VulkanCard)
    return engine.card
