"""Checks what every pass must keep: values are defined once and before use, types agree, regions have their shape."""

from __future__ import annotations

from .. import dtypes
from .nodes import Array, Block, Kernel, Op, Program, Value
from .opcodes import OPCODES


class InvalidIR(AssertionError):
    """A pass broke the IR: a fault of lanewise, never of the user."""


def verify(what: Program | Kernel) -> None:
    """Raise InvalidIR at the first broken rule."""
    _Verifier().run(what)


class _Verifier:
    def __init__(self) -> None:
        self.defined: set[Value] = set()

    def run(self, what: Program | Kernel) -> None:
        self.visible(what.scalars)
        if what.body.args or what.body.yields:
            raise InvalidIR(f"{what.name}: the outermost block takes and yields nothing")
        self.block(what.body)

    def visible(self, values: list[Value] | tuple[Value, ...]) -> None:
        for value in values:
            if value in self.defined:
                raise InvalidIR(f"{value} is defined twice")
            self.defined.add(value)

    def used(self, value: Value, op: Op | None) -> None:
        if value not in self.defined:
            raise InvalidIR(f"{value} is used where it is not defined, by {op.opcode if op else 'a yield'}: {op}")

    def block(self, block: Block) -> None:
        outer = set(self.defined)
        self.visible(block.args)
        for op in block.ops:
            self.op(op)
        for value in block.yields:
            self.used(value, None)
        self.defined = outer

    def op(self, op: Op) -> None:
        for value in op.uses:
            self.used(value, op)
        if op.mask is not None and op.mask.type != dtypes.bool_:
            raise InvalidIR(f"the mask of {op.opcode} is {op.mask.type}")
        if op.opcode in ("if", "loop", "parallel"):
            getattr(self, f"_{op.opcode}")(op)
        else:
            self._row(op)
        for region in op.regions:
            self.block(region)
        self.visible(op.results)

    def _row(self, op: Op) -> None:
        row = OPCODES.get(op.opcode)
        if row is None:
            raise InvalidIR(f"no opcode {op.opcode}")
        want = row.infer(tuple(v.type for v in op.operands), op.attrs)
        got = tuple(v.type for v in op.results)
        if want != got:
            raise InvalidIR(f"{op.opcode} gives {want}, not {got}")
        mem = op.attrs.get("mem")
        if mem is not None and op.opcode != "extent":
            rank = mem.ndim if isinstance(mem, Array) else len(mem.shape)
            values = {"load": 0, "store": 1}.get(op.opcode, 2 if op.attrs.get("kind") == "cas" else 1)
            if len(op.operands) != rank + values:
                raise InvalidIR(f"{op.opcode} of {mem.name}: {len(op.operands)} operands for {rank} axes")
            if any(not v.type.is_int for v in op.operands[:rank]):
                raise InvalidIR(f"{op.opcode} of {mem.name}: an index is no integer")
            if any(v.type != mem.dtype for v in op.operands[rank:]):
                raise InvalidIR(f"{op.opcode} of {mem.name}: the value is no {mem.dtype}")
        elif row.meaning is not None and op.opcode in _ONE_TYPE and len({v.type for v in op.operands}) > 1:
            raise InvalidIR(f"{op.opcode} of {[v.type for v in op.operands]}: the operands' types differ")

    def _match(self, op: Op, what: str, a: tuple[Value, ...], b: tuple[Value, ...]) -> None:
        if [v.type for v in a] != [v.type for v in b]:
            raise InvalidIR(f"{op.opcode}: {what} differ: {[v.type for v in a]} and {[v.type for v in b]}")

    def _if(self, op: Op) -> None:
        then, orelse = op.regions
        if op.operands[0].type != dtypes.bool_ or then.args or orelse.args:
            raise InvalidIR("if: the condition is a bool, the regions take nothing")
        self._match(op, "the results", then.yields, op.results)
        self._match(op, "the results", orelse.yields, op.results)

    def _loop(self, op: Op) -> None:
        before, after = op.regions
        if not before.yields or before.yields[0].type != dtypes.bool_:
            raise InvalidIR("loop: the first region yields a bool first")
        self._match(op, "the inits", op.operands, before.args)
        self._match(op, "the forwarded values", before.yields[1:], after.args)
        self._match(op, "the next arguments", after.yields, before.args)
        self._match(op, "the results", before.yields[1:], op.results)

    def _parallel(self, op: Op) -> None:
        (body,) = op.regions
        if body.yields or len(body.args) != len(op.operands):
            raise InvalidIR("parallel: one index an extent, no results")


_ONE_TYPE = frozenset("add sub mul div floordiv mod min max fma and or xor shl shr atan2 pow eq ne lt le gt ge".split())
