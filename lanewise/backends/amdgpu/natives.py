"""Reductions and scans along the rows.  Integers, and min and max of floats, may be folded in any order.

Within a row of 16 lanes a reduction is a butterfly of total DPP moves (l ^ 1, l ^ 2, l ^ 7, l ^ 15), which LLVM folds
into the operation; a scan moves by row_shr 1, 2, 4, 8.  gfx9 joins the rows by row_bcast:15 and :31, after which the
last lane holds the sum; later generations by permlanex16, permlane64 or lane reads.  Narrow types are folded as 32
bits, 64-bit ones as two words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...ir import Op, Value
from ...simt.algebra import MONOIDS, Monoid
from ..llvm.arithmetic import ROWS, convert
from ..llvm.lanes import from_words, to_words
from ..llvm.target import Native
from ..llvm.text import Writer, literal, scalar_type
from . import dpp
from .arch import Features
from .permutes import lower_and_upper, permute, read_lane

Combine: TypeAlias = Callable[[str, str], str]
Lane: TypeAlias = Callable[[Writer], str]

ROW_SHIFTS = (1, 2, 4, 8)
ROW_BUTTERFLY = (1, 2, 7, 15)
"""Each joins halves whose lanes agree already; 7 and 15 mirror half a row and a row, one move on every generation."""
LOG2_ROW = 4
ODD_ROWS, UPPER_HALF = 0b1010, 0b1100
"""Row masks: the rows that take the row below them, and those that take the lower half's."""

FOLDED_AS = {
    dtypes.i8: dtypes.i32,
    dtypes.i16: dtypes.i32,
    dtypes.u8: dtypes.u32,
    dtypes.u16: dtypes.u32,
    dtypes.f16: dtypes.i32,
    dtypes.f32: dtypes.i32,
    dtypes.f64: dtypes.i64,
}
"""What is folded in any order in place of a type: a wider one, of which the result is cut, or a float's key."""


def natives_of(features: Features, subgroup_size: int, lane: Lane) -> dict[str, Native]:
    """Reductions of every tile, scans of tiles of a row or more."""

    def native(form: Form, monoid: Monoid) -> Native:
        def accepts(op: Op) -> bool:
            t = op.operands[0].type
            return form.accepts(op, t) and (_in_any_order(monoid, t) or form.emit_in_order is not None)

        def emit(w: Writer, op: Op, args: Sequence[str], mask: str | None) -> str:
            t = op.result.type
            free = _in_any_order(monoid, t)
            folded, emit_form = (FOLDED_AS.get(t, t), form.emit) if free else (t, form.emit_in_order)
            assert emit_form is not None
            key = free and t.is_float
            value = (_key if key else convert)(w, args[0], t, folded)
            neutral, identity = _key_constants(monoid, t) if key else _constants(monoid, t)
            if mask is not None:
                value = _chosen(w, mask, value, neutral, folded)
            if key:
                value = _chosen(w, w.let(f"fcmp ord {scalar_type(t)} {args[0]}, {args[0]}"), value, neutral, folded)
            fold = Fold(w, features, subgroup_size, op.attrs["log2_size"], folded, monoid, neutral, identity, lane)
            return (_unkey if key else convert)(w, emit_form(fold, value), folded, t)

        return Native(accepts, emit)

    return {
        f"subgroup.{form.name}_{monoid.name}": native(form, monoid) for form in FORMS for monoid in MONOIDS.values()
    }


def _chosen(w: Writer, cond: str, value: str, otherwise: str, t: DType) -> str:
    return w.let(f"select i1 {cond}, {scalar_type(t)} {value}, {scalar_type(t)} {otherwise}")


def _constants(monoid: Monoid, t: DType) -> tuple[str, str]:
    """The neutral value and the identity."""
    wide = FOLDED_AS.get(t, t) if t.is_int else t
    return literal(monoid.neutral(t), wide), literal(monoid.identity(t), wide)


# ---- floats as integers in the same order ---------------------------------------------------------------------------
# LLVM folds DPP into integer minima, but not into those of floats, whose operands it canonicalises at each step.  The
# key of a float is its bits, all but the sign inverted where that is set: -0 comes below +0, and a NaN, after all
# numbers or before them by its sign.  Every NaN is made the one that loses, which is also the neutral value.
def _key_constants(monoid: Monoid, t: DType) -> tuple[str, str]:
    largest = (1 << t.bits - 1) - 1
    bits = int(np.array(monoid.identity(t), t.np).view(f"i{t.itemsize}"))
    return str(largest if monoid.name == "min" else ~largest), str(bits ^ largest if bits < 0 else bits)


def _flipped(w: Writer, bits: str, t: DType) -> str:
    """From bits to key and back."""
    ty = f"i{t.bits}"
    sign = w.let(f"ashr {ty} {bits}, {t.bits - 1}")
    return w.let(f"xor {ty} {bits}, {w.let(f'and {ty} {sign}, {(1 << t.bits - 1) - 1}')}")


def _key(w: Writer, value: str, t: DType, folded: DType) -> str:
    key = _flipped(w, w.let(f"bitcast {scalar_type(t)} {value} to i{t.bits}"), t)
    return key if t.bits == folded.bits else w.let(f"sext i{t.bits} {key} to i{folded.bits}")


def _unkey(w: Writer, key: str, folded: DType, t: DType) -> str:
    if t.bits != folded.bits:
        key = w.let(f"trunc i{folded.bits} {key} to i{t.bits}")
    return w.let(f"bitcast i{t.bits} {_flipped(w, key, t)} to {scalar_type(t)}")


def _in_any_order(monoid: Monoid, t: DType) -> bool:
    """Whether every order of folding gives the same bits."""
    return t.is_int or monoid.name in ("min", "max")


@dataclass(frozen=True, slots=True)
class Fold:
    """One reduction or scan while it is emitted."""

    w: Writer
    features: Features
    size: int
    log2_size: int
    t: DType
    monoid: Monoid
    neutral: str
    identity: str
    lane: Lane

    @property
    def is_whole(self) -> bool:
        return 1 << self.log2_size == self.size

    def combine(self, a: str, b: str) -> str:
        op = Op(self.monoid.opcode, (Value(self.t), Value(self.t)), (Value(self.t),))
        return ROWS[self.monoid.opcode](self.w, op, (a, b))

    def by_words(self, move: Callable[..., str], *values: str) -> str:
        """Values moved word by word."""
        columns = zip(*(to_words(self.w, value, self.t) for value in values), strict=True)
        return from_words(self.w, [move(*words) for words in columns], self.t)

    def permuted(self, v: str, sources: tuple[int, ...]) -> str:
        lane = self.lane(self.w)
        return self.by_words(lambda word: permute(self.w, self.features, word, sources, lane), v)

    def exchanged(self, v: str, mask: int) -> str:
        """v[l ^ mask]"""
        return self.permuted(v, tuple(lane ^ mask for lane in range(self.size)))

    def across(self, v: str, mask: int) -> str:
        """v[l] op v[l ^ mask]"""
        if not self.features.lane_swaps or mask < dpp.ROW:
            return self.combine(v, self.exchanged(v, mask))
        pairs = [lower_and_upper(self.w, word, mask) for word in to_words(self.w, v, self.t)]
        lower, upper = (from_words(self.w, words, self.t) for words in zip(*pairs, strict=True))
        return self.combine(lower, upper)

    def shifted(self, v: str, control: int, rows: int = dpp.ALL, otherwise: str | None = None) -> str:
        """One DPP move; `otherwise` (the neutral value) in lanes without a source or outside the rows."""
        old = self.neutral if otherwise is None else otherwise
        return self.by_words(lambda old, word: dpp.move(self.w, old, word, control, rows), old, v)

    def read_lane(self, v: str, lane: int) -> str:
        return self.by_words(lambda word: read_lane(self.w, word, lane), v)


# ---- forms ----------------------------------------------------------------------------------------------------------
def _reduce(f: Fold, v: str) -> str:
    """The result in every lane of the tile."""
    for step in ROW_BUTTERFLY[: f.log2_size]:
        v = f.across(v, step)
    if f.log2_size > LOG2_ROW and f.is_whole and f.features.wave_shifts:
        return f.read_lane(_joined(f, v), f.size - 1)
    if f.log2_size > LOG2_ROW:
        v = f.across(v, dpp.ROW)
    if f.log2_size <= LOG2_ROW + 1:
        return v
    if f.features.permlane64:
        return f.across(v, 2 * dpp.ROW)
    return f.combine(f.read_lane(v, 0), f.read_lane(v, 2 * dpp.ROW))


def _reduce_in_order(f: Fold, v: str) -> str:
    """The butterfly from the widest step on, which gives every lane the bits that the tree gives lane 0."""
    for step in reversed(range(f.log2_size)):
        v = f.across(v, 1 << step)
    return v


def _inclusive(f: Fold, v: str) -> str:
    for step in ROW_SHIFTS:
        v = f.combine(f.shifted(v, dpp.ROW_SHR | step), v)
    return _joined(f, v) if f.log2_size > LOG2_ROW else v


def _joined(f: Fold, v: str) -> str:
    """From each row's running values to the tile's: what the last lane of the rows below holds is added."""
    if f.features.wave_shifts:
        v = f.combine(f.shifted(v, dpp.ROW_BCAST15, ODD_ROWS), v)
        return f.combine(f.shifted(v, dpp.ROW_BCAST31, UPPER_HALF), v) if f.log2_size > LOG2_ROW + 1 else v
    last_of_neighbour = tuple((lane // dpp.ROW ^ 1) * dpp.ROW + dpp.ROW - 1 for lane in range(f.size))
    below = f.permuted(v, last_of_neighbour)
    v = f.combine(f.shifted(below, dpp.IDENTITY, ODD_ROWS), v)
    if f.log2_size > LOG2_ROW + 1:
        v = f.combine(f.shifted(f.read_lane(v, 2 * dpp.ROW - 1), dpp.IDENTITY, UPPER_HALF), v)
    return v


def _exclusive(f: Fold, v: str) -> str:
    """The inclusive scan, one lane up."""
    v = _inclusive(f, v)
    if f.log2_size == LOG2_ROW:
        return f.shifted(v, dpp.ROW_SHR | 1, otherwise=f.identity)
    if f.is_whole and f.features.wave_shifts:
        return f.shifted(v, dpp.WAVE_SHR1, otherwise=f.identity)
    moved = f.permuted(v, tuple(max(lane - 1, 0) for lane in range(f.size)))
    place = f.w.let(f"and i32 {f.lane(f.w)}, {(1 << f.log2_size) - 1}")
    ty = scalar_type(f.t)
    return f.w.let(f"select i1 {f.w.let(f'icmp eq i32 {place}, 0')}, {ty} {f.identity}, {ty} {moved}")


@dataclass(frozen=True, slots=True)
class Form:
    """A way to fold: its name in the opcode, its code, where it serves, its code for sums and products of floats."""

    name: str
    emit: Callable[[Fold, str], str]
    accepts: Callable[[Op, DType], bool]
    emit_in_order: Callable[[Fold, str], str] | None = None


def _tile(op: Op, t: DType) -> bool:
    return op.attrs["log2_size"] > 0


def _rows(op: Op, t: DType) -> bool:
    """DPP has no masks for tiles smaller than a row."""
    return op.attrs["log2_size"] >= LOG2_ROW


def _exact(op: Op, t: DType) -> bool:
    """Not where a float's NaN might stand for "nothing precedes" as well as for a value."""
    return _rows(op, t) and (t.is_int or op.mask is None)


FORMS = (
    Form("reduce", _reduce, _tile, _reduce_in_order),
    Form("reduce_all", _reduce, _tile, _reduce_in_order),
    Form("inclusive", _inclusive, _rows),
    Form("exclusive", _exclusive, _exact),
)
