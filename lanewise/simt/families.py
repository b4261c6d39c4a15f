"""All families of operations: importing this fills the table of opcodes and `FUNCTIONS`."""

from __future__ import annotations

from . import blocks, control, masks, movement, primitives, reductions, segmented, sorting, votes
from .op import FUNCTIONS, member, members

__all__ = [
    "FUNCTIONS",
    "blocks",
    "control",
    "masks",
    "member",
    "members",
    "movement",
    "primitives",
    "reductions",
    "segmented",
    "sorting",
    "votes",
]
