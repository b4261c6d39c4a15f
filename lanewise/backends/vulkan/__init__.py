"""Vulkan: SPIR-V written directly from the IR, and a run time on the Vulkan loader."""
