"""`print` and `assert` on a device: what they say becomes records in an array, which the host reads after the launch.

The array holds u32 words: how many were claimed, then records one after another.  A record is its site's number from 1,
the item in two words (the low one first), and each operand in as many words as its type takes.  What does not fit is
counted but not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .. import dtypes
from ..dtypes import DType
from ..errors import Loc
from ..ir import Array, Block, Builder, Op, Program, Value

HEADER = 1
CAPACITY = 1 << 17
"""Words for records, of one launch."""


def words_of(dtype: DType) -> int:
    return 2 if dtype.bits == 64 else 1


@dataclass(frozen=True, slots=True)
class Site:
    """One `print` or `assert` of the source, and what its records hold."""

    opcode: str
    parts: Sequence[str | None]
    """Literal text, and None where a value goes."""
    types: tuple[DType, ...]
    loc: Loc

    @property
    def words(self) -> int:
        return 3 + sum(map(words_of, self.types))


def record(program: Program) -> tuple[Program, list[Site]]:
    """The same program with one more array, its last, for records; and their sites, in the order of their numbers."""
    recording = _Recording(program)
    ops = [recording.loop(op) if op.opcode == "parallel" else op for op in program.body.ops]
    body = Block(program.body.args, ops, program.body.yields)
    return replace(program, memories=[*program.memories, recording.array], body=body), recording.sites


class _Recording:
    def __init__(self, program: Program) -> None:
        self.array = Array("records", dtypes.u32, 1)
        self.sites: list[Site] = []
        self._width = program.subgroup_size
        self._index_type = program.index_type
        self._block_dim = 0

    def loop(self, op: Op) -> Op:
        self._block_dim = op.attrs["block_dim"]
        return replace(op, regions=tuple(map(self.block, op.regions)))

    def block(self, block: Block) -> Block:
        b = Builder(self._width, Block(block.args, [], block.yields), self._block_dim)
        for op in block.ops:
            b.loc = op.loc
            if op.opcode == "print":
                self.record(b, op, op.operands)
            elif op.opcode == "assert":
                failed = b.not_(op.operands[0])
                b.if_(failed, lambda op=op: self.record(b, op, op.operands[1:]))
            else:
                b.append(replace(op, regions=tuple(map(self.block, op.regions))) if op.regions else op)
        return b.block

    def record(self, b: Builder, op: Op, values: Sequence[Value]) -> tuple[Value, ...]:
        """Claim the words of a record, and write it where there is room."""
        site = Site(op.opcode, op.attrs["parts"], tuple(v.type for v in values), op.loc)
        self.sites.append(site)
        number = len(self.sites)
        size = b.const(site.words, dtypes.u32)
        start = b("atomic", b.const(0, self._index_type), size, mem=self.array, kind="add")

        def write() -> tuple[Value, ...]:
            item = _words(b, self._item(b))
            item += [b.const(0, dtypes.u32)] * (2 - len(item))
            words = [b.const(number, dtypes.u32), *item, *(w for v in values for w in _words(b, v))]
            place = b.cast(start, self._index_type)
            for offset, word in enumerate(words, HEADER):
                b.store(self.array, (b.add(place, b.const(offset, self._index_type)),), word)
            return ()

        return b.if_(b("le", start, b.const(CAPACITY - site.words, dtypes.u32)), write)

    def _item(self, b: Builder) -> Value:
        index = self._index_type
        block = b("mul", b("block_idx", dtype=index), b.const(self._block_dim, index))
        return b.add(block, b.cast(b.thread_idx(), index))


def _words(b: Builder, value: Value) -> list[Value]:
    """The bits of a value in words, the low one first."""
    t = value.type
    if t.is_float:
        value = b("bitcast", value, dtype=dtypes.unsigned_of(t.bits))
    if t.bits < 64:
        return [b.cast(value, dtypes.u32)]
    wide = b.cast(value, dtypes.u64)
    return [b.cast(part, dtypes.u32) for part in (wide, b("shr", wide, b.const(32, dtypes.u64)))]
