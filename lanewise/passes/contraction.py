"""With `fast_float`: a product that only a sum reads becomes one `fma`, on every backend the same ones."""

from __future__ import annotations

from collections import Counter

from .. import dtypes
from ..ir import Block, Op, Program, Value

_FUSED = (dtypes.f32, dtypes.f64)
"""Types whose fma is one instruction."""


def contract(program: Program) -> Program:
    """The same program with a * b + c, a * b - c and c - a * b fused in its parallel loops."""
    uses = _uses(program.body)
    for op in program.body.ops:
        if op.opcode == "parallel":
            _block(op.regions[0], uses)
    return program


def _uses(body: Block) -> Counter[Value]:
    """How often each value is read."""
    found = Counter(body.yields)
    for op in body.walk():
        found.update(op.uses)
        for region in op.regions:
            found.update(region.yields)
    return found


def _block(block: Block, uses: Counter[Value]) -> None:
    products: dict[Value, Op] = {}
    ops: list[Op] = []
    for op in block.ops:
        for region in op.regions:
            _block(region, uses)
        if op.opcode == "mul" and op.result.type in _FUSED and uses[op.result] == 1:
            products[op.result] = op
        ops += _fused(op, products) if op.opcode in ("add", "sub") else [op]
    block.ops = ops  # products that are no longer read are dropped with all that nobody reads


def _fused(op: Op, products: dict[Value, Op]) -> list[Op]:
    """A sum as an fma, where one of its sides is a product: what it takes beforehand, and the fma itself."""
    left, right = op.operands
    place = 1 if right in products else 0
    product = products.get(op.operands[place])
    if product is None:
        return [op]
    a, b = product.operands
    other = (right, left)[place]
    before: list[Op] = []
    if op.opcode == "sub":  # a * b - c is a * b + -c, and c - a * b is -a * b + c
        negated = other if place == 0 else a
        before = [Op("neg", (negated,), (Value(negated.type),), loc=op.loc)]
        a, other = (a, before[0].result) if place == 0 else (before[0].result, other)
    return [*before, Op("fma", (a, b, other), op.results, loc=op.loc)]
