"""How a kernel's logical blocks go to hardware blocks: how many a thread carries, how many hardware blocks there are.

One element a thread leaves too few bytes in flight to cover the memory's latency: 132 multiprocessors of 2048 threads
with 4 bytes each are 1.1 MB on an H200, and latency times bandwidth is 3 MB.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import OPCODES, Array, Effect, Kernel, Local, Shared


@dataclass(frozen=True, slots=True)
class Schedule:
    """`items` logical blocks a thread, side by side; at most `waves` hardware blocks for each multiprocessor."""

    items: int
    waves: int


UNLIMITED = 1 << 31

# Measured on an H200 with a copy, a scan, a sort and reductions of 1 GiB (benchmarks/gpu.py).
ONE_BY_ONE = Schedule(1, UNLIMITED)
STREAMING = Schedule(4, UNLIMITED)
"""Every element is written too: fresh blocks load while others still store, and a loop would only hold them up."""
READING = Schedule(8, 256)
"""Little is written: more loads at a time, and hardware blocks that live longer, so that starting them costs less."""


def schedule(kernel: Kernel) -> Schedule:
    """The schedule of one kernel."""
    if not kernel.regular or not can_interleave(kernel):
        return ONE_BY_ONE
    stores = (op for op in kernel.body.ops if op.opcode == "store")
    return STREAMING if any(isinstance(op.attrs["mem"], Array) for op in stores) else READING


def can_interleave(kernel: Kernel) -> bool:
    """Whether one thread may run several logical blocks side by side.

    Not with shared memory or barriers, which a hardware block has once, nor with local arrays, which a thread has once;
    nor where a loop touches memory: it might wait for what a lower-numbered block does later in its code.
    """
    for op in kernel.body.walk():
        if OPCODES[op.opcode].effect & Effect.BARRIER or isinstance(op.attrs.get("mem"), (Shared, Local)):
            return False
        if op.opcode == "loop" and any(
            OPCODES[inner.opcode].effect & (Effect.READS | Effect.WRITES)
            for region in op.regions
            for inner in region.walk()
        ):
            return False
    return True
