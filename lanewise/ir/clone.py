"""Copies operations with their values renamed: what inlining, cutting and expanding are made of."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence

from .builder import Builder
from .nodes import Block, Op, Value

Names = MutableMapping[Value, Value]
"""Old value to new; a value that is missing stands for itself."""


def renamed(names: Names, values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(names.get(v, v) for v in values)


def fresh(names: Names, values: Iterable[Value]) -> tuple[Value, ...]:
    """New values for these, entered in `names`."""
    made: list[Value] = []
    for value in values:
        names[value] = Value(value.type, value.hint)
        made.append(names[value])
    return tuple(made)


def clone_block(block: Block, names: Names) -> Block:
    """A copy of a region; `names` learns its values."""
    copy = Block(fresh(names, block.args))
    copy.ops = [clone_op(op, names) for op in block.ops]
    copy.yields = renamed(names, block.yields)
    return copy


def clone_op(op: Op, names: Names, mask: Value | None = None) -> Op:
    """A copy of an operation with new results; `mask` replaces its mask where given."""
    operands = renamed(names, op.operands)
    regions = tuple(clone_block(region, names) for region in op.regions)
    if mask is None and op.mask is not None:
        mask = names.get(op.mask, op.mask)
    return Op(op.opcode, operands, fresh(names, op.results), op.attrs, regions, mask, op.loc)


def inline_region(builder: Builder, region: Block, args: Sequence[Value]) -> tuple[Value, ...]:
    """Emit a copy of `region` with its arguments bound to `args`; what it yields."""
    names: dict[Value, Value] = dict(zip(region.args, args, strict=True))
    for op in region.ops:
        builder.append(clone_op(op, names))
    return renamed(names, region.yields)
