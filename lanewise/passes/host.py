"""Host code: what stands outside a kernel's parallel loops, turned into one Python function.

`host(scalars, extents)` takes the scalar arguments and, for each array in order, its tuple of extents.  It gives, for
each parallel loop, the tuple of values that the launch passes (`outline.captured_scalars`), extents first.  Integers
are Python ints wrapped to their type; what is not in the short table of integer expressions goes through the row's
NumPy meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..dtypes import DType
from ..ir import OPCODES, Block, Op, Program, Value
from .outline import captured_scalars, parallel_loops

HostFunction: TypeAlias = Callable[[Sequence[Any], Sequence[tuple[int, ...]]], Sequence[tuple[Any, ...]]]

_EXACT = {  # integers and bools that need no wrapping
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "min": "{0} if {0} <= {1} else {1}",
    "max": "{0} if {0} >= {1} else {1}",
    "mod": "{0} % {1} if {1} else 0",
}
_WRAPPED = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "neg": "-{0}",
    "not": "~{0}",
    "abs": "abs({0})",
    "floordiv": "{0} // {1} if {1} else 0",
}


def compile_host(program: Program) -> HostFunction:
    """The host code of a program as a Python function."""
    writer = _Writer(program)
    code = compile(writer.text(), f"<host code of {program.name}>", "exec")
    namespace: dict[str, Any] = dict(writer.constants)
    exec(code, namespace)  # noqa: S102  our own text
    return namespace["host"]


class _Writer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.names: dict[Value, str] = {}
        self.constants: dict[str, Any] = {}
        self.lines: list[str] = []
        self.needed = _needed(program)

    def text(self) -> str:
        self.lines = ["def host(scalars, extents):"]
        for number, value in enumerate(self.program.scalars):
            self.lines.append(f"  {self.name(value)} = scalars[{number}]")
        for op in self.program.body.ops:
            if op.opcode != "parallel":
                self.op(op, "  ")
        launches = [captured_scalars(self.program, op) for op in parallel_loops(self.program)]
        self.lines.append(f"  return ({''.join(f'({self.listed(values)}), ' for values in launches)})")
        return "\n".join(self.lines) + "\n"

    def listed(self, values: Sequence[Value]) -> str:
        return "".join(f"{self.name(v)}, " for v in values)

    def name(self, value: Value) -> str:
        return self.names.setdefault(value, f"v{len(self.names)}")

    def constant(self, thing: Any) -> str:
        name = f"k{len(self.constants)}"
        self.constants[name] = thing
        return name

    def block(self, block: Block, indent: str) -> None:
        for op in block.ops:
            self.op(op, indent)

    def op(self, op: Op, indent: str) -> None:
        if op.opcode == "if":
            self.if_(op, indent)
        elif op.opcode == "loop":
            self.loop(op, indent)
        elif op.results:
            if op.result in self.needed:
                self.lines.append(f"{indent}{self.name(op.result)} = {self.expression(op)}")
        else:
            self.lines.append(f"{indent}{self.general(op)}")

    def assign(self, targets: Sequence[Value], sources: Sequence[Value], indent: str) -> None:
        if targets:
            left, right = (", ".join(self.name(v) for v in side) for side in (targets, sources))
            self.lines.append(f"{indent}{left} = {right}")

    def if_(self, op: Op, indent: str) -> None:
        self.lines.append(f"{indent}if {self.name(op.operands[0])}:")
        for number, region in enumerate(op.regions):
            if number:
                self.lines.append(f"{indent}else:")
            self.block(region, indent + "  ")
            self.assign(op.results, region.yields, indent + "  ")
            self.lines.append(f"{indent}  pass")

    def loop(self, op: Op, indent: str) -> None:
        before, after = op.regions
        self.assign(before.args, op.operands, indent)
        self.lines.append(f"{indent}while True:")
        inner = indent + "  "
        self.block(before, inner)
        self.assign(after.args, before.yields[1:], inner)
        self.lines.append(f"{inner}if not {self.name(before.yields[0])}: break")
        self.block(after, inner)
        self.assign(before.args, after.yields, inner)
        self.assign(op.results, after.args, indent)

    def expression(self, op: Op) -> str:
        operands = [self.name(v) for v in op.operands]
        if op.opcode == "const":
            return self.constant(op.attrs["value"])
        if op.opcode == "undef":
            return "0"
        if op.opcode == "extent":
            return f"extents[{self.program.memories.index(op.attrs['mem'])}][{op.attrs['axis']}]"
        if op.opcode == "select":
            return "{1} if {0} else {2}".format(*operands)
        if not any(v.type.is_float for v in (*op.operands, *op.results)):
            dtype = op.results[0].type
            if op.opcode in _EXACT:
                return _EXACT[op.opcode].format(*operands)
            if op.opcode in _WRAPPED and dtype.is_int:
                return wrapped(_WRAPPED[op.opcode].format(*operands), dtype)
            if op.opcode == "cast" and not dtype.is_bool:
                return wrapped(operands[0], dtype)
        return self.general(op)

    def general(self, op: Op) -> str:
        """Through the NumPy meaning, on arrays of one element."""
        return f"{self.constant(_numpy_call(op))}(({self.listed(op.operands)}))"


def wrapped(expression: str, dtype: DType) -> str:
    """Python's integer expression, modulo the type's width."""
    mask = (1 << dtype.bits) - 1
    if not dtype.is_signed:
        return f"({expression}) & {mask}"
    half = 1 << (dtype.bits - 1)
    return f"((({expression}) + {half}) & {mask}) - {half}"


def _numpy_call(op: Op) -> Callable[[Sequence[Any]], Any]:
    meaning = OPCODES[op.opcode].meaning
    if meaning is None:
        return _world_call(op)
    types = [v.type.np for v in op.operands]
    extra = (op.attrs["dtype"],) if op.opcode in ("cast", "bitcast") else ()

    def call(values: Sequence[Any]) -> Any:
        with np.errstate(all="ignore"):
            arrays = [np.array([v], t) for v, t in zip(values, types, strict=True)]
            return np.asarray(meaning(*arrays, *extra))[0].item()

    return call


def _world_call(op: Op) -> Callable[[Sequence[Any]], Any]:
    """`print` and `assert` in host code."""
    from ..errors import KernelAssertionError

    parts: Sequence[str | None] = op.attrs["parts"]

    def call(values: Sequence[Any]) -> None:
        shown = iter(values[1:] if op.opcode == "assert" else values)
        text = "".join(str(next(shown)) if part is None else part for part in parts)
        if op.opcode == "print":
            print(text)
        elif not values[0]:
            raise KernelAssertionError(text or "assertion failed", loc=op.loc)

    return call


def _needed(program: Program) -> set[Value]:
    """The values that some launch, some effect or some other needed value reads; the rest is not computed."""
    needed: set[Value] = set()
    for op in parallel_loops(program):
        needed.update(captured_scalars(program, op))
    found = list(Block(ops=[op for op in program.body.ops if op.opcode != "parallel"]).walk())
    before = -1
    while len(needed) != before:
        before = len(needed)
        for op in reversed(found):
            if op.opcode in ("if", "loop") or not op.results or any(v in needed for v in op.results):
                needed.update(op.operands)
                for region in op.regions:
                    needed.update(region.yields)
    return needed
