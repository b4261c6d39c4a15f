"""Functions that kernels call: their bodies are inlined where they are called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

from ..errors import LanewiseError
from .source import remember

F = TypeVar("F", bound=Callable[..., Any])


class Func:
    """A function decorated with `@func`.  It runs inside kernels only."""

    def __init__(self, function: FunctionType) -> None:
        functools.update_wrapper(self, function)
        remember(function)
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LanewiseError(
            f"{self.function.__qualname__}() is an @lw.func and was called outside a kernel",
            why="its body is compiled into the kernels that call it",
            hint="call it inside a function decorated with @lw.kernel or @lw.func",
        )

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """As a method: the instance becomes a compile-time first argument."""
        return self if instance is None else BoundFunc(self, instance)

    def __repr__(self) -> str:
        return f"<func {self.function.__qualname__}>"


class BoundFunc:
    """A `Func` read from an instance, which it takes as its first argument."""

    def __init__(self, func: Func, instance: object) -> None:
        self.func = func
        self.instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


def func(function: F) -> F:
    """Make `function` callable from kernels.

    It is inlined: it may return early, return tuples, vectors and structs, and reassign its parameters, which it has by
    value.  It may not call itself.  An annotated parameter converts its argument; one without takes any value.
    """
    plain = function.__func__ if isinstance(function, staticmethod) else function
    if not isinstance(plain, FunctionType):
        raise TypeError(f"@lw.func decorates a function, not {function!r}")
    return cast(F, Func(plain))
