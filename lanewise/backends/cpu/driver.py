"""Runs blocks: the function that a thread calls for a range of them.

The regular body takes the subgroups in which every lane has an item (and, over several axes, all lanes lie in one row);
the others go to the general body, which is compiled apart when a launch first needs it and found through the argument
block.  In a block without barriers the subgroups run one after another.  With barriers each is a coroutine: it suspends at
a barrier, and goes on when all have come that far.
"""

from __future__ import annotations

from ...ir import OPCODES, Effect, Kernel
from .arguments import Slots
from .text import scalar_type

SHARED_BYTES = 1 << 16
"""Shared memory of a block, at the start of each thread's scratch memory."""
ARENA_BYTES = 1 << 20
"""Frames of suspended subgroups; a block that needs more gets the rest from `malloc`."""
SCRATCH_BYTES = SHARED_BYTES + 64

PARAMETERS = "ptr noalias readonly %args, i64 %block, i64 %subgroup, i64 %blocks, ptr %scratch"
_CALL = "ptr %args, i64 %block, i64 %subgroup, i64 %blocks, ptr %scratch"


def suspends(kernel: Kernel) -> bool:
    """Whether subgroups must wait for one another."""
    return kernel.num_subgroups > 1 and any(OPCODES[op.opcode].effect & Effect.BARRIER for op in kernel.body.walk())


# ---- one subgroup -------------------------------------------------------------------------------------------------
BARRIER = "call i8 @llvm.coro.suspend(token none, i1 false)"

_COROUTINE_START = """\
  %id = call token @llvm.coro.id(i32 64, ptr null, ptr null, ptr null)
  %size = call i64 @llvm.coro.size.i64()
  %frame = call ptr @new_frame(ptr %scratch, i64 %size)
  %handle = call ptr @llvm.coro.begin(token %id, ptr %frame)"""

_COROUTINE_END = """\
  %last = call i8 @llvm.coro.suspend(token none, i1 true)
  br label %suspended
suspended:
  call void @llvm.coro.end(ptr %handle, i1 false, token none)
  ret ptr %handle"""


def function(name: str, linkage: str, entry: list[str], lines: list[str], *, coroutine: bool) -> str:
    """A subgroup's body as a function."""
    attributes = "presplitcoroutine" if coroutine else "alwaysinline" if linkage == "internal" else ""
    head = f"define {linkage} {'ptr' if coroutine else 'void'} @{name}({PARAMETERS}) nounwind {attributes} {{"
    body = ["entry:"]
    if coroutine:
        body.append(_COROUTINE_START)
    body += [*entry, f"  %shared = getelementptr i8, ptr %scratch, i64 0", "  br label %start", "start:", *lines]
    body.append(_COROUTINE_END if coroutine else "  ret void")
    return "\n".join([head, *body, "}", ""])


# ---- the blocks of a range ----------------------------------------------------------------------------------------
def blocks(kernel: Kernel, slots: Slots, *, coroutine: bool) -> str:
    """`run(args, begin, end, blocks, scratch)`."""
    subgroups = kernel.num_subgroups
    load, total, full = _full(kernel, slots)
    if coroutine:
        call, keep = f"call ptr %body({_CALL})", _KEEP
        after, handles = _RESUME.format(subgroups=subgroups), f"  %handles = alloca [{subgroups} x ptr]"
    else:
        call, keep, after, handles = "", "", "", ""
    if coroutine:
        step = f"""\
  %body = select i1 %full, ptr @regular, ptr %general
  %started = {call}
{keep}
  br label %next"""
    else:
        step = f"""\
  br i1 %full, label %whole, label %inspect
inspect:
  %present = icmp ult i64 %first, {total}
  br i1 %present, label %partial, label %next
whole:
  call void @regular({_CALL})
  br label %next
partial:
  call void %general({_CALL})
  br label %next"""
    return f"""\
define void @run(ptr noalias readonly %args, i64 %begin, i64 %end, i64 %blocks, ptr %scratch) nounwind {{
entry:
{handles}
  %general_place = getelementptr i64, ptr %args, i64 {slots.general}
  %general = load ptr, ptr %general_place, !invariant.load !0
{load}
  br label %block_head
block_head:
  %block = phi i64 [ %begin, %entry ], [ %block_next, %block_done ]
  %first_of_block = mul i64 %block, {kernel.block_dim}
{"  call void @reset_frames(ptr %scratch)" if coroutine else ""}
  br label %subgroup_head
subgroup_head:
  %subgroup = phi i64 [ 0, %block_head ], [ %subgroup_next, %next ]
  %in_block = mul i64 %subgroup, {kernel.subgroup_size}
  %first = add i64 %first_of_block, %in_block
{full}
{step}
next:
  %subgroup_next = add i64 %subgroup, 1
  %more_subgroups = icmp ult i64 %subgroup_next, {subgroups}
  br i1 %more_subgroups, label %subgroup_head, label %block_end
block_end:
{after}
  br label %block_done
block_done:
  %block_next = add i64 %block, 1
  %more_blocks = icmp ult i64 %block_next, %end
  br i1 %more_blocks, label %block_head, label %out
out:
  ret void
}}
"""


_KEEP = """\
  %kept_place = getelementptr ptr, ptr %handles, i64 %subgroup
  store ptr %started, ptr %kept_place"""

_RESUME = """\
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


def _full(kernel: Kernel, slots: Slots) -> tuple[str, str, str]:
    """Code that loads the extents, the number of items, and code for `%full`: does every lane of this subgroup have an item, in one row?"""
    load: list[str] = []
    for axis, extent in enumerate(kernel.extents):
        type_ = scalar_type(extent.type)
        load.append(f"  %extent_place{axis} = getelementptr i64, ptr %args, i64 {slots.scalars[extent]}")
        load.append(f"  %extent_raw{axis} = load {type_}, ptr %extent_place{axis}, !invariant.load !0")
        load.append(
            f"  %extent{axis} = {f'zext {type_}' if extent.type.bits < 64 else 'add i64 0,'} %extent_raw{axis}"
            + (" to i64" if extent.type.bits < 64 else "")
        )
    total = "%extent0"
    for axis in range(1, len(kernel.extents)):
        load.append(f"  %total{axis} = mul i64 {total}, %extent{axis}")
        total = f"%total{axis}"
    W = kernel.subgroup_size  # noqa: N806
    tests = [f"  %last = add i64 %first, {W}", f"  %test0 = icmp ule i64 %last, {total}"]
    count = 1
    if kernel.block_dim % W:
        tests.append(f"  %test1 = icmp ule i64 %in_block, {kernel.block_dim - W}" if kernel.block_dim >= W else "  %test1 = icmp eq i64 0, 1")
        count = 2
    if len(kernel.extents) > 1:
        row = f"%extent{len(kernel.extents) - 1}"
        tests += [
            f"  %in_row = urem i64 %first, {row}",
            f"  %row_last = add i64 %in_row, {W}",
            f"  %test{count} = icmp ule i64 %row_last, {row}",
        ]
        count += 1
    result = "%test0"
    for number in range(1, count):
        tests.append(f"  %both{number} = and i1 {result}, %test{number}")
        result = f"%both{number}"
    tests.append(f"  %full = and i1 {result}, true")
    return "\n".join(load), total, "\n".join(tests)


FRAMES = f"""
define internal ptr @new_frame(ptr %scratch, i64 %size) {{
  %arena = getelementptr i8, ptr %scratch, i64 {SHARED_BYTES}
  %used_place = getelementptr i8, ptr %arena, i64 8
  %spilled_place = getelementptr i8, ptr %arena, i64 16
  %base = load ptr, ptr %arena
  %known = icmp ne ptr %base, null
  br i1 %known, label %take, label %make
make:
  %made = call ptr @malloc(i64 {ARENA_BYTES})
  store ptr %made, ptr %arena
  br label %take
take:
  %memory = phi ptr [ %base, %0 ], [ %made, %make ]
  %used = load i64, ptr %used_place
  %room = add i64 %size, 128
  %after = add i64 %used, %room
  %fits = icmp ule i64 %after, {ARENA_BYTES}
  br i1 %fits, label %bump, label %spill
bump:
  store i64 %after, ptr %used_place
  %inside = getelementptr i8, ptr %memory, i64 %used
  br label %align
spill:
  %extra = add i64 %room, 64
  %node = call ptr @malloc(i64 %extra)
  %older = load ptr, ptr %spilled_place
  store ptr %older, ptr %node
  store ptr %node, ptr %spilled_place
  %outside = getelementptr i8, ptr %node, i64 64
  br label %align
align:
  %raw = phi ptr [ %inside, %bump ], [ %outside, %spill ]
  %number = ptrtoint ptr %raw to i64
  %padded = add i64 %number, 63
  %aligned = and i64 %padded, -64
  %step = sub i64 %aligned, %number
  %frame = getelementptr i8, ptr %raw, i64 %step
  ret ptr %frame
}}

define internal void @reset_frames(ptr %scratch) {{
  %arena = getelementptr i8, ptr %scratch, i64 {SHARED_BYTES}
  %used_place = getelementptr i8, ptr %arena, i64 8
  %spilled_place = getelementptr i8, ptr %arena, i64 16
  store i64 0, ptr %used_place
  %first = load ptr, ptr %spilled_place
  br label %head
head:
  %node = phi ptr [ %first, %0 ], [ %next, %drop ]
  %empty = icmp eq ptr %node, null
  br i1 %empty, label %done, label %drop
drop:
  %next = load ptr, ptr %node
  call void @free(ptr %node)
  br label %head
done:
  store ptr null, ptr %spilled_place
  ret void
}}

declare noalias ptr @malloc(i64)
declare void @free(ptr)
"""
