# Made by `python -m lanewise.tools.stubs`; tests/test_editor.py checks that it is current.
"""Operations between the blocks of a launch."""

from typing import Literal

def mem_fence(scope: Literal["all", "buffer", "shared"] = 'all') -> None:
    """Orders this thread's memory accesses before it ahead of those after it, as the device sees them.

    `scope` is "all", "buffer" (global memory) or "shared".  Nobody waits.  PTX fence.acq_rel.gpu, SPIR-V
    OpMemoryBarrier with Device scope."""

def num_blocks() -> int:
    """The blocks of the launch.

    PTX %nctaid.x, SPIR-V NumWorkgroups."""
