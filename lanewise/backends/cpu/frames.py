"""Suspended subgroups: a coroutine a subgroup, its frame in an arena of the thread's scratch memory.

What does not fit into the arena comes from `malloc`, in a list that is emptied when the block has ended.
"""

from __future__ import annotations

from ...ir import OPCODES, Effect, Kernel

SHARED_BYTES = 1 << 16
"""Shared memory of a block, at the start of each thread's scratch memory."""
ARENA_BYTES = 1 << 20
SPARE = SHARED_BYTES + 32
SCRATCH_BYTES = SHARED_BYTES + 64
"""Shared memory, then the arena's address, the bytes used of it, the list of frames outside it, and a spare place."""


def suspends(kernel: Kernel) -> bool:
    """Whether subgroups must wait for one another."""
    return kernel.num_subgroups > 1 and any(OPCODES[op.opcode].effect & Effect.BARRIER for op in kernel.body.walk())


SUSPEND = "call i8 @llvm.coro.suspend(token none, i1 false)"

START = """\
  %id = call token @llvm.coro.id(i32 64, ptr null, ptr null, ptr null)
  %size = call i64 @llvm.coro.size.i64()
  %frame = call ptr @new_frame(ptr %scratch, i64 %size)
  %handle = call ptr @llvm.coro.begin(token %id, ptr %frame)"""

END = """\
  %last = call i8 @llvm.coro.suspend(token none, i1 true)
  br label %suspended
suspended:
  call void @llvm.coro.end(ptr %handle, i1 false, token none)
  ret ptr %handle"""

FUNCTIONS = f"""
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
