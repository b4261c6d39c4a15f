"""A kernel as the text of an LLVM module."""

from __future__ import annotations

from ...ir import OPCODES, Kernel, Op
from ...passes.uniformity import analyse
from . import driver, frames, libm
from .arguments import METADATA, Slots
from .arithmetic import ROWS
from .atomics import ATOMICS
from .body import VALUES, Body, Emitter
from .control import CONTROL
from .host import Host
from .lanes import LANES
from .memory import MEMORY
from .sorting import emit_sort


def _nothing(body: Body, op: Op) -> None:
    """A subgroup's lanes go in step; a barrier of a block of one subgroup is one of that subgroup."""


EMITTERS: dict[str, Emitter] = (
    VALUES
    | MEMORY
    | ATOMICS
    | CONTROL
    | LANES
    | {"subgroup.sort": emit_sort, "subgroup.barrier": _nothing, "block.barrier": _nothing}
)
"""The emission of every opcode that is not an arithmetic row."""


def emit_module(kernel: Kernel, host: Host) -> str:
    """The regular variant: `run`, with its body.  The general one: its body alone, `general`."""
    slots = Slots(kernel)
    coroutine = frames.suspends(kernel)
    emitters = EMITTERS | ({"block.barrier": _suspend} if coroutine else {})
    levels = analyse(kernel.body, kernel.scalars, kernel.subgroup_size)
    body = Body(kernel, levels, slots, host, emitters)
    body.block(kernel.body)
    function = driver.function(
        "regular" if kernel.regular else "general",
        body.text,
        internal=kernel.regular,
        coroutine=coroutine,
    )
    parts = [
        function,
        driver.blocks(kernel, slots, coroutine=coroutine) if kernel.regular else "",
        frames.FUNCTIONS if coroutine else "",
        libm.declarations(function),
        METADATA,
    ]
    return "\n".join(part for part in parts if part)


def _suspend(body: Body, op: Op) -> None:
    """Wait until all subgroups of the block have come here."""
    go_on = body.text.new_label("resumed")
    state = body.text.do(frames.SUSPEND)
    body.text.put(f"switch i8 {state}, label %suspended [ i8 0, label %{go_on} ]")
    body.text.begin(go_on)


def supported() -> frozenset[str]:
    """The opcodes that this backend emits."""
    return frozenset(EMITTERS) | frozenset(ROWS) | frozenset(libm.MATH)


assert not supported() - set(OPCODES)
