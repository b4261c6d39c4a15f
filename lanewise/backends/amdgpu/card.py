"""One AMD GPU."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from ctypes import c_float, c_int, c_void_p
from functools import cache, cached_property
from typing import Any

from ...errors import DeviceError
from ..gpu.card import Card, Limits, check_number
from .hip import DeviceProperties, ask, call, check_process, hip

MAX_THREADS = 2**32 - 1
"""Of a launch, whose size the hardware is told in threads (HSA: hsa_kernel_dispatch_packet_t.grid_size_x)."""
_DISABLE_TIMING = 2  # hipEventDisableTiming
_DEVICE_ORDINAL = 9  # HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL


class AmdCard(Card):
    """A GPU by its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.alone = count() == 1

    @cached_property
    def _properties(self) -> DeviceProperties:
        return ask("hipGetDevicePropertiesR0600", DeviceProperties, self.number, doing=f"GPU {self.number}")

    @cached_property
    def arch(self) -> str:
        """`gfx90a`: the name without the settings that HIP adds to it, as in `gfx90a:sramecc+:xnack-`."""
        return self._properties.gcn_arch_name.decode().split(":")[0]

    @cached_property
    def limits(self) -> Limits:
        facts = self._properties
        return Limits(
            name=facts.name.decode(errors="replace") or self.arch,
            multiprocessors=facts.multi_processor_count,
            max_block_dim=facts.max_threads_per_block,
            max_shared_bytes=facts.shared_mem_per_block,
            max_grid=MAX_THREADS // facts.max_threads_per_block,
        )

    # ---- the thread's current GPU ----------------------------------------------------------------------------------
    @contextmanager
    def current(self) -> Generator[None]:
        """Make this the thread's current GPU for a while."""
        before = ask("hipGetDevice", c_int)
        if before != self.number:
            call("hipSetDevice", self.number, doing=f"GPU {self.number}")
        try:
            yield
        finally:
            if before != self.number:
                call("hipSetDevice", before)

    def is_current(self) -> bool:
        check_process()
        return self.alone or ask("hipGetDevice", c_int) == self.number

    # ---- memory --------------------------------------------------------------------------------------------------
    def malloc(self, nbytes: int, doing: str) -> int:
        return ask("hipMalloc", c_void_p, nbytes, doing=doing)

    def free(self, address: int) -> None:
        with suppress(DeviceError), self.current():  # a lost GPU has lost its memory too
            call("hipFree", address)  # waits for the launches that may still use it

    def clear(self, address: int, nbytes: int) -> None:
        call("hipMemset", address, 0, nbytes)

    def pinned(self, nbytes: int) -> int:
        return ask("hipHostMalloc", c_void_p, nbytes, 0, doing=f"{nbytes} bytes of pinned host memory")

    def copy_in(self, address: int, host: int, nbytes: int, stream: int) -> None:
        call("hipMemcpyHtoDAsync", address, host, nbytes, stream)

    def copy_out(self, host: int, address: int, nbytes: int, stream: int) -> None:
        call("hipMemcpyDtoHAsync", host, address, nbytes, stream)

    # ---- order -----------------------------------------------------------------------------------------------------
    def event(self, *, timed: bool) -> Any:
        return ask("hipEventCreateWithFlags", c_void_p, 0 if timed else _DISABLE_TIMING)

    def record(self, event: Any, stream: int) -> None:
        call("hipEventRecord", event, stream)

    def wait_event(self, event: Any) -> None:
        call("hipEventSynchronize", event, doing=self.waiting())

    def seconds(self, first: Any, last: Any) -> float:
        elapsed = ask("hipEventElapsedTime", c_float, first, last) * 1e-3
        for event in (first, last):
            call("hipEventDestroy", event)
        return elapsed

    def wait_stream(self, stream: int) -> None:
        call("hipStreamSynchronize", stream, doing=self.waiting())

    def wait(self) -> None:
        call("hipDeviceSynchronize", doing=self.waiting())


def count() -> int:
    """How many GPUs there are."""
    return ask("hipGetDeviceCount", c_int, doing="looking for AMD GPUs")


_lock = threading.Lock()


@cache
def made(number: int) -> AmdCard:
    return AmdCard(number)


def card(number: int) -> AmdCard:
    """The GPU of this number, one object a process."""
    hip()
    check_number(number, count(), "AMD", "amdgpu")
    with _lock:
        return made(number)


def card_of(address: int) -> int:
    """The number of the GPU that an address belongs to; 0 for the null pointer of an empty array."""
    hip()
    if not address:
        return 0
    found = c_int()
    call("hipPointerGetAttribute", ctypes.addressof(found), _DEVICE_ORDINAL, address, doing="an array's memory")
    return found.value
