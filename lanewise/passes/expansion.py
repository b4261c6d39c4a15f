"""Replaces operations between lanes by their expansions into primitives, but for those a backend has natively."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from ..ir import OPCODES, Block, Builder, Kernel, Op, Value
from ..ir.clone import clone_op, renamed
from ..simt.op import SimtOp

Natives: TypeAlias = Collection[str] | Callable[[Op], bool]
"""What a backend keeps: opcode names, or a rule that may look at types and attributes too."""

Expansion: TypeAlias = Callable[[Builder, Op, Value | None, tuple[Value, ...]], "tuple[Value, ...] | None"]
"""A backend's own expansion of an operation: given its mask and its operands, the results; None for the usual one."""


def expand(kernel: Kernel, natives: Natives = (), expansions: Mapping[str, Expansion] | None = None) -> Kernel:
    """The same kernel in primitives and `natives`; `expansions` are tried before the operations' own."""
    kernel.body = _Expand(kernel, natives, expansions or {}).block(kernel.body)
    return kernel


class _Expand:
    def __init__(self, kernel: Kernel, natives: Natives, expansions: Mapping[str, Expansion]) -> None:
        self.expansions = expansions
        self.b = Builder(kernel.subgroup_size, block_dim=kernel.block_dim)
        self.keeps: Callable[[Op], bool] = natives if callable(natives) else lambda op: op.opcode in natives
        self.names: dict[Value, Value] = {}

    def block(self, block: Block) -> Block:
        with self.b.at(Block(block.args)) as new:
            for op in block.ops:
                self.op(op)
            new.yields = renamed(self.names, block.yields)
        return new

    def op(self, op: Op) -> None:
        row = OPCODES[op.opcode]
        if isinstance(row, SimtOp) and row.expand is not None and not self.keeps(op):
            self.expansion(op, row)
        elif op.regions or any(v in self.names for v in op.uses):
            regions = tuple(self.block(region) for region in op.regions)
            operands = renamed(self.names, op.operands)
            mask = None if op.mask is None else self.names.get(op.mask, op.mask)
            self.b.append(Op(op.opcode, operands, op.results, op.attrs, regions, mask, op.loc))
        else:
            self.b.append(op)

    def expansion(self, op: Op, row: SimtOp) -> None:
        """Emit the expansion aside, then what it emitted in turn, as it may use other operations."""
        assert row.expand is not None
        attrs = dict(op.attrs)
        if op.regions:
            attrs["region"] = clone_op(op, dict(self.names)).regions[0]
        operands = renamed(self.names, op.operands)
        mask = None if op.mask is None else self.names.get(op.mask, op.mask)
        with self.b.at(Block()) as aside:
            self.b.loc = op.loc
            better = self.expansions.get(op.opcode)
            made = better(self.b, op, mask, operands) if better is not None else None
            if made is None:
                made = row.expand(self.b, mask, *operands, **attrs)
        results: tuple[Value, ...] = () if made is None else made if isinstance(made, tuple) else (made,)
        for inner in aside.ops:
            self.op(inner)
        for old, new in zip(op.results, results, strict=True):
            self.names[old] = self.names.get(new, new)
