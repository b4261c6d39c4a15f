"""Which instructions make a pattern of source lanes: the cheapest that the architecture has.

readlane for a broadcast, one DPP move, an exchange of rows or halves, two DPP moves, a swizzle through the LDS
hardware, and ds_bpermute, which makes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..llvm.lanes import Pattern, pattern_index, swizzle
from ..llvm.text import Writer
from . import dpp
from .arch import Features
from .dpp import ROW

HALF = 32

Maker: TypeAlias = Callable[[Writer, Features, str, Pattern, str], "str | None"]
"""(writer, features, value, pattern, lane): the moved value, or None where it cannot."""


def permute(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str:
    """The value of lane `sources[lane]`."""
    for make in MAKERS:
        made = make(w, features, x, sources, lane)
        if made is not None:
            return made
    return gather(w, features, x, pattern_index(w, lane, sources), lane, len(sources))


def gather(w: Writer, features: Features, x: str, index: str, lane: str, size: int) -> str:
    """The value of lane `index`, which may vary."""
    address = w.let(f"shl i32 {index}, 2")
    mine = _bpermute(w, address, x)
    if features.wide_bpermute or size <= HALF:
        return mine
    other = _bpermute(w, address, _permlane64(w, x))
    differs = w.let(f"xor i32 {index}, {lane}")
    crosses = w.let(f"icmp ne i32 {w.let(f'and i32 {differs}, {HALF}')}, 0")
    return w.let(f"select i1 {crosses}, i32 {other}, i32 {mine}")


def read_lane(w: Writer, x: str, lane: str | int) -> str:
    """The value of one lane, in a scalar register."""
    return w.call("i32", "llvm.amdgcn.readlane.i32", f"i32 {x}", f"i32 {lane}")


def _bpermute(w: Writer, address: str, x: str) -> str:
    return w.call("i32", "llvm.amdgcn.ds.bpermute", f"i32 {address}", f"i32 {x}")


def _permlane64(w: Writer, x: str) -> str:
    return w.call("i32", "llvm.amdgcn.permlane64.i32", f"i32 {x}")


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
    if not features.permlane64 or any((lane ^ source) & HALF == 0 for lane, source in enumerate(sources)):
        return None
    swapped, rest = _permlane64(w, x), tuple(source ^ HALF for source in sources)
    return swapped if rest == tuple(range(len(sources))) else permute(w, features, swapped, rest, lane)


def _carried_shift(w: Writer, features: Features, x: str, sources: Pattern, lane: str) -> str | None:
    """A shift within rows, after the lanes that it leaves alone have read the neighbouring row."""
    if not features.row_masks:
        return None
    for shift in dpp.controls(features, len(sources)).values():
        if shift.total or any(read not in (None, source) for read, source in zip(shift.reads, sources, strict=True)):
            continue
        edge = [lane for lane, read in enumerate(shift.reads) if read is None]
        rows = sum(1 << row for row in {lane // ROW for lane in edge if sources[lane] != lane})
        # What the other lanes select will be overwritten: the neighbour's first lane is as good as any.
        asked = tuple(sources[lane] if lane in edge else (lane // ROW ^ 1) * ROW for lane in range(len(sources)))
        if (select := _selected(asked, rows, 1)) is not None:
            carried = dpp.move(w, x, _permlane16(w, x, select, 1), dpp.IDENTITY, rows)
            return dpp.move(w, carried, x, shift.word)
    return None


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
    _carried_shift,
    _swizzle,
)
