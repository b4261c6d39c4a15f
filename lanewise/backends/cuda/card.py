"""One GPU: its context, its limits, its memory."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property

from ...errors import DeviceError
from ...views import HostArray
from .driver import call, driver, waiting
from .transfers import Transfers

ARENA_UNIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What the driver says of a GPU."""

    name: str
    capability: int
    """90 for sm_90."""
    multiprocessors: int
    max_block_dim: int
    max_shared_bytes: int


_ATTRIBUTES = {
    "multiprocessors": "MULTIPROCESSOR_COUNT",
    "max_block_dim": "MAX_THREADS_PER_BLOCK",
    "max_shared_bytes": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
}


class Allocation:
    """Bytes on a GPU, given back with the last array that lies in them."""

    __slots__ = ("__weakref__", "address")

    def __init__(self, card: Card, nbytes: int, what: str) -> None:
        with card.current():
            self.address = int(call("cuMemAlloc", max(nbytes, 1), doing=f"{card}: {nbytes} bytes for {what}"))
        weakref.finalize(self, card.free, self.address).atexit = False  # the driver frees what a process leaves


class Card:
    """A GPU by its number; its context is the primary one, which every CUDA library of the process shares."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._device = call("cuDeviceGet", number, doing=f"GPU {number}")
        self.context = call("cuDevicePrimaryCtxRetain", self._device, doing=f"GPU {number}")
        self.alone = count() == 1
        self.staging = threading.RLock()
        """Held by a launch whose arrays are copied: it alone uses the arena and the transfers."""
        self._arena: Allocation | None = None
        self._arena_bytes = 0

    def __repr__(self) -> str:
        return f"GPU {self.number} ({self.limits.name})"

    @cached_property
    def limits(self) -> Limits:
        enum = driver().CUdevice_attribute

        def ask(name: str) -> int:
            return int(call("cuDeviceGetAttribute", getattr(enum, f"CU_DEVICE_ATTRIBUTE_{name}"), self._device))

        name = call("cuDeviceGetName", 256, self._device).split(b"\0")[0].decode()
        return Limits(
            name=name,
            capability=10 * ask("COMPUTE_CAPABILITY_MAJOR") + ask("COMPUTE_CAPABILITY_MINOR"),
            **{field: ask(attribute) for field, attribute in _ATTRIBUTES.items()},
        )

    # ---- the context ---------------------------------------------------------------------------------------------
    @contextmanager
    def current(self) -> Generator[None]:
        """Make this GPU's context the thread's current one for a while."""
        call("cuCtxPushCurrent", self.context, doing=f"GPU {self.number}")
        try:
            yield
        finally:
            call("cuCtxPopCurrent")

    def is_current(self) -> bool:
        return int(call("cuCtxGetCurrent")) == int(self.context)

    def adopt_thread(self) -> None:
        """Where the thread has no context, make it this one for good."""
        if not int(call("cuCtxGetCurrent")):
            call("cuCtxSetCurrent", self.context)

    @contextmanager
    def adopted(self) -> Generator[None]:
        """Like `current`; a thread without a context keeps this one."""
        self.adopt_thread()
        with self.current():
            yield

    def sync(self) -> None:
        """Wait until everything on this GPU has ended."""
        with self.current():
            call("cuCtxSynchronize", doing=waiting())

    # ---- memory --------------------------------------------------------------------------------------------------
    def allocate(self, nbytes: int, what: str) -> Allocation:
        """`nbytes` bytes of zeros."""
        made = Allocation(self, nbytes, what)
        with self.current():
            call("cuMemsetD8", made.address, 0, max(nbytes, 1))
        return made

    def free(self, address: int) -> None:
        with suppress(DeviceError), self.current():  # a lost context has lost its memory too
            call("cuMemFree", address)  # waits for the launches that may still use it

    @cached_property
    def transfers(self) -> Transfers:
        with self.current():
            return Transfers()

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


def count() -> int:
    """How many GPUs there are."""
    return int(call("cuDeviceGetCount"))


_lock = threading.Lock()


@cache
def made(number: int) -> Card:
    return Card(number)


def card(number: int) -> Card:
    """The GPU of this number, one object a process."""
    driver()
    available = count()
    if not 0 <= number < available:
        raise DeviceError(
            f"expected device to be 0 to {available - 1}, got {number}" if available else "no NVIDIA GPU was found",
            why=f"this process sees {available} NVIDIA GPU{'s' * (available != 1)}",
            hint="lw.init(arch=lw.cuda, device=0)" if available else "lw.init(arch=lw.cpu)",
        )
    with _lock:
        return made(number)


def card_of(address: int) -> int:
    """The number of the GPU that an address belongs to; 0 for the null pointer of an empty array."""
    if not address:
        return 0
    attribute = driver().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(call("cuPointerGetAttribute", attribute, address, doing="an array's memory"))
