"""Loops: parallel ones, serial ones with the variables they carry, and unrolled ones."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .. import dtypes
from ..dtypes import DType
from ..ir import Block, Op, Value
from .context import Context, Parallel
from .control import guard, has_ended, pending, run_body
from .convert import truth
from .frame import BREAK, CONTINUE, Fixed, Frame, LoopKind, statement
from .hints import refuse
from .plain import make_own_updates_plain
from .serial import Counter, loop
from .values import FALSE, Axis, Const, Mem, Number, Poison, Range, Scalar, Tup, Val, describe

_INDEX = Fixed("the index of a loop", "the loop alone sets its index", "another variable")
_HOST = Fixed(
    "set outside the parallel loop",
    "its items run at the same time, each with its own variables",
    "another variable, or an array element with atomic_add",
)


@statement(ast.For)
def for_statement(frame: Frame, node: ast.For) -> None:
    if node.orelse:
        raise refuse(frame.ctx, "For.orelse")
    with frame.at(node.iter):
        over = frame.eval(node.iter)
        if isinstance(over, Mem):
            raise frame.ctx.error(
                f"a loop over {describe(over)} itself",
                why="it could mean its elements or its indices",
                hint=f"for i in range({over.mem.name}.shape[0])",
            )
        if not isinstance(over, (Range, Tup)):
            raise frame.ctx.error(
                f"a loop over {describe(over)}", hint="for i in range(n), lw.ndrange(n, m), or lw.static(...)"
            )
    if isinstance(over, Tup):
        _unroll(frame, node, over.items)
    elif frame.is_kernel and frame.top_level and frame.ctx.parallel is None:
        _parallel(frame, node, over)
    else:
        _serial(frame, node, over.axes, [], over)
    frame.poison(frame.source.stores(node.target), "by a loop, and ends with it", node)


def _bind(frame: Frame, target: ast.expr, value: Val) -> None:
    """Give a loop's target its value for one round; its names are fixed there."""
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
        frame.fixed[target.id] = _INDEX
        return
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise frame.ctx.syntax_error("a loop's index is a name, or several", hint="for i in ..., or for i, j in ...")
    if not isinstance(value, Tup) or len(value.items) != len(target.elts):
        count = len(value.items) if isinstance(value, Tup) else 1
        raise frame.ctx.compile_error(f"the loop has {len(target.elts)} indices for {count} axes")
    for part, item in zip(target.elts, value.items, strict=True):
        _bind(frame, part, item)


# ---- unrolled -----------------------------------------------------------------------------------------------------
def _unroll(frame: Frame, node: ast.For, items: Sequence[Val]) -> None:
    outer_fixed, outer_kind = frame.fixed, frame.loop
    frame.loop = LoopKind.SERIAL

    def one_round(item: Val) -> None:
        frame.fixed = dict(outer_fixed)
        _bind(frame, node.target, item)
        run_body(frame, node.body)
        for name in frame.source.stores(node.target):
            frame.env.pop(name, None)
        frame.env[CONTINUE] = FALSE

    for item in items:
        if has_ended(frame.env):
            break
        if pending(frame):
            guard(frame, lambda item=item: one_round(item))
        else:
            one_round(item)
    frame.fixed, frame.loop = outer_fixed, outer_kind
    frame.env[BREAK] = frame.env[CONTINUE] = FALSE


# ---- parallel -----------------------------------------------------------------------------------------------------
def _parallel(frame: Frame, node: ast.For, over: Range) -> None:
    ctx, builder = frame.ctx, frame.ctx.builder
    index_type = ctx.options.index_type
    loc = frame.source.loc(node)
    with frame.at(node.iter):
        starts = [ctx.cast(axis.start, index_type) for axis in over.axes]
        extents = tuple(ctx.value(_count(ctx, axis), index_type) for axis in over.axes)
        _note_bounds(ctx, over.axes)
    config, ctx.config = ctx.config, None
    block_dim = config.block_dim if config else min(128, ctx.options.max_block_dim)
    hints = sorted(frame.source.stores(node.target)) if over.flat else []
    block = Block(tuple(Value(index_type, hints[0] if hints else "") for _ in over.axes))
    host_env, host_fixed, host_kind = frame.env, frame.fixed, frame.loop
    frame.env = dict(host_env)
    frame.fixed = host_fixed | {name: _HOST for name, value in host_env.items() if not isinstance(value, (Poison, Mem))}
    frame.loop, frame.top_level = LoopKind.PARALLEL, False
    ctx.parallel = Parallel(block_dim)
    builder.block_dim = block_dim
    with builder.at(block):
        builder.loc = frame.source.loc(node.target)
        indices = [
            _index(ctx, start, axis.step, position)
            for start, axis, position in zip(starts, over.axes, block.args, strict=True)
        ]
        ctx.parallel.indices = tuple(index.value for index in indices)
        _bind(frame, node.target, indices[0] if over.flat else Tup(tuple(indices)))
        run_body(frame, node.body)
    frame.env, frame.fixed, frame.loop, frame.top_level = host_env, host_fixed, host_kind, True
    make_own_updates_plain(block, ctx)
    ctx.parallel = None
    builder.block_dim = 0
    attrs = {"block_dim": block_dim} | ({"name": config.name} if config and config.name else {})
    builder.append(Op("parallel", extents, (), attrs, (block,), None, loc))
    names = (n for n in frame.source.stores(node) if n not in host_env or isinstance(host_env[n], Poison))
    frame.poison(names, "inside a parallel loop only", node)


def _note_bounds(ctx: Context, axes: Sequence[Axis]) -> None:
    """Tell who launches about bounds that an i32 may not hold: of run-time ones their values decide."""
    ends = [end for axis in axes if not _held(dtypes.i32, axis) for end in (axis.start, axis.stop)]
    ctx.bounds.append(tuple(end.value for end in ends if isinstance(end, Scalar)))
    ctx.beyond |= any(isinstance(end, Const) and not dtypes.i32.holds(int(end.value)) for end in ends)


def _index(ctx: Context, start: Number, step: int, position: Value) -> Scalar:
    """start + position * step."""
    index: Number = Scalar(position)
    if step != 1:
        index = ctx.op("mul", index, ctx.constant(step, position.type))
    if not (isinstance(start, Const) and start.value == 0):
        index = ctx.op("add", start, index)
    assert isinstance(index, Scalar)
    return index


def _count(ctx: Context, axis: Axis) -> Number:
    """max(0, ceil((stop - start) / step)), in i64 where the way there might leave the index type."""
    direct = isinstance(axis.start, Const) and axis.start.value == 0 and axis.step == 1
    dtype = _index_type(ctx, axis) if direct else dtypes.i64
    start, stop = ctx.cast(axis.start, dtype), ctx.cast(axis.stop, dtype)
    if axis.step < 0:
        start, stop = stop, start
    span = stop if isinstance(start, Const) and start.value == 0 else ctx.op("sub", stop, start)
    stride = abs(axis.step)
    if stride > 1:
        rounded = ctx.op("add", span, ctx.constant(stride - 1, dtype))
        span = ctx.op("floordiv", rounded, ctx.constant(stride, dtype))
    return ctx.op("max", span, ctx.constant(0, dtype))


# ---- serial -------------------------------------------------------------------------------------------------------
def _serial(frame: Frame, node: ast.For, axes: Sequence[Axis], outer: list[Val], over: Range) -> None:
    """The loop over the first of `axes`, around those over the others."""
    ctx, axis, dtype = frame.ctx, axes[0], _index_type(frame.ctx, axes[0])
    start, stop, step = ctx.cast(axis.start, dtype), ctx.cast(axis.stop, dtype), ctx.constant(axis.step, dtype)
    hints = sorted(frame.source.stores(node.target)) if over.flat else []

    def go_on(index: Value | None) -> Number:
        assert index is not None
        return ctx.op("lt" if axis.step > 0 else "gt", Scalar(index), stop)

    def body(index: Value | None) -> None:
        assert index is not None
        indices = [*outer, Scalar(index)]
        if len(axes) > 1:
            _serial(frame, node, axes[1:], indices, over)
        else:
            _bind(frame, node.target, indices[0] if over.flat else Tup(tuple(indices)))
            run_body(frame, node.body)

    def advance(index: Value) -> Value:
        return ctx.value(ctx.op("add", Scalar(index), step))

    counter = Counter(ctx.value(start), advance, hints[0] if hints else "")
    loop(frame, node, go_on, body, counter, keep_break=bool(outer))


def _index_type(ctx: Context, axis: Axis) -> DType:
    """The index type, or i64 where that may not hold a bound of the loop."""
    return ctx.options.index_type if _held(ctx.options.index_type, axis) else dtypes.i64


def _held(index_type: DType, axis: Axis) -> bool:
    """Whether an index type holds both bounds, and what the index is after its last round."""
    limits: list[int] = []
    for end in (axis.start, axis.stop):
        if isinstance(end, Const):
            limits.append(int(end.value))
        elif end.dtype.is_int:
            limits += (int(end.dtype.lowest), int(end.dtype.highest))
    if isinstance(axis.stop, Const):
        limits.append(int(axis.stop.value) + axis.step - (1 if axis.step > 0 else -1))
    return all(index_type.holds(limit) for limit in limits)


@statement(ast.While)
def while_statement(frame: Frame, node: ast.While) -> None:
    if node.orelse:
        raise refuse(frame.ctx, "While.orelse")

    def go_on(index: Value | None) -> Number:
        with frame.at(node.test):
            cond = truth(frame.ctx, frame.eval(node.test))
            if (
                isinstance(cond, Const)
                and cond.value
                and not any(frame.source.jumps(node, kind) for kind in (ast.Break, ast.Return))
            ):
                raise frame.ctx.compile_error(
                    "this loop never ends", why="its condition is always true and it has no break"
                )
            return cond

    loop(frame, node, go_on, lambda index: run_body(frame, node.body), None, keep_break=False)
