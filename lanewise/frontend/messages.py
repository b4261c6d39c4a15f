"""`print` and `assert`: always checked, emitted with debug=True only."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from ..ir import Value
from .context import Context
from .frame import Frame
from .values import BUNDLES, NUMBERS, Const, Number, Scalar, Static, Struct, Text, Val, Vec, describe


def assertion(frame: Frame, condition: Callable[[], Number], message: ast.expr | None, text: str) -> None:
    """`assert condition, message`; without a message, its source text is one."""
    ctx = frame.ctx

    def emit() -> None:
        cond = condition()
        parts, operands = _flatten(ctx, [Static(text) if message is None else frame.eval(message)])
        ctx.builder.emit("assert", ctx.value(cond), *operands, parts=parts)

    _when_debugging(ctx, emit)


def print_values(ctx: Context, vals: Sequence[Val]) -> None:
    """`print(*vals)`: separated by spaces."""

    def emit() -> None:
        spaced: list[Val] = []
        for val in vals:
            spaced += [Static(" "), val] if spaced else [val]
        parts, operands = _flatten(ctx, spaced)
        ctx.builder.emit("print", *operands, parts=parts)

    _when_debugging(ctx, emit)


def _when_debugging(ctx: Context, emit: Callable[[], None]) -> None:
    if ctx.options.debug:
        emit()
    else:
        ctx.region(emit)  # translated for its errors, then dropped


def _flatten(ctx: Context, vals: Sequence[Val]) -> tuple[tuple[str | None, ...], list[Value]]:
    """Literal text, with None where an operand goes, and the operands."""
    parts: list[str | None] = []
    operands: list[Value] = []
    for piece in (p for val in vals for p in _pieces(ctx, val)):
        if not isinstance(piece, str):
            parts.append(None)
            operands.append(ctx.value(piece))
        elif parts and isinstance(parts[-1], str):
            parts[-1] += piece
        else:
            parts.append(piece)
    return tuple(parts), operands


def _pieces(ctx: Context, val: Val) -> Iterator[str | Scalar]:
    if isinstance(val, Const):
        yield str(val.value)
    elif isinstance(val, NUMBERS):
        yield val
    elif isinstance(val, Text):
        for part in val.parts:
            yield from [part] if isinstance(part, str) else _pieces(ctx, part)
    elif isinstance(val, BUNDLES):
        head, tail = ("[", "]") if isinstance(val, Vec) else ("(", ")")
        yield (val.cls.__name__ if isinstance(val, Struct) else "") + head
        for k, item in enumerate(val.items):
            yield ", " if k else ""
            yield from _pieces(ctx, item)
        yield tail
    elif isinstance(val, Static) and (val.obj is None or isinstance(val.obj, str)):
        yield str(val.obj)
    else:
        raise ctx.error(f"{describe(val)} cannot be printed", why="a kernel prints numbers, vectors, structs and text")
