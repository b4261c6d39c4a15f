"""Makes the code smaller without changing what it does: constants, repeated and unused operations, settled branches.

Folding uses each row's NumPy meaning, so it cannot disagree with the interpreter.  A value that depends on the lane and
on constants alone is known for every lane: a `gather` by such an index becomes a `permute`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import OPCODES, Block, Effect, Kernel, Op, Value
from ..ir.arith import MATH
from ..ir.clone import renamed
from ..simt.primitives import lane_map


def fold(kernel: Kernel) -> Kernel:
    """The same kernel, folded and without unused operations."""
    folding = _Fold(kernel.subgroup_size)
    kernel.body = folding.block(kernel.body, {})
    if kernel.exists is not None:
        kernel.exists = folding.names.get(kernel.exists, kernel.exists)
    drop_unused(kernel.body, keep={kernel.exists} if kernel.exists is not None else set())
    return kernel


def drop_unused(block: Block, keep: set[Value]) -> None:
    """Remove operations, loop arguments aside, whose results nobody reads and that do nothing else."""
    used = set(keep)
    _sweep(block, used)


def _sweep(block: Block, used: set[Value]) -> None:
    used.update(block.yields)
    kept: list[Op] = []
    for op in reversed(block.ops):
        if not any(v in used for v in op.results) and _droppable(op):
            continue
        used.update(op.uses)
        for region in op.regions:
            _sweep(region, used)
        kept.append(op)
    block.ops = kept[::-1]


def _droppable(op: Op) -> bool:
    if OPCODES[op.opcode].effect & (Effect.WRITES | Effect.BARRIER) or op.opcode == "loop":
        return False
    return all(_droppable(inner) for region in op.regions for inner in region.ops)


class _Fold:
    def __init__(self, subgroup_size: int) -> None:
        self.size = subgroup_size
        self.names: dict[Value, Value] = {}
        self.lanes: dict[Value, np.ndarray[Any, Any]] = {}  # values known at compile time: one lane, or all of them
        self.multiples: dict[Value, int] = {}  # powers of two that divide integers, where above 1
        self.sums: dict[Value, tuple[Value, Value]] = {}  # what was added, where the two have no bit in common

    def block(self, block: Block, seen: dict[Any, Op]) -> Block:
        """Fold a region; `seen` holds the pure operations that dominate it, by what they compute."""
        new = Block(block.args)
        seen = dict(seen)
        for op in block.ops:
            self.op(op, new.ops, seen)
        new.yields = renamed(self.names, block.yields)
        return new

    def op(self, op: Op, out: list[Op], seen: dict[Any, Op]) -> None:
        operands = renamed(self.names, op.operands)
        if op.opcode == "if" and operands[0] in self.lanes and self.lanes[operands[0]].size == 1:
            self.settled(op, bool(self.lanes[operands[0]][0]), out, seen)
            return
        mask = None if op.mask is None else self.names.get(op.mask, op.mask)
        regions = tuple(self.block(region, seen) for region in op.regions)
        op = Op(op.opcode, operands, op.results, op.attrs, regions, mask, op.loc)
        row = OPCODES[op.opcode]
        if row.pure and not op.regions:
            self.pure(op, out, seen)
            return
        if op.opcode == "subgroup.gather":
            op = self.permuted(op)
        out.append(op)

    def settled(self, op: Op, cond: bool, out: list[Op], seen: dict[Any, Op]) -> None:
        """An `if` whose condition is known: the region that runs, in its place."""
        region = op.regions[0 if cond else 1]
        for inner in region.ops:
            self.op(inner, out, seen)
        self.names.update(zip(op.results, renamed(self.names, region.yields), strict=True))

    def pure(self, op: Op, out: list[Op], seen: dict[Any, Op]) -> None:
        op = self.cheaper(op, out, seen)
        simpler = self.simpler(op)
        if simpler is not None:
            self.names[op.result] = simpler
            return
        known = self.evaluate(op)
        if known is not None:
            self.lanes[op.result] = known
            if known.size == 1 and op.opcode != "const":
                op = Op("const", (), op.results, {"value": known[0].item(), "dtype": op.result.type}, loc=op.loc)
        self.note_bits(op)
        key = _key(op)
        if key in seen and op.opcode != "undef":  # each branch keeps its own: a backend sees that it yields nothing
            self.names.update(zip(op.results, seen[key].results, strict=True))
            return
        seen[key] = op
        out.append(op)

    def evaluate(self, op: Op) -> np.ndarray[Any, Any] | None:
        """The value in one lane where all lanes have the same, else in each lane; None where it is not known."""
        if op.opcode == "const":
            return np.array([op.attrs["value"]], op.result.type.np)
        if op.opcode == "lane":
            return np.arange(self.size, dtype=np.int32)
        if op.opcode == "and" and self.keeps_nothing_of(*op.operands):
            return np.zeros(1, op.result.type.np)
        meaning = OPCODES[op.opcode].meaning
        if meaning is None or op.opcode in MATH or not all(v in self.lanes for v in op.operands):
            return None
        with np.errstate(all="ignore"):
            values = [self.lanes[v] for v in op.operands]
            extra = (op.attrs["dtype"],) if op.opcode in ("cast", "bitcast") else ()
            result = np.asarray(meaning(*values, *extra)).astype(op.result.type.np, copy=False)
        return result[:1] if result.size > 1 and (result == result[0]).all() and result.dtype.kind != "f" else result

    def simpler(self, op: Op) -> Value | None:
        """An operand that the result equals, bit for bit."""
        if op.opcode == "select":
            cond, a, b = op.operands
            if a is b:
                return a
            if cond in self.lanes and self.lanes[cond].size == 1:
                return a if self.lanes[cond][0] else b
        elif op.opcode in _NEUTRAL and not op.result.type.is_float:
            a, b = op.operands
            neutral = _NEUTRAL[op.opcode](op.result.type)
            if self.is_constant(b, neutral):
                return a
            if self.is_constant(a, neutral) and op.opcode not in ("sub", "shl", "shr"):
                return b
            if op.opcode in ("and", "or") and a is b:
                return a
            if op.opcode == "and" and a in self.lanes and b in self.lanes:
                masked, whole = np.broadcast_arrays(self.lanes[a] & self.lanes[b], self.lanes[a])
                if np.array_equal(masked, whole):
                    return a
        elif op.opcode == "cast" and op.operands[0].type == op.result.type:
            return op.operands[0]
        return None

    def note_bits(self, op: Op) -> None:
        """What divides the result, and whether it is a sum without a carry, such as (a multiple of W) + lane."""
        if not op.result.type.is_int:
            return
        factor = min(_FACTORS.get(op.opcode, _unknown)(self, op), 1 << 20)
        if factor > 1:
            self.multiples[op.result] = factor
        if op.opcode == "add":
            for base, offset in (op.operands, op.operands[::-1]):
                known = self.lanes.get(offset)
                if known is not None and known.min() >= 0 and known.max() < self.multiples.get(base, 1):
                    self.sums[op.result] = (base, offset)

    def cheaper(self, op: Op, out: list[Op], seen: dict[Any, Op]) -> Op:
        """The same by operations that cost less or say more of how lanes differ."""
        return self.apart(self.shifted(op, out, seen), out, seen)

    def apart(self, op: Op, out: list[Op], seen: dict[Any, Op]) -> Op:
        """A shift or mask of a sum without a carry, side by side: what is left of the lane may be nothing."""
        if op.opcode not in ("shr", "and") or op.operands[0] not in self.sums or op.operands[1] not in self.lanes:
            return op
        sides: list[Value] = []
        for side in self.sums[op.operands[0]]:
            part = Op(op.opcode, (side, op.operands[1]), (Value(op.result.type),), loc=op.loc)
            self.pure(part, out, seen)
            sides.append(self.names.get(part.result, part.result))
        return Op("add", tuple(sides), op.results, {"nowrap": True}, loc=op.loc)

    def shifted(self, op: Op, out: list[Op], seen: dict[Any, Op]) -> Op:
        """Floor division by a power of two is an arithmetic shift, its remainder a mask: exactly, for either sign."""
        dtype = op.results[0].type
        if op.opcode not in ("floordiv", "mod") or not dtype.is_int:
            return op
        known = self.lanes.get(op.operands[1])
        divisor = int(known[0]) if known is not None and known.size == 1 else 0
        if divisor <= 0 or divisor & (divisor - 1):
            return op
        amount = divisor.bit_length() - 1 if op.opcode == "floordiv" else divisor - 1
        constant = Op("const", (), (Value(dtype),), {"value": amount, "dtype": dtype}, loc=op.loc)
        self.pure(constant, out, seen)
        operand = self.names.get(constant.result, constant.result)
        return Op("shr" if op.opcode == "floordiv" else "and", (op.operands[0], operand), op.results, {}, loc=op.loc)

    def keeps_nothing_of(self, value: Value, mask: Value) -> bool:
        """Whether a constant mask has only bits that are 0 in the value, a multiple of a power of two."""
        known = self.lanes.get(mask)
        return known is not None and known.min() >= 0 and known.max() < self.multiples.get(value, 1)

    def is_constant(self, value: Value, number: int) -> bool:
        known = self.lanes.get(value)
        return known is not None and known.size == 1 and known[0] == number

    def permuted(self, op: Op) -> Op:
        """A gather by an index that is known in every lane."""
        value, index = op.operands
        known = self.lanes.get(index)
        if known is None:
            return op
        sources = tuple(int(i) for i in np.broadcast_to(known, (self.size,)))
        log2_size = self.size.bit_length() - 1
        attrs: dict[str, Any] = {"kind": "map", "amount": sources, "log2_size": log2_size}
        for kind, amount in (("xor", sources[0]), ("broadcast", sources[0]), ("rotate", sources[0])):
            if lane_map(kind, amount, log2_size, self.size) == sources:
                attrs = {"kind": kind, "amount": amount, "log2_size": log2_size}
                break
        return Op("subgroup.permute", (value,), op.results, attrs, (), None, op.loc)


def _unknown(fold: _Fold, op: Op) -> int:
    return op.attrs.get("multiple", 1)


def _constant_factor(fold: _Fold, op: Op) -> int:
    value = int(op.attrs["value"])
    return value & -value if value else 1 << 20


def _least(fold: _Fold, op: Op) -> int:
    return min(fold.multiples.get(v, 1) for v in op.operands)


def _product(fold: _Fold, op: Op) -> int:
    a, b = (fold.multiples.get(v, 1) for v in op.operands)
    return a * b


_FACTORS: dict[str, Callable[[_Fold, Op], int]] = {
    "const": _constant_factor,
    "add": _least,
    "sub": _least,
    "mul": _product,
    "cast": _least,
}
"""The power of two that divides a result; a wrapped one too, as long as it is a divisor of the type's modulus."""


def _key(op: Op) -> Any:
    attrs = tuple((k, repr(v) if isinstance(v, float) else v, type(v)) for k, v in op.attrs.items())
    return (op.opcode, op.operands, attrs, op.results[0].type)


_NEUTRAL = {
    "add": lambda t: 0,
    "sub": lambda t: 0,
    "or": lambda t: 0,
    "xor": lambda t: 0,
    "shl": lambda t: 0,
    "shr": lambda t: 0,
    "mul": lambda t: 1,
    "and": lambda t: 1 if t.is_bool else (1 << t.bits) - 1 if not t.is_signed else -1,
}
