"""Expressions: names, operators, comparisons, lazy forms, attributes, subscripts."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..ir import Array
from .arrays import element, extent, load, shape_of
from .context import is_pure, splice
from .convert import merge_types, number, truth, vector_of
from .frame import Frame, expression
from .hints import refuse
from .operators import BINARY, COMPARE, UNARY, binary, map_components, zip_components
from .values import (
    NUMBERS,
    Const,
    Mem,
    Method,
    Number,
    Scalar,
    Static,
    Struct,
    Text,
    Tup,
    Val,
    Vec,
    describe,
    leaves,
    rebuild,
    shape,
)
from .vectors import VECTOR_METHODS, component


@expression(ast.Constant)
def constant(frame: Frame, node: ast.Constant) -> Val:
    if isinstance(node.value, (complex, bytes)):
        raise frame.ctx.syntax_error(
            f"{node.value!r} is not part of the kernel language", why="there are no such numbers"
        )
    return frame.ctx.wrap(node.value)


@expression(ast.Name)
def name(frame: Frame, node: ast.Name) -> Val:
    return frame.lookup(node.id)


@expression(ast.Tuple, ast.List)
def tuple_(frame: Frame, node: ast.Tuple | ast.List) -> Val:
    return Tup(tuple(frame.eval(item) for item in node.elts))


@expression(ast.JoinedStr)
def f_string(frame: Frame, node: ast.JoinedStr) -> Val:
    parts: list[str | Val] = []
    for piece in node.values:
        if isinstance(piece, ast.FormattedValue):
            if piece.format_spec is not None or piece.conversion not in (-1, 114, 115):
                raise frame.ctx.syntax_error("a format in an f-string", why="values are printed plainly", hint="{x}")
            parts.append(frame.eval(piece.value))
        else:
            assert isinstance(piece, ast.Constant)
            parts.append(str(piece.value))
    return Text(tuple(parts))


# ---- operators ----------------------------------------------------------------------------------------------------
@expression(ast.BinOp)
def binary_operator(frame: Frame, node: ast.BinOp) -> Val:
    row = BINARY.get(type(node.op))
    if row is None:
        raise refuse(frame.ctx, node.op)
    return binary(frame.ctx, row, frame.eval(node.left), frame.eval(node.right))


@expression(ast.UnaryOp)
def unary_operator(frame: Frame, node: ast.UnaryOp) -> Val:
    ctx, operand = frame.ctx, frame.eval(node.operand)
    if isinstance(node.op, ast.Not):
        return ctx.logical_not(truth(ctx, operand))
    symbol, function = UNARY[type(node.op)]
    return map_components(ctx, operand, function, symbol)


@expression(ast.Compare)
def compare(frame: Frame, node: ast.Compare) -> Val:
    """`a < b < c` is `a < b and b < c`, each operand evaluated once and the later ones lazily."""
    left = frame.eval(node.left)
    return _links(frame, left, list(zip(node.ops, node.comparators, strict=True)))


def _links(frame: Frame, left: Val, rest: list[tuple[ast.cmpop, ast.expr]]) -> Val:
    (op, node), *later = rest
    right = frame.eval(node)
    first = _compare(frame, op, left, right)
    if not later:
        return first
    return _lazy(frame, "and", truth(frame.ctx, first), lambda: truth(frame.ctx, _links(frame, right, later)))


def _compare(frame: Frame, op: ast.cmpop, a: Val, b: Val) -> Val:
    ctx = frame.ctx
    row = COMPARE.get(type(op))
    if row is not None:
        if isinstance(a, Vec) or isinstance(b, Vec):
            pairs = zip_components(ctx, row.symbol, a, b)
            return vector_of(ctx, [number(ctx, binary(ctx, row, x, y)) for x, y in pairs])
        return binary(ctx, row, a, b)
    known = isinstance(op, (ast.Is, ast.IsNot)) and all(isinstance(v, (Static, Mem, *NUMBERS)) for v in (a, b))
    if known and any(isinstance(v, Static) for v in (a, b)):
        identical = isinstance(a, Static) and isinstance(b, Static) and a.obj is b.obj
        return Const(identical == isinstance(op, ast.Is))
    raise refuse(ctx, op)


# ---- lazy forms ---------------------------------------------------------------------------------------------------
@expression(ast.BoolOp)
def bool_operator(frame: Frame, node: ast.BoolOp) -> Val:
    """`and`, `or`: a bool; the right side is evaluated only where the left one does not decide."""
    ctx, opcode = frame.ctx, "and" if isinstance(node.op, ast.And) else "or"

    def from_(k: int) -> Number:
        with frame.at(node.values[k]):
            left = truth(ctx, frame.eval(node.values[k]))
        if k + 1 == len(node.values):
            return left
        return _lazy(frame, opcode, left, lambda: from_(k + 1))

    return from_(0)


def _lazy(frame: Frame, opcode: str, left: Number, right: Callable[[], Number]) -> Number:
    """`left opcode right`, both bools; where the right side only computes, without a branch."""
    ctx = frame.ctx
    decides = opcode == "or"
    if isinstance(left, Const):
        return left if bool(left.value) == decides else right()
    block, value = ctx.region(right)
    if isinstance(value, Const) and not block.ops:
        return value if bool(value.value) == decides else left
    if is_pure(block):
        splice(ctx, block)
        return ctx.op(opcode, left, ctx.cast(value, dtypes.bool_))
    merged = _branch(frame, left, (block, value), ctx.region(lambda: Const(decides)), opcode, swap=decides)
    return number(ctx, merged)


@expression(ast.IfExp)
def ternary(frame: Frame, node: ast.IfExp) -> Val:
    ctx = frame.ctx
    with frame.at(node.test):
        cond = truth(ctx, frame.eval(node.test))
    if isinstance(cond, Const):
        return frame.eval(node.body if cond.value else node.orelse)
    then, orelse = ctx.region(lambda: frame.eval(node.body)), ctx.region(lambda: frame.eval(node.orelse))
    if is_pure(then[0]) and is_pure(orelse[0]):
        splice(ctx, then[0])
        splice(ctx, orelse[0])
        return select(frame, cond, then[1], orelse[1])
    return _branch(frame, cond, then, orelse, "ternary")


def select(frame: Frame, cond: Number, a: Val, b: Val) -> Val:
    """`a` where `cond`, else `b`, leaf by leaf in common types."""
    ctx = frame.ctx
    _same_form(frame, a, b)
    if isinstance(cond, Const):
        return a if cond.value else b
    merged: list[Val] = []
    for x, y, dtype in zip(leaves(a), leaves(b), merge_types(ctx, a, b), strict=True):
        if dtype is None or not (isinstance(x, NUMBERS) and isinstance(y, NUMBERS)):
            raise ctx.error(
                f"a run-time choice between {describe(x)} and {describe(y)}", why="they are known at compile time only"
            )
        merged.append(ctx.op("select", cond, ctx.cast(x, dtype), ctx.cast(y, dtype)))
    return rebuild(a, iter(merged))


def _branch(
    frame: Frame, cond: Number, then: tuple[Any, Any], orelse: tuple[Any, Any], lazy: str, swap: bool = False
) -> Val:
    """An `if` of two finished regions and their values; `lazy` is the form that it stands for."""
    ctx = frame.ctx
    if swap:
        then, orelse = orelse, then
    (then_block, a), (else_block, b) = then, orelse
    _same_form(frame, a, b)
    for block, val in ((then_block, a), (else_block, b)):
        with ctx.builder.at(block):
            yields = []
            for leaf, dtype in zip(leaves(val), merge_types(ctx, a, b), strict=True):
                if dtype is None or not isinstance(leaf, NUMBERS):
                    raise ctx.error(f"a run-time choice of {describe(leaf)}", why="it is known at compile time only")
                yields.append(ctx.value(leaf, dtype))
            block.yields = tuple(yields)
    results = ctx.builder.if_op(ctx.value(cond), then_block, else_block, lazy=lazy)
    return rebuild(a, iter([Scalar(v) for v in results]))


def _same_form(frame: Frame, a: Val, b: Val) -> None:
    if shape(a) != shape(b):
        raise frame.ctx.error(f"a choice between {describe(a)} and {describe(b)}", why="both sides have one form")


# ---- attributes and subscripts ------------------------------------------------------------------------------------
@expression(ast.Attribute)
def attribute(frame: Frame, node: ast.Attribute) -> Val:
    ctx, base, name = frame.ctx, frame.eval(node.value), node.attr
    known: list[str] = []
    match base:
        case Mem():
            known = ["shape", "ndim", "dtype"]
            if name == "shape":
                return shape_of(ctx, base)
            if name in known:
                return Const(base.ndim) if name == "ndim" else Static(base.mem.dtype)
        case Vec():
            known = [*"xyzw"[: len(base.items)], "dtype", *VECTOR_METHODS]
            if len(name) == 1 and name in "xyzw"[: len(base.items)]:
                return base.items["xyzw".index(name)]
            if name == "dtype":
                return Static(ctx.typed(base.items[0]).dtype)
            if name in VECTOR_METHODS:
                return Method(base, name)
        case Struct():
            known = [f.name for f in base.cls.__dataclass_fields__.values()]
            at = base.index(name)
            if at is not None:
                return base.items[at]
        case Static(obj):
            try:
                return ctx.wrap(getattr(obj, name), name)
            except AttributeError:
                known = dir(obj)
        case _ if isinstance(base, NUMBERS) and name == "dtype":
            return Static(ctx.typed(base).dtype)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"one of {', '.join(known)}" if 0 < len(known) < 12 else ""
    raise ctx.compile_error(f"{describe(base)} has no attribute {name}", hint=hint)


def _one_extent(frame: Frame, node: ast.Subscript) -> Val | None:
    """`a.shape[k]`, without the other extents."""
    if not (isinstance(node.value, ast.Attribute) and node.value.attr == "shape"):
        return None
    array = frame.eval(node.value.value)
    if not isinstance(array, Mem) or not isinstance(array.mem, Array) or isinstance(node.slice, ast.Slice):
        return None
    index = frame.eval(node.slice)
    if not isinstance(index, Const) or not isinstance(index.value, int) or not -array.ndim <= index.value < array.ndim:
        return None
    return extent(frame.ctx, array, index.value % array.ndim)


@expression(ast.Subscript)
def subscript(frame: Frame, node: ast.Subscript) -> Val:
    ctx, base = frame.ctx, _one_extent(frame, node) or frame.eval(node.value)
    if isinstance(base, Const | Scalar):
        return base
    if isinstance(base, Mem):
        return load(ctx, element(frame, base, node))
    if isinstance(node.slice, ast.Slice):
        raise refuse(ctx, node.slice)
    index = frame.eval(node.slice)
    if isinstance(base, Static):
        if not isinstance(index, Const) and not isinstance(index, Static):
            raise ctx.error(
                f"{describe(base)} at a run-time index", why="it is known at compile time only", hint="an array"
            )
        try:
            return ctx.wrap(base.obj[index.value if isinstance(index, Const) else index.obj])
        except (TypeError, KeyError, IndexError) as error:
            raise ctx.compile_error(
                f"{describe(base)} has no such element", why=f"{type(error).__name__}: {error}"
            ) from error
    return component(ctx, base, index)
