"""The `loop` of the IR: the variables and flags that a serial loop carries from round to round."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import dtypes
from ..ir import Block, Op, Value
from .context import Context, is_pure, splice
from .control import any_of
from .frame import BREAK, RESULT, RETURN, Frame, LoopKind
from .values import FALSE, NUMBERS, TRUE, Const, Number, Poison, Scalar, Val, leaves, rebuild, same


@dataclass(frozen=True, slots=True)
class Counter:
    """A loop's index: where it starts, its name, how it advances: whatever the flags say, so that it stays uniform."""

    start: Value
    advance: Callable[[Value], Value]
    name: str


@dataclass(frozen=True, slots=True)
class _Carried:
    """Names whose numbers travel through a loop; their other leaves are fixed."""

    ctx: Context
    names: dict[str, Val]

    def _numbers(self, env: dict[str, Any]) -> Iterator[tuple[str, Number]]:
        for name in self.names:
            for leaf in leaves(env[name]):
                if isinstance(leaf, NUMBERS):
                    yield name, leaf

    def inits(self) -> list[Value]:
        return [self.ctx.value(leaf) for _, leaf in self._numbers(self.names)]

    def fresh(self) -> list[Value]:
        """New region arguments of the right types."""
        return [Value(self.ctx.dtype_of(leaf), name.removeprefix("!")) for name, leaf in self._numbers(self.names)]

    def bind(self, values: Sequence[Value]) -> dict[str, Val]:
        """The names, standing for these values."""
        numbers = iter(values)
        bound: dict[str, Val] = {}
        for name, val in self.names.items():
            new = [Scalar(next(numbers)) if isinstance(leaf, NUMBERS) else leaf for leaf in leaves(val)]
            bound[name] = rebuild(val, iter(new))
        return bound

    def values(self, env: dict[str, Any]) -> list[Value]:
        """What the names stand for at the end of a round."""
        for name, val in self.names.items():
            for old, new in zip(leaves(val), leaves(env[name]), strict=True):
                if not isinstance(old, NUMBERS) and not same(old, new):
                    raise self.ctx.compile_error(
                        f"{name} is changed inside a loop",
                        why="it stands for a compile-time value, which is the same in every round",
                        hint="a loop over lw.static(range(...)), which is unrolled",
                    )
        return [self.ctx.value(leaf) for _, leaf in self._numbers(env)]


def loop(
    frame: Frame,
    node: ast.For | ast.While,
    go_on: Callable[[Value | None], Number],
    body: Callable[[Value | None], None],
    counter: Counter | None = None,
    keep_break: bool = False,
) -> None:
    """Emit a loop.

    It carries the index, the names assigned in it that exist before it, and the flags of jumps out of it.
    `keep_break` leaves the flag of `break` set after the loop, for the next loop of an ndrange around it.
    """
    ctx, builder = frame.ctx, frame.ctx.builder
    loc, entry = frame.source.loc(node), frame.env
    carried = _Carried(ctx, _assigned(frame, node))
    jumps = [flag for flag, kind in ((BREAK, ast.Break), (RETURN, ast.Return)) if frame.source.jumps(node, kind)]
    forwarded = [flag for flag in jumps if flag == RETURN or keep_break]
    index = [Value(counter.start.type, counter.name)] if counter else []
    inits = [counter.start] if counter else []
    inits += [*carried.inits(), *(builder.const(False, dtypes.bool_) for _ in jumps)]
    outer = frame.loop, frame.fixed, frame.top_level
    frame.loop, frame.fixed, frame.top_level = LoopKind.SERIAL, dict(frame.fixed), False

    head, values, flags = Block(), carried.fresh(), {flag: Value(dtypes.bool_, frame.hint(flag)) for flag in jumps}
    with builder.at(head):
        frame.env = {**entry, **carried.bind(values)}
        go, endless = _unless(ctx, list(flags.values()), lambda: go_on(index[0] if index else None))

    tail, next_index, next_values = Block(), [Value(v.type, v.hint) for v in index], carried.fresh()
    with builder.at(tail):
        frame.env = {**entry, **carried.bind(next_values)}
        frame.env.pop(RESULT, None)
        body(next_index[0] if next_index else None)
        builder.loc, end = loc, frame.env
        returned = _Carried(ctx, {RESULT: _present(end[RESULT])} if RESULT in end else {})
        nexts = [counter.advance(next_index[0])] if counter else []
        nexts += carried.values(end)
        nexts += [ctx.value(_flag(end, flag), dtypes.bool_) for flag in jumps]
        tail.yields = (*nexts, *returned.values(end))

    # The result of a `return` is read only after its flag, so it starts as anything.
    result = returned.fresh()
    inits += [builder.undef(v.type) for v in result]
    out = [*index, *values, *(flags[flag] for flag in forwarded), *result]
    head.args, head.yields = (*index, *values, *flags.values(), *result), (go, *out)
    unread = [Value(v.type, v.hint) for v in out[len(index) + len(values) :]]
    tail.args = (*next_index, *next_values, *unread)
    results = tuple(Value(v.type, v.hint) for v in out)
    builder.append(Op("loop", tuple(inits), results, {}, (head, tail), None, loc))

    after = iter(results[len(index) :])
    frame.loop, frame.fixed, frame.top_level = outer
    frame.env = {**entry, **carried.bind([next(after) for _ in values])}
    for flag in forwarded:
        value = next(after)
        frame.env[flag] = Scalar(value) if _flag(end, flag) != FALSE else FALSE
    if endless and jumps == [RETURN]:
        frame.env[RETURN] = TRUE  # there is no other way out
    frame.env.update(returned.bind(list(after)))
    frame.poison((name for name in end if name[0] != "!" and name not in entry), "inside the loop only", node)


def _assigned(frame: Frame, node: ast.For | ast.While) -> dict[str, Val]:
    """The names that the loop assigns and that have a value before it, except its own index."""
    own = frame.source.stores(node.target) if isinstance(node, ast.For) else frozenset()
    found: dict[str, Val] = {}
    for name in sorted(frame.source.stores(node) - own):
        value = frame.env.get(name)
        if value is not None and not isinstance(value, Poison):
            found[name] = value
    return found


def _unless(ctx: Context, flags: list[Value], evaluate: Callable[[], Number]) -> tuple[Value, bool]:
    """The condition where no flag is set, else false; and whether the condition is always true."""
    block, cond = ctx.region(evaluate)
    endless = isinstance(cond, Const) and bool(cond.value)
    if not flags:
        splice(ctx, block)
        return ctx.value(cond, dtypes.bool_), endless
    live = ctx.value(ctx.logical_not(any_of(ctx, [Scalar(flag) for flag in flags])))
    if endless:
        return live, True
    if is_pure(block):
        splice(ctx, block)
        return ctx.builder("and", live, ctx.value(cond, dtypes.bool_)), False
    with ctx.builder.at(block):
        block.yields = (ctx.value(cond, dtypes.bool_),)
    orelse, false = ctx.region(lambda: ctx.builder.const(False, dtypes.bool_))
    orelse.yields = (false,)
    return ctx.builder.if_op(live, block, orelse)[0], False


def _present(value: Val | Poison) -> Val:
    assert not isinstance(value, Poison)
    return value


def _flag(env: dict[str, Any], flag: str) -> Number:
    return env.get(flag, FALSE)
