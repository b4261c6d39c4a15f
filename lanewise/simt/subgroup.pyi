# Made by `python -m lanewise.tools.stubs`; tests/test_editor.py checks that it is current.
"""Operations between the lanes of a subgroup (warp, wave), and within its aligned tiles."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

_T = TypeVar("_T")
_U = TypeVar("_U")

def active_mask() -> int:
    """bit l of r = lane l is active

    A u64 over the whole subgroup.  Nothing where all lanes are known to be."""

def all_equal(value: Any) -> int:
    """Whether the value of every active lane `==` that of the first active one: a NaN makes it 0, -0 equals +0.

    Takes every scalar type.  SPIR-V OpGroupNonUniformAllEqual.

    An i32, 0 or 1, in every active lane.  The `_tiled` form asks the lanes of the caller's own tile."""

def all_equal_tiled(value: Any, log2_size: int) -> int:
    """Whether the value of every active lane `==` that of the first active one: a NaN makes it 0, -0 equals +0.

    Takes every scalar type.  SPIR-V OpGroupNonUniformAllEqual.

    An i32, 0 or 1, in every active lane.  The `_tiled` form asks the lanes of the caller's own tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def all_true(predicate: Any) -> int:
    """Whether the predicate is not 0 in every active lane.

    PTX vote.sync.all, SPIR-V OpGroupNonUniformAll.

    An i32, 0 or 1, in every active lane.  The `_tiled` form asks the lanes of the caller's own tile."""

def all_true_tiled(predicate: Any, log2_size: int) -> int:
    """Whether the predicate is not 0 in every active lane.

    PTX vote.sync.all, SPIR-V OpGroupNonUniformAll.

    An i32, 0 or 1, in every active lane.  The `_tiled` form asks the lanes of the caller's own tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def any_true(predicate: Any) -> int:
    """Whether the predicate is not 0 in some active lane.

    PTX vote.sync.any, SPIR-V OpGroupNonUniformAny.

    An i32, 0 or 1, in every active lane.  The `_tiled` form asks the lanes of the caller's own tile."""

def any_true_tiled(predicate: Any, log2_size: int) -> int:
    """Whether the predicate is not 0 in some active lane.

    PTX vote.sync.any, SPIR-V OpGroupNonUniformAny.

    An i32, 0 or 1, in every active lane.  The `_tiled` form asks the lanes of the caller's own tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def ballot(predicate: Any) -> int:
    """bit l of r = lane l is active and its predicate is not 0

    A u64 over the whole subgroup, the same in every lane.  One ballot.
    PTX vote.sync.ballot, SPIR-V OpGroupNonUniformBallot, AMD v_cmp."""

def ballot_bit_count(mask: int) -> int:
    """How many lanes the mask holds, an i32.

    Bits above the subgroup's lanes are ignored.  SPIR-V OpGroupNonUniformBallotBitCount, Reduce."""

def ballot_exclusive_bit_count(mask: int) -> int:
    """How many lanes below mine the mask holds, an i32.

    SPIR-V OpGroupNonUniformBallotBitCount, ExclusiveScan; AMD v_mbcnt."""

def ballot_find_lsb(mask: int) -> int:
    """The lowest lane in the mask, an i32; -1 for none.

    Bits above the subgroup's lanes are ignored.  SPIR-V OpGroupNonUniformBallotFindLSB."""

def ballot_find_msb(mask: int) -> int:
    """The highest lane in the mask, an i32; -1 for none.

    Bits above the subgroup's lanes are ignored.  SPIR-V OpGroupNonUniformBallotFindMSB."""

def ballot_first_n(predicate: Any, n: int) -> int:
    """The ballot of the lanes [0, n), as a u32

    `n` is a constant 1 ... 32; any other is a compile-time error.  One ballot."""

def ballot_full_subgroup(predicate: Any) -> int:
    """The old name of `ballot`."""

def ballot_inclusive_bit_count(mask: int) -> int:
    """How many lanes up to and including mine the mask holds, an i32.

    SPIR-V OpGroupNonUniformBallotBitCount, InclusiveScan."""

def ballot_tiled(predicate: Any, log2_size: int) -> int:
    """bit j of r = lane j of my tile is active and its predicate is not 0

    A u32 for tiles of up to 32 lanes (log2_size <= 5), a u64 for 64.  One ballot and a shift."""

def barrier() -> None:
    """The old name of `sync`."""

def bitonic_sort(key: _T) -> _T:
    """key = the keys of the tile in ascending order

    Defined in every active lane: the r-th active lane of each tile gets the r-th.  Takes numeric types.
    +0 and -0 are equal; what compares equal comes out in the order of the network.  With NaN among the
    keys everything still comes out exactly once, in an unspecified order.

    log2(size) * (log2(size) + 1) / 2 exchanges.  No vendor has an instruction for it."""

def bitonic_sort_kv(key: _T, value: _U) -> tuple[_T, _U]:
    """key, value = the pairs of the tile in ascending order of (key, value)

    Defined in every active lane: the r-th active lane of each tile gets the r-th.  Takes numeric types.
    +0 and -0 are equal; what compares equal comes out in the order of the network.  With NaN among the
    keys everything still comes out exactly once, in an unspecified order.

    log2(size) * (log2(size) + 1) / 2 exchanges.  No vendor has an instruction for it."""

def bitonic_sort_kv_tiled(key: _T, value: _U, log2_size: int) -> tuple[_T, _U]:
    """key, value = the pairs of the tile in ascending order of (key, value)

    Defined in every active lane: the r-th active lane of each tile gets the r-th.  Takes numeric types.
    +0 and -0 are equal; what compares equal comes out in the order of the network.  With NaN among the
    keys everything still comes out exactly once, in an unspecified order.

    log2(size) * (log2(size) + 1) / 2 exchanges.  No vendor has an instruction for it.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def bitonic_sort_tiled(key: _T, log2_size: int) -> _T:
    """key = the keys of the tile in ascending order

    Defined in every active lane: the r-th active lane of each tile gets the r-th.  Takes numeric types.
    +0 and -0 are equal; what compares equal comes out in the order of the network.  With NaN among the
    keys everything still comes out exactly once, in an unspecified order.

    log2(size) * (log2(size) + 1) / 2 exchanges.  No vendor has an instruction for it.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def broadcast(value: _T, index: int) -> _T:
    """r[l] = v[index % size], for an index that is the same in every lane

    Where it is not, each lane reads the lane it names.  A constant index outside [0, size) is a compile-time
    error.  SPIR-V OpGroupNonUniformBroadcast, AMD v_readlane_b32.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile."""

def broadcast_first(value: _T) -> _T:
    """The value of the lowest active lane, in every active lane.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole.  SPIR-V
    OpGroupNonUniformBroadcastFirst, AMD v_readfirstlane_b32."""

def broadcast_tiled(value: _T, index: int, log2_size: int) -> _T:
    """r[l] = v[index % size], for an index that is the same in every lane

    Where it is not, each lane reads the lane it names.  A constant index outside [0, size) is a compile-time
    error.  SPIR-V OpGroupNonUniformBroadcast, AMD v_readlane_b32.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def elect() -> bool:
    """r[l] = l is the lowest active lane

    SPIR-V OpGroupNonUniformElect."""

def exclusive_add(value: _T) -> _T:
    """r[l] = v[0] + ... + v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (0) in the lowest.  Takes integers, which wrap, and floats; anything
    else is a TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan."""

def exclusive_add_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] + ... + v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (0) in the lowest.  Takes integers, which wrap, and floats; anything
    else is a TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def exclusive_and(value: _T) -> _T:
    """r[l] = v[0] & ... & v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (all ones) in the lowest.  Takes integers; anything else is a
    TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan."""

def exclusive_and_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] & ... & v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (all ones) in the lowest.  Takes integers; anything else is a
    TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def exclusive_max(value: _T) -> _T:
    """r[l] = v[0] max ... max v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (-inf or the type's minimum) in the lowest.  Takes integers, which
    wrap, and floats; anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan."""

def exclusive_max_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] max ... max v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (-inf or the type's minimum) in the lowest.  Takes integers, which
    wrap, and floats; anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def exclusive_min(value: _T) -> _T:
    """r[l] = v[0] min ... min v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (+inf or the type's maximum) in the lowest.  Takes integers, which
    wrap, and floats; anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan."""

def exclusive_min_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] min ... min v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (+inf or the type's maximum) in the lowest.  Takes integers, which
    wrap, and floats; anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def exclusive_mul(value: _T) -> _T:
    """r[l] = v[0] * ... * v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (1) in the lowest.  Takes integers, which wrap, and floats; anything
    else is a TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan."""

def exclusive_mul_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] * ... * v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (1) in the lowest.  Takes integers, which wrap, and floats; anything
    else is a TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def exclusive_or(value: _T) -> _T:
    """r[l] = v[0] | ... | v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (0) in the lowest.  Takes integers; anything else is a TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan."""

def exclusive_or_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] | ... | v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (0) in the lowest.  Takes integers; anything else is a TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def exclusive_scan(value: _T, op: Callable[[Any, Any], Any], identity: _T) -> _T:
    """r[l] = v[0] op ... op v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (`identity`) in the lowest.  `op` is a @func of two arguments:
    associative, and for a reduction commutative.  `identity` is what an exclusive scan gives where nothing
    precedes.  Takes scalars, vectors and structs.

    log2(size) + 1 shuffles."""

def exclusive_scan_tiled(value: _T, op: Callable[[Any, Any], Any], identity: _T, log2_size: int) -> _T:
    """r[l] = v[0] op ... op v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (`identity`) in the lowest.  `op` is a @func of two arguments:
    associative, and for a reduction commutative.  `identity` is what an exclusive scan gives where nothing
    precedes.  Takes scalars, vectors and structs.

    log2(size) + 1 shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def exclusive_xor(value: _T) -> _T:
    """r[l] = v[0] ^ ... ^ v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (0) in the lowest.  Takes integers; anything else is a TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan."""

def exclusive_xor_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] ^ ... ^ v[l - 1]: the inclusive value of the nearest active lane below

    Defined in every active lane; the identity (0) in the lowest.  Takes integers; anything else is a TypeError.

    log2(size) + 1 shuffles.  SPIR-V OpGroupNonUniform* with ExclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def group_size() -> int:
    """The subgroup size W: in a kernel a compile-time constant, outside one that of the current device."""

def inclusive_add(value: _T) -> _T:
    """r[l] = v[0] + ... + v[l], folded as v[l - d] + v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers, which wrap, and floats; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan."""

def inclusive_add_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] + ... + v[l], folded as v[l - d] + v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers, which wrap, and floats; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def inclusive_and(value: _T) -> _T:
    """r[l] = v[0] & ... & v[l], folded as v[l - d] & v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan."""

def inclusive_and_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] & ... & v[l], folded as v[l - d] & v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def inclusive_max(value: _T) -> _T:
    """r[l] = v[0] max ... max v[l], folded as v[l - d] max v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers, which wrap, and floats; anything else is a TypeError.  A NaN is
    skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan."""

def inclusive_max_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] max ... max v[l], folded as v[l - d] max v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers, which wrap, and floats; anything else is a TypeError.  A NaN is
    skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def inclusive_min(value: _T) -> _T:
    """r[l] = v[0] min ... min v[l], folded as v[l - d] min v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers, which wrap, and floats; anything else is a TypeError.  A NaN is
    skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan."""

def inclusive_min_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] min ... min v[l], folded as v[l - d] min v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers, which wrap, and floats; anything else is a TypeError.  A NaN is
    skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def inclusive_mul(value: _T) -> _T:
    """r[l] = v[0] * ... * v[l], folded as v[l - d] * v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers, which wrap, and floats; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan."""

def inclusive_mul_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] * ... * v[l], folded as v[l - d] * v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers, which wrap, and floats; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def inclusive_or(value: _T) -> _T:
    """r[l] = v[0] | ... | v[l], folded as v[l - d] | v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan."""

def inclusive_or_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] | ... | v[l], folded as v[l - d] | v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def inclusive_scan(value: _T, op: Callable[[Any, Any], Any], identity: _T) -> _T:
    """r[l] = v[0] op ... op v[l], folded as v[l - d] op v[l], d = 1, 2, 4 ...

    Defined in every active lane.  `op` is a @func of two arguments: associative, and for a reduction commutative.
    `identity` is what an exclusive scan gives where nothing precedes.  Takes scalars, vectors and structs.

    log2(size) shuffles."""

def inclusive_scan_tiled(value: _T, op: Callable[[Any, Any], Any], identity: _T, log2_size: int) -> _T:
    """r[l] = v[0] op ... op v[l], folded as v[l - d] op v[l], d = 1, 2, 4 ...

    Defined in every active lane.  `op` is a @func of two arguments: associative, and for a reduction commutative.
    `identity` is what an exclusive scan gives where nothing precedes.  Takes scalars, vectors and structs.

    log2(size) shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def inclusive_xor(value: _T) -> _T:
    """r[l] = v[0] ^ ... ^ v[l], folded as v[l - d] ^ v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan."""

def inclusive_xor_tiled(value: _T, log2_size: int) -> _T:
    """r[l] = v[0] ^ ... ^ v[l], folded as v[l - d] ^ v[l], d = 1, 2, 4 ...

    Defined in every active lane.  Takes integers; anything else is a TypeError.

    log2(size) shuffles.  SPIR-V OpGroupNonUniform* with InclusiveScan.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def inverse_ballot(mask: int) -> bool:
    """r[l] = bit l of the mask

    SPIR-V OpGroupNonUniformInverseBallot."""

def invocation_id() -> int:
    """The lane, 0 ... W - 1, an i32.

    PTX %laneid, SPIR-V SubgroupLocalInvocationId."""

def lanemask64_eq(lane: int) -> int:
    """The bits at `lane`, a u64: a closed form over 64 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 63 is a compile-time error; others are taken modulo 64."""

def lanemask64_ge(lane: int) -> int:
    """The bits from `lane`, a u64: a closed form over 64 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 63 is a compile-time error; others are taken modulo 64."""

def lanemask64_gt(lane: int) -> int:
    """The bits above `lane`, a u64: a closed form over 64 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 63 is a compile-time error; others are taken modulo 64."""

def lanemask64_le(lane: int) -> int:
    """The bits up to and including `lane`, a u64: a closed form over 64 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 63 is a compile-time error; others are taken modulo 64."""

def lanemask64_lt(lane: int) -> int:
    """The bits below `lane`, a u64: a closed form over 64 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 63 is a compile-time error; others are taken modulo 64."""

def lanemask_eq(lane: int) -> int:
    """The bits at `lane`, a u32: a closed form over 32 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 31 is a compile-time error; others are taken modulo 32."""

def lanemask_ge(lane: int) -> int:
    """The bits from `lane`, a u32: a closed form over 32 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 31 is a compile-time error; others are taken modulo 32."""

def lanemask_gt(lane: int) -> int:
    """The bits above `lane`, a u32: a closed form over 32 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 31 is a compile-time error; others are taken modulo 32."""

def lanemask_le(lane: int) -> int:
    """The bits up to and including `lane`, a u32: a closed form over 32 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 31 is a compile-time error; others are taken modulo 32."""

def lanemask_lt(lane: int) -> int:
    """The bits below `lane`, a u32: a closed form over 32 bits, whatever the subgroup's size.

    A constant lane outside 0 ... 31 is a compile-time error; others are taken modulo 32."""

def log2_group_size() -> int:
    """log2 W: in a kernel a compile-time constant, outside one that of the current device."""

def match_any(value: Any) -> int:
    """bit j of r[l] = lane j is active and v[j] == v[l]

    Takes every scalar type.  A lane's own bit is always set; NaN matches nothing else, -0 matches +0.  One round of
    a
    broadcast and a ballot for each distinct value.  PTX match.any.sync, SPIR-V OpGroupNonUniformPartitionNV.

    A u64, like `ballot`."""

def match_any_tiled(value: Any, log2_size: int) -> int:
    """bit j of r[l] = lane j of my tile is active and its value == v[l]

    Takes every scalar type.  A lane's own bit is always set; NaN matches nothing else, -0 matches +0.  One round of
    a
    broadcast and a ballot for each distinct value.  PTX match.any.sync, SPIR-V OpGroupNonUniformPartitionNV.

    A u32 for tiles of up to 32 lanes (log2_size <= 5), a u64 for 64, like `ballot_tiled`."""

def mem_fence(scope: Literal["all", "buffer", "shared"] = 'all') -> None:
    """Orders this thread's memory accesses before it ahead of those after it, as the subgroup sees them.

    `scope` is "all", "buffer" (global memory) or "shared".  Nobody waits.  SPIR-V OpMemoryBarrier with Subgroup
    scope."""

def memory_barrier(scope: Literal["all", "buffer", "shared"] = 'all') -> None:
    """The old name of `mem_fence`."""

def num_subgroups() -> int:
    """ceil(block_dim() / W), a compile-time constant: the last subgroup may have absent lanes."""

def reduce(value: _T, op: Callable[[Any, Any], Any], identity: _T) -> _T:
    """r = v[0] op v[1] op ..., folded as the tree v[l] op v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  `op` is a @func of two
    arguments: associative, and for a reduction commutative.  `identity` is what an exclusive scan gives where
    nothing precedes.  Takes scalars, vectors and structs.

    log2(size) shuffles."""

def reduce_add(value: _T) -> _T:
    """r = v[0] + v[1] + ..., folded as the tree v[l] + v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers, which
    wrap, and floats; anything else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_add_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] + v[1] + ..., folded as the tree v[l] + v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers, which
    wrap, and floats; anything else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_all(value: _T, op: Callable[[Any, Any], Any], identity: _T) -> _T:
    """r = v[0] op v[1] op ..., folded as the tree v[l] op v[l + d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  `op` is a @func of two arguments:
    associative, and for a reduction commutative.  `identity` is what an exclusive scan gives where nothing
    precedes.  Takes scalars, vectors and structs.

    log2(size) shuffles and a broadcast."""

def reduce_all_add(value: _T) -> _T:
    """r = v[0] + v[1] + ..., folded as the butterfly v[l] + v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers, which wrap, and floats;
    anything else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_all_add_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] + v[1] + ..., folded as the butterfly v[l] + v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers, which wrap, and floats;
    anything else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_all_and(value: _T) -> _T:
    """r = v[0] & v[1] & ..., folded as the butterfly v[l] & v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers; anything else is a
    TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_all_and_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] & v[1] & ..., folded as the butterfly v[l] & v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers; anything else is a
    TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_all_max(value: _T) -> _T:
    """r = v[0] max v[1] max ..., folded as the butterfly v[l] max v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers, which wrap, and floats;
    anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_all_max_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] max v[1] max ..., folded as the butterfly v[l] max v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers, which wrap, and floats;
    anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_all_min(value: _T) -> _T:
    """r = v[0] min v[1] min ..., folded as the butterfly v[l] min v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers, which wrap, and floats;
    anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_all_min_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] min v[1] min ..., folded as the butterfly v[l] min v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers, which wrap, and floats;
    anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_all_mul(value: _T) -> _T:
    """r = v[0] * v[1] * ..., folded as the butterfly v[l] * v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers, which wrap, and floats;
    anything else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_all_mul_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] * v[1] * ..., folded as the butterfly v[l] * v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers, which wrap, and floats;
    anything else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_all_or(value: _T) -> _T:
    """r = v[0] | v[1] | ..., folded as the butterfly v[l] | v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers; anything else is a
    TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_all_or_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] | v[1] | ..., folded as the butterfly v[l] | v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers; anything else is a
    TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_all_tiled(value: _T, op: Callable[[Any, Any], Any], identity: _T, log2_size: int) -> _T:
    """r = v[0] op v[1] op ..., folded as the tree v[l] op v[l + d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  `op` is a @func of two arguments:
    associative, and for a reduction commutative.  `identity` is what an exclusive scan gives where nothing
    precedes.  Takes scalars, vectors and structs.

    log2(size) shuffles and a broadcast.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_all_xor(value: _T) -> _T:
    """r = v[0] ^ v[1] ^ ..., folded as the butterfly v[l] ^ v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers; anything else is a
    TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_all_xor_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] ^ v[1] ^ ..., folded as the butterfly v[l] ^ v[l ^ d], d = size/2 ... 1

    Defined in every active lane: the same bits as the reduction in lane 0.  Takes integers; anything else is a
    TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_and(value: _T) -> _T:
    """r = v[0] & v[1] & ..., folded as the tree v[l] & v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers; anything
    else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_and_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] & v[1] & ..., folded as the tree v[l] & v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers; anything
    else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_max(value: _T) -> _T:
    """r = v[0] max v[1] max ..., folded as the tree v[l] max v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers, which
    wrap, and floats; anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_max_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] max v[1] max ..., folded as the tree v[l] max v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers, which
    wrap, and floats; anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_min(value: _T) -> _T:
    """r = v[0] min v[1] min ..., folded as the tree v[l] min v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers, which
    wrap, and floats; anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_min_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] min v[1] min ..., folded as the tree v[l] min v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers, which
    wrap, and floats; anything else is a TypeError.  A NaN is skipped; all NaN gives NaN; -0 is below +0.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_mul(value: _T) -> _T:
    """r = v[0] * v[1] * ..., folded as the tree v[l] * v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers, which
    wrap, and floats; anything else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_mul_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] * v[1] * ..., folded as the tree v[l] * v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers, which
    wrap, and floats; anything else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_or(value: _T) -> _T:
    """r = v[0] | v[1] | ..., folded as the tree v[l] | v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers; anything
    else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_or_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] | v[1] | ..., folded as the tree v[l] | v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers; anything
    else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_tiled(value: _T, op: Callable[[Any, Any], Any], identity: _T, log2_size: int) -> _T:
    """r = v[0] op v[1] op ..., folded as the tree v[l] op v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  `op` is a @func of two
    arguments: associative, and for a reduction commutative.  `identity` is what an exclusive scan gives where
    nothing precedes.  Takes scalars, vectors and structs.

    log2(size) shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def reduce_xor(value: _T) -> _T:
    """r = v[0] ^ v[1] ^ ..., folded as the tree v[l] ^ v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers; anything
    else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce."""

def reduce_xor_tiled(value: _T, log2_size: int) -> _T:
    """r = v[0] ^ v[1] ^ ..., folded as the tree v[l] ^ v[l + d], d = size/2 ... 1

    Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).  Takes integers; anything
    else is a TypeError.

    log2(size) shuffles.  PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def rotate(value: _T, delta: int) -> _T:
    """r[l] = v[(l + delta) % size]

    Any delta, also a negative one.  One shuffle.  SPIR-V OpGroupNonUniformRotateKHR.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile."""

def rotate_tiled(value: _T, delta: int, log2_size: int) -> _T:
    """r[l] = v[(l + delta) % size]

    Any delta, also a negative one.  One shuffle.  SPIR-V OpGroupNonUniformRotateKHR.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def segmented_reduce_add(value: _T, head_flag: Any) -> _T:
    """r[l] = v[h] + ... + v[l], h being the last head at or below l

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    A ballot and log2(size) shuffles."""

def segmented_reduce_add_tiled(value: _T, head_flag: Any, log2_size: int) -> _T:
    """r[l] = v[h] + ... + v[l], h being the last head at or below l

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    A ballot and log2(size) shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def segmented_reduce_all_add(value: _T, head_flag: Any) -> _T:
    """r[l] = v[h] + ... + v[e], the whole of l's segment [h, e]

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    Two ballots and log2(size) + 1 shuffles."""

def segmented_reduce_all_add_tiled(value: _T, head_flag: Any, log2_size: int) -> _T:
    """r[l] = v[h] + ... + v[e], the whole of l's segment [h, e]

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    Two ballots and log2(size) + 1 shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def segmented_reduce_all_max(value: _T, head_flag: Any) -> _T:
    """r[l] = v[h] max ... max v[e], the whole of l's segment [h, e]

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    Two ballots and log2(size) + 1 shuffles."""

def segmented_reduce_all_max_tiled(value: _T, head_flag: Any, log2_size: int) -> _T:
    """r[l] = v[h] max ... max v[e], the whole of l's segment [h, e]

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    Two ballots and log2(size) + 1 shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def segmented_reduce_all_min(value: _T, head_flag: Any) -> _T:
    """r[l] = v[h] min ... min v[e], the whole of l's segment [h, e]

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    Two ballots and log2(size) + 1 shuffles."""

def segmented_reduce_all_min_tiled(value: _T, head_flag: Any, log2_size: int) -> _T:
    """r[l] = v[h] min ... min v[e], the whole of l's segment [h, e]

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    Two ballots and log2(size) + 1 shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def segmented_reduce_max(value: _T, head_flag: Any) -> _T:
    """r[l] = v[h] max ... max v[l], h being the last head at or below l

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    A ballot and log2(size) shuffles."""

def segmented_reduce_max_tiled(value: _T, head_flag: Any, log2_size: int) -> _T:
    """r[l] = v[h] max ... max v[l], h being the last head at or below l

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    A ballot and log2(size) shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def segmented_reduce_min(value: _T, head_flag: Any) -> _T:
    """r[l] = v[h] min ... min v[l], h being the last head at or below l

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    A ballot and log2(size) shuffles."""

def segmented_reduce_min_tiled(value: _T, head_flag: Any, log2_size: int) -> _T:
    """r[l] = v[h] min ... min v[l], h being the last head at or below l

    Defined in every active lane.  A segment begins at each active lane whose `head_flag` is not 0, and
    at the first active lane of the tile.  Takes integers, which wrap, and floats; anything else is a
    TypeError.

    A ballot and log2(size) shuffles.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def shuffle(value: _T, index: int) -> _T:
    """r[l] = v[index[l] % size]

    A constant index outside [0, size) is a compile-time error.  One shuffle; a constant index costs a broadcast.
    PTX shfl.sync.idx, SPIR-V OpGroupNonUniformShuffle, AMD ds_bpermute_b32.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile."""

def shuffle_down(value: _T, offset: int) -> _T:
    """r[l] = v[l + offset]; v[l] where that is past the edge

    A constant offset outside [0, size) is a compile-time error.  One shuffle.
    PTX shfl.sync.down, SPIR-V OpGroupNonUniformShuffleDown.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile."""

def shuffle_down_tiled(value: _T, offset: int, log2_size: int) -> _T:
    """r[l] = v[l + offset]; v[l] where that is past the edge

    A constant offset outside [0, size) is a compile-time error.  One shuffle.
    PTX shfl.sync.down, SPIR-V OpGroupNonUniformShuffleDown.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def shuffle_tiled(value: _T, index: int, log2_size: int) -> _T:
    """r[l] = v[index[l] % size]

    A constant index outside [0, size) is a compile-time error.  One shuffle; a constant index costs a broadcast.
    PTX shfl.sync.idx, SPIR-V OpGroupNonUniformShuffle, AMD ds_bpermute_b32.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def shuffle_up(value: _T, offset: int) -> _T:
    """r[l] = v[l - offset]; v[l] where that is past the edge

    A constant offset outside [0, size) is a compile-time error.  One shuffle.
    PTX shfl.sync.up, SPIR-V OpGroupNonUniformShuffleUp.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile."""

def shuffle_up_tiled(value: _T, offset: int, log2_size: int) -> _T:
    """r[l] = v[l - offset]; v[l] where that is past the edge

    A constant offset outside [0, size) is a compile-time error.  One shuffle.
    PTX shfl.sync.up, SPIR-V OpGroupNonUniformShuffleUp.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def shuffle_xor(value: _T, mask: int) -> _T:
    """r[l] = v[l ^ (mask % size)]

    A constant mask outside [0, size) is a compile-time error.  One shuffle.
    PTX shfl.sync.bfly, SPIR-V OpGroupNonUniformShuffleXor.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile."""

def shuffle_xor_tiled(value: _T, mask: int, log2_size: int) -> _T:
    """r[l] = v[l ^ (mask % size)]

    A constant mask outside [0, size) is a compile-time error.  One shuffle.
    PTX shfl.sync.bfly, SPIR-V OpGroupNonUniformShuffleXor.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    In the `_tiled` form lanes never see another tile.

    Of each aligned tile of `2**log2_size` lanes by itself; `log2_size` is a compile-time constant from 0 to
    `log2_group_size()`."""

def subgroup_id() -> int:
    """thread_idx() // W, an i32: the subgroup's number in its block.

    SPIR-V SubgroupId."""

def sync() -> None:
    """Lanes of the subgroup wait for one another, and see what the others wrote to shared and global memory.

    PTX bar.warp.sync, SPIR-V OpControlBarrier with Subgroup scope."""
