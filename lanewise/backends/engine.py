"""What a backend offers: an `Engine` for one device, which loads programs into `Executable`s.

A device with memory of its own has a `MemoryEngine`, whose launches are queued on streams.

Nothing here knows which backends exist; `lanewise.device` has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from numpy.typing import NDArray

from ..dtypes import DType
from ..ir import Program

SUBGROUP_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Every subgroup size that lanewise knows; a device offers some of them."""


Detail: TypeAlias = "str | Sequence[str] | Mapping[str, bool]"
"""What a device says of itself, to be shown: a text, a list of names, or what it has and has not."""


class View(NamedTuple):
    """An array as a launch sees it: where its first element is, its extents, its strides in elements.

    `owner` keeps the memory alive; in host memory it is the NumPy array of exactly these elements.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any


OP_GROUPS = ("subgroup", "quad", "block", "grid")


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
    op_groups: tuple[str, ...] = OP_GROUPS
    threads: int = 1
    """Blocks that run at the same time on a CPU; 1 elsewhere means "the hardware decides"."""
    forward_progress: bool = False
    """Whether a block may wait for lower-numbered blocks."""
    host_memory: bool = True
    """Whether its arrays are host memory, so that NumPy arrays are used in place; else its engine copies them."""
    number: int = 0
    """Counts the devices of one kind."""
    details: Mapping[str, Detail] = field(default_factory=dict[str, Detail], compare=False, repr=False)
    """What its driver says beyond that."""


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


class Allocation(Protocol):
    """Memory of a device, given back when nobody holds this any more."""

    @property
    def address(self) -> int: ...


class QueuedExecutable(Executable, Protocol):
    """One program, compiled for a device that runs launches in the order of streams."""

    def launch(self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int = 0) -> None:
        """Queue all of it on a stream (0: the device's default one).

        Arrays whose views belong to NumPy arrays are copied to the device, and back before this returns.
        """
        ...

    def queue(self, arrays: Sequence[View], scalars: Sequence[int | float], stream: int, plans: dict[Any, Any]) -> None:
        """The same for arrays on the device; `plans` keeps what will be needed again for arrays of these layouts."""
        ...

    def prepare(self, arrays: Sequence[View], stream: int) -> Callable[[], None]:
        """A function that queues just this, for programs without scalars; any thread may call it."""
        ...


class MemoryEngine(Engine, Protocol):
    """A device with memory of its own (`Properties.host_memory` is false)."""

    def load(self, program: Program, debug: bool) -> QueuedExecutable: ...

    def allocate(self, nbytes: int, what: str) -> Allocation:
        """Bytes of zeros; `what` names them in an error."""
        ...

    def upload(self, address: int, data: NDArray[Any]) -> None:
        """Copy contiguous bytes to the device, after all that it was given to run."""
        ...

    def download(self, data: NDArray[Any], address: int) -> None:
        """Copy bytes from the device into `data`, after all that it was given to run."""
        ...

    def sync(self) -> None:
        """Wait until every launch has ended."""
        ...

    def mark(self, stream: int = 0) -> Any:
        """A point in the order of a stream."""
        ...

    def seconds(self, first: Any, last: Any) -> float:
        """The device's time between two marks, once; both have been passed."""
        ...
