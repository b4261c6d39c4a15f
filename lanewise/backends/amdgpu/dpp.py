"""Data-parallel primitives: the moves between lanes that cost one ALU instruction, and which pattern each makes.

(ISA documents, "DPP_CTRL enumeration".)  A row is 16 lanes, a bank 4 of them.  `update.dpp(old, x, control, rows,
banks)` gives lane l the x of its source lane where its row and its bank are enabled and the source exists, else `old`.
All lanes are active whenever these run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from ..llvm.lanes import Pattern
from ..llvm.text import Writer
from .arch import Features

ROW, BANK = 16, 4
ALL = 0xF
"""Every row, every bank."""

QUAD_PERM, ROW_SHL, ROW_SHR, ROW_ROR = 0x000, 0x100, 0x110, 0x120
WAVE_SHL1, WAVE_ROL1, WAVE_SHR1, WAVE_ROR1 = 0x130, 0x134, 0x138, 0x13C
ROW_MIRROR, ROW_HALF_MIRROR, ROW_BCAST15, ROW_BCAST31 = 0x140, 0x141, 0x142, 0x143
ROW_SHARE, ROW_XMASK = 0x150, 0x160
IDENTITY = 0b11_10_01_00
"""quad_perm:[0,1,2,3], for a move that only the row and bank masks shape."""


@dataclass(frozen=True, slots=True)
class Control:
    """One control word: the lane that each lane reads, None where there is none."""

    word: int
    reads: tuple[int | None, ...]

    @property
    def pattern(self) -> Pattern:
        """What it makes of a value with that same value as `old`."""
        return tuple(lane if source is None else source for lane, source in enumerate(self.reads))

    @property
    def total(self) -> bool:
        """Whether every lane has a source."""
        return None not in self.reads


def move(w: Writer, old: str, x: str, control: int, rows: int = ALL, banks: int = ALL, *, total: bool = False) -> str:
    """`update.dpp`; `total` where no lane keeps `old`, which tells LLVM that it may fold the move into its user."""
    arguments = (f"i32 {old}", f"i32 {x}", f"i32 {control}", f"i32 {rows}", f"i32 {banks}")
    return w.call("i32", "llvm.amdgcn.update.dpp.i32", *arguments, f"i1 {'true' if total else 'false'}")


def whole(w: Writer, x: str, control: Control) -> str:
    """A value moved by one control; lanes without a source keep theirs."""
    return move(w, "poison" if control.total else x, x, control.word, total=control.total)


# ---- the table ----------------------------------------------------------------------------------------------------
def _in_rows(word: int, size: int, source: tuple[int | None, ...]) -> Control:
    """A control that does the same in every row."""
    reads = (source[lane % ROW] for lane in range(size))
    return Control(word, tuple(None if s is None else lane - lane % ROW + s for lane, s in enumerate(reads)))


def _shifted(offset: int, limit: int) -> tuple[int | None, ...]:
    return tuple(lane + offset if 0 <= lane + offset < limit else None for lane in range(limit))


def _all_controls(features: Features, size: int) -> Iterator[Control]:
    row = range(ROW)
    for quad in product(range(4), repeat=4):
        word = QUAD_PERM | sum(source << 2 * lane for lane, source in enumerate(quad))
        yield _in_rows(word, size, tuple(lane - lane % 4 + quad[lane % 4] for lane in row))
    yield _in_rows(ROW_MIRROR, size, tuple(15 - lane for lane in row))
    yield _in_rows(ROW_HALF_MIRROR, size, tuple(lane ^ 7 for lane in row))
    for n in range(1, ROW):
        yield _in_rows(ROW_ROR | n, size, tuple((lane - n) % ROW for lane in row))
        yield _in_rows(ROW_SHR | n, size, _shifted(-n, ROW))
        yield _in_rows(ROW_SHL | n, size, _shifted(n, ROW))
        if features.row_masks:
            yield _in_rows(ROW_XMASK | n, size, tuple(lane ^ n for lane in row))
    if features.row_masks:
        for n in row:
            yield _in_rows(ROW_SHARE | n, size, (n,) * ROW)
    if features.wave_shifts:
        yield Control(WAVE_SHR1, _shifted(-1, size))
        yield Control(WAVE_SHL1, _shifted(1, size))
        yield Control(WAVE_ROR1, tuple((lane - 1) % size for lane in range(size)))
        yield Control(WAVE_ROL1, tuple((lane + 1) % size for lane in range(size)))


@lru_cache(maxsize=8)
def controls(features: Features, size: int) -> dict[Pattern, Control]:
    """The control that makes each pattern."""
    found: dict[Pattern, Control] = {}
    for control in _all_controls(features, size):
        found.setdefault(control.pattern, control)
    return found


# ---- two moves ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Pair:
    """`first` everywhere, then `second` in the enabled rows and banks."""

    first: Control
    second: Control
    rows: int
    banks: int


def _by_bank(lanes: tuple[int | None, ...]) -> tuple[tuple[int | None, ...], ...]:
    return tuple(lanes[start : start + BANK] for start in range(0, len(lanes), BANK))


@lru_cache(maxsize=8)
def _bank_table(features: Features, size: int) -> list[tuple[Control, Any, Any]]:
    """Each control with what its banks read, and what they hold when lanes without a source keep theirs."""
    return [(c, _by_bank(c.reads), _by_bank(c.pattern)) for c in controls(features, size).values()]


def _agreeing(a: Sequence[Any], b: Sequence[Any]) -> int:
    """The set of banks, a bit each, in which two agree."""
    return sum(1 << bank for bank, (x, y) in enumerate(zip(a, b, strict=True)) if x == y)


@lru_cache(maxsize=256)
def _hull(banks: int) -> tuple[int, int, int]:
    """The smallest row mask and bank mask that enable a set of banks, and the set that they enable."""
    numbers = [n for n in range(ROW) if banks >> n & 1]
    in_rows = sum(1 << row for row in {n // 4 for n in numbers})
    in_banks = sum(1 << bank for bank in {n % 4 for n in numbers})
    enabled = sum(1 << n for n in range(ROW) if in_rows >> n // 4 & 1 and in_banks >> n % 4 & 1)
    return in_rows, in_banks, enabled


@lru_cache(maxsize=256)
def pair(features: Features, sources: Pattern) -> Pair | None:
    """Two controls that make a pattern together, the second under a mask of rows and banks."""
    wanted = _by_bank(sources)
    everything = (1 << len(wanted)) - 1
    table = _bank_table(features, len(sources))
    seconds = [(made, control) for control, reads, _ in table if (made := _agreeing(reads, wanted))]
    for first, _, kept in table:
        rows, banks, enabled = _hull(everything & ~_agreeing(kept, wanted))
        for made, second in seconds:
            if enabled & ~made == 0:
                return Pair(first, second, rows, banks)
    return None
