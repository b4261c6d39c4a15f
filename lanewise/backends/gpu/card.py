"""One GPU as the run time sees it: its limits, its memory, the order of its streams.

A backend derives its card from `Card` and fills in what its maker's library does; there every failure is a DeviceError,
whose text `doing` opens.
"""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import DeviceError
from ...views import HostArray

if TYPE_CHECKING:
    from .transfers import Transfers

ARENA_UNIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What the driver says of a GPU."""

    name: str
    multiprocessors: int
    max_block_dim: int
    max_shared_bytes: int
    max_grid: int


def check_number(number: int, available: int, maker: str, arch: str) -> None:
    """Raise a DeviceError where this process sees no GPU of this number."""
    if not 0 <= number < available:
        raise DeviceError(
            f"expected device to be 0 to {available - 1}, got {number}" if available else f"no {maker} GPU was found",
            why=f"this process sees {available} {maker} GPU{'s' * (available != 1)}",
            hint=f"lw.init(arch=lw.{arch}, device=0)" if available else "lw.init(arch=lw.cpu)",
        )


class Allocation:
    """Bytes on a GPU, given back with the last array that lies in them."""

    __slots__ = ("__weakref__", "address")

    def __init__(self, card: Card, nbytes: int, what: str) -> None:
        with card.current():
            self.address = card.malloc(max(nbytes, 1), doing=f"{card}: {nbytes} bytes for {what}")
        weakref.finalize(self, card.free, self.address).atexit = False  # the driver frees what a process leaves


class Card(ABC):
    """A GPU by its number among those of its kind."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.staging = threading.RLock()
        """Held by a launch whose arrays are copied: it alone uses the arena and the transfers."""
        self.last_launch: object = None
        """What was launched last: a kernel's failure shows only when something waits for it."""
        self._arena: Allocation | None = None
        self._arena_bytes = 0

    def __repr__(self) -> str:
        return f"GPU {self.number} ({self.limits.name})"

    # ---- what the maker's library does; all but `current` with the GPU current ---------------------------------------
    @cached_property
    @abstractmethod
    def limits(self) -> Limits: ...

    @abstractmethod
    def current(self) -> AbstractContextManager[None]:
        """Make this GPU the thread's current one for a while."""

    @abstractmethod
    def malloc(self, nbytes: int, doing: str) -> int:
        """The address of new memory."""

    @abstractmethod
    def free(self, address: int) -> None:
        """Give memory back, once the launches that may still use it have ended; never raises."""

    @abstractmethod
    def clear(self, address: int, nbytes: int) -> None:
        """Fill memory with zeros."""

    @abstractmethod
    def pinned(self, nbytes: int) -> int:
        """The address of new host memory that copies may use while the host goes on."""

    @abstractmethod
    def copy_in(self, address: int, host: int, nbytes: int, stream: int) -> None:
        """Queue a copy from pinned host memory."""

    @abstractmethod
    def copy_out(self, host: int, address: int, nbytes: int, stream: int) -> None:
        """Queue a copy to pinned host memory."""

    @abstractmethod
    def event(self, *, timed: bool) -> Any:
        """A point in the order of a stream; one never recorded has been passed."""

    @abstractmethod
    def record(self, event: Any, stream: int) -> None: ...

    @abstractmethod
    def wait_event(self, event: Any) -> None: ...

    @abstractmethod
    def seconds(self, first: Any, last: Any) -> float:
        """The time between two timed events, which have been passed; they are given back."""

    @abstractmethod
    def wait_stream(self, stream: int) -> None: ...

    @abstractmethod
    def wait(self) -> None:
        """Wait until everything on this GPU has ended."""

    # ---- what a library may do as well -------------------------------------------------------------------------------
    def borrow(self, low: int, high: int, owner: HostArray) -> int:
        """The address by which kernels reach bytes of `owner` in host memory, where they need not be copied; else 0.

        It holds within `borrowing`; the caller has `staging`.
        """
        return 0

    def borrowing(self) -> AbstractContextManager[None]:
        """A time in which host memory may be borrowed, with all the launches that use it."""
        return nullcontext()

    # ---- what all have ---------------------------------------------------------------------------------------------
    def waiting(self) -> str:
        """Opens the text of an error that comes out of waiting."""
        launch = self.last_launch
        return "a launch failed" if launch is None else f"{launch}, or one before it, failed"

    def sync(self) -> None:
        """Wait until everything on this GPU has ended."""
        with self.current():
            self.wait()

    def allocate(self, nbytes: int, what: str) -> Allocation:
        """`nbytes` bytes of zeros."""
        made = Allocation(self, nbytes, what)
        with self.current():
            self.clear(made.address, max(nbytes, 1))
        return made

    @cached_property
    def transfers(self) -> Transfers:
        from .transfers import Transfers

        with self.current():
            return Transfers(self)

    def arena(self, nbytes: int) -> int:
        """Memory for one launch's copies, kept for the next launch; the caller holds `staging`."""
        if self._arena is None or nbytes > self._arena_bytes:
            self._arena, self._arena_bytes = None, -(-nbytes // ARENA_UNIT) * ARENA_UNIT
            self._arena = Allocation(self, self._arena_bytes, "copies of NumPy arrays")
        return self._arena.address

    def upload(self, address: int, data: HostArray) -> None:
        """Copy bytes to the GPU, after everything that it runs."""
        self.sync()
        with self.staging, self.current():
            self.transfers.upload(address, data, 0)

    def download(self, data: HostArray, address: int) -> None:
        """Copy bytes from the GPU, after everything that it runs."""
        self.sync()
        with self.staging, self.current():
            self.transfers.download(data, address, 0)
