"""A function's parameters, with their annotations evaluated and understood."""

from __future__ import annotations

import builtins
import inspect
from collections import ChainMap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any, TypeAlias

from ..dtypes import ALL, DType, as_dtype
from ..errors import CompileError, LanewiseSyntaxError, LanewiseTypeError, Loc
from ..types import ArrayType, NDArray, Template, TemplateType, VectorType, is_struct, ndarray, template
from .source import get_source

Annotation: TypeAlias = DType | ArrayType | TemplateType | VectorType | type | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """`default` is `inspect.Parameter.empty` where there is none, `type` is None where nothing is written."""

    name: str
    type: Annotation
    default: Any
    loc: Loc

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


def names_of(function: FunctionType) -> Mapping[str, Any]:
    """The names that a function's body sees: closure cells, globals, builtins."""
    cells: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            cells[name] = cell.cell_contents
    return ChainMap(cells, function.__globals__, builtins.__dict__)


@cache
def parameters(function: FunctionType) -> tuple[Parameter, ...]:
    """The parameters in order; an annotation that the language does not know is an error at its place."""
    source = get_source(function)
    arguments = source.node.args
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            raise LanewiseSyntaxError(
                f"{function.__name__}() takes any number of arguments (*{extra.arg})",
                loc=source.loc(extra),
                why="a compiled function has a fixed list of parameters",
                hint="name each parameter, or pass a tuple",
            )
    signature = inspect.signature(function)
    result: list[Parameter] = []
    for node in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        loc = source.loc(node)
        kind = _understand(function, node.arg, function.__annotations__.get(node.arg), loc)
        result.append(Parameter(node.arg, kind, signature.parameters[node.arg].default, loc))
    return tuple(result)


def _understand(function: FunctionType, name: str, annotation: Any, loc: Loc) -> Annotation:
    if isinstance(annotation, str):  # from __future__ import annotations
        try:
            annotation = eval(annotation, dict(names_of(function)))  # noqa: S307  the user's own text, in his own names
        except Exception as error:
            raise CompileError(
                f"the annotation of {name} cannot be evaluated: {annotation}", loc=loc, why=str(error)
            ) from error
    if annotation is None or isinstance(annotation, (ArrayType, TemplateType, VectorType)) or is_struct(annotation):
        return annotation
    if annotation in (template, Template):
        return TemplateType()
    if annotation in (NDArray, ndarray):
        return ArrayType()
    scalar = as_dtype(annotation)
    if scalar is not None:
        return scalar
    raise LanewiseTypeError(
        f"{name} is annotated as {annotation!r}, which is no type of a kernel's language",
        loc=loc,
        hint=f"lw.types.ndarray(dtype, ndim), lw.template(), or one of {', '.join(map(str, ALL))}",
    )
