"""A launch as cuLaunchKernel takes it."""

from __future__ import annotations

import ctypes
import struct

from ..gpu.launch import Part, Send
from .card import CudaCard
from .driver import driver, failure

_WRONG_CONTEXT = (201, 400)  # CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE
_RANGE = struct.Struct("<3q")  # the last slots of the argument block: first block, end block, hardware blocks


class CudaSend(Send):
    """The arguments of cuLaunchKernel, with an argument block of their own."""

    def __init__(self, card: CudaCard, part: Part, block: bytes, stream: int) -> None:
        block += _RANGE.pack(part.first, part.end, part.grid)
        super().__init__(part, (ctypes.c_int64 * (len(block) // 8)).from_buffer_copy(block))
        self._card = card
        self._launch = driver().cuLaunchKernel
        self._list = (ctypes.c_void_p * 1)(ctypes.addressof(self.block))
        function = part.function
        handle = driver().CUstream(stream)  # of the driver's own type, so that no launch converts it
        sizes = (part.grid, 1, 1, function.threads, 1, 1, function.shared_bytes)
        self.call = (function.handle, *sizes, handle, ctypes.addressof(self._list), 0)

    def __call__(self) -> None:
        card = self._card
        card.last_launch = self.part
        code = self._launch(*self.call)[0] if card.alone or card.is_current() else _WRONG_CONTEXT[0]
        if code:
            self._launch_elsewhere(code)

    def _launch_elsewhere(self, code: int) -> None:
        """A launch that failed, perhaps because the thread's current context is not that of this GPU."""
        if code in _WRONG_CONTEXT:
            self._card.adopt_thread()  # a thread without a context keeps this one
            with self._card.current():
                (code,) = self._launch(*self.call)
        if code:
            raise failure(driver(), code, f"{self.part} failed")
