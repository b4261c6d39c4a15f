"""Which values are the same in every lane, which grow by a constant from lane to lane, which are free.

The lattice is `Level`: block-uniform, subgroup-uniform, linear (uniform + stride * lane, modulo the type's width),
varying.  The statement is about the active lanes: "every active lane that computes this holds the same value".

The *strict* analysis says it of every lane, helpers included, whatever the mask was: it trusts no memory read (a helper
does not read) and no join with a value that only some lanes computed.  A branch on a strictly uniform value needs no
vote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..ir import EXIT_FLAG, OPCODES, Block, Effect, Level, Local, Op, Value

"""The hint of the flag "this lane has ended its item"."""

_UNIFORM = Level.SUBGROUP

_STEEPEST = 2048
"""The largest stride of a linear value: 64 lanes of it stay within the 2**17 by which every array of i32 indices ends
before the type does, so what wraps on the way from lane 0 to another lane is no index of an element."""


@dataclass(slots=True)
class Uniformity:
    """The level of every value, the stride of every linear one, and the constants met on the way."""

    subgroup_size: int
    level: dict[Value, Level] = field(default_factory=dict)
    stride: dict[Value, int] = field(default_factory=dict)
    constant: dict[Value, int | float | bool] = field(default_factory=dict)

    def is_uniform(self, value: Value) -> bool:
        """Whether every active lane of the subgroup holds the same value."""
        return self.level[value] <= _UNIFORM


def analyse(
    body: Block,
    scalars: Iterable[Value],
    subgroup_size: int,
    *,
    strict: bool = False,
    ignore_exits: bool = False,
) -> Uniformity:
    """The levels of all values of a kernel.

    With `ignore_exits`, as if no lane had ended its item: the view in which a barrier's place is judged.
    """
    result = Uniformity(subgroup_size)
    for scalar in scalars:
        result.level[scalar] = Level.BLOCK
    _Analysis(result, strict, ignore_exits).block(body)
    return result


class _Analysis:
    def __init__(self, result: Uniformity, strict: bool, ignore_exits: bool) -> None:
        self.facts = result
        self.strict = strict
        self.ignore_exits = ignore_exits
        self.undefs: set[Value] = set()
        self.nowrap: set[Value] = set()

    # ---- recording -----------------------------------------------------------------------------------------------
    def put(self, value: Value, level: Level, stride: int = 0) -> None:
        if self.ignore_exits and value.hint == EXIT_FLAG:
            level = Level.BLOCK
        if self.facts.subgroup_size == 1:
            level = min(level, _UNIFORM)
        if level is Level.LINEAR:
            level, stride = self.settled(value, stride)
        self.facts.level[value] = level
        if level is Level.LINEAR:
            self.facts.stride[value] = stride
        else:
            self.facts.stride.pop(value, None)

    def settled(self, value: Value, stride: int) -> tuple[Level, int]:
        """What a linear value is once its stride is reduced to the type: too steep a one may wrap between lanes."""
        if not value.type.is_int:
            return Level.VARYING, 0
        half = 1 << (value.type.bits - 1)
        stride = (stride + half) % (2 * half) - half
        if stride == 0:
            return _UNIFORM, 0
        return (Level.VARYING, 0) if abs(stride) > _STEEPEST else (Level.LINEAR, stride)

    def get(self, value: Value) -> tuple[Level, int]:
        return self.facts.level[value], self.facts.stride.get(value, 0)

    # ---- the walk ------------------------------------------------------------------------------------------------
    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        if op.opcode == "if":
            self.if_(op)
        elif op.opcode == "loop":
            self.loop(op)
        else:
            for region in op.regions:  # a generic operation's combination
                for arg in region.args:
                    self.put(arg, Level.VARYING)
                self.block(region)
            level, stride = self.plain(op)
            for value in op.results:
                self.put(value, level, stride)

    def plain(self, op: Op) -> tuple[Level, int]:
        if op.opcode == "const":
            self.facts.constant[op.result] = op.attrs["value"]
            return Level.BLOCK, 0
        if op.opcode == "undef":
            self.undefs.add(op.result)
            return Level.BLOCK, 0
        if op.opcode == "lane" or op.attrs.get("nowrap"):
            self.nowrap.add(op.result)
        if op.attrs.get("uniform"):  # an expansion knows more than its operands show
            return _UNIFORM, 0
        row = OPCODES[op.opcode]
        if row.level is not None:
            level = row.level(op.attrs, self.facts.subgroup_size)
            return level, int(level is Level.LINEAR)  # rows that are linear count lanes: their stride is 1
        if op.opcode in _LINEAR_RULES:
            found = _LINEAR_RULES[op.opcode](self, op)
            if found is not None:
                return Level.LINEAR, found
        joined = max((self.facts.level[v] for v in op.operands), default=Level.BLOCK)
        if op.opcode == "subgroup.gather" and self.facts.is_uniform(op.operands[1]):
            return _UNIFORM, 0  # every lane reads the same lane
        if op.opcode in ("subgroup.permute", "subgroup.gather"):
            return (self.facts.level[op.operands[0]] if joined <= _UNIFORM else Level.VARYING), 0
        if row.convergent and op.results:
            return Level.VARYING, 0
        if row.effect & Effect.READS and (self.strict or isinstance(op.attrs["mem"], Local)):
            return Level.VARYING, 0
        return (joined if joined <= _UNIFORM else Level.VARYING), 0

    def join(self, a: Value, b: Value) -> tuple[Level, int]:
        """Of a value that is `a` in some lanes and `b` in others, decided by a uniform condition."""
        (la, sa), (lb, sb) = self.get(a), self.get(b)
        if not self.strict and (a in self.undefs or b in self.undefs):
            return (la, sa) if b in self.undefs else (lb, sb)
        if la is lb is Level.LINEAR:
            return (Level.LINEAR, sa) if sa == sb else (Level.VARYING, 0)
        joined = max(la, lb)
        return (joined if joined <= _UNIFORM else Level.VARYING), 0

    def if_(self, op: Op) -> None:
        for region in op.regions:
            self.block(region)
        (cond,) = op.operands
        branch = self.facts.level[cond]
        for value, a, b in zip(op.results, op.regions[0].yields, op.regions[1].yields, strict=True):
            if self.ignore_exits and op.attrs.get("exit_guard"):
                self.put(value, *self.get(a))
                continue
            level, stride = self.join(a, b)
            mixed = a is not b and (self.strict or not (a in self.undefs or b in self.undefs))
            if mixed and branch > _UNIFORM:
                level = Level.VARYING
            elif mixed and level is not Level.LINEAR:
                level = max(level, branch)
            if a in self.undefs and b in self.undefs:
                self.undefs.add(value)
            self.put(value, level, stride)
        self.forget_guarded(op)

    def loop(self, op: Op) -> None:
        before, after = op.regions
        go_on, *forwarded = before.yields
        for arg, init in zip(before.args, op.operands, strict=True):
            self.put(arg, *self.get(init))
        while True:  # levels only rise, so this ends
            old = [self.get(arg) for arg in before.args]
            self.block(before)
            control = self.facts.level[go_on]
            for arg, value in zip(after.args, forwarded, strict=True):
                self.put(arg, *self.get(value))
            self.block(after)
            for arg, init, following in zip(before.args, op.operands, after.yields, strict=True):
                level, stride = self.join(init, following)
                if level is not Level.LINEAR:
                    level = max(level, min(control, _UNIFORM))
                self.put(arg, max(level, self.facts.level[arg]), stride)
            if [self.get(arg) for arg in before.args] == old:
                break
        inside = {*before.args, *(v for o in before.walk() for v in o.results)}
        for value, source in zip(op.results, forwarded, strict=True):
            level, stride = self.get(source)
            if control > _UNIFORM and source in inside:  # lanes leave in different rounds
                level, stride = Level.VARYING, 0
            if level is not Level.LINEAR:
                level = max(level, min(control, _UNIFORM))
            self.put(value, level, stride)
        self.forget_guarded(op)

    def forget_guarded(self, op: Op) -> None:
        """What does something, but nothing between lanes, runs under the mask: helpers never get its results."""
        if self.strict and not _all_take_part(op):
            for value in op.results:
                self.put(value, Level.VARYING)


def _all_take_part(op: Op) -> bool:
    """Whether helpers run this `if` or `loop` too: it is pure, or holds an operation between lanes."""
    effects = [OPCODES[inner.opcode].effect for inner in Block(ops=[op]).walk() if inner.opcode != "if"]
    return not any(effects) or any(effect & (Effect.CROSS_LANE | Effect.BARRIER) for effect in effects)


# ---- how arithmetic keeps a value linear: the stride of the result, None where it is not linear -------------------
def _stride(analysis: _Analysis, value: Value) -> int | None:
    """A uniform value's stride is 0, a varying one has none."""
    level, stride = analysis.get(value)
    return stride if level is Level.LINEAR else (0 if level <= _UNIFORM else None)


def _sum(sign: int) -> object:
    def rule(analysis: _Analysis, op: Op) -> int | None:
        a, b = (_stride(analysis, v) for v in op.operands)
        if a is None or b is None or not op.result.type.is_int or not (a or b):
            return None
        return a + sign * b

    return rule


def _product(analysis: _Analysis, op: Op) -> int | None:
    for factor, other in (op.operands, op.operands[::-1]):
        constant, stride = analysis.facts.constant.get(factor), _stride(analysis, other)
        if constant is not None and stride and op.result.type.is_int:
            return stride * int(constant)
    return None


def _shift(analysis: _Analysis, op: Op) -> int | None:
    constant, stride = analysis.facts.constant.get(op.operands[1]), _stride(analysis, op.operands[0])
    if constant is None or not stride:
        return None
    return stride << (int(constant) % op.result.type.bits)


def _widened(analysis: _Analysis, op: Op) -> int | None:
    """A widening cast keeps a value linear where it is known not to wrap: a launch's item, and the lane."""
    source, target = op.operands[0], op.result.type
    if source not in analysis.nowrap or not target.is_int or target.bits < source.type.bits:
        return None
    analysis.nowrap.add(op.result)
    return _stride(analysis, source)


_LINEAR_RULES = {"add": _sum(1), "sub": _sum(-1), "mul": _product, "shl": _shift, "cast": _widened}
