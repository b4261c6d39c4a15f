"""Functions that are compiled into their callers, and what is known while that happens."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ..errors import LanewiseError
from ..types import ArrayType, TemplateType
from .context import Context
from .control import run_body
from .convert import convert_to
from .frame import RESULT, RETURN, Frame
from .func import Func
from .signature import names_of, parameters
from .source import get_source
from .values import FALSE, NONE, TRUE, Const, Mem, Poison, Static, Struct, Tup, Val, describe


def known(ctx: Context, val: Val, wanted: str) -> Any:
    """The Python object that a compile-time value stands for."""
    if isinstance(val, Const):
        return val.value
    if isinstance(val, Static):
        return val.obj
    if isinstance(val, Tup):
        return tuple(known(ctx, item, wanted) for item in val.items)
    if isinstance(val, Struct):
        return val.cls(*(known(ctx, item, wanted) for item in val.items))
    raise ctx.compile_error(
        f"{describe(val)} is not known at compile time",
        why=wanted,
        hint="a literal, a constant from outside the kernel, or a template() parameter",
    )


def inline(ctx: Context, func: Func, args: list[Val], kwargs: Mapping[str, Val]) -> Val:
    """Translate the body of `func` here; its value."""
    function, site = func.function, ctx.builder.loc
    if func in ctx.inlined:
        raise ctx.compile_error(f"{function.__name__}() calls itself", why="functions are inlined", hint="a loop")
    source = get_source(function)
    frame = Frame(ctx, source, names_of(function), is_kernel=False, top_level=False)
    frame.env.update(_bind_parameters(ctx, func, args, kwargs))
    ctx.inlined.append(func)
    try:
        run_body(frame, source.node.body)
    except LanewiseError as error:
        error.calls.append(site)
        raise
    ctx.inlined.pop()
    ctx.builder.loc = site
    return _result(ctx, frame)


def _result(ctx: Context, frame: Frame) -> Val:
    returned, value = frame.env.get(RETURN, FALSE), frame.env.get(RESULT, NONE)
    assert not isinstance(value, Poison)
    if returned == TRUE or value is NONE or (isinstance(value, Static) and value.obj is None):
        return value
    raise ctx.compile_error(
        f"{frame.source.name}() returns a value on some paths only",
        why="a function that gives a value gives one on every path",
        hint="a return at its end",
    )


def _bind_parameters(ctx: Context, func: Func, args: list[Val], kwargs: Mapping[str, Val]) -> dict[str, Val]:
    function, params = func.function, parameters(func.function)
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError as error:
        form = f"{function.__name__}({', '.join(p.name for p in params)})"
        raise ctx.error(f"wrong arguments of {function.__name__}(): {error}", hint=form) from error
    env: dict[str, Val] = {}
    for param in params:
        value = bound[param.name] if param.name in bound else ctx.wrap(param.default, param.name)
        target = f"{param.name} of {function.__name__}()"
        match param.type:
            case None:
                pass
            case TemplateType():
                known_or_array = value if isinstance(value, Mem) else known(ctx, value, f"{target} is a template")
                value = value if isinstance(value, (Mem, Const, Static, Tup, Struct)) else ctx.wrap(known_or_array)
            case ArrayType(dtype, ndim):
                if not isinstance(value, Mem):
                    raise ctx.error(f"{describe(value)} is given for {target}, which is an array")
                if dtype not in (None, value.mem.dtype) or ndim not in (None, value.ndim):
                    got = f"{value.mem.dtype}, {value.ndim}"
                    raise ctx.error(f"ndarray({got}) is given for {target}, which is {param.type!r}")
            case kind:
                value = convert_to(ctx, value, kind, target)
        env[param.name] = value
    return env
