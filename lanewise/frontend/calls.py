"""Calls: of functions that are inlined, of the language's own, of types."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType, MethodType
from typing import Any

from .. import lang
from ..dtypes import DType, as_dtype
from ..errors import LanewiseError
from ..simt.op import Function
from ..types import VectorType, is_struct
from .context import Context
from .frame import Frame, expression
from .func import BoundFunc, Func
from .hints import refuse
from .inlining import inline, known
from .simt_calls import call_simt
from .values import BUNDLES, Mem, Method, Static, Val, describe
from .vectors import VECTOR_METHODS, construct_struct, construct_vector

Handler = Callable[..., Val]
BUILTINS: dict[Any, Handler] = {}
"""What the language's functions, and some of Python's, do: handler(frame, *args, **kwargs)."""
RAW_BUILTINS: dict[Any, Callable[[Frame, ast.Call], Val]] = {}
"""Those that want the call's syntax and not its values."""


def builtin(*functions: Any) -> Callable[[Handler], Handler]:
    """Register a handler for what a kernel calls as any of `functions`."""

    def add(handler: Handler) -> Handler:
        BUILTINS.update(dict.fromkeys(functions, handler))
        return handler

    return add


@expression(ast.Call)
def call(frame: Frame, node: ast.Call) -> Val:
    ctx, callee = frame.ctx, frame.eval(node.func)
    if isinstance(callee, Method):
        args, kwargs = _arguments(frame, node)
        method = VECTOR_METHODS[callee.name]
        return _call_handler(ctx, f".{callee.name}", method, ctx, callee.owner, *args, **kwargs)
    if not isinstance(callee, Static):
        hint = "a[i] for an element" if isinstance(callee, Mem) else ""
        raise ctx.error(f"{describe(callee)} is called", why="it is no function", hint=hint)
    obj = callee.obj
    raw = RAW_BUILTINS.get(obj) if _hashable(obj) else None
    if raw is not None:
        return raw(frame, node)
    args, kwargs = _arguments(frame, node)
    return call_object(frame, obj, args, kwargs)


def call_object(frame: Frame, obj: Any, args: list[Val], kwargs: dict[str, Val]) -> Val:
    """Call a Python object that stands in a kernel."""
    ctx = frame.ctx
    if isinstance(obj, BoundFunc):
        return inline(ctx, obj.func, [ctx.wrap(obj.instance, "self"), *args], kwargs)
    if isinstance(obj, Func):
        return inline(ctx, obj, args, kwargs)
    if isinstance(obj, Function):
        return call_simt(frame, obj, args, kwargs)
    handler = BUILTINS.get(obj) if _hashable(obj) else None
    if handler is not None:
        return _call_handler(ctx, getattr(obj, "__name__", str(obj)), handler, frame, *args, **kwargs)
    if isinstance(obj, VectorType) and not kwargs:
        return construct_vector(ctx, obj, args)
    if isinstance(obj, type) and is_struct(obj):
        return construct_struct(ctx, obj, args, kwargs)
    dtype = as_dtype(obj) if isinstance(obj, (DType, type)) else None
    if dtype is not None:
        return call_object(frame, lang.cast, [*args, Static(dtype)], kwargs)
    if ctx.static_depth and callable(obj):
        return _call_python(ctx, obj, args, kwargs)
    name = getattr(obj, "__name__", repr(obj))
    if isinstance(obj, (FunctionType, MethodType)):
        raise ctx.compile_error(
            f"{name}() is a Python function",
            why="a kernel calls functions that are compiled into it",
            hint=f"decorate it with @lw.func, or lw.static({name}(...)) for a value at compile time",
        )
    raise ctx.compile_error(
        f"{name} cannot be called in a kernel",
        why="it runs on the host" if callable(obj) else "it is no function",
        hint=f"lw.static({name}(...)) for a value at compile time" if callable(obj) else "",
    )


def _hashable(obj: Any) -> bool:
    return getattr(type(obj), "__hash__", None) is not None and not isinstance(obj, (tuple, frozenset))


def _arguments(frame: Frame, node: ast.Call) -> tuple[list[Val], dict[str, Val]]:
    args: list[Val] = []
    for arg in node.args:
        if not isinstance(arg, ast.Starred):
            args.append(frame.eval(arg))
            continue
        with frame.at(arg):
            group = frame.eval(arg.value)
            if not isinstance(group, BUNDLES):
                raise refuse(frame.ctx, arg)
            args += group.items
    kwargs: dict[str, Val] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise refuse(frame.ctx, "Starred")
        kwargs[keyword.arg] = frame.eval(keyword.value)
    return args, kwargs


@cache
def _signature(handler: Handler) -> inspect.Signature:
    return inspect.signature(handler)


def _call_handler(ctx: Context, name: str, handler: Handler, *args: Any, **kwargs: Any) -> Val:
    """Call a handler; wrong arguments are the user's error."""
    signature = inspect.signature(handler) if handler.__name__ == "<lambda>" else _signature(handler)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        shown = [str(p) for p in list(signature.parameters.values())[1:]]
        written = ", ".join(p.split(":")[0].split(" ->")[0] for p in shown)
        raise ctx.error(f"wrong arguments of {name}(): {error}", hint=f"{name}({written})") from error
    return handler(*bound.args, **bound.kwargs)


def _call_python(ctx: Context, obj: Any, args: list[Val], kwargs: Mapping[str, Val]) -> Val:
    wanted = "inside static() Python itself calls the function"
    try:
        return ctx.wrap(
            obj(*(known(ctx, a, wanted) for a in args), **{k: known(ctx, a, wanted) for k, a in kwargs.items()})
        )
    except LanewiseError:
        raise
    except Exception as error:
        raise ctx.compile_error(
            f"{getattr(obj, '__name__', obj)}() failed at compile time", why=f"{type(error).__name__}: {error}"
        ) from error
