"""What a backend offers: an `Engine` for one device, which loads programs into `Executable`s.

Nothing here knows which backends exist; `lanewise.device` has the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ..dtypes import DType
from ..ir import Program

SUBGROUP_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Every subgroup size that lanewise knows; a device offers some of them."""


class View(NamedTuple):
    """An array as a launch sees it: where its first element is, its extents, its strides in elements.

    `owner` keeps the memory alive; on devices in host memory it is the NumPy array of exactly these elements.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any


@dataclass(frozen=True, slots=True)
class Properties:
    """What a device is and where its limits are."""

    name: str
    arch: str
    subgroup_size: int
    subgroup_sizes: tuple[int, ...]
    """The sizes that `init(subgroup_size=...)` may choose on it."""
    max_block_dim: int
    max_shared_bytes: int
    dtypes: tuple[DType, ...]
    op_groups: tuple[str, ...] = ("subgroup", "quad", "block", "grid")
    threads: int = 1
    """Blocks that run at the same time on a CPU; 1 elsewhere means "the hardware decides"."""
    forward_progress: bool = False
    """Whether a block may wait for lower-numbered blocks."""
    host_memory: bool = True
    """Whether its arrays are host memory, so that NumPy arrays are used in place."""


class Executable(Protocol):
    """One program, compiled for one device."""

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float]) -> None:
        """Run all of it; arguments in the order of the program's `memories` and `scalars`."""
        ...

    @property
    def source(self) -> str:
        """The generated code."""
        ...


class Engine(Protocol):
    """One device in use, with its subgroup size fixed."""

    @property
    def subgroup_size(self) -> int: ...

    @property
    def properties(self) -> Properties: ...

    def load(self, program: Program, debug: bool) -> Executable:
        """Compile, or fetch from the disk cache."""
        ...
