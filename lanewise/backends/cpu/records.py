"""What `print` and a failed `assert` leave behind: records in a buffer that the engine reads after the launch.

The buffer is an array of 8-byte words: words claimed so far, capacity, then records one after another.  A record is its
site's number from 1, the item, and the operands, each in one word.  What does not fit is counted but not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...dtypes import DType
from ...errors import KernelAssertionError, Loc
from ...ir import Op
from .body import Body, Emitter
from .width import Width

HEADER_WORDS = 2
CAPACITY_WORDS = 1 << 16

FUNCTION = f"""
define internal void @record(ptr %buffer, ptr %words, i64 %count) noinline {{
  %start = atomicrmw add ptr %buffer, i64 %count monotonic
  %end = add i64 %start, %count
  %limit_place = getelementptr i64, ptr %buffer, i64 1
  %limit = load i64, ptr %limit_place
  %fits = icmp ule i64 %end, %limit
  br i1 %fits, label %copy, label %full
copy:
  %i = phi i64 [ 0, %0 ], [ %next, %copy ]
  %from = getelementptr i64, ptr %words, i64 %i
  %word = load i64, ptr %from
  %offset = add i64 %start, {HEADER_WORDS}
  %place = add i64 %offset, %i
  %to = getelementptr i64, ptr %buffer, i64 %place
  store i64 %word, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %copy, label %full
full:
  ret void
}}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """One `print` or `assert` of the source."""

    opcode: str
    parts: Sequence[str | None]
    types: tuple[DType, ...]
    loc: Loc

    def text(self, words: NDArray[np.uint64]) -> str:
        """The literal parts with the values in their places."""
        values = iter([_value(word, dtype) for word, dtype in zip(words, self.types, strict=True)])
        return "".join(str(next(values)) if part is None else part for part in self.parts)


def _value(word: np.uint64, dtype: DType) -> object:
    raw = np.array([word]).view(np.uint8)[: dtype.itemsize]
    return raw.view(dtype.np)[0].item()


# ---- emission -----------------------------------------------------------------------------------------------------
def emitters(sites: list[Site]) -> dict[str, Emitter]:
    """The emission of `print` and `assert`, which adds to `sites`."""

    def emit(body: Body, op: Op) -> None:
        values = op.operands[1:] if op.opcode == "assert" else op.operands
        sites.append(Site(op.opcode, op.attrs["parts"], tuple(v.type for v in values), op.loc))
        if op.opcode == "print":
            _emit_records(body, op, len(sites) - 1)
        else:
            _emit_assert(body, op, len(sites) - 1)

    return {"print": emit, "assert": emit}


def _emit_assert(body: Body, op: Op, site: int) -> None:
    """Records for the active lanes whose condition does not hold."""
    failed = body.and_mask(body.invert(body.strips(op.operands[0])))
    inside, after = body.text.new_label("failed"), body.text.new_label("held")
    body.text.branch(body.any(failed), inside, after)
    body.text.begin(inside)
    with body.scope(), body.under(failed, some=True):
        _emit_records(body, op, site)
    body.text.jump(after)
    body.text.begin(after)


def _emit_records(body: Body, op: Op, site: int) -> None:
    """One record for each active lane, in lane order."""
    text = body.text
    values = op.operands[1:] if op.opcode == "assert" else op.operands
    columns = [
        body.spill("i64", [_word(body.vector, v.type, s) for s in body.strips(v)], f"record {n}")
        for n, v in enumerate(values)
    ]
    record = body.stack(f"record of {len(values)}", "i64", 2 + len(values))
    buffer = body.arguments.load(body.arguments.slots.records, "ptr")
    block_first = text.do(f"mul i64 %block, {body.kernel.block_dim}")
    subgroup_first = text.do(f"mul i64 %subgroup, {body.W}")
    first = text.do(f"add i64 {block_first}, {subgroup_first}")

    bits, origin = body.active_bits(), text.label
    head, check, out = text.new_label("record"), text.new_label("lane"), text.new_label("recorded")
    text.jump(head)
    text.begin(head)
    rest, place = text.reserve_phi("i64")
    text.branch(text.do(f"icmp eq i64 {rest}, 0"), out, check)
    text.begin(check)
    lane = text.do(f"call i64 @llvm.cttz.i64(i64 {rest}, i1 true)")
    words = [str(site + 1), text.do(f"add i64 {first}, {lane}")]
    for column in columns:
        slot = text.do(f"getelementptr i64, ptr {column}, i64 {lane}")
        words.append(text.do(f"load i64, ptr {slot}"))
    for number, word in enumerate(words):
        slot = text.do(f"getelementptr i64, ptr {record}, i64 {number}")
        text.put(f"store i64 {word}, ptr {slot}")
    text.put(f"call void @record(ptr {buffer}, ptr {record}, i64 {len(words)})")
    lower = text.do(f"sub i64 {rest}, 1")
    fewer = text.do(f"and i64 {rest}, {lower}")
    text.fill_phi(place, [(bits, origin), (fewer, text.label)])
    text.jump(head)
    text.begin(out)


def _word(w: Width, dtype: DType, strip: str) -> str:
    """A strip's values in the low bytes of i64 lanes."""
    type_ = w.type(dtype)
    if dtype.is_bool:
        return w.do(f"zext {w.of('i1')} {w.cond(strip)} to {w.of('i64')}")
    if dtype.is_float:
        whole = w.of(f"i{dtype.bits}")
        strip, type_ = w.do(f"bitcast {type_} {strip} to {whole}"), whole
    return strip if dtype.bits == 64 else w.do(f"zext {type_} {strip} to {w.of('i64')}")


# ---- after the launch ---------------------------------------------------------------------------------------------
class Records:
    """The buffer of one executable."""

    def __init__(self) -> None:
        self.words = np.zeros(HEADER_WORDS + CAPACITY_WORDS, np.uint64)
        self.words[1] = CAPACITY_WORDS

    @property
    def address(self) -> int:
        return self.words.ctypes.data

    def deliver(self, sites: Sequence[Site], show: Callable[[str], None] = print) -> None:
        """Print what was printed, raise for the failed assertion of the lowest item, and empty the buffer."""
        claimed = int(self.words[0])
        if not claimed:
            return
        found = list(self._records(sites, min(claimed, CAPACITY_WORDS)))
        self.words[0] = 0
        self.words[HEADER_WORDS:] = 0
        for site, _, text in found:
            if site.opcode == "print":
                show(text)
        if claimed > CAPACITY_WORDS:
            show(f"(output cut: the buffer holds {CAPACITY_WORDS * 8} bytes a launch, {claimed * 8} were written)")
        failed = [(item, site, text) for site, item, text in found if site.opcode == "assert"]
        if failed:
            item, site, text = min(failed, key=lambda record: record[0])
            why = f"in item {item}" + (f" and {len(failed) - 1} more records" if len(failed) > 1 else "")
            raise KernelAssertionError(text or "assertion failed", loc=site.loc, why=why)

    def _records(self, sites: Sequence[Site], claimed: int) -> Iterator[tuple[Site, int, str]]:
        data, at = self.words[HEADER_WORDS:], 0
        while at < claimed:
            number = int(data[at])
            if not number:  # what was claimed here did not fit
                return
            site = sites[number - 1]
            end = at + 2 + len(site.types)
            if end > claimed:
                return
            yield site, int(data[at + 1]), site.text(data[at + 2 : end])
            at = end
