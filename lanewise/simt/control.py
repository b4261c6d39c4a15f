"""Who a thread is, synchronisation, fences, the clock."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import dtypes
from ..ir import Builder, Value
from ..ir.opcodes import Effect, Infer, Level, always, from_attr, nothing, to
from . import emit
from .op import BARRIER, CROSS_LANE, Arr, Function, Kind, Lanes, Param, SimtOp, declare, deprecate, paragraphs, publish

_I32 = to(dtypes.i32)


# ---- identity -----------------------------------------------------------------------------------------------------
def _thread(lanes: Lanes) -> Arr:
    return lanes.subgroup * np.int32(lanes.W) + lanes.lane


def _num_subgroups(block_dim: int, subgroup_size: int) -> int:
    return -(-block_dim // subgroup_size)


def _identity(
    name: str, level: Level, meaning: Any, expand: Any, doc: str, *, infer: Infer = _I32, indexed: bool = False
) -> None:
    """`meaning(lanes)` and `expand(builder)` have the attribute `dtype` as well where the operation is indexed."""

    def full(lanes: Lanes, **attrs: Any) -> Arr:
        return lanes.spread(np.asarray(meaning(lanes), attrs.get("dtype", dtypes.i32).np))

    def emitted(b: Builder, active: Value | None, /, **attrs: Any) -> Value:
        return expand(b, **attrs)

    declare(
        SimtOp(
            name,
            infer,
            Effect.NONE,
            full,
            always(level),
            group=name.split(".", 1)[0],
            doc=paragraphs(doc),
            expand=emitted,
            indexed=indexed,
        )
    )


_identity(
    "subgroup.invocation_id",
    Level.LINEAR,
    lambda lanes: lanes.lane,
    lambda b: b.lane(),
    "The lane, 0 ... W - 1, an i32.\n\nPTX %laneid, SPIR-V SubgroupLocalInvocationId.",
)
_identity(
    "subgroup.group_size",
    Level.BLOCK,
    lambda lanes: lanes.W,
    lambda b: b.i32(b.subgroup_size),
    "The subgroup size W: in a kernel a compile-time constant, outside one that of the current device.",
)
_identity(
    "subgroup.log2_group_size",
    Level.BLOCK,
    lambda lanes: lanes.W.bit_length() - 1,
    lambda b: b.i32(emit.log2_width(b)),
    "log2 W: in a kernel a compile-time constant, outside one that of the current device.",
)
_identity(
    "subgroup.subgroup_id",
    Level.SUBGROUP,
    lambda lanes: lanes.subgroup,
    lambda b: b("subgroup_id"),
    "thread_idx() // W, an i32: the subgroup's number in its block.\n\nSPIR-V SubgroupId.",
)
_identity(
    "subgroup.num_subgroups",
    Level.BLOCK,
    lambda lanes: _num_subgroups(lanes.block_dim, lanes.W),
    lambda b: b.i32(_num_subgroups(b.block_dim, b.subgroup_size)),
    "ceil(block_dim() / W), a compile-time constant: the last subgroup may have absent lanes.",
)
_identity(
    "block.block_dim",
    Level.BLOCK,
    lambda lanes: lanes.block_dim,
    lambda b: b.i32(b.block_dim),
    "The threads of a block, a compile-time constant: what `loop_config(block_dim=...)` said, or 128.",
)
_identity(
    "block.thread_idx",
    Level.LINEAR,
    _thread,
    lambda b: b.thread_idx(),
    "The thread's number in its block, 0 ... block_dim() - 1, an i32.\n\nPTX %tid.x, SPIR-V LocalInvocationIndex.",
)
_identity(
    "block.block_idx",
    Level.BLOCK,
    lambda lanes: lanes.block,
    lambda b, dtype: b("block_idx", dtype=dtype),
    "The block's number in the launch.\n\nPTX %ctaid.x, SPIR-V WorkgroupId.",
    infer=from_attr("dtype"),
    indexed=True,
)
_identity(
    "block.global_thread_idx",
    Level.LINEAR,
    lambda lanes: lanes.block * lanes.block_dim + _thread(lanes),
    lambda b, dtype: b.add(
        b("mul", b("block_idx", dtype=dtype), b.const(b.block_dim, dtype)), b.cast(b.thread_idx(), dtype)
    ),
    "block_idx() * block_dim() + thread_idx(): the item's number in the loop.\n\nSPIR-V GlobalInvocationId.",
    infer=from_attr("dtype"),
    indexed=True,
)
_identity(
    "grid.num_blocks",
    Level.BLOCK,
    lambda lanes: lanes.num_blocks,
    lambda b, dtype: b("num_blocks", dtype=dtype),
    "The blocks of the launch.\n\nPTX %nctaid.x, SPIR-V NumWorkgroups.",
    infer=from_attr("dtype"),
    indexed=True,
)


# ---- synchronisation and fences -----------------------------------------------------------------------------------
def _no_result(lanes: Lanes, **attrs: Any) -> tuple[()]:
    """In a meaning all threads go in step, so order needs nothing."""
    return ()


def _expand_sync(primitive: str) -> Any:
    def expand(b: Builder, active: Value | None, /) -> None:
        b.emit(primitive)

    return expand


declare(
    SimtOp(
        "subgroup.sync",
        nothing,
        CROSS_LANE | Effect.WRITES,
        _no_result,
        doc=paragraphs(
            """Lanes of the subgroup wait for one another, and see what the others wrote to shared and global memory.

            PTX bar.warp.sync, SPIR-V OpControlBarrier with Subgroup scope."""
        ),
        expand=_expand_sync("subgroup.barrier"),
    )
)
declare(
    SimtOp(
        "block.sync",
        nothing,
        BARRIER,
        _no_result,
        group="block",
        doc=paragraphs(
            """Threads of the block wait for one another, and see what the others wrote to shared and global memory.

            Under control flow that is not the same in the whole block it is a compile-time error; threads that have
            ended their item by `continue` or `return` are not waited for.
            PTX barrier.sync, SPIR-V OpControlBarrier with Workgroup scope."""
        ),
        expand=_expand_sync("block.barrier"),
    )
)
_SCOPE = Param("scope", Kind.SCOPE, optional=True, default="all")


def _fence(level: str, whom: str, vendors: str) -> None:
    def expand(b: Builder, active: Value | None, /, *, scope: str = "all") -> None:
        b.emit("fence", level=level, scope=scope)

    declare(
        SimtOp(
            f"{level}.mem_fence",
            nothing,
            Effect.WRITES,
            _no_result,
            params=(_SCOPE,),
            group=level,
            doc=paragraphs(
                f"Orders this thread's memory accesses before it ahead of those after it, as {whom} sees them.",
                f'`scope` is "all", "buffer" (global memory) or "shared".  Nobody waits.  {vendors}',
            ),
            expand=expand,
        )
    )


_fence("subgroup", "the subgroup", "SPIR-V OpMemoryBarrier with Subgroup scope.")
_fence("block", "the block", "PTX fence.acq_rel.cta, SPIR-V OpMemoryBarrier with Workgroup scope.")
_fence("grid", "the device", "PTX fence.acq_rel.gpu, SPIR-V OpMemoryBarrier with Device scope.")

deprecate("subgroup.barrier", "sync")
deprecate("subgroup.memory_barrier", "mem_fence")


# ---- shared memory and the clock ----------------------------------------------------------------------------------
publish(
    Function(
        "SharedArray",
        SimtOp("block.SharedArray", nothing, group="block"),  # makes a memory, so it is no row of the table
        (Param("shape", Kind.CONST), Param("dtype", Kind.CONST)),
        doc=paragraphs(
            """An array that the threads of a block share, uninitialised.

            `shape` is a compile-time integer or a tuple of them.  The sum of a kernel's shared arrays is bounded by a
            property of the device; more is a compile-time error."""
        ),
    )
)


def _clock(lanes: Lanes) -> Arr:
    return lanes.spread(np.uint64(time.perf_counter_ns()))


declare(
    SimtOp(
        "simt.clock",
        to(dtypes.u64),
        Effect.WRITES,
        _clock,
        always(Level.VARYING),
        group="simt",
        doc=paragraphs(
            """The device's cycle counter, a u64: nanoseconds where a device has none.  Its values are outside the
            promise of equal results.

            PTX %clock64, SPIR-V OpReadClockKHR, AMD s_memtime."""
        ),
        expand=lambda b, active: b("clock"),
    )
)
