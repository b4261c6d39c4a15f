"""Sorts on strips: a tile lies in memory order, and is sorted as if it lay in columns.

Any network gives the same order, as two numbers are equal only where all their bits are.  In columns (number i of a
tile of v vectors is lane i // v of vector i % v) most of its steps are between vectors, a min and a max without a
shuffle: for 32 pairs in vectors of four doubles, all but 3 of 15.  Where the numbers come from does not matter to a
sort, so they are taken as they lie, and put in order of the lanes at the end.

A pair is one number of 64 bits.  Most processors take the lesser and the greater of two doubles in one instruction, and
of two integers in three: behind a key of f32 the value lies in the low bits of a double, whose order is that of the
pairs where the key is no NaN, and the value's bits are flipped where it is negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ... import dtypes
from ...dtypes import DType
from ...ir import Builder, Op, Value
from ...passes import Expansion
from ...simt import emit
from ...simt.packed import Fields, in_doubt, key_of, signs_flipped, value_of, width
from ...simt.sorting import exchanged, expansions
from .body import Body
from .forms import Strips
from .host import Host
from .text import Text, lane_type
from .width import Width

WORD = dtypes.i32
LEAST_EXPONENT = 1 << 20  # of a double, in its high word


def sorts(host: Host) -> Mapping[str, Expansion]:
    """The expansions of both sorts into `subgroup.sort`."""

    def quickly(b: Builder, fields: Fields, log2_size: int, _: Callable[[], Fields]) -> Fields | None:
        if width(fields) > 64:
            return None
        as_double = len(fields) == 2 and fields[0].type == dtypes.f32 and not host.wide_order
        sort = _sort_doubles if as_double else _sort_integers
        doubt = in_doubt(b, fields, nan_keys=as_double)
        if doubt is None:
            return sort(b, fields, log2_size)
        return emit.rarely(b, doubt, lambda: _by_the_network(b, fields, log2_size), lambda: sort(b, fields, log2_size))

    return expansions(quickly)


def _by_the_network(b: Builder, fields: Fields, log2_size: int) -> Fields:
    """The definition, in a loop: it is seldom run, and its steps one by one take LLVM longer than all the rest."""
    mine = emit.lane_in_tile(b, log2_size)

    def has(bit: Value) -> Value:
        return emit.is_nonzero(b, b.and_(mine, bit))

    def unfinished(run: Value, distance: Value, *fields: Value) -> tuple[Value, Fields]:
        return b("le", run, b.i32(1 << log2_size)), (run, distance, *fields)

    def step(run: Value, distance: Value, *fields: Value) -> Fields:
        source = b("xor", b.lane(), distance)
        other = tuple(emit.gather(b, v, source) for v in fields)
        sorted_so_far = exchanged(b, b("xor", has(distance), has(run)), fields, other)
        ends = b.eq(distance, b.i32(1))
        following = b.select(ends, run, b("shr", distance, b.i32(1)))
        return b.select(ends, b.add(run, run), run), following, *sorted_so_far

    _, _, *found = b.loop((b.i32(2), b.i32(1), *fields), unfinished, step)
    return tuple(found)


# ---- numbers --------------------------------------------------------------------------------------------------------
def _sort_integers(b: Builder, fields: Fields, log2_size: int) -> Fields:
    keys = [key_of(b, v) for v in fields]
    if len(keys) == 1:
        return (value_of(b, b("subgroup.sort", *keys, number=keys[0].type, log2_size=log2_size), fields[0].type),)
    words = (b.cast(keys[0], WORD), _low_word(b, keys[1]))
    high, low = b.emit("subgroup.sort", *words, number=dtypes.i64, log2_size=log2_size)
    return value_of(b, b.cast(high, keys[0].type), fields[0].type), _of_low_word(b, low, fields[1].type)


def _sort_doubles(b: Builder, fields: Fields, log2_size: int) -> Fields:
    """A key of f32, no NaN, is the high word of a double of its order.

    Its exponent is put one up: a zero or a small key makes no denormal, and an infinity (0x7f8) is far from the
    doubles' own (0x7ff).
    """
    key, step = b("bitcast", fields[0], dtype=WORD), b.i32(LEAST_EXPONENT)
    low = b("xor", _low_word(b, key_of(b, fields[1])), _sign(b, key))
    high, low = b.emit("subgroup.sort", b.add(key, step), low, number=dtypes.f64, log2_size=log2_size)
    key = b.sub(high, step)
    value = _of_low_word(b, b("xor", low, _sign(b, key)), fields[1].type)
    return b("bitcast", key, dtype=dtypes.f32), value


def _sign(b: Builder, key: Value) -> Value:
    """All bits set where it is negative."""
    return b("shr", key, b.i32(WORD.bits - 1))


def _low_word(b: Builder, key: Value) -> Value:
    """A word that counts without a sign."""
    bits = b("bitcast", signs_flipped(b, key), dtype=dtypes.unsigned_of(key.type.bits))
    return b("bitcast", b.cast(bits, dtypes.u32), dtype=WORD)


def _of_low_word(b: Builder, word: Value, t: DType) -> Value:
    return value_of(b, signs_flipped(b, b.cast(word, dtypes.signed_of(t.bits))), t)


# ---- the network ----------------------------------------------------------------------------------------------------
def _steps(size: int, vectors: int) -> Iterator[tuple[int, int]]:
    """The bitonic sort as masks of vector and lane: number i meets i ^ mask, and the lower of them keeps the lesser.

    Two sorted halves are merged by meeting in mirror image first, so that every run ascends.
    """
    run = 2
    while run <= size:
        mask, distance = run - 1, run // 4
        while mask:
            yield mask % vectors, mask // vectors
            mask, distance = distance, distance // 2
        run *= 2


@dataclass(frozen=True, slots=True)
class _Vectors:
    """How vectors of `lanes` numbers are emitted."""

    text: Text
    number: DType
    lanes: int

    @property
    def type(self) -> str:
        return f"<{self.lanes} x {lane_type(self.number)}>"

    def sorted(self, columns: Sequence[str], size: int) -> list[str]:
        """One tile of `size` numbers in several vectors, or several in one vector; in the order of the lanes."""
        vectors = list(columns)
        for across, mask in _steps(size, len(vectors)):
            for here in range(len(vectors)):
                there = here ^ across
                if here <= there:
                    met = self._meet(vectors[here], vectors[there], mask)
                    for place, vector in zip((here, there) if across else (here,), met, strict=False):
                        vectors[place] = vector
        return self._in_rows(vectors)

    def _meet(self, a: str, b: str, mask: int) -> Iterator[str]:
        """Lane l of `a` meets lane l ^ mask of `b`: what becomes of `a`, then of `b` if that is another vector."""
        if not mask:
            yield from self._in_order(a, b)
            return
        low, high = self._in_order(a, self._pick(b, b, [lane ^ mask for lane in range(self.lanes)]))
        top = 1 << mask.bit_length() - 1
        takes = [self.lanes if lane & top else 0 for lane in range(self.lanes)]
        yield self._pick(low, high, [lane + take for lane, take in enumerate(takes)])
        yield self._pick(low, high, [(lane ^ mask) + take for lane, take in enumerate(takes)])

    def _in_order(self, a: str, b: str) -> tuple[str, str]:
        """The lesser and the greater, lane by lane."""
        w = Width(self.text, self.lanes)
        element = lane_type(self.number)
        names = ("minnum", "maxnum") if self.number.is_float else ("smin", "smax")
        flags = "nnan nsz " if self.number.is_float else ""
        low, high = (w.intrinsic(name, element, a, b, flags=flags) for name in names)
        return low, high

    def _pick(self, a: str, b: str, places: Sequence[int]) -> str:
        return self.text.shuffle(self.type, a, b, places)

    def _in_rows(self, vectors: list[str]) -> list[str]:
        """From columns to the order of the lanes.

        A row's numbers lie in as many vectors as there are rounds to go, doubled; each round halves that, as a bit of
        the vector's number and one of the lane's change places, and what is left in two is picked from both at last.
        """
        count, lanes = len(vectors), self.lanes
        place = [(number % count, number // count) for number in range(count * lanes)]
        rounds = min(count, lanes).bit_length() - 1
        for turn in range(rounds - 1):
            bits = 1 << turn, lanes >> rounds - turn
            rows = [[_exchanged(vector, lane, *bits) for lane in range(lanes)] for vector in range(count)]
            vectors = [self._gathered(vectors, row) for row in rows]
            place = [_exchanged(*where, *bits) for where in place]
        return [self._gathered(vectors, place[first : first + lanes]) for first in range(0, count * lanes, lanes)]

    def _gathered(self, vectors: Sequence[str], places: Sequence[tuple[int, int]]) -> str:
        """Lanes of one vector, or of two, by vector and lane."""
        sources = sorted({vector for vector, _ in places})
        assert len(sources) <= 2
        picks = [sources.index(vector) * self.lanes + lane for vector, lane in places]
        return self._pick(vectors[sources[0]], vectors[sources[-1]], picks)


def _exchanged(vector: int, lane: int, vector_bit: int, lane_bit: int) -> tuple[int, int]:
    """Where a lane goes, and comes from, when two bits of its place change places."""
    differ = bool(vector & vector_bit) != bool(lane & lane_bit)
    return (vector ^ vector_bit, lane ^ lane_bit) if differ else (vector, lane)


# ---- strips ---------------------------------------------------------------------------------------------------------
def emit_sort(body: Body, op: Op) -> None:
    """`subgroup.sort`: from strips to native vectors of numbers, sorted, and back."""
    number, size = op.attrs["number"], 1 << op.attrs["log2_size"]
    vectors = _Vectors(body.text, number, min(body.host.vector_bytes * 8 // number.bits, body.S))
    per_strip, per_tile = body.S // vectors.lanes, max(size // vectors.lanes, 1)
    words = [body.strips(v) for v in op.operands]
    unsorted = [part for strip in zip(*words, strict=True) for part in _numbers(body, vectors, strip, size)]
    made = [v for tile in _runs(unsorted, per_tile) for v in vectors.sorted(tile, size)]
    strips = [_words(body, vectors, parts, len(words)) for parts in _runs(made, per_strip)]
    for result, names in zip(op.results, zip(*strips, strict=True), strict=True):
        body.define(result, Strips(names))


def _runs(items: Sequence[str], length: int) -> Iterator[Sequence[str]]:
    return (items[first : first + length] for first in range(0, len(items), length))


def _numbers(body: Body, vectors: _Vectors, words: Sequence[str], size: int) -> Iterator[str]:
    """One strip, or two of a high and a low word, as vectors.

    In any order where the strip lies in one tile: a sort does not ask, and gives the order of the lanes.
    """
    S, lanes = body.S, vectors.lanes
    for part in range(S // lanes):
        places = list(range(part * lanes, (part + 1) * lanes))
        if size >= S > lanes:  # as vpunpckldq and vpunpckhdq take them: two lanes of every four
            places = [first + 2 * part + k for first in range(0, S, 4) for k in (0, 1)]
        if len(words) == 1:
            element = lane_type(vectors.number)
            yield body.text.shuffle(body.vector.of(element), words[0], words[0], places) if lanes < S else words[0]
        else:
            high, low = words
            both = [place for lane in places for place in (lane, S + lane)]
            joined = body.text.shuffle(body.vector.of("i32"), low, high, both)
            yield body.text.do(f"bitcast <{2 * lanes} x i32> {joined} to {vectors.type}")


def _words(body: Body, vectors: _Vectors, parts: Sequence[str], count: int) -> tuple[str, ...]:
    """The vectors of a strip as that strip, or as two of their high and low words."""
    a, b = parts[0], parts[-1]
    if count == 1:
        return (body.text.shuffle(vectors.type, a, b, range(body.S)) if a != b else a,)
    type_ = f"<{2 * vectors.lanes} x i32>"
    a, b = (body.text.do(f"bitcast {vectors.type} {part} to {type_}") for part in (a, b))
    return tuple(body.text.shuffle(type_, a, b, [2 * lane + half for lane in range(body.S)]) for half in (1, 0))
