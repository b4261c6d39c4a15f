"""Which instructions make a pattern of source lanes: the cheapest that the architecture has.

readlane for a broadcast, one DPP move, an exchange of rows or halves, two DPP moves, a swizzle through the LDS
hardware, and ds_bpermute, which makes anything.  In wave64 of gfx10 nothing moves a register's lanes from one half to
the other but lane reads and writes: more than a few lanes go through shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..llvm.lanes import Pattern, named, pattern_index, swizzle
from ..llvm.target import SHARED
from ..llvm.text import Writer
from . import dpp
from .arch import MAX_THREADS, Features
from .dpp import ROW

HALF = 32
FEW = 2
"""So many lanes are cheapest read and written one by one: two instructions each."""

Maker: TypeAlias = Callable[[Writer, Features, str, Pattern, str], "str | None"]
"""(writer, features, value, pattern, lane): the moved value, or None where it cannot."""


def permute(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str:
    """The value of lane `sources[lane]`."""
    for make in MAKERS:
        made = make(w, features, x, sources, lane)
        if made is not None:
            return made
    return gather(w, features, x, source_lane(w, lane, sources), lane, len(sources))


def source_lane(w: Writer, lane: str, sources: Pattern) -> str:
    """The lane that a pattern reads as a value: arithmetic for shifts and rotations, else what any pattern takes."""
    kind, amount, log2_size = named(sources) or ("", 0, 0)
    within = (1 << log2_size) - 1
    if kind == "rotate":
        place = w.let(f"and i32 {w.let(f'add i32 {lane}, {amount}')}, {within}")
        return w.let(f"or i32 {w.let(f'and i32 {lane}, {~within}')}, {place}")
    if kind in ("up", "down"):
        place = w.let(f"and i32 {lane}, {within}")
        inside = f"icmp uge i32 {place}, {amount}" if kind == "up" else f"icmp ult i32 {place}, {within + 1 - amount}"
        moved = w.let(f"add i32 {lane}, {-amount if kind == 'up' else amount}")
        return w.let(f"select i1 {w.let(inside)}, i32 {moved}, i32 {lane}")
    return pattern_index(w, lane, sources)


def gather(w: Writer, features: Features, x: str, index: str, lane: str, size: int) -> str:
    """The value of lane `index`, which may vary."""
    if features.shared_exchange and size > HALF:
        return _through_shared(w, x, index, size)
    address = w.let(f"shl i32 {index}, 2")
    mine = _bpermute(w, address, x)
    if features.wide_bpermute or size <= HALF:
        return mine
    other = _bpermute(w, address, _swapped_halves(w, x))
    differs = w.let(f"xor i32 {index}, {lane}")
    crosses = w.let(f"icmp ne i32 {w.let(f'and i32 {differs}, {HALF}')}, 0")
    return w.let(f"select i1 {crosses}, i32 {other}, i32 {mine}")


def _through_shared(w: Writer, x: str, index: str, size: int) -> str:
    """Every lane writes its value, then reads another's.

    A wavefront's accesses to shared memory happen in their order, so it waits for nobody; volatile keeps LLVM from
    reasoning about them, as only this lane's own writes are known to it.
    """
    w.library.add(f"@lanewise.exchange = internal addrspace({SHARED}) global [{MAX_THREADS} x i32] poison, align 16")
    thread = w.call(f"range(i32 0, {MAX_THREADS}) i32", "llvm.amdgcn.workitem.id.x")
    other = w.let(f"or i32 {w.let(f'and i32 {thread}, {-size}')}, {w.let(f'and i32 {index}, {size - 1}')}")
    place = f"getelementptr inbounds i32, ptr addrspace({SHARED}) @lanewise.exchange"
    own, theirs = (w.let(f"{place}, i32 {number}") for number in (thread, other))
    w.do(f"store volatile i32 {x}, ptr addrspace({SHARED}) {own}")
    return w.let(f"load volatile i32, ptr addrspace({SHARED}) {theirs}")


def read_lane(w: Writer, x: str, lane: str | int) -> str:
    """The value of one lane, in a scalar register."""
    return w.call("i32", "llvm.amdgcn.readlane.i32", f"i32 {x}", f"i32 {lane}")


def _bpermute(w: Writer, address: str, x: str) -> str:
    return w.call("i32", "llvm.amdgcn.ds.bpermute", f"i32 {address}", f"i32 {x}")


def _write_lane(w: Writer, x: str, lane: int, value: str) -> str:
    """`x` with another value in one lane."""
    return w.call("i32", "llvm.amdgcn.writelane.i32", f"i32 {value}", f"i32 {lane}", f"i32 {x}")


def _swapped_halves(w: Writer, x: str) -> str:
    """The value of lane l ^ 32."""
    return _pinned(w, w.call("i32", "llvm.amdgcn.permlane64.i32", f"i32 {x}"))


def lower_and_upper(w: Writer, x: str, distance: int) -> tuple[str, str]:
    """For each pair of lanes l and l ^ distance, what the lower and what the upper one has, in both (gfx950)."""
    arguments = (f"i32 {x}", f"i32 {x}", "i1 false", "i1 false")
    pair = w.call("{ i32, i32 }", f"llvm.amdgcn.permlane{distance}.swap", *arguments)
    lower, upper = (_pinned(w, w.let(f"extractvalue {{ i32, i32 }} {pair}, {number}")) for number in (0, 1))
    return lower, upper


def _pinned(w: Writer, x: str) -> str:
    """The value, and what makes it, kept in this block.

    LLVM's machine instructions for permlane64 and the swaps are not marked convergent: where only a branch uses the
    result, they, and what computes their operand, sink into it, where some lanes are disabled.
    """
    return w.let(f'call i32 asm sideeffect "", "=v,0"(i32 {x}) convergent')


# ---- the makers, cheapest first -------------------------------------------------------------------------------------
def _broadcast(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    return read_lane(w, x, sources[0]) if len(set(sources)) == 1 else None


def _one_move(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    control = dpp.controls(features, len(sources)).get(sources)
    return None if control is None else dpp.whole(w, x, control)


def _selected(sources: Pattern, rows: int, flip: int) -> tuple[int, ...] | None:
    """The lane of its row that each lane of a row selects, where all of `rows` do the same in the row `row ^ flip`."""
    found: set[tuple[int, ...]] = set()
    for row in range(len(sources) // ROW):
        if rows >> row & 1:
            base = (row ^ flip) * ROW
            found.add(tuple(source - base for source in sources[row * ROW : (row + 1) * ROW]))
    if len(found) != 1:
        return None
    (select,) = found
    return select if all(0 <= source < ROW for source in select) else None


def _permlane16(w: Writer, x: str, select: tuple[int, ...], flip: int) -> str:
    """Each lane of a row reads lane `select[l]` of its own row, or with `flip` 1 of the neighbouring one."""
    words = [sum(s << 4 * n for n, s in enumerate(select[k : k + 8])) for k in (0, 8)]
    signed = [f"i32 {word - (word >> 31 << 32)}" for word in words]
    name = f"llvm.amdgcn.permlane{'x' if flip else ''}16.i32"
    return w.call("i32", name, f"i32 {x}", f"i32 {x}", *signed, "i1 false", "i1 false")


def _one_row_move(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    """permlane16 and permlanex16."""
    if features.row_masks:
        for flip in (0, 1):
            if (select := _selected(sources, 0xF, flip)) is not None:
                return _permlane16(w, x, select, flip)
    return None


def _two_moves(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    pair = dpp.pair(features, sources)
    if pair is None:
        return None
    return dpp.move(w, dpp.whole(w, x, pair.first), x, pair.second.word, pair.rows, pair.banks)


def _other_half(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    """Where every lane reads the other half of a wave64: the halves change places, then each reads its own."""
    if not features.permlane64 or any((reader ^ source) & HALF == 0 for reader, source in enumerate(sources)):
        return None
    swapped, rest = _swapped_halves(w, x), tuple(source ^ HALF for source in sources)
    return swapped if rest == tuple(range(len(sources))) else permute(w, features, swapped, rest, lane)


def _lanes_that_cross(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    """Within the halves by what serves there, then the few lanes that read the other half, one by one."""
    crossing = [reader for reader, source in enumerate(sources) if (reader ^ source) & HALF]
    if not features.row_masks or not 0 < len(crossing) <= FEW:
        return None
    values = {source: read_lane(w, x, source) for source in dict.fromkeys(sources[reader] for reader in crossing)}
    within = tuple(reader if (reader ^ source) & HALF else source for reader, source in enumerate(sources))
    made = x if within == tuple(range(len(sources))) else permute(w, features, x, within, lane)
    for reader in crossing:
        made = _write_lane(w, made, reader, values[sources[reader]])
    return made


def _carried(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    """Whole rows, or the lanes that a shift within rows leaves alone, read other rows; then the shift."""
    if not features.row_masks:
        return None
    for shift in (None, *dpp.controls(features, len(sources)).values()):
        reads = (None,) * len(sources) if shift is None else shift.reads
        if any(read not in (None, source) for read, source in zip(reads, sources, strict=True)):
            continue
        joins = _joins(features, sources, reads)
        if joins is None:
            continue
        if features.wide_bpermute and shift is not None and any(flip & 2 for flip, _, _ in joins):
            continue  # one ds_bpermute is less
        carried = x
        for flip, rows, select in joins:
            other = _swapped_halves(w, x) if flip & 2 else x
            if flip != 2 or select != tuple(range(ROW)):
                other = _permlane16(w, other, select, flip & 1)
            carried = dpp.move(w, carried, other, dpp.IDENTITY, rows)
        return carried if shift is None else dpp.move(w, carried, x, shift.word)
    return None


def _joins(
    features: Features, sources: Pattern, reads: tuple[int | None, ...]
) -> list[tuple[int, int, tuple[int, ...]]] | None:
    """How the lanes that read nothing yet come to their values, if by whole rows.

    For each distance between rows (reader ^ source): the mask of the rows that read at it, and the lane that each of
    their lanes selects.  What the other lanes select will be overwritten.
    """
    masks: dict[int, int] = {}
    for row in range(len(sources) // ROW):
        edge = [reader for reader in range(row * ROW, (row + 1) * ROW) if reads[reader] is None]
        if all(sources[reader] == reader for reader in edge):
            continue
        flips = {row ^ sources[reader] // ROW for reader in edge}
        if len(flips) != 1 or 0 in flips:
            return None
        (flip,) = flips
        if flip & 2 and not features.permlane64:
            return None
        masks[flip] = masks.get(flip, 0) | 1 << row
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for flip, rows in masks.items():
        asked = tuple(s if reads[reader] is None else (reader // ROW ^ flip) * ROW for reader, s in enumerate(sources))
        if (select := _selected(asked, rows, flip)) is None:
            return None
        found.append((flip, rows, select))
    return found or None


def _swizzle(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    """ds_swizzle in bit-mask mode: lane ((l & keep) ^ flip) of each 32 lanes."""
    form = swizzle(sources)
    if form is None or form[1] & HALF or (len(sources) > HALF and not form[0] & HALF):
        return None
    keep, flip = form[0] & (HALF - 1), form[1]
    return w.call("i32", "llvm.amdgcn.ds.swizzle", f"i32 {x}", f"i32 {keep | flip << 10}")


MAKERS: tuple[Maker, ...] = (
    _broadcast,
    _one_move,
    _one_row_move,
    _other_half,
    _two_moves,
    _lanes_that_cross,
    _carried,
    _swizzle,
)
