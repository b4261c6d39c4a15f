"""`a[i] += x` on the thread's own element needs no atomic."""

from __future__ import annotations

from ..ir import Array, Block, Op, Value
from .context import Context


def make_own_updates_plain(body: Block, ctx: Context) -> None:
    """Turn such updates into load, operation, store where it is provable that no other item writes the element.

    An element is the item's own where its indices are exactly the loop's.  Two arrays of one dtype may be the same
    memory, so every write to arrays of that dtype must be to an own element.
    """
    assert ctx.parallel is not None
    own = frozenset(ctx.parallel.indices)
    writes = [op for op in body.walk() if op.opcode in ("store", "atomic") and isinstance(op.attrs["mem"], Array)]
    shared = {op.attrs["mem"].dtype for op in writes if not _is_own(op, own)}
    plain = {op for op in writes if op in ctx.augmented and op.attrs["mem"].dtype not in shared}
    if plain:
        _rewrite(body, plain)


def _is_own(op: Op, own: frozenset[Value]) -> bool:
    indices = op.operands[: op.attrs["mem"].ndim]
    return len(indices) == len(own) and frozenset(indices) == own


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
