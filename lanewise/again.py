"""Launches with arrays that a kernel was launched with before: known by their identity, so not read once more.

It serves kernels whose parameters are all arrays, on devices that queue launches.  An `lw.ndarray` never changes where
it lies and how; of another library's array everything that can change is compared.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from . import foreign
from .arguments import Call
from .arrays import ndarray
from .backends.engine import QueuedExecutable
from .device import Device, device_of

KEPT = 64
"""Combinations of arrays that one kernel remembers."""


class Again:
    """One call's arrays, and its launch; it keeps no array alive."""

    __slots__ = ("_arrays", "_call", "_device", "_facts", "_launch", "_stream")

    def __init__(self, args: Sequence[Any], call: Call, device: Device, queued: QueuedExecutable) -> None:
        self._arrays = [weakref.ref(arg) for arg in args]
        asked = [(place, foreign.facts[type(arg)]) for place, arg in enumerate(args) if type(arg) is not ndarray]
        self._facts = [(place, ask, ask(args[place])) for place, ask in asked]
        self._stream = call.stream or 0
        self._launch = queued.prepare(call.views, self._stream)
        self._call, self._device = call, device
        call.views.clear()

    @staticmethod
    def can_know(args: Sequence[Any]) -> bool:
        """Whether all arguments are arrays that are told by their identity."""
        return all(type(arg) is ndarray or type(arg) in foreign.facts for arg in args)

    def launch(self, args: Sequence[Any]) -> bool:
        """Launch, where these are still the same arrays, and other libraries' are worked on as they were."""
        for known, arg in zip(self._arrays, args, strict=True):
            if known() is not arg:
                return False
        if self._facts and not self._is_unchanged(args):
            return False
        self._launch()
        return True

    def _is_unchanged(self, args: Sequence[Any]) -> bool:
        for place, ask, seen in self._facts:
            if ask(args[place]) != seen:
                return False
        home = self._call.place
        assert home is not None
        if (self._call.current_stream(home[1]) or 0) != self._stream:
            return False
        return device_of(home, self._call.device) is self._device
