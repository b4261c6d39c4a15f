"""Runs blocks: the function that a thread calls for a range of them.

The regular body takes the subgroups in which every lane has an item (and, over several axes, all lanes lie in one row);
the others go to the general body, which is compiled apart when a launch first needs it and found through the argument
block.  In a block without barriers the subgroups run one after another.  With barriers each is a coroutine: it suspends
at a barrier, and goes on when all have come that far; then all of a block run the same body, as the two may exchange
different things.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ...ir import Kernel
from . import frames
from .arguments import MOSTLY, Slots
from .text import Text, scalar_type

_PARAMETERS = "ptr noalias readonly %args, i64 %block, i64 %subgroup, i64 %blocks, ptr %scratch"
_ARGUMENTS = "ptr %args, i64 %block, i64 %subgroup, i64 %blocks, ptr %scratch"


def function(name: str, text: Text, *, internal: bool, coroutine: bool) -> str:
    """A subgroup's body as a function: of a coroutine, one that returns its handle at the first barrier."""
    linkage = "internal " if internal else ""
    attributes = " presplitcoroutine" if coroutine else " alwaysinline" if internal else ""
    parts = [
        f"define {linkage}{'ptr' if coroutine else 'void'} @{name}({_PARAMETERS}) nounwind{attributes} {{",
        "entry:",
        *text.slots,
        frames.START if coroutine else "",
        *text.entry,
        "  br label %start",
        "start:",
        *text.lines,
        frames.END if coroutine else "  ret void",
        "}\n",
    ]
    return "\n".join(part for part in parts if part)


def blocks(kernel: Kernel, slots: Slots, *, coroutine: bool) -> str:
    """`run(args, begin, end, blocks, scratch)`: the blocks of a range, one after another."""
    total, extents = _total(kernel, slots)
    full = _full(_block_tests(kernel, total) if coroutine else _subgroup_tests(kernel, total))
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
{f"{full}{chr(10)}  call void @reset_frames(ptr %scratch)" if coroutine else ""}
  br label %subgroup_head
subgroup_head:
  %subgroup = phi i64 [ 0, %block_head ], [ %subgroup_next, %next ]
  %thread = mul i64 %subgroup, {kernel.subgroup_size}
  %first = add i64 %block_first, %thread
{"" if coroutine else full}
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
  br i1 %full, label %whole, label %inspect{MOSTLY}
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


_Tests: TypeAlias = Iterator[tuple[list[str], str]]
"""What must be at most what, after which code."""


def _full(tests: _Tests) -> str:
    """Code for `%full`: do all tests hold?"""
    lines: list[str] = []
    result = "true"
    for number, (code, test) in enumerate(tests):
        lines += [*code, f"  %test{number} = icmp ule i64 {test}", f"  %all{number} = and i1 {result}, %test{number}"]
        result = f"%all{number}"
    return "\n".join([*lines, f"  %full = and i1 true, {result}"])


def _subgroup_tests(kernel: Kernel, total: str) -> _Tests:
    """Has every lane of this subgroup an item, and do they lie in one row?"""
    width = kernel.subgroup_size
    yield [f"  %last = add i64 %first, {width}"], f"%last, {total}"
    if kernel.block_dim % width:
        yield [f"  %thread_last = add i64 %thread, {width}"], f"%thread_last, {kernel.block_dim}"
    if len(kernel.extents) > 1:
        row = f"%extent{len(kernel.extents) - 1}"
        columns = [f"  %column = urem i64 %first, {row}", f"  %column_last = add i64 %column, {width}"]
        yield columns, f"%column_last, {row}"


def _block_tests(kernel: Kernel, total: str) -> _Tests:
    """Does that hold for every subgroup of this block?"""
    width = kernel.subgroup_size
    yield [f"  %block_last = add i64 %block_first, {kernel.block_dim}"], f"%block_last, {total}"
    if kernel.block_dim % width:
        yield [], "1, 0"
    if len(kernel.extents) > 1:
        yield [f"  %odd = urem i64 %extent{len(kernel.extents) - 1}, {width}"], "%odd, 0"
