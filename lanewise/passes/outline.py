"""Cuts one parallel loop out of a program: the code that one subgroup of a launch runs.

The item of a thread is `block * block_dim + thread`; its indices follow, the last axis fastest.  There are two variants
of every loop.  In the *regular* one every lane has an item and the lanes differ in the last index alone, so that index
is linear and the others are uniform; whoever launches it has seen to that.  The general one computes who exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import dtypes
from ..ir import Builder, Kernel, Op, Program, Value
from ..ir.clone import clone_op
from ..ir.nodes import Block


def parallel_loops(program: Program) -> list[Op]:
    """The program's parallel loops, in order."""
    return [op for op in program.body.ops if op.opcode == "parallel"]


def free_values(block: Block) -> Iterator[Value]:
    """The values that a region reads from outside, in order of first use, each once."""
    inside: set[Value] = set(block.args)
    for op in block.walk():
        inside.update(op.results)
        for region in op.regions:
            inside.update(region.args)
    seen: set[Value] = set()
    for value in _uses(block):
        if value not in inside and value not in seen:
            seen.add(value)
            yield value


def _uses(block: Block) -> Iterator[Value]:
    for op in block.ops:
        yield from op.uses
        for region in op.regions:
            yield from _uses(region)
    yield from block.yields


def captured_scalars(program: Program, loop: Op) -> list[Value]:
    """The host's values that a launch needs, its extents first; what a device can know by itself is left out."""
    rebuilt = _rebuildable(program)
    found = list(dict.fromkeys(loop.operands))
    return found + [v for v in free_values(loop.regions[0]) if v not in rebuilt and v not in found]


def _rebuildable(program: Program) -> dict[Value, Op]:
    """Host values that are cheaper to make anew in the kernel than to pass: constants and arrays' extents."""
    return {op.result: op for op in program.body.ops if op.opcode in ("const", "extent", "undef")}


def outline(program: Program, number: int, *, regular: bool, aligned: bool = True) -> Kernel:
    """The `number`-th parallel loop of a program, in one of its two variants.

    `aligned`: regular code runs only where rows are whole subgroups, not wherever a subgroup lies within one row.
    """
    loop = parallel_loops(program)[number]
    (region,) = loop.regions
    block_dim: int = loop.attrs["block_dim"]
    scalars = captured_scalars(program, loop)
    names = {value: Value(value.type, value.hint) for value in scalars}
    b = Builder(program.subgroup_size, block_dim=block_dim)
    b.loc = loop.loc

    rebuilt = _rebuildable(program)
    for value in free_values(region):
        if value in rebuilt and value not in names:
            b.append(clone_op(rebuilt[value], names))
    extents = tuple(names[v] for v in loop.operands)
    exists = _prologue(b, extents, region.args, names, program.index_type, regular=regular, aligned=aligned)
    for op in region.ops:
        b.append(clone_op(op, names))
    return Kernel(
        name=f"{program.name}_{number}",
        scalars=[names[v] for v in scalars],
        memories=program.memories,
        extents=extents,
        body=b.block,
        subgroup_size=program.subgroup_size,
        block_dim=block_dim,
        index_type=program.index_type,
        exists=exists,
        regular=regular,
        loc=loop.loc,
    )


def _prologue(
    b: Builder,
    extents: Sequence[Value],
    indices: Sequence[Value],
    names: dict[Value, Value],
    index_type: dtypes.DType,
    *,
    regular: bool,
    aligned: bool,
) -> Value | None:
    """Emit the item's indices, bound in `names`; the mask of the lanes that exist, or None in the regular variant."""
    width = b.subgroup_size
    lane = b.cast(b.lane(), index_type)
    first = b("mul", b("block_idx", dtype=index_type), b.const(b.block_dim, index_type))
    offset = b("mul", b.cast(b("subgroup_id"), index_type), b.const(width, index_type))
    first = b.add(first, offset)
    here = first if regular else b("add", first, lane, nowrap=True)
    found: list[Value] = []
    for extent in reversed(extents[1:]):
        known: dict[str, Any] = {}
        if regular and aligned and not found and not b.block_dim % width:
            known["multiple"] = width  # rows are whole subgroups, so these begin at a multiple of W
        found.append(b("mod", here, extent, **known))
        here = b("floordiv", here, extent)
    found.append(here)
    if regular:
        found[0] = b("add", found[0], lane, nowrap=True)
    names.update(zip(indices, reversed(found), strict=True))
    if regular:
        return None
    total = extents[0]
    for extent in extents[1:]:
        total = b("mul", total, extent)
    exists = b.lt(lane, b.sub(total, first))
    if b.block_dim % width:
        exists = b.and_(exists, b.lt(lane, b.sub(b.const(b.block_dim, index_type), offset)))
    return exists
