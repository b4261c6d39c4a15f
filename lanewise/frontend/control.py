"""Branches, and the flags that `break`, `continue` and early `return` become.

A jump sets its flag, and the statements after it stand under `if not flag`.  Where one branch of an `if` surely jumps,
what follows the `if` moves into the other branch instead, so that most flags vanish.  The end of an item (`return` or
`continue` of a parallel loop) always stays a flag: barriers after it do not wait for the lanes that left.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from .. import dtypes
from ..ir import Block, Op, Value
from .context import Context
from .convert import merge_types, truth
from .frame import CONTINUE, FLAGS, RESULT, RETURN, Frame, LoopKind
from .values import FALSE, NUMBERS, TRUE, Const, Number, Poison, Scalar, Val, describe, leaves, rebuild, same, shape

Branch = Callable[[], None]
Statements = list[ast.stmt]


# ---- jumps --------------------------------------------------------------------------------------------------------
def pending(frame: Frame) -> list[str]:
    """The flags that may be set now."""
    return [flag for flag in FLAGS if frame.env.get(flag, FALSE) != FALSE]


def has_ended(env: dict[str, Val | Poison]) -> bool:
    """Whether nothing after this point runs."""
    return any(env.get(flag) == TRUE for flag in FLAGS)


def jump(frame: Frame, flag: str) -> None:
    """Set a flag; `continue` of the parallel loop ends the item, as `return` does."""
    frame.env[RETURN if flag == CONTINUE and frame.loop is LoopKind.PARALLEL else flag] = TRUE


def surely_jumps(statements: Sequence[ast.stmt]) -> bool:
    """Whether control never reaches the end of the statements."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return surely_jumps(last.body) and surely_jumps(last.orelse)
    return isinstance(last, (ast.Return, ast.Break, ast.Continue))


def ends_item(frame: Frame, statements: Sequence[ast.stmt]) -> bool:
    """Whether some jump in the statements ends the item of a parallel loop."""
    if not frame.is_kernel:
        return False
    kinds = (ast.Return, ast.Continue) if frame.loop is LoopKind.PARALLEL else (ast.Return,)
    return any(isinstance(node, kinds) for s in statements for node in ast.walk(s))


def run_body(frame: Frame, statements: Sequence[ast.stmt]) -> None:
    """The statements in order, each under the flags that those before it may have set."""
    todo, outer_later = list(statements), frame.later_loop
    while todo:
        node, todo = todo[0], todo[1:]
        if frame.is_kernel and frame.top_level:
            frame.later_loop = outer_later or any(isinstance(n, ast.For) for s in todo for n in ast.walk(s))
        if isinstance(node, ast.If):
            body, orelse, todo = _absorb(frame, node, todo)
            _if(frame, node, body, orelse)
        else:
            frame.exec(node)
        if pending(frame):
            if todo and not has_ended(frame.env):
                guard(frame, lambda rest=todo: run_body(frame, rest))
            break
    frame.later_loop = outer_later


def _if(frame: Frame, node: ast.If, body: Statements, orelse: Statements) -> None:
    """A branch; a compile-time condition keeps one side, and the other is not even checked."""
    with frame.at(node.test):
        cond = truth(frame.ctx, frame.eval(node.test))
    frame.ctx.builder.loc = frame.source.loc(node)
    if isinstance(cond, Const):
        run_body(frame, body if cond.value else orelse)
    else:
        branch(frame, cond, lambda: run_body(frame, body), lambda: run_body(frame, orelse))


def _absorb(frame: Frame, node: ast.If, rest: Statements) -> tuple[Statements, Statements, Statements]:
    """The branches of an `if` and what follows it, moved to where they are reached from."""
    jumps = surely_jumps(node.body)
    if jumps == surely_jumps(node.orelse):
        return node.body, node.orelse, rest
    if ends_item(frame, node.body if jumps else node.orelse):
        return (node.body, [], node.orelse + rest) if jumps else ([], node.orelse, node.body + rest)
    return (node.body, node.orelse + rest, []) if jumps else (node.body + rest, node.orelse, [])


def any_of(ctx: Context, flags: Sequence[Number]) -> Number:
    """The disjunction of flags."""
    return reduce(lambda a, b: ctx.op("or", ctx.cast(a, dtypes.bool_), ctx.cast(b, dtypes.bool_)), flags)


def guard(frame: Frame, rest: Branch) -> None:
    """`rest` where no flag is set; the end of an item has an `if` of its own."""
    flags = pending(frame)
    if frame.is_kernel and RETURN in flags and len(flags) > 1:
        others = [flag for flag in flags if flag != RETURN]
        _guard(frame, [RETURN], lambda: _guard(frame, others, rest))
    else:
        _guard(frame, flags, rest)


def _guard(frame: Frame, flags: Sequence[str], rest: Branch) -> None:
    env = frame.env
    outer = {flag: env[flag] for flag in flags}
    result = env.pop(RESULT, None)
    ended: dict[str, Val | Poison] = {}
    live = frame.ctx.logical_not(any_of(frame.ctx, [_number(outer[flag]) for flag in flags]))
    assert isinstance(live, Scalar)

    def inside() -> None:
        frame.env.update(dict.fromkeys(flags, FALSE))
        rest()
        ended.update(frame.env)

    def skipped() -> None:
        for flag in flags:  # a flag that `rest` does not set keeps the value it has; a lone one must be true here
            known = TRUE if len(flags) == 1 else outer[flag]
            frame.env[flag] = FALSE if ended[flag] == FALSE else known
        if result is not None and RESULT in ended:
            frame.env[RESULT] = result

    exit_guard = {"exit_guard": True} if frame.is_kernel and flags == [RETURN] else {}
    branch(frame, live, inside, skipped, **exit_guard)
    frame.env.update({flag: outer[flag] for flag in flags if ended[flag] == FALSE})
    if result is not None and RESULT not in ended:
        frame.env[RESULT] = result


def _number(value: Val | Poison) -> Number:
    assert isinstance(value, NUMBERS)
    return value


# ---- branches -----------------------------------------------------------------------------------------------------
def branch(frame: Frame, cond: Scalar, then: Branch, orelse: Branch, **attrs: Any) -> None:
    """A run-time `if`: both branches, then each name that they leave with different values is a result of the `if`."""
    ctx, before, outer_first, outer_top = frame.ctx, frame.env, frame.first, frame.top_level
    loc = ctx.builder.loc
    frame.top_level = False
    frame.env = dict(before)
    then_block, _ = ctx.region(then)
    then_env = frame.env
    if not has_ended(then_env):
        new = {n: v for n, v in then_env.items() if _absent(before.get(n)) and not isinstance(v, Poison)}
        frame.first = outer_first | new
    frame.env = dict(before)
    else_block, _ = ctx.region(orelse)
    else_env = frame.env
    frame.first, frame.top_level, ctx.builder.loc = outer_first, outer_top, loc
    merge = _Merge(frame, cond, then_block, else_block)
    merged = {name: merge.name(name, then_env, else_env) for name in {**then_env, **else_env}}
    merge.emit(attrs)
    frame.env = {name: value for name, value in merged.items() if value is not None}


def _value(value: Val | Poison | None) -> Val:
    assert value is not None
    assert not isinstance(value, Poison)
    return value


def _absent(value: Val | Poison | None) -> bool:
    return value is None or isinstance(value, Poison)


class _Merge:
    """Joins the environments of two branches: collects what they yield, then names the results."""

    def __init__(self, frame: Frame, cond: Scalar, then: Block, orelse: Block) -> None:
        self.frame, self.ctx, self.cond = frame, frame.ctx, cond
        self.blocks = (then, orelse)
        self.yields: tuple[list[Value], list[Value]] = ([], [])
        self.results: list[Value] = []

    def name(self, name: str, then: dict[str, Val | Poison], orelse: dict[str, Val | Poison]) -> Val | Poison | None:
        a, b = then.get(name), orelse.get(name)
        if name in FLAGS:
            a, b = a or FALSE, b or FALSE
        if a is b:
            return a
        if _absent(a) or _absent(b):
            present, ended = (b, has_ended(then)) if _absent(a) else (a, has_ended(orelse))
            if _absent(present):
                return a or b
            if not ended and name != RESULT:
                return Poison("on one path only", self.ctx.builder.loc)
            assert present is not None
            assert not isinstance(present, Poison)
            filled = self.anything_like(0 if _absent(a) else 1, present)
            a, b = (filled, present) if _absent(a) else (present, filled)
        a, b = _value(a), _value(b)
        if shape(a) != shape(b):
            if name == RESULT:
                raise self.ctx.error(
                    f"{self.frame.source.name}() returns {describe(a)} on one path and {describe(b)} on another",
                    why="a function's result has one form",
                )
            return Poison("to values of different kinds on two paths", self.ctx.builder.loc)
        return self.value(name, a, b)

    def anything_like(self, side: int, val: Val) -> Val:
        """A value of the same form in a branch from which it is never read."""
        with self.ctx.builder.at(self.blocks[side]):
            undefined = [
                Scalar(self.ctx.builder.undef(leaf.dtype)) if isinstance(leaf, Scalar) else leaf for leaf in leaves(val)
            ]
        return rebuild(val, iter(undefined))

    def value(self, name: str, a: Val, b: Val) -> Val | Poison:
        """One value for two of the same form."""
        merged: list[Val] = []
        for x, y, dtype in zip(leaves(a), leaves(b), merge_types(self.ctx, a, b), strict=True):
            if same(x, y):
                merged.append(x)
            elif dtype is None:
                return Poison("to different compile-time values on two paths", self.ctx.builder.loc)
            elif isinstance(x, Const) and isinstance(y, Const) and dtype.is_bool:
                merged.append(self.cond if x.value else self.ctx.logical_not(self.cond))
            else:
                for block, collected, leaf in zip(self.blocks, self.yields, (x, y), strict=True):
                    with self.ctx.builder.at(block):
                        collected.append(self.ctx.value(_number(leaf), dtype))
                self.results.append(Value(dtype, self.frame.hint(name)))
                merged.append(Scalar(self.results[-1]))
        return rebuild(a, iter(merged))

    def emit(self, attrs: dict[str, Any]) -> None:
        """The `if`, unless it does nothing."""
        ctx, (then, orelse) = self.ctx, self.blocks
        then.yields, orelse.yields = tuple(self.yields[0]), tuple(self.yields[1])
        if then.ops or orelse.ops or self.results:
            results = tuple(self.results)
            ctx.builder.append(Op("if", (self.cond.value,), results, attrs, (then, orelse), None, ctx.builder.loc))
