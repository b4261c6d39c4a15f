"""SPIR-V for any subgroup size, on a machine without Vulkan: as text, and as files for other programs."""

from __future__ import annotations

from collections.abc import Sequence

from ... import dtypes
from ...errors import CompileError, DeviceError
from ...ir import Op, Program
from ...passes import parallel_loops
from ..engine import Properties, View
from .emit import SpirvModule, emit_spirv
from .features import PRESETS, Features
from .natives import prepared

MAX_BLOCK_DIM = 1024
MAX_SHARED_BYTES = 32 << 10
"""What nearly every device has; Vulkan itself promises 128 threads and 16 KiB."""


class SpirvWriter:
    """The engine of `kernel.source("vulkan")`: compiles for a device with given features, and never runs.

    `arch` is one of PRESETS: "full" (everything) where it is left out.
    """

    def __init__(self, subgroup_size: int | None = None, arch: str | None = None) -> None:
        arch = arch or "full"
        if arch not in PRESETS:
            raise CompileError(
                f"{arch!r} is no architecture of the vulkan backend",
                why=f"it knows the features of these: {', '.join(PRESETS)}",
                hint='arch="typical" for code that nearly every GPU runs',
            )
        self.subgroup_size = subgroup_size or 32
        self.features = PRESETS[arch]
        self.properties = Properties(
            name=f"SPIR-V for {arch}",
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
        return SpirvSource(program, modules_of_loops(program, self.features, MAX_SHARED_BYTES))


def modules(program: Program, features: Features, max_shared_bytes: int) -> list[SpirvModule]:
    """All modules of a program."""
    return [module for loop in modules_of_loops(program, features, max_shared_bytes) for module in loop]


def modules_of_loops(program: Program, features: Features, max_shared_bytes: int) -> list[list[SpirvModule]]:
    """Of each loop the general kernel and, where blocks are whole subgroups, the regular one."""

    def module(number: int, *, regular: bool) -> SpirvModule:
        kernel = prepared(program, number, features, regular=regular, max_shared_bytes=max_shared_bytes)
        return emit_spirv(kernel, features)

    return [
        [module(number, regular=regular) for regular in (False, True) if not (regular and _ragged(program, loop))]
        for number, loop in enumerate(parallel_loops(program))
    ]


def _ragged(program: Program, loop: Op) -> bool:
    """Whether its blocks are no whole subgroups."""
    return loop.attrs["block_dim"] % program.subgroup_size != 0


class SpirvSource:
    """The modules of a program, to be read."""

    def __init__(self, program: Program, loops: Sequence[Sequence[SpirvModule]]) -> None:
        self._program = program
        self._loops = loops

    @property
    def source(self) -> str:
        """Their text, one after the other."""
        return "\n".join(module.text for loop in self._loops for module in loop)

    def binaries(self, name: str) -> dict[str, bytes]:
        """As files that other Vulkan programs load, `name` among them."""
        from .export import files

        return files(self._program, self._loops, name)

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        raise DeviceError("this code was compiled to be read, for a device that may not be here", hint="lw.init()")
