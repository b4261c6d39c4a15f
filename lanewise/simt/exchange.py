"""Subgroups of a block show one another their values, through shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Builder, Shared, Value
from . import emit, trees
from .trees import Values


@dataclass(frozen=True)
class Partials:
    """What each subgroup has: `rounds[r]` holds in lane l the values of subgroup r * width + l.

    Past the last subgroup it holds neutral values.
    """

    width: int
    rounds: tuple[Values, ...]

    def at(self, b: Builder, subgroup: Value) -> Values:
        """The values of a subgroup, the same in every lane; of some subgroup for an index out of range."""
        place = emit.wrapped(b, subgroup, b.subgroup_size)
        found = trees.each(self.rounds[0], lambda v: emit.gather(b, v, place))
        for number, values in enumerate(self.rounds[1:], start=1):
            here = b.ge(subgroup, b.i32(number * self.width))
            found = trees.choose(b, here, trees.each(values, lambda v: emit.gather(b, v, place)), found)
        return found


def num_subgroups(b: Builder) -> int:
    return -(-b.block_dim // b.subgroup_size)


def share(b: Builder, values: Values, neutral: Values) -> Partials:
    """Exchange the values of each subgroup's lane 0.

    The first barrier keeps what another exchange, or an earlier pass of a loop, still reads.
    """
    count, width = num_subgroups(b), b.subgroup_size
    lane, mine = b.lane(), b("subgroup_id")
    memories = [Shared("partials", v.type, (count,)) for v in values]

    def publish() -> tuple[Value, ...]:
        for memory, value in zip(memories, values, strict=True):
            b.store(memory, (mine,), value)
        return ()

    b.emit("block.barrier")
    b.if_(b.eq(lane, b.i32(0)), publish)
    b.emit("block.barrier")
    rounds: list[Values] = []
    for start in range(0, count, width):
        subgroup = b.add(lane, b.i32(start)) if start else lane
        if start + width <= count:
            rounds.append(tuple(b.load(m, subgroup) for m in memories))
        else:
            place = b("min", subgroup, b.i32(count - 1))
            exists = b.lt(subgroup, b.i32(count))
            rounds.append(trees.choose(b, exists, tuple(b.load(m, place) for m in memories), neutral))
    return Partials(width, tuple(rounds))
