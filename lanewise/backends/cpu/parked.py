"""The native side of the pool: the loop in which its threads live, and the launch.

A job is handed out in chunks of blocks, in increasing order from one counter; a thread doubles its chunk while one is
quickly done, up to a fair share of what is left.

A thread that has worked watches for the next job for a while before it sleeps, as programs launch in a row, and waking
one takes longer than many a job; so does the launching thread for the end of the last chunk.
"""

from __future__ import annotations

import platform
import time

from .frames import SCRATCH_BYTES, SHARED_BYTES

HELP_AFTER_NS = 20_000  # where the others sleep
WATCHED_AFTER_NS = 2_000  # where one of them watches
WATCH_NS = 50_000
SLICE_NS = 50_000_000
QUICK_NS = 100_000

# A job, in 8-byte words; the argument block follows.
FUNCTION, BLOCKS, NEXT, RUNNING, THREADS = range(5)
JOB_WORDS = 8

# A pool, in bytes: room for the C library's structures, whose size differs between systems.
_WORK, _DONE, _JOB, _STOP = 128, 256, 384, 392  # the mutex comes first
_POSTS, _WATCHING, POOL_BYTES = 448, 512, 576  # jobs that were posted so far; threads that watch for the next one

# What tells the processor that a thread only waits: another one on the same core has the core to itself meanwhile.
_X86, _ARM = "call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)"
_PAUSES = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
_PAUSE = _PAUSES.get(platform.machine().lower(), "")

_SCRATCH = f"""\
  %memory = call ptr @malloc(i64 {SCRATCH_BYTES + 64})
  %address = ptrtoint ptr %memory to i64
  %offset = and i64 %address, 63
  %padding = sub i64 64, %offset
  %scratch = getelementptr i8, ptr %memory, i64 %padding
  %arena = getelementptr i8, ptr %scratch, i64 {SHARED_BYTES}
  call void @llvm.memset.p0.i64(ptr %arena, i8 0, i64 24, i1 false)
"""

TEXT = f"""
%timespec = type {{ i64, i64 }}
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @clock_gettime(i32, ptr)
declare ptr @malloc(i64)
declare void @free(ptr)

; A clock, in nanoseconds.
define internal i64 @read(i32 %clock) {{
  %place = alloca %timespec
  call i32 @clock_gettime(i32 %clock, ptr %place)
  %seconds = load i64, ptr %place
  %fraction_place = getelementptr i64, ptr %place, i64 1
  %fraction = load i64, ptr %fraction_place
  %whole = mul i64 %seconds, 1000000000
  %time = add i64 %whole, %fraction
  ret i64 %time
}}

; The one that nobody sets.
define internal i64 @now() {{
  %time = call i64 @read(i32 {time.CLOCK_MONOTONIC})
  ret i64 %time
}}

; Waits for a word to become another (1), but not for long (0).
define internal i1 @watch(ptr %place, i64 %old) {{
entry:
  %start = call i64 @now()
  %until = add i64 %start, {WATCH_NS}
  br label %look
look:
  %word = load atomic i64, ptr %place seq_cst, align 8
  %changed = icmp ne i64 %word, %old
  br i1 %changed, label %out, label %wait
wait:
  {_PAUSE}
  %time = call i64 @now()
  %late = icmp sgt i64 %time, %until
  br i1 %late, label %out, label %look
out:
  ret i1 %changed
}}

; Runs chunks of the job until none is left (0) or the time has come (1).
define internal i64 @take(ptr %job, ptr %scratch, i64 %until) {{
entry:
  %function = load ptr, ptr %job
  %blocks_place = getelementptr i64, ptr %job, i64 {BLOCKS}
  %blocks = load i64, ptr %blocks_place
  %next_place = getelementptr i64, ptr %job, i64 {NEXT}
  %threads_place = getelementptr i64, ptr %job, i64 {THREADS}
  %threads = load i64, ptr %threads_place
  %args = getelementptr i64, ptr %job, i64 {JOB_WORDS}
  %shares = mul i64 %threads, 4
  %start = call i64 @now()
  br label %head
head:
  %chunk = phi i64 [ 1, %entry ], [ %following, %timed ]
  %before = phi i64 [ %start, %entry ], [ %after, %timed ]
  %begin = atomicrmw add ptr %next_place, i64 %chunk seq_cst
  %left = icmp slt i64 %begin, %blocks
  br i1 %left, label %run, label %exhausted
run:
  %wanted = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %wanted, i64 %blocks)
  call void %function(ptr %args, i64 %begin, i64 %end, i64 %blocks, ptr %scratch)
  %last = icmp eq i64 %end, %blocks
  br i1 %last, label %exhausted, label %timed
timed:
  %after = call i64 @now()
  %took = sub i64 %after, %before
  %quick = icmp slt i64 %took, {QUICK_NS}
  %twice = shl i64 %chunk, 1
  %grown = select i1 %quick, i64 %twice, i64 %chunk
  %rest = sub i64 %blocks, %end
  %share = udiv i64 %rest, %shares
  %limit = call i64 @llvm.umax.i64(i64 %share, i64 1)
  %following = call i64 @llvm.umin.i64(i64 %grown, i64 %limit)
  %late = icmp sgt i64 %after, %until
  br i1 %late, label %pause, label %head
pause:
  ret i64 1
exhausted:
  ret i64 0
}}

define void @prepare(ptr %pool) {{
  %work = getelementptr i8, ptr %pool, i64 {_WORK}
  %done = getelementptr i8, ptr %pool, i64 {_DONE}
  call i32 @pthread_mutex_init(ptr %pool, ptr null)
  call i32 @pthread_cond_init(ptr %work, ptr null)
  call i32 @pthread_cond_init(ptr %done, ptr null)
  ret void
}}

define void @stop(ptr %pool) {{
  %work = getelementptr i8, ptr %pool, i64 {_WORK}
  %stop_place = getelementptr i8, ptr %pool, i64 {_STOP}
  call i32 @pthread_mutex_lock(ptr %pool)
  store i64 1, ptr %stop_place
  call i32 @pthread_cond_broadcast(ptr %work)
  call i32 @pthread_mutex_unlock(ptr %pool)
  ret void
}}

; Where a thread of the pool spends its life.
define void @worker(ptr %pool) {{
entry:
{_SCRATCH}
  %work = getelementptr i8, ptr %pool, i64 {_WORK}
  %done = getelementptr i8, ptr %pool, i64 {_DONE}
  %job_place = getelementptr i8, ptr %pool, i64 {_JOB}
  %stop_place = getelementptr i8, ptr %pool, i64 {_STOP}
  %posts_place = getelementptr i8, ptr %pool, i64 {_POSTS}
  %watching_place = getelementptr i8, ptr %pool, i64 {_WATCHING}
  call i32 @pthread_mutex_lock(ptr %pool)
  br label %look
look:
  %tired = phi i1 [ true, %entry ], [ true, %sleep ], [ true, %watch ], [ false, %join ], [ false, %announce ]
  %stop = load i64, ptr %stop_place
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %leave, label %search
search:
  %job = load ptr, ptr %job_place
  %none = icmp eq ptr %job, null
  br i1 %none, label %park, label %inspect
inspect:
  %next_place = getelementptr i64, ptr %job, i64 {NEXT}
  %next = load atomic i64, ptr %next_place seq_cst, align 8
  %blocks_place = getelementptr i64, ptr %job, i64 {BLOCKS}
  %blocks = load i64, ptr %blocks_place
  %left = icmp slt i64 %next, %blocks
  br i1 %left, label %join, label %park
park:
  br i1 %tired, label %sleep, label %watch
sleep:
  call i32 @pthread_cond_wait(ptr %work, ptr %pool)
  br label %look
watch:
  %posts = load i64, ptr %posts_place
  call i32 @pthread_mutex_unlock(ptr %pool)
  atomicrmw add ptr %watching_place, i64 1 seq_cst
  call i1 @watch(ptr %posts_place, i64 %posts)
  atomicrmw sub ptr %watching_place, i64 1 seq_cst
  call i32 @pthread_mutex_lock(ptr %pool)
  br label %look
join:
  %running_place = getelementptr i64, ptr %job, i64 {RUNNING}
  %running = load atomic i64, ptr %running_place acquire, align 8
  %more = add i64 %running, 1
  store atomic i64 %more, ptr %running_place monotonic, align 8
  call i32 @pthread_mutex_unlock(ptr %pool)
  call i64 @take(ptr %job, ptr %scratch, i64 9223372036854775807)
  call i32 @pthread_mutex_lock(ptr %pool)
  %still = load atomic i64, ptr %running_place monotonic, align 8
  %fewer = sub i64 %still, 1
  store atomic i64 %fewer, ptr %running_place release, align 8
  %idle = icmp eq i64 %fewer, 0
  br i1 %idle, label %announce, label %look
announce:
  call i32 @pthread_cond_broadcast(ptr %done)
  br label %look
leave:
  call i32 @pthread_mutex_unlock(ptr %pool)
  %frames = load ptr, ptr %arena
  call void @free(ptr %frames)
  call void @free(ptr %memory)
  ret void
}}

; Runs a job, with the pool's help where there is one.  0: it is finished; 1: call again.
define i64 @launch(ptr %pool, ptr %job) {{
entry:
{_SCRATCH}
  %deadline = alloca %timespec  ; of the wall clock, which is the one that a timed wait goes by
  %work = getelementptr i8, ptr %pool, i64 {_WORK}
  %done = getelementptr i8, ptr %pool, i64 {_DONE}
  %job_place = getelementptr i8, ptr %pool, i64 {_JOB}
  %running_place = getelementptr i64, ptr %job, i64 {RUNNING}
  %start = call i64 @now()
  %until = add i64 %start, {SLICE_NS}
  %alone = icmp eq ptr %pool, null
  br i1 %alone, label %solo, label %first
solo:
  %solo_rest = call i64 @take(ptr %job, ptr %scratch, i64 %until)
  br label %out
first:
  %watching_place = getelementptr i8, ptr %pool, i64 {_WATCHING}
  %watching = load atomic i64, ptr %watching_place seq_cst, align 8
  %asleep = icmp eq i64 %watching, 0
  %patience = select i1 %asleep, i64 {HELP_AFTER_NS}, i64 {WATCHED_AFTER_NS}
  %help_at = add i64 %start, %patience
  %first_rest = call i64 @take(ptr %job, ptr %scratch, i64 %help_at)
  %much = icmp ne i64 %first_rest, 0
  br i1 %much, label %post, label %settle
post:
  call i32 @pthread_mutex_lock(ptr %pool)
  %other = load ptr, ptr %job_place
  %free = icmp eq ptr %other, null
  br i1 %free, label %call, label %together
call:
  store ptr %job, ptr %job_place
  %posts_place = getelementptr i8, ptr %pool, i64 {_POSTS}
  atomicrmw add ptr %posts_place, i64 1 seq_cst
  call i32 @pthread_cond_broadcast(ptr %work)
  br label %together
together:
  call i32 @pthread_mutex_unlock(ptr %pool)
  %rest = call i64 @take(ptr %job, ptr %scratch, i64 %until)
  %unfinished = icmp ne i64 %rest, 0
  br i1 %unfinished, label %out, label %settle
settle:
  call i32 @pthread_mutex_lock(ptr %pool)
  %posted = load ptr, ptr %job_place
  %mine = icmp eq ptr %posted, %job
  br i1 %mine, label %withdraw, label %check
withdraw:
  store ptr null, ptr %job_place
  br label %check
check:
  %tired = phi i1 [ false, %settle ], [ false, %withdraw ], [ true, %watch ], [ true, %wait ]
  %running = load atomic i64, ptr %running_place acquire, align 8
  %busy = icmp ne i64 %running, 0
  br i1 %busy, label %patient, label %finished
patient:
  br i1 %tired, label %wait, label %watch
watch:
  call i32 @pthread_mutex_unlock(ptr %pool)
  call i1 @watch(ptr %running_place, i64 %running)
  call i32 @pthread_mutex_lock(ptr %pool)
  br label %check
wait:
  %moment = call i64 @now()
  %rest_of_slice = sub i64 %until, %moment
  %wall = call i64 @read(i32 {time.CLOCK_REALTIME})
  %wakes = add i64 %wall, %rest_of_slice
  %seconds = sdiv i64 %wakes, 1000000000
  %fraction = srem i64 %wakes, 1000000000
  store i64 %seconds, ptr %deadline
  %fraction_place = getelementptr i64, ptr %deadline, i64 1
  store i64 %fraction, ptr %fraction_place
  %timeout = call i32 @pthread_cond_timedwait(ptr %done, ptr %pool, ptr %deadline)
  %on_time = icmp eq i32 %timeout, 0
  br i1 %on_time, label %check, label %late
late:
  br label %finished
finished:
  %answer = phi i64 [ 0, %check ], [ 1, %late ]
  call i32 @pthread_mutex_unlock(ptr %pool)
  br label %out
out:
  %result = phi i64 [ %solo_rest, %solo ], [ 1, %together ], [ %answer, %finished ]
  %frames = load ptr, ptr %arena
  call void @free(ptr %frames)
  call void @free(ptr %memory)
  ret i64 %result
}}
"""
