"""How long kernels take on their devices."""

from __future__ import annotations

import statistics
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from .backends.engine import MemoryEngine
from .device import Device


@dataclass(frozen=True, slots=True)
class Timing:
    """The launches of one kernel on one device."""

    kernel: str
    device: Device
    seconds: list[float] = field(default_factory=list[float])
    """Each launch's time, in the order of the launches."""

    @property
    def launches(self) -> int:
        """How often it ran."""
        return len(self.seconds)

    @property
    def median(self) -> float:
        """The seconds of a middling launch."""
        return statistics.median(self.seconds or [0.0])

    @property
    def total(self) -> float:
        """The seconds of all launches."""
        return sum(self.seconds)


class Profile:
    """The timings of the kernels that ran in a `with lw.profile()` block; `str()` gives a table, the slowest first."""

    def __init__(self) -> None:
        self._timings: dict[tuple[str, Device], Timing] = {}
        self._pending: list[tuple[Timing, Any, Any]] = []

    @property
    def timings(self) -> list[Timing]:
        """One entry a kernel and device, the most time first; complete once the block has ended."""
        return sorted(self._timings.values(), key=lambda timing: -timing.total)

    @contextmanager
    def timed(self, kernel: str, device: Device, stream: int) -> Generator[None]:
        """Note the time of the launch inside."""
        timing = self._timings.setdefault((kernel, device), Timing(kernel, device))
        if device.properties.host_memory:
            start = time.perf_counter()
            yield
            timing.seconds.append(time.perf_counter() - start)
        else:
            engine = cast(MemoryEngine, device.engine)
            start = engine.mark(stream)
            yield
            self._pending.append((timing, start, engine.mark(stream)))

    def _finish(self) -> None:
        for device in {timing.device for timing, _, _ in self._pending}:
            device.sync()
        for timing, start, end in self._pending:
            timing.seconds.append(cast(MemoryEngine, timing.device.engine).seconds(start, end))
        self._pending.clear()

    def __str__(self) -> str:
        head = f"{'kernel':<32} {'launches':>8} {'total ms':>10} {'median us':>10}  device"
        rows = [
            f"{t.kernel:<32} {t.launches:>8} {t.total * 1e3:>10.3f} {t.median * 1e6:>10.1f}  {t.device}"
            for t in self.timings
        ]
        return "\n".join((head, *rows))


active: Profile | None = None
"""The profile that launches are noted in."""


@contextmanager
def profile() -> Generator[Profile]:
    """`with lw.profile() as times:` measures every launch in the block, in all threads; `print(times)` afterwards.

    A GPU's times are its own, between two events on the launch's stream; on the CPU they are those of the call.
    """
    global active
    outer, active = active, Profile()
    try:
        yield active
    finally:
        active._finish()  # pyright: ignore[reportPrivateUsage]
        active = outer
