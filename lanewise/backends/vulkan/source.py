"""SPIR-V's text for any subgroup size, on a machine without Vulkan."""

from __future__ import annotations

from collections.abc import Sequence

from ... import dtypes
from ...errors import DeviceError
from ...ir import Program
from ...passes import parallel_loops, prepare
from ..engine import Properties, View
from .emit import SpirvModule, emit_spirv
from .features import FULL, Features
from .natives import natives_of

MAX_BLOCK_DIM = 1024
MAX_SHARED_BYTES = 32 << 10
"""What nearly every device has; Vulkan itself promises 128 threads and 16 KiB."""


class SpirvWriter:
    """The engine of `kernel.source("spirv")`: compiles for a device with all features, and never runs."""

    def __init__(self, subgroup_size: int | None = None, features: Features = FULL) -> None:
        self.subgroup_size = subgroup_size or 32
        self.features = features
        self.properties = Properties(
            name="SPIR-V",
            arch="vulkan",
            subgroup_size=self.subgroup_size,
            subgroup_sizes=(4, 8, 16, 32, 64),
            max_block_dim=MAX_BLOCK_DIM,
            max_shared_bytes=MAX_SHARED_BYTES,
            dtypes=dtypes.ALL,
            host_memory=False,
        )

    def load(self, program: Program, debug: bool) -> SpirvSource:
        """Compile every kernel that launches of a program may need."""
        return SpirvSource(modules(program, self.features, MAX_SHARED_BYTES))


def modules(program: Program, features: Features, max_shared_bytes: int) -> list[SpirvModule]:
    """Of each loop the general kernel and, where blocks are whole subgroups, the regular one."""
    natives = natives_of(features, program.subgroup_size)
    return [
        emit_spirv(
            prepare(program, number, regular=regular, natives=natives, max_shared_bytes=max_shared_bytes), features
        )
        for number, loop in enumerate(parallel_loops(program))
        for regular in (False, True)
        if not (regular and loop.attrs["block_dim"] % program.subgroup_size)
    ]


class SpirvSource:
    """The modules of a program, to be read."""

    def __init__(self, made: Sequence[SpirvModule]) -> None:
        self.modules = made

    @property
    def source(self) -> str:
        """Their text, one after the other."""
        return "\n".join(module.text for module in self.modules)

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        raise DeviceError("this code was compiled to be read, for a device that may not be here", hint="lw.init()")
