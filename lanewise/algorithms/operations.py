"""What arrays can be reduced by: four operations by name, or a function of the user's with its identity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import lanewise as lw

from ..dtypes import DType
from ..errors import LanewiseTypeError


@lw.func
def _add(a, b):
    return a + b


@lw.func
def _mul(a, b):
    return a * b


@lw.func
def _min(a, b):
    return lw.min(a, b)


@lw.func
def _max(a, b):
    return lw.max(a, b)


@dataclass(frozen=True)
class Operation:
    """A function of two values, and what changes no value."""

    function: Callable[..., Any]
    identity: int | float


_BY_NAME: Mapping[str, tuple[Callable[..., Any], Callable[[DType], int | float]]] = {
    "add": (_add, lambda dtype: 0),
    "mul": (_mul, lambda dtype: 1),
    "min": (_min, lambda dtype: dtype.highest),
    "max": (_max, lambda dtype: dtype.lowest),
}


def operation(op: str | Callable[..., Any], identity: int | float | None, dtype: DType) -> Operation:
    """The operation of this name, or a `@func` with its identity, for elements of `dtype`."""
    if isinstance(op, str):
        found = _BY_NAME.get(op)
        if found is None:
            raise LanewiseTypeError(f"expected op among {', '.join(_BY_NAME)}, or an @lw.func, got {op!r}")
        function, identity_of = found
        return Operation(function, identity_of(dtype) if identity is None else identity)
    if not callable(op):
        raise LanewiseTypeError(f"expected op among {', '.join(_BY_NAME)}, or an @lw.func, got {op!r}")
    if identity is None:
        raise LanewiseTypeError(
            "expected the identity of a function of your own, got none",
            why="it is what an exclusive scan begins with, and the result for an empty array",
            hint="reduce(x, op, identity=0)",
        )
    return Operation(op, identity)
