"""`a[i] += x` on the thread's own element needs no atomic."""

from __future__ import annotations

from ..dtypes import DType
from ..ir import Array, Block, Op, Value
from .context import Context


def make_own_updates_plain(body: Block, ctx: Context) -> None:
    """Turn such updates into load, operation, store where it is provable that no other item writes the element.

    An element is the item's own where its indices are exactly the loop's.  Two arrays of one dtype may be the same
    memory, so every write to arrays of that dtype must be to an own element, with the indices in the same order: as
    `a[j, i]` the element of another item is written.  That they are not shifted against each other is for the launch
    to see: `ctx.apart` gets such arrays, and without `options.apart` nothing is assumed of them.
    """
    assert ctx.parallel is not None
    own = frozenset(ctx.parallel.indices)
    writes = [op for op in body.walk() if op.opcode in ("store", "atomic") and isinstance(op.attrs["mem"], Array)]
    order: dict[DType, tuple[Value, ...]] = {}
    shared: set[DType] = set()
    for op in writes:
        mem: Array = op.attrs["mem"]
        indices = op.operands[: mem.ndim]
        is_own = len(indices) == len(own) and frozenset(indices) == own and mem not in ctx.overlapping
        if not is_own or order.setdefault(mem.dtype, indices) != indices:
            shared.add(mem.dtype)
    written = {op.attrs["mem"] for op in writes}
    for dtype in order.keys() - shared:
        arrays = [mem for mem in written if mem.dtype == dtype]
        if len(arrays) > 1 and not ctx.options.apart:
            shared.add(dtype)
        elif len(arrays) > 1 and any(op.attrs["mem"].dtype == dtype for op in ctx.augmented):
            ctx.apart.update(arrays)
    plain = {op for op in writes if op in ctx.augmented and op.attrs["mem"].dtype not in shared}
    if plain:
        _rewrite(body, plain)


def _rewrite(block: Block, plain: set[Op]) -> None:
    ops: list[Op] = []
    for op in block.ops:
        for region in op.regions:
            _rewrite(region, plain)
        if op not in plain:
            ops.append(op)
            continue
        mem, indices, operand = op.attrs["mem"], op.operands[:-1], op.operands[-1]
        new = Value(mem.dtype)
        ops += [
            Op("load", indices, op.results, {"mem": mem}, loc=op.loc),
            Op(op.attrs["kind"], (op.result, operand), (new,), loc=op.loc),
            Op("store", (*indices, new), (), {"mem": mem}, loc=op.loc),
        ]
    block.ops[:] = ops
