"""Launches with arrays that a kernel was launched with before: known by their identity, so not read once more.

It serves kernels whose parameters are all arrays.  An `lw.ndarray` never changes where it lies and how; of another
library's array on a GPU, everything that can change is compared; of NumPy's on the CPU, all that a launch asks of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import foreign
from .arguments import Call
from .arrays import ndarray
from .backends.engine import View
from .device import Device, current_device, device_of
from .views import facts_of

KEPT = 64
"""Combinations of arrays that one kernel remembers."""


Prepare: TypeAlias = Callable[[Sequence[View], int], Callable[[], None]]
"""From arrays and a stream to what launches just that."""


class Again:
    """One call's arrays, and its launch; it keeps no array alive."""

    __slots__ = ("_arrays", "_call", "_device", "_facts", "_launch", "_stream")

    def __init__(self, args: Sequence[Any], call: Call, device: Device, prepare: Prepare) -> None:
        # NumPy's are known by their facts alone: it resizes no array that is referenced, be it weakly.
        self._arrays = [None if type(arg) is np.ndarray else weakref.ref(arg) for arg in args]
        asked = [
            (place, facts_of if type(arg) is np.ndarray else foreign.facts[type(arg)])
            for place, arg in enumerate(args)
            if type(arg) is not ndarray
        ]
        self._facts = [(place, ask, ask(args[place])) for place, ask in asked]
        self._stream = call.stream or 0
        self._launch = prepare(call.views, self._stream)
        self._call, self._device = call, device
        call.views.clear()

    @staticmethod
    def can_know(args: Sequence[Any], *, on_host: bool) -> bool:
        """Whether all arguments are arrays that can be known again."""
        kinds = (np.ndarray,) if on_host else foreign.facts
        return all(type(arg) is ndarray or type(arg) in kinds for arg in args)

    def launch(self, args: Sequence[Any]) -> bool:
        """Launch, where these are still the same arrays, and all is as it was."""
        for known, arg in zip(self._arrays, args, strict=True):
            if known is not None and known() is not arg:
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
        if home is None:
            return (self._call.device or current_device()) is self._device
        if (self._call.current_stream(home[1]) or 0) != self._stream:
            return False
        return device_of(home, self._call.device) is self._device
