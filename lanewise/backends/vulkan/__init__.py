"""Vulkan: SPIR-V written directly from the IR."""

from .emit import SpirvModule, emit_spirv
from .features import FULL, TYPICAL, Features
from .interface import Interface
from .natives import natives_of

__all__ = ["FULL", "TYPICAL", "Features", "Interface", "SpirvModule", "emit_spirv", "natives_of"]
