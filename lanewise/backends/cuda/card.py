"""One NVIDIA GPU: its primary context, which every CUDA library of the process shares."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from typing import Any

from ...errors import DeviceError
from ..gpu.card import Card, Limits, check_number
from .driver import call, driver

MAX_GRID = 2**31 - 1
_DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING


class CudaCard(Card):
    """A GPU by its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._device = call("cuDeviceGet", number, doing=f"GPU {number}")
        self.context = call("cuDevicePrimaryCtxRetain", self._device, doing=f"GPU {number}")
        self.alone = count() == 1

    def _ask(self, attribute: str) -> int:
        enum = driver().CUdevice_attribute
        return int(call("cuDeviceGetAttribute", getattr(enum, f"CU_DEVICE_ATTRIBUTE_{attribute}"), self._device))

    @cached_property
    def limits(self) -> Limits:
        return Limits(
            name=call("cuDeviceGetName", 256, self._device).split(b"\0")[0].decode(),
            multiprocessors=self._ask("MULTIPROCESSOR_COUNT"),
            max_block_dim=self._ask("MAX_THREADS_PER_BLOCK"),
            max_shared_bytes=self._ask("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            max_grid=MAX_GRID,
        )

    @cached_property
    def capability(self) -> int:
        """90 for sm_90."""
        return 10 * self._ask("COMPUTE_CAPABILITY_MAJOR") + self._ask("COMPUTE_CAPABILITY_MINOR")

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

    # ---- memory --------------------------------------------------------------------------------------------------
    def malloc(self, nbytes: int, doing: str) -> int:
        return int(call("cuMemAlloc", nbytes, doing=doing))

    def free(self, address: int) -> None:
        with suppress(DeviceError), self.current():  # a lost context has lost its memory too
            call("cuMemFree", address)  # waits for the launches that may still use it

    def clear(self, address: int, nbytes: int) -> None:
        call("cuMemsetD8", address, 0, nbytes)

    def pinned(self, nbytes: int) -> int:
        return int(call("cuMemHostAlloc", nbytes, 0, doing=f"{nbytes} bytes of pinned host memory"))

    def copy_in(self, address: int, host: int, nbytes: int, stream: int) -> None:
        call("cuMemcpyHtoDAsync", address, host, nbytes, stream)

    def copy_out(self, host: int, address: int, nbytes: int, stream: int) -> None:
        call("cuMemcpyDtoHAsync", host, address, nbytes, stream)

    # ---- order -----------------------------------------------------------------------------------------------------
    def event(self, *, timed: bool) -> Any:
        return call("cuEventCreate", 0 if timed else _DISABLE_TIMING)

    def record(self, event: Any, stream: int) -> None:
        call("cuEventRecord", event, stream)

    def wait_event(self, event: Any) -> None:
        call("cuEventSynchronize", event, doing=self.waiting())

    def seconds(self, first: Any, last: Any) -> float:
        elapsed = call("cuEventElapsedTime", first, last) * 1e-3
        for event in (first, last):
            call("cuEventDestroy", event)
        return elapsed

    def wait_stream(self, stream: int) -> None:
        call("cuStreamSynchronize", stream, doing=self.waiting())

    def wait(self) -> None:
        call("cuCtxSynchronize", doing=self.waiting())


def count() -> int:
    """How many GPUs there are."""
    return int(call("cuDeviceGetCount"))


_lock = threading.Lock()


@cache
def made(number: int) -> CudaCard:
    return CudaCard(number)


def card(number: int) -> CudaCard:
    """The GPU of this number, one object a process."""
    driver()
    check_number(number, count(), "NVIDIA", "cuda")
    with _lock:
        return made(number)


def card_of(address: int) -> int:
    """The number of the GPU that an address belongs to; 0 for the null pointer of an empty array."""
    cuda = driver()
    if not address:
        return 0
    attribute = cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(call("cuPointerGetAttribute", attribute, address, doing="an array's memory"))
