"""Runs blocks: the function that a thread calls for a range of them.

The regular body takes the subgroups in which every lane has an item (and, over several axes, all lanes lie in one row);
the others go to the general body, which is compiled apart when a launch first needs it and found through the argument
block.  In a block without barriers the subgroups run one after another.  With barriers each is a coroutine: it suspends
at a barrier, and goes on when all have come that far.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import OPCODES, Effect, Kernel
from . import frames
from .arguments import Slots
from .text import scalar_type

_PARAMETERS = "ptr noalias readonly %args, i64 %block, i64 %subgroup, i64 %blocks, ptr %scratch"
_ARGUMENTS = "ptr %args, i64 %block, i64 %subgroup, i64 %blocks, ptr %scratch"


def suspends(kernel: Kernel) -> bool:
    """Whether subgroups must wait for one another."""
    return kernel.num_subgroups > 1 and any(OPCODES[op.opcode].effect & Effect.BARRIER for op in kernel.body.walk())


def function(name: str, entry: list[str], lines: list[str], *, internal: bool, coroutine: bool) -> str:
    """A subgroup's body as a function: of a coroutine, one that returns its handle at the first barrier."""
    linkage = "internal " if internal else ""
    attributes = " presplitcoroutine" if coroutine else " alwaysinline" if internal else ""
    parts = [
        f"define {linkage}{'ptr' if coroutine else 'void'} @{name}({_PARAMETERS}) nounwind{attributes} {{",
        "entry:",
        frames.START if coroutine else "",
        *entry,
        "  br label %start",
        "start:",
        *lines,
        frames.END if coroutine else "  ret void",
        "}\n",
    ]
    return "\n".join(part for part in parts if part)


def blocks(kernel: Kernel, slots: Slots, *, coroutine: bool) -> str:
    """`run(args, begin, end, blocks, scratch)`: the blocks of a range, one after another."""
    total, extents = _total(kernel, slots)
    full = _full(kernel, total)
    subgroups = kernel.num_subgroups
    handles = f"  %handles = alloca [{subgroups} x ptr]" if coroutine else ""
    step = _STARTED if coroutine else _CALLED.format(total=total)
    after = _RESUMED.format(subgroups=subgroups) if coroutine else ""
    return f"""\
define void @run(ptr noalias readonly %args, i64 %begin, i64 %end, i64 %blocks, ptr %scratch) nounwind {{
entry:
{handles}
  %general_place = getelementptr i64, ptr %args, i64 {slots.general}
  %general = load ptr, ptr %general_place, !invariant.load !0
{extents}
  br label %block_head
block_head:
  %block = phi i64 [ %begin, %entry ], [ %block_next, %block_end ]
  %block_first = mul i64 %block, {kernel.block_dim}
{"  call void @reset_frames(ptr %scratch)" if coroutine else ""}
  br label %subgroup_head
subgroup_head:
  %subgroup = phi i64 [ 0, %block_head ], [ %subgroup_next, %next ]
  %thread = mul i64 %subgroup, {kernel.subgroup_size}
  %first = add i64 %block_first, %thread
{full}
{step}
next:
  %subgroup_next = add i64 %subgroup, 1
  %more_subgroups = icmp ult i64 %subgroup_next, {subgroups}
  br i1 %more_subgroups, label %subgroup_head, label %last_subgroup
last_subgroup:
{after}
  br label %block_end
block_end:
  %block_next = add i64 %block, 1
  %more_blocks = icmp ult i64 %block_next, %end
  br i1 %more_blocks, label %block_head, label %out
out:
  ret void
}}
"""


_CALLED = f"""\
  br i1 %full, label %whole, label %inspect
whole:
  call void @regular({_ARGUMENTS})
  br label %next
inspect:
  %present = icmp ult i64 %first, {{total}}
  br i1 %present, label %partial, label %next
partial:
  call void %general({_ARGUMENTS})
  br label %next"""

# A subgroup without any item starts too: the others wait for it.
_STARTED = f"""\
  %body = select i1 %full, ptr @regular, ptr %general
  %started = call ptr %body({_ARGUMENTS})
  %started_place = getelementptr ptr, ptr %handles, i64 %subgroup
  store ptr %started, ptr %started_place
  br label %next"""

# Every subgroup meets the same barriers, so all end in the same round.
_RESUMED = """\
  br label %round
round:
  %leader = load ptr, ptr %handles
  %finished = call i1 @llvm.coro.done(ptr %leader)
  br i1 %finished, label %finish, label %resume
resume:
  %which = phi i64 [ 0, %round ], [ %which_next, %resume ]
  %handle_place = getelementptr ptr, ptr %handles, i64 %which
  %handle = load ptr, ptr %handle_place
  call void @llvm.coro.resume(ptr %handle)
  %which_next = add i64 %which, 1
  %more_waiting = icmp ult i64 %which_next, {subgroups}
  br i1 %more_waiting, label %resume, label %round
finish:"""


def _total(kernel: Kernel, slots: Slots) -> tuple[str, str]:
    """The register with the number of items, and the code that loads each `%extent` and multiplies them."""
    lines: list[str] = []
    total = ""
    for axis, extent in enumerate(kernel.extents):
        type_ = scalar_type(extent.type)
        lines += [
            f"  %extent_place{axis} = getelementptr i64, ptr %args, i64 {slots.scalars[extent]}",
            f"  %raw{axis} = load {type_}, ptr %extent_place{axis}, !invariant.load !0",
            f"  %extent{axis} = sext {type_} %raw{axis} to i64"
            if extent.type.bits < 64
            else f"  %extent{axis} = add i64 %raw{axis}, 0",
        ]
        if axis:
            lines.append(f"  %total{axis} = mul i64 {total}, %extent{axis}")
        total = f"%total{axis}" if axis else "%extent0"
    return total, "\n".join(lines)


def _full(kernel: Kernel, total: str) -> str:
    """Code for `%full`: has every lane of this subgroup an item, and do they lie in one row?"""
    lines = [f"  %last = add i64 %first, {kernel.subgroup_size}"]
    tests: list[str] = []
    for number, (code, test) in enumerate(_tests(kernel, total)):
        lines += [*code, f"  %test{number} = icmp ule i64 {test}"]
        tests.append(f"%test{number}")
    lines.append("  %all0 = and i1 true, %test0")
    for number, test in enumerate(tests[1:], start=1):
        lines.append(f"  %all{number} = and i1 %all{number - 1}, {test}")
    lines.append(f"  %full = and i1 true, %all{len(tests) - 1}")
    return "\n".join(lines)


def _tests(kernel: Kernel, total: str) -> Iterator[tuple[list[str], str]]:
    """What must be at most what, after which code."""
    width = kernel.subgroup_size
    yield [], f"%last, {total}"
    if kernel.block_dim % width:
        yield [f"  %thread_last = add i64 %thread, {width}"], f"%thread_last, {kernel.block_dim}"
    if len(kernel.extents) > 1:
        row = f"%extent{len(kernel.extents) - 1}"
        yield (
            [f"  %column = urem i64 %first, {row}", f"  %column_last = add i64 %column, {width}"],
            f"%column_last, {row}",
        )
