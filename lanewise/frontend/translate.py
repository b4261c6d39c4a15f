"""A kernel's function, for one list of argument types, as a program of the IR."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType

from ..errors import LanewiseTypeError
from ..ir import Block, Builder, Program, Value
from . import builtins, expressions, loops, statements
from .context import Context
from .control import run_body
from .frame import Frame
from .signature import Parameter, names_of, parameters
from .source import get_source
from .specs import ArraySpec, Options, ScalarSpec, Spec, TemplateSpec, Translation
from .values import Scalar

TABLES = (builtins, expressions, loops, statements)
"""The modules that fill the tables of syntax and functions."""


def translate(function: FunctionType, specs: Sequence[Spec], options: Options) -> Translation:
    """Translate a kernel for arguments of these types."""
    source = get_source(function)
    body = Block()
    ctx = Context(options, Builder(options.subgroup_size, body))
    ctx.builder.loc = source.loc(source.node)
    frame = Frame(ctx, source, names_of(function), is_kernel=True)
    scalars = _bind_parameters(frame, parameters(function), specs)
    run_body(frame, source.node.body)
    if ctx.config is not None:
        raise ctx.compile_error("loop_config() with no parallel loop after it", loc=ctx.config.loc)
    program = Program(
        function.__name__,
        scalars,
        ctx.memories,
        body,
        options.subgroup_size,
        options.index_type,
        source.loc(source.node),
    )
    apart = tuple(number for number, memory in enumerate(ctx.memories) if memory in ctx.apart)
    return Translation(program, tuple(ctx.captured), tuple(ctx.bounds), ctx.beyond, apart)


def _bind_parameters(frame: Frame, params: Sequence[Parameter], specs: Sequence[Spec]) -> list[Value]:
    if len(params) != len(specs):
        raise LanewiseTypeError(
            f"{frame.source.name}() takes {len(params)} arguments and is given {len(specs)}",
            loc=frame.ctx.builder.loc,
        )
    scalars: list[Value] = []
    for param, spec in zip(params, specs, strict=True):
        frame.ctx.builder.loc = param.loc
        match spec:
            case ArraySpec():
                frame.env[param.name] = frame.ctx.add_array(param.name, spec)
            case ScalarSpec(dtype):
                frame.ctx.require(dtype)
                scalars.append(Value(dtype, param.name))
                frame.env[param.name] = Scalar(scalars[-1])
            case TemplateSpec():
                pass  # after the arrays that are arguments: a template may close over more
    for param, spec in zip(params, specs, strict=True):
        if isinstance(spec, TemplateSpec):
            frame.env[param.name] = frame.ctx.wrap(spec.value, param.name)
    return scalars
