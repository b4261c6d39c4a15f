"""Bitonic sorts of keys and pairs in which nothing is wider than 32 bits: one comparison a step of the network.

Every field becomes an unsigned number of the same order, and the fields of a pair stand side by side in one number.
Two such numbers are equal only where all their bits are, so "mine < the other's" decides for both lanes of an exchange:
the keeper of the larger one swaps where it holds, the keeper of the smaller one where it does not.

Only zeros do not fit: -0 and +0 are equal, and differ.  A warp that holds a -0 takes a second network, where both are
the same number, the sign travels along, and each lane compares in the direction of what it keeps.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import DType
from ...ir import Op
from ...simt.network import network
from ..llvm.target import Native
from ..llvm.text import Writer, scalar_type

FULL = "i32 -1"
WIDEST = 32


def accepts(op: Op) -> bool:
    return op.mask is None and all(v.type.bits <= WIDEST for v in op.operands)


# ---- one field ----------------------------------------------------------------------------------------------------
def _ordered(w: Writer, value: str, t: DType) -> str:
    """The unsigned i32 that is ordered as the value: its sign flipped, and all bits of a negative float."""
    ty, bits = f"i{t.bits}", value
    sign = -(1 << (t.bits - 1))
    if t.is_float:
        bits = w.let(f"bitcast {scalar_type(t)} {value} to {ty}")
        flips = w.let(f"or {ty} {w.let(f'ashr {ty} {bits}, {t.bits - 1}')}, {sign}")
        bits = w.let(f"xor {ty} {bits}, {flips}")
    elif t.is_signed:
        bits = w.let(f"xor {ty} {bits}, {sign}")
    return bits if t.bits == WIDEST else w.let(f"zext {ty} {bits} to i32")


def _restored(w: Writer, word: str, t: DType) -> str:
    """The inverse of `_ordered`."""
    ty = f"i{t.bits}"
    sign = -(1 << (t.bits - 1))
    bits = word if t.bits == WIDEST else w.let(f"trunc i32 {word} to {ty}")
    if t.is_float:
        stays = w.let(f"xor {ty} {w.let(f'ashr {ty} {bits}, {t.bits - 1}')}, -1")
        bits = w.let(f"xor {ty} {bits}, {w.let(f'or {ty} {stays}, {sign}')}")
        return w.let(f"bitcast {ty} {bits} to {scalar_type(t)}")
    return w.let(f"xor {ty} {bits}, {sign}") if t.is_signed else bits


def _negative_zero(t: DType) -> int:
    """-0 as an ordered number; the next one is +0."""
    return (1 << (t.bits - 1)) - 1


# ---- the network --------------------------------------------------------------------------------------------------
def _joined(w: Writer, words: Sequence[str]) -> str:
    """The fields as one number, the first one on top."""
    if len(words) == 1:
        return words[0]
    high, low = (w.let(f"zext i32 {word} to i64") for word in words)
    return w.let(f"or i64 {w.let(f'shl i64 {high}, 32')}, {low}")


def _parted(w: Writer, number: str, count: int) -> list[str]:
    if count == 1:
        return [number]
    high = w.let(f"lshr i64 {number}, 32")
    return [w.let(f"trunc i64 {half} to i32") for half in (high, number)]


def _exchanged(w: Writer, number: str, count: int, distance: int) -> str:
    """The number of lane `lane ^ distance`."""
    words = _parted(w, number, count)
    return _joined(
        w,
        [
            w.call("i32", "llvm.nvvm.shfl.sync.bfly.i32", FULL, f"i32 {word}", f"i32 {distance}", "i32 31")
            for word in words
        ],
    )


def _bit(w: Writer, lane: str, bit: int) -> str:
    return w.let(f"icmp ne i32 {w.let(f'and i32 {lane}, {bit}')}, 0")


def _sorted(w: Writer, lane: str, number: str, count: int, log2_size: int, signs: str | None) -> tuple[str, str | None]:
    """The network over a number of `count` words; `signs` goes along where equal numbers may differ in it."""
    ty = f"i{32 * count}"
    for run, distance in network(log2_size):
        keeps_large = _bit(w, lane, distance)
        if run < 1 << log2_size:
            keeps_large = w.let(f"xor i1 {keeps_large}, {_bit(w, lane, run)}")
        other = _exchanged(w, number, count, distance)
        below = w.let(f"icmp ult {ty} {number}, {other}")
        if signs is None:
            swap = w.let(f"xor i1 {below}, {w.let(f'xor i1 {keeps_large}, true')}")
        else:
            above = w.let(f"icmp ugt {ty} {number}, {other}")
            swap = w.let(f"select i1 {keeps_large}, i1 {below}, i1 {above}")
            signs = w.let(f"select i1 {swap}, i32 {_exchanged(w, signs, 1, distance)}, i32 {signs}")
        number = w.let(f"select i1 {swap}, {ty} {other}, {ty} {number}")
    return number, signs


def _sorted_with_zeros(w: Writer, lane: str, words: Sequence[str], types: Sequence[DType], log2_size: int) -> list[str]:
    """The sorted fields, where some may be -0: bit `n` of `signs` says that field n is."""
    signs, same = "0", list(words)
    for place, t in enumerate(types):
        if t.is_float:
            is_negative = w.let(f"icmp eq i32 {words[place]}, {_negative_zero(t)}")
            one = w.let(f"zext i1 {is_negative} to i32")
            same[place] = w.let(f"add i32 {words[place]}, {one}")
            signs = w.let(f"or i32 {signs}, {w.let(f'shl i32 {one}, {place}')}")
    number, carried = _sorted(w, lane, _joined(w, same), len(words), log2_size, signs)
    fields = _parted(w, number, len(words))
    for place, t in enumerate(types):
        if t.is_float:
            one = w.let(f"and i32 {w.let(f'lshr i32 {carried}, {place}')}, 1")
            fields[place] = w.let(f"sub i32 {fields[place]}, {one}")
    return fields


def emit(w: Writer, op: Op, args: Sequence[str], mask: str | None) -> tuple[str, ...]:
    types, log2_size = [v.type for v in op.operands], op.attrs["log2_size"]
    lane = w.call("range(i32 0, 1024) i32", "llvm.nvvm.read.ptx.sreg.tid.x")  # its low bits are those of the lane
    words = [_ordered(w, value, t) for value, t in zip(args, types, strict=True)]
    floats = [place for place, t in enumerate(types) if t.is_float]
    if not floats:
        number, _ = _sorted(w, lane, _joined(w, words), len(words), log2_size, None)
        fields = _parted(w, number, len(words))
    else:
        found = "false"
        for place in floats:
            found = w.let(f"or i1 {found}, {w.let(f'icmp eq i32 {words[place]}, {_negative_zero(types[place])}')}")
        found = w.call("i1", "llvm.nvvm.vote.any.sync", FULL, f"i1 {found}")
        rare, plain, join = w.fresh("zeros"), w.fresh("plain"), w.fresh("sorted")
        w.branch(found, rare, plain)
        w.start(rare)
        slow, slow_label = _sorted_with_zeros(w, lane, words, types, log2_size), w.label
        w.jump(join)
        w.start(plain)
        number, _ = _sorted(w, lane, _joined(w, words), len(words), log2_size, None)
        fast, fast_label = _parted(w, number, len(words)), w.label
        w.jump(join)
        w.start(join)
        fields = []
        for pair in zip(slow, fast, strict=True):
            phi = w.phi("i32")
            for value, label in zip(pair, (slow_label, fast_label), strict=True):
                phi.add(value, label)
            fields.append(phi.name)
    return tuple(_restored(w, word, t) for word, t in zip(fields, types, strict=True))


SORTS = {f"subgroup.{name}": Native(accepts, emit) for name in ("bitonic_sort", "bitonic_sort_kv")}
