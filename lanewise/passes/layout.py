"""Gives every shared array its offset in the block's shared memory, and sees to it that the threads' own arrays fit."""

from __future__ import annotations

from math import prod

from ..errors import CompileError
from ..ir import Kernel, Local, Shared

ALIGNMENT = 16
LOCAL_BYTES = 1 << 14
"""Of all the arrays of one thread: they lie on the stack of whoever runs its subgroup."""


def layout(kernel: Kernel, limit: int) -> Kernel:
    """Fill `kernel.shared` and `kernel.shared_bytes`; an error where the block would need more than `limit` bytes."""
    _check_locals(kernel)
    offset = 0
    for op in kernel.body.walk():
        mem = op.attrs.get("mem")
        if isinstance(mem, Shared) and mem not in kernel.shared:
            kernel.shared[mem] = offset
            size = mem.dtype.itemsize * prod(mem.shape)
            offset += -(-size // ALIGNMENT) * ALIGNMENT
    kernel.shared_bytes = offset
    if offset > limit:
        sizes = ", ".join(f"{m.name} {m.dtype.itemsize * prod(m.shape)}" for m in kernel.shared)
        raise CompileError(
            f"the shared arrays of a block need {offset} bytes",
            loc=kernel.loc,
            why=f"a block of this device has {limit} bytes of shared memory ({sizes})",
            hint="use smaller shared arrays, or a smaller dtype",
        )
    return kernel


def _check_locals(kernel: Kernel) -> None:
    """An error where the arrays of one thread are too large."""
    seen: set[Local] = set()
    total = 0
    for op in kernel.body.walk():
        mem = op.attrs.get("mem")
        if isinstance(mem, Local) and mem not in seen:
            seen.add(mem)
            total += mem.dtype.itemsize * prod(mem.shape)
            if total > LOCAL_BYTES:
                raise CompileError(
                    f"the local arrays of a thread need {total} bytes or more",
                    loc=op.loc,
                    why=f"it has {LOCAL_BYTES} bytes for them",
                    hint="an array argument with a row a thread, or smaller arrays",
                )
