"""Gives every shared array its offset in the block's shared memory."""

from __future__ import annotations

from math import prod

from ..errors import CompileError
from ..ir import Kernel, Shared

ALIGNMENT = 16


def layout(kernel: Kernel, limit: int) -> Kernel:
    """Fill `kernel.shared` and `kernel.shared_bytes`; an error where the block would need more than `limit` bytes."""
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
            f"the shared arrays of {kernel.name} need {offset} bytes",
            loc=kernel.loc,
            why=f"a block of this device has {limit} bytes of shared memory ({sizes})",
            hint="use smaller shared arrays, or a smaller dtype",
        )
    return kernel
