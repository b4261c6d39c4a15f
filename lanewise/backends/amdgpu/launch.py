"""A launch as hipModuleLaunchKernel takes it."""

from __future__ import annotations

import ctypes
import struct

from ..gpu.launch import Part, Send
from .card import AmdCard
from .hip import failure, hip

_RANGE = struct.Struct("<3q")  # the last slots of the argument block: first block, end block, hardware blocks
_POINTER, _SIZE, _END = 1, 2, 3  # HIP_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END


class AmdSend(Send):
    """The arguments of hipModuleLaunchKernel, with an argument block of their own."""

    def __init__(self, card: AmdCard, part: Part, block: bytes, stream: int) -> None:
        block += _RANGE.pack(part.first, part.end, part.grid)
        super().__init__(part, (ctypes.c_int64 * (len(block) // 8)).from_buffer_copy(block))
        self._card = card
        self._launch = hip().hipModuleLaunchKernel
        self._size = ctypes.c_size_t(len(block))
        words = (_POINTER, ctypes.addressof(self.block), _SIZE, ctypes.addressof(self._size), _END)
        self._extra = (ctypes.c_void_p * len(words))(*words)
        function = part.function
        sizes = (part.grid, 1, 1, function.threads, 1, 1, function.shared_bytes)
        self.call = (function.handle, *sizes, stream, None, ctypes.addressof(self._extra))

    def __call__(self) -> None:
        card = self._card
        card.last_launch = self.part
        if card.is_current():
            code = self._launch(*self.call)
        else:
            with card.current():
                code = self._launch(*self.call)
        if code:
            raise failure(hip(), code, f"{self.part} failed")
