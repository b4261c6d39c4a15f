# Made by `python -m lanewise.tools.stubs`; tests/test_editor.py checks that it is current.
"""Operations between the threads of a block."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar
from ..types import NDArray

_T = TypeVar("_T")

def SharedArray(shape: int | tuple[int, ...], dtype: Any) -> NDArray:
    """An array that the threads of a block share, uninitialised.

    `shape` is a compile-time integer or a tuple of them.  The sum of a kernel's shared arrays is bounded by a
    property of the device; more is a compile-time error."""

def block_dim() -> int:
    """The threads of a block, a compile-time constant: what `loop_config(block_dim=...)` said, or 128."""

def block_idx() -> int:
    """The block's number in the launch.

    PTX %ctaid.x, SPIR-V WorkgroupId."""

def exclusive_add(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r[t] = the inclusive value of the nearest active thread below t

    Defined in every active thread; the identity (0) in the lowest.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def exclusive_max(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r[t] = the inclusive value of the nearest active thread below t

    Defined in every active thread; the identity (-inf or the type's minimum) in the lowest.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def exclusive_min(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r[t] = the inclusive value of the nearest active thread below t

    Defined in every active thread; the identity (+inf or the type's maximum) in the lowest.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def exclusive_scan(value: _T, op: Callable[[Any, Any], Any], identity: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r[t] = the inclusive value of the nearest active thread below t

    Defined in every active thread; the identity (`identity`) in the lowest.

    `op` is a @func of two arguments: associative, and for a reduction commutative.  `identity` is the same in every
    thread.  Takes scalars, vectors and structs.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def global_thread_idx() -> int:
    """block_idx() * block_dim() + thread_idx(): the item's number in the loop.

    SPIR-V GlobalInvocationId."""

def inclusive_add(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r[t] = v[0] + ... + v[t] over the active threads of the block

    Defined in every active thread.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def inclusive_max(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r[t] = v[0] max ... max v[t] over the active threads of the block

    Defined in every active thread.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def inclusive_min(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r[t] = v[0] min ... min v[t] over the active threads of the block

    Defined in every active thread.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def inclusive_scan(value: _T, op: Callable[[Any, Any], Any], identity: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r[t] = v[0] op ... op v[t] over the active threads of the block

    Defined in every active thread.

    `op` is a @func of two arguments: associative, and for a reduction commutative.  `identity` is the same in every
    thread.  Takes scalars, vectors and structs.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def mem_fence(scope: Literal["all", "buffer", "shared"] = 'all') -> None:
    """Orders this thread's memory accesses before it ahead of those after it, as the block sees them.

    `scope` is "all", "buffer" (global memory) or "shared".  Nobody waits.  PTX fence.acq_rel.cta, SPIR-V
    OpMemoryBarrier with Workgroup scope."""

def reduce(value: _T, op: Callable[[Any, Any], Any], identity: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r = v[0] op v[1] op ... over the active threads of the block

    Defined in thread 0.

    `op` is a @func of two arguments: associative, and for a reduction commutative.  `identity` is the same in every
    thread.  Takes scalars, vectors and structs.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def reduce_add(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r = v[0] + v[1] + ... over the active threads of the block

    Defined in thread 0.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def reduce_all(value: _T, op: Callable[[Any, Any], Any], identity: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r = v[0] op v[1] op ... over the active threads of the block

    Defined in every active thread.

    `op` is a @func of two arguments: associative, and for a reduction commutative.  `identity` is the same in every
    thread.  Takes scalars, vectors and structs.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def reduce_all_add(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r = v[0] + v[1] + ... over the active threads of the block

    Defined in every active thread.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def reduce_all_max(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r = v[0] max v[1] max ... over the active threads of the block

    Defined in every active thread.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def reduce_all_min(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r = v[0] min v[1] min ... over the active threads of the block

    Defined in every active thread.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def reduce_max(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r = v[0] max v[1] max ... over the active threads of the block

    Defined in thread 0.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def reduce_min(value: _T, block_dim: int | None = None, dtype: Any = None) -> _T:
    """r = v[0] min v[1] min ... over the active threads of the block

    Defined in thread 0.

    Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""

def sync() -> None:
    """Threads of the block wait for one another, and see what the others wrote to shared and global memory.

    Under control flow that is not the same in the whole block it is a compile-time error; threads that have
    ended their item by `continue` or `return` are not waited for.
    PTX barrier.sync, SPIR-V OpControlBarrier with Workgroup scope."""

def sync_all_nonzero(predicate: Any) -> int:
    """1 where every active thread of the block has a predicate that is not 0, else 0.

    An i32, the same in every thread, after a barrier as by `sync`.

    PTX barrier.red."""

def sync_any_nonzero(predicate: Any) -> int:
    """1 where some active thread of the block has a predicate that is not 0, else 0.

    An i32, the same in every thread, after a barrier as by `sync`.

    PTX barrier.red."""

def sync_count_nonzero(predicate: Any) -> int:
    """How many active threads of the block have a predicate that is not 0.

    An i32, the same in every thread, after a barrier as by `sync`.

    PTX barrier.red."""

def thread_idx() -> int:
    """The thread's number in its block, 0 ... block_dim() - 1, an i32.

    PTX %tid.x, SPIR-V LocalInvocationIndex."""
