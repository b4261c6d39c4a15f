"""Statements without branches of their own: assignments, jumps, assertions."""

from __future__ import annotations

import ast

from ..dtypes import DType, as_dtype
from ..types import VectorType, is_struct, struct_fields
from .arrays import element, store, update
from .control import jump
from .convert import convert_to, truth
from .frame import BREAK, CONTINUE, RESULT, RETURN, Frame, LoopKind, statement
from .hints import refuse
from .messages import assertion
from .operators import BINARY, binary
from .values import NONE, Const, Mem, Static, Struct, Tup, Val, Vec, describe
from .vectors import component, with_component


# ---- assignment ---------------------------------------------------------------------------------------------------
@statement(ast.Assign)
def assign(frame: Frame, node: ast.Assign) -> None:
    block = frame.ctx.builder.block
    since = len(block.ops)
    value = frame.eval(node.value)
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        value = frame.ctx.named(value, node.targets[0].id, since)
    for target in node.targets:
        assign_to(frame, target, value)


def assign_to(frame: Frame, target: ast.expr, value: Val) -> None:
    """Give `target` a value: a name, an element, a field or component, or several of them."""
    ctx = frame.ctx
    with frame.at(target):
        if isinstance(target, ast.Name):
            frame.assign(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            if not isinstance(value, (Tup, Vec)):
                raise ctx.error(f"{describe(value)} is unpacked into {len(target.elts)} names")
            if len(value.items) != len(target.elts):
                raise ctx.compile_error(f"{describe(value)} is unpacked into {len(target.elts)} names")
            for part, item in zip(target.elts, value.items, strict=True):
                assign_to(frame, part, item)
        elif isinstance(target, ast.Subscript):
            base = frame.eval(target.value)
            if isinstance(base, Mem):
                store(ctx, element(frame, base, target), value)
            else:
                assign_to(frame, target.value, with_component(ctx, base, frame.eval(target.slice), value))
        elif isinstance(target, ast.Attribute):
            assign_to(frame, target.value, _with_field(frame, frame.eval(target.value), target.attr, value))
        else:
            raise ctx.syntax_error("this cannot be assigned", hint="a name, an array element, or a field")


def _with_field(frame: Frame, base: Val, name: str, value: Val) -> Val:
    """The struct or vector with one field changed."""
    ctx = frame.ctx
    if isinstance(base, Vec) and name in "xyzw"[: len(base.items)]:
        return with_component(ctx, base, Const("xyzw".index(name)), value)
    at = base.index(name) if isinstance(base, Struct) else None
    if at is None or not isinstance(base, Struct):
        raise ctx.error(f"{describe(base)} has no field {name} to set")
    items = list(base.items)
    items[at] = convert_to(ctx, value, struct_fields(base.cls)[at].type, f"{base.cls.__name__}.{name}")
    return base.rebuild(items)


@statement(ast.AugAssign)
def augmented(frame: Frame, node: ast.AugAssign) -> None:
    ctx, target = frame.ctx, node.target
    row = BINARY.get(type(node.op))
    if row is None:
        raise refuse(ctx, node.op)
    if isinstance(target, ast.Subscript):
        base = frame.eval(target.value)
        if isinstance(base, Mem):
            place = element(frame, base, target)
            update(ctx, place, row, frame.eval(node.value))
            return
        index = frame.eval(target.slice)
        new = binary(ctx, row, component(ctx, base, index), frame.eval(node.value))
        assign_to(frame, target.value, with_component(ctx, base, index, new))
        return
    since = len(ctx.builder.block.ops)
    value = binary(ctx, row, frame.eval(_as_load(target)), frame.eval(node.value))
    if isinstance(target, ast.Name):
        value = ctx.named(value, target.id, since)
    assign_to(frame, target, value)


def _as_load(target: ast.Name | ast.Attribute) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)


@statement(ast.AnnAssign)
def annotated(frame: Frame, node: ast.AnnAssign) -> None:
    ctx = frame.ctx
    with frame.at(node.annotation):
        written = frame.eval(node.annotation)
        obj = written.obj if isinstance(written, Static) else None
        kind = obj if isinstance(obj, VectorType) or is_struct(obj) else _scalar_type(obj)
        if kind is None:
            raise ctx.error(
                f"{describe(written)} is no type of a variable", hint="lw.f32, lw.vector(3, lw.f32), a struct"
            )
    if node.value is None:
        raise ctx.syntax_error("a variable is declared without a value", hint="a first value: `x: lw.f32 = 0`")
    assign_to(frame, node.target, convert_to(ctx, frame.eval(node.value), kind, ast.unparse(node.target)))


def _scalar_type(obj: object) -> DType | None:
    return as_dtype(obj) if isinstance(obj, (type, DType)) else None


# ---- jumps --------------------------------------------------------------------------------------------------------
@statement(ast.Return)
def return_(frame: Frame, node: ast.Return) -> None:
    ctx = frame.ctx
    if not frame.is_kernel:
        value = NONE if node.value is None else frame.eval(node.value)
        old = frame.env.get(RESULT)
        assert old is None, "a reachable return has no earlier one"
        frame.env[RESULT] = value
        jump(frame, RETURN)
        return
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        raise ctx.syntax_error(
            "a kernel returns a value",
            why="its items run at the same time, and the launch does not wait for them",
            hint="a store to an array argument",
        )
    if frame.later_loop and not frame.top_level:
        raise ctx.compile_error(
            "return before another parallel loop",
            why="it would end the item here, but the kernel goes on with the next loop",
            hint="continue to end this item, or two kernels" if ctx.parallel else "a test around the call, on the host",
        )
    jump(frame, RETURN)


@statement(ast.Break)
def break_(frame: Frame, node: ast.Break) -> None:
    if frame.loop is not LoopKind.SERIAL:
        raise frame.ctx.compile_error(
            "break in a parallel loop", why="its items run at the same time", hint="continue, which ends this item"
        )
    jump(frame, BREAK)


@statement(ast.Continue)
def continue_(frame: Frame, node: ast.Continue) -> None:
    jump(frame, CONTINUE)


# ---- the rest -----------------------------------------------------------------------------------------------------
@statement(ast.Pass)
def pass_(frame: Frame, node: ast.Pass) -> None:
    """Nothing."""


@statement(ast.Expr)
def expression_statement(frame: Frame, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring, or `...`
        frame.eval(node.value)


@statement(ast.Assert)
def assert_(frame: Frame, node: ast.Assert) -> None:
    assertion(frame, lambda: truth(frame.ctx, frame.eval(node.test)), node.msg, ast.unparse(node.test))
