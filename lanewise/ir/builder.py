"""Appends operations to blocks, with their result types inferred from the table and constants folded by the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import dtypes
from ..dtypes import DType
from ..errors import Loc
from .nodes import NOWHERE, Block, Memory, Op, Value
from .opcodes import OPCODES


class Builder:
    """Emits at the end of the current block.

    `subgroup_size` is W and `block_dim` the block's threads, compile-time facts.  `loc` is the place given to each new
    operation; set it as you go.
    """

    def __init__(self, subgroup_size: int, block: Block | None = None, block_dim: int = 0) -> None:
        self.subgroup_size = subgroup_size
        self.block_dim = block_dim
        self.block = block if block is not None else Block()
        self.loc: Loc = NOWHERE

    @contextmanager
    def at(self, block: Block) -> Iterator[Block]:
        """Emit into `block` for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def append(self, op: Op) -> Op:
        self.block.ops.append(op)
        return op

    def emit(
        self,
        opcode: str,
        *operands: Value,
        active: Value | None = None,
        regions: tuple[Block, ...] = (),
        hint: str = "",
        **attrs: Any,
    ) -> tuple[Value, ...]:
        """Append an operation of the table, with its mask and attributes; its results."""
        types = OPCODES[opcode].infer(tuple(v.type for v in operands), attrs)
        results = tuple(Value(t, hint) for t in types)
        self.append(Op(opcode, operands, results, attrs, regions, active, self.loc))
        return results

    def __call__(self, opcode: str, *operands: Value, active: Value | None = None, **attrs: Any) -> Value:
        """Append an operation with one result."""
        (result,) = self.emit(opcode, *operands, active=active, **attrs)
        return result

    # ---- values --------------------------------------------------------------------------------------------------
    def const(self, value: int | float | bool, dtype: DType) -> Value:
        """A constant; `value` is converted to the type (integers wrap)."""
        if dtype.is_bool:
            value = bool(value)
        elif dtype.is_int:
            value = int(value) & ((1 << dtype.bits) - 1)
            if dtype.is_signed and value >> (dtype.bits - 1):
                value -= 1 << dtype.bits
        else:
            value = float(value)
        return self("const", value=value, dtype=dtype)

    def undef(self, dtype: DType) -> Value:
        return self("undef", dtype=dtype)

    def cast(self, value: Value, dtype: DType) -> Value:
        """Convert to `dtype`; nothing where it has that type."""
        return value if value.type == dtype else self("cast", value, dtype=dtype)

    def select(self, cond: Value, a: Value, b: Value) -> Value:
        return a if a is b else self("select", cond, a, b)

    def both(self, a: Value | None, b: Value | None) -> Value | None:
        """The conjunction of two masks, None being "all"."""
        if a is None or a is b:
            return b
        return a if b is None else self("and", a, b)

    def lane(self) -> Value:
        return self("lane")

    def thread_idx(self) -> Value:
        """The thread's index in its block: subgroup_id * W + lane."""
        return self.add(self("mul", self("subgroup_id"), self.i32(self.subgroup_size)), self.lane())

    def i32(self, value: int) -> Value:
        return self.const(value, dtypes.i32)

    # ---- memory --------------------------------------------------------------------------------------------------
    def load(self, mem: Memory, *indices: Value) -> Value:
        return self("load", *indices, mem=mem)

    def store(self, mem: Memory, indices: Sequence[Value], value: Value) -> None:
        self.emit("store", *indices, value, mem=mem)

    # ---- control flow --------------------------------------------------------------------------------------------
    def if_(
        self,
        cond: Value,
        then: Callable[[], Sequence[Value]],
        orelse: Callable[[], Sequence[Value]] | None = None,
        **attrs: Any,
    ) -> tuple[Value, ...]:
        """`if cond`: both callbacks emit a region and return its results, of the same types."""
        regions: list[Block] = []
        for callback in (then, orelse or (lambda: ())):
            with self.at(Block()) as block:
                block.yields = tuple(callback())
            regions.append(block)
        return self.if_op(cond, regions[0], regions[1], **attrs)

    def if_op(self, cond: Value, then: Block, orelse: Block, **attrs: Any) -> tuple[Value, ...]:
        """An `if` of two finished regions."""
        results = tuple(Value(v.type, v.hint) for v in then.yields)
        self.append(Op("if", (cond,), results, attrs, (then, orelse), None, self.loc))
        return results

    def loop(
        self,
        inits: Sequence[Value],
        before: Callable[..., tuple[Value, Sequence[Value]]],
        after: Callable[..., Sequence[Value]],
        **attrs: Any,
    ) -> tuple[Value, ...]:
        """`loop inits`: before(*args) returns (go on?, forwarded values), after(*forwarded) the next args."""
        head = Block(tuple(Value(v.type, v.hint) for v in inits))
        with self.at(head):
            go_on, forwarded = before(*head.args)
            head.yields = (go_on, *forwarded)
        body = Block(tuple(Value(v.type, v.hint) for v in forwarded))
        with self.at(body):
            body.yields = tuple(after(*body.args))
        return self.loop_op(inits, head, body, **attrs)

    def loop_op(self, inits: Sequence[Value], before: Block, after: Block, **attrs: Any) -> tuple[Value, ...]:
        """A `loop` of two finished regions."""
        results = tuple(Value(v.type, v.hint) for v in before.yields[1:])
        self.append(Op("loop", tuple(inits), results, attrs, (before, after), None, self.loc))
        return results

    # ---- short names for what expansions use most ----------------------------------------------------------------
    def add(self, a: Value, b: Value) -> Value:
        return self("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self("sub", a, b)

    def and_(self, a: Value, b: Value) -> Value:
        return self("and", a, b)

    def or_(self, a: Value, b: Value) -> Value:
        return self("or", a, b)

    def not_(self, a: Value) -> Value:
        return self("not", a)

    def eq(self, a: Value, b: Value) -> Value:
        return self("eq", a, b)

    def lt(self, a: Value, b: Value) -> Value:
        return self("lt", a, b)

    def ge(self, a: Value, b: Value) -> Value:
        return self("ge", a, b)
