"""The primitives between lanes, on strips: shuffles within vectors, renames across them, ballots by sign bits."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Level, Op
from ...simt.primitives import lane_map
from .body import Body, Emitter
from .forms import Strips, Uniform
from .memory import gather
from .text import lane_type


# ---- permute ------------------------------------------------------------------------------------------------------
def emit_permute(body: Body, op: Op) -> None:
    (value,) = op.operands
    if body.uniform(value):
        body.define(op.result, body.form(value))
        return
    attrs = op.attrs
    sources = lane_map(attrs["kind"], attrs["amount"], attrs["log2_size"], body.W)
    strips = body.strips(value)
    if body.level(op.result) <= Level.SUBGROUP:
        body.define(op.result, Uniform(body.lane_of(value.type, strips, str(sources[0]))))
        return
    element, S = lane_type(value.type), body.S
    rows = [sources[r * S : (r + 1) * S] for r in range(body.R)]
    body.define(op.result, Strips(tuple(_permuted(body, element, strips, row) for row in rows)))


def _permuted(body: Body, element: str, strips: Sequence[str], sources: Sequence[int]) -> str:
    """One strip made of any lanes: a rename where it is one strip as it stands, else a shuffle for each strip added."""
    S, vector = body.S, body.vector.of(element)
    first, *others = dict.fromkeys(lane // S for lane in sources)
    made, place_of = strips[first], {lane: lane % S for lane in sources if lane // S == first}
    for strip in others or [first]:
        for lane in sources:
            if lane // S == strip and strip != first:
                place_of[lane] = S + lane % S
        picks = [place_of.get(lane) for lane in sources]
        if picks == list(range(S)):
            break
        made = body.text.shuffle(vector, made, strips[strip], picks)
        place_of = {lane: place for place, lane in enumerate(sources) if lane in place_of}
    return made


# ---- gather: a shuffle by a run-time index ------------------------------------------------------------------------
def emit_gather(body: Body, op: Op) -> None:
    value, index = op.operands
    if body.uniform(value):
        body.define(op.result, body.form(value))
        return
    strips = body.strips(value)
    if body.uniform(index):
        lane = body.first(index)
        if lane.startswith("%"):
            lane = body.text.do(f"zext i32 {lane} to i64")
        body.define(op.result, Uniform(body.lane_of(value.type, strips, lane)))
        return
    indices = body.strips(index)
    registers = 2 if lane_type(value.type) in ("i64", "double") else 1
    if body.host.permute is not None and body.host.vector_bytes == body.S * 4 and body.R * registers <= PERMUTE_LIMIT:
        body.define(op.result, Strips(_by_permutes(body, lane_type(value.type), strips, indices)))
    else:
        body.define(op.result, Strips(_by_memory(body, lane_type(value.type), strips, indices)))


PERMUTE_LIMIT = 4
"""Above so many vectors, a permute and a blend for each pair of vectors cost more than a trip through memory."""


def _by_permutes(body: Body, element: str, strips: Sequence[str], indices: Sequence[str]) -> tuple[str, ...]:
    """Each strip permuted by the index, and the one that the index means kept."""
    text, words = body.text, body.vector.of("i32")
    parts = [_as_words(body, element, strip) for strip in strips]
    shift = body.S.bit_length() - 1
    result: list[str] = []
    for index in indices:
        which = text.do(f"lshr {words} {index}, splat (i32 {shift})") if body.R > 1 else ""
        chosen: list[str] = []
        for number, part in enumerate(parts):
            moved = [text.do(f"call {words} @{body.host.permute}({words} {word}, {words} {index})") for word in part]
            if number == 0:
                chosen = moved
                continue
            here = text.do(f"icmp eq {words} {which}, splat (i32 {number})")
            chosen = [
                text.do(f"select {body.vector.of('i1')} {here}, {words} {new}, {words} {old}")
                for new, old in zip(moved, chosen, strict=True)
            ]
        result.append(_from_words(body, element, chosen))
    return tuple(result)


_WORD_BITS = {"half": 16, "float": 32, "double": 64} | {f"i{bits}": bits for bits in (8, 16, 32, 64)}


def _as_words(body: Body, element: str, strip: str) -> list[str]:
    """A strip as one or two strips of i32."""
    text, of, bits = body.text, body.vector.of, _WORD_BITS[element]
    if not element.startswith("i"):
        strip = text.do(f"bitcast {of(element)} {strip} to {of(f'i{bits}')}")
    if bits == 32:
        return [strip]
    if bits < 32:
        return [text.do(f"zext {of(f'i{bits}')} {strip} to {of('i32')}")]
    high = text.do(f"lshr {of('i64')} {strip}, splat (i64 32)")
    return [text.do(f"trunc {of('i64')} {half} to {of('i32')}") for half in (strip, high)]


def _from_words(body: Body, element: str, words: Sequence[str]) -> str:
    text, of, bits = body.text, body.vector.of, _WORD_BITS[element]
    whole = words[0]
    if bits < 32:
        whole = text.do(f"trunc {of('i32')} {whole} to {of(f'i{bits}')}")
    elif bits == 64:
        low, high = (text.do(f"zext {of('i32')} {word} to {of('i64')}") for word in words)
        high = text.do(f"shl {of('i64')} {high}, splat (i64 32)")
        whole = text.do(f"or {of('i64')} {low}, {high}")
    return whole if element.startswith("i") else text.do(f"bitcast {of(f'i{bits}')} {whole} to {of(element)}")


def _by_memory(body: Body, element: str, strips: Sequence[str], indices: Sequence[str]) -> tuple[str, ...]:
    place = body.spill(element, strips)
    words, wide = body.vector.of("i32"), body.vector.of("i64")
    pointers: list[str] = []
    for index in indices:
        inside = body.text.do(f"and {words} {index}, splat (i32 {body.W - 1})")
        offset = body.text.do(f"zext {words} {inside} to {wide}")
        pointers.append(body.text.do(f"getelementptr {element}, ptr {place}, {wide} {offset}"))
    return gather(body, element, _WORD_BITS[element] // 8, tuple(pointers))


# ---- ballots ------------------------------------------------------------------------------------------------------
def emit_ballot(body: Body, op: Op) -> None:
    (predicate,) = op.operands
    if body.uniform(predicate):
        everyone = (1 << body.W) - 1
        name = body.text.do(f"select i1 {body.first(predicate)}, i64 {everyone}, i64 0")
    else:
        name = body.ballot(body.strips(predicate))
    body.define(op.result, Uniform(name))


def emit_any(body: Body, op: Op) -> None:
    (predicate,) = op.operands
    name = body.first(predicate) if body.uniform(predicate) else body.any(body.strips(predicate))
    body.define(op.result, Uniform(name))


LANES: dict[str, Emitter] = {
    "subgroup.permute": emit_permute,
    "subgroup.gather": emit_gather,
    "subgroup.ballot_bits": emit_ballot,
    "subgroup.any": emit_any,
}
