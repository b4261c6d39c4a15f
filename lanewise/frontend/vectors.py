"""Vectors, tuples and structs: construction, components, methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import reduce

from .. import dtypes
from ..dtypes import DType
from ..types import VectorType, struct_fields
from .context import Context
from .convert import convert, convert_to, number, typed, unify, vector_of
from .operators import floats
from .values import NUMBERS, Const, Number, Scalar, Struct, Tup, Val, Vec, describe


# ---- construction -------------------------------------------------------------------------------------------------
def make_vector(ctx: Context, values: Val, dtype: DType | None) -> Vec:
    """`Vector(values, dtype)`."""
    if not isinstance(values, (Tup, Vec)):
        raise ctx.error(f"Vector of {describe(values)}", hint="Vector([x, y, z])")
    numbers = [number(ctx, item, "as a component") for item in values.items]
    if not numbers:
        raise ctx.error("a vector of no components")
    if dtype is None:
        return vector_of(ctx, [ctx.typed(n) for n in unify(ctx, numbers)])
    return Vec(tuple(convert(ctx, n, dtype, "the vector") for n in numbers))


def construct_vector(ctx: Context, kind: VectorType, args: Sequence[Val]) -> Vec:
    """`vector(n, dtype)(...)`: n values, a sequence of n, or one for all; converted as `cast` does."""
    items: Sequence[Val] = args
    if len(args) == 1:
        (only,) = args
        items = only.items if isinstance(only, (Tup, Vec)) else [only] * kind.n
    if len(items) != kind.n:
        raise ctx.error(f"{kind!r} is made of {len(items)} values", hint=f"{kind.n} values, or one for all")
    return Vec(tuple(ctx.cast(number(ctx, item, "as a component"), kind.dtype) for item in items))


def construct_struct(ctx: Context, cls: type, args: Sequence[Val], kwargs: dict[str, Val]) -> Struct:
    """`Point(x, y)`: positional and keyword values, then the fields' defaults."""
    fields = struct_fields(cls)
    names = [f.name for f in fields]
    form = f"{cls.__name__}({', '.join(names)})"
    if len(args) > len(fields):
        raise ctx.error(f"{cls.__name__} takes {len(fields)} values, not {len(args)}", hint=form)
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names or name in given:
            raise ctx.error(
                f"{cls.__name__} is given {name} {'twice' if name in given else ', which is no field'}", hint=form
            )
        given[name] = value
    items: list[Val] = []
    for field in fields:
        value = given.get(field.name)
        if value is None:
            if field.default is dataclasses.MISSING:
                raise ctx.error(f"{cls.__name__} lacks a value for {field.name}", hint=form)
            value = ctx.wrap(field.default, field.name)
        items.append(convert_to(ctx, value, field.type, f"{cls.__name__}.{field.name}"))
    return Struct(cls, tuple(items))


# ---- components ---------------------------------------------------------------------------------------------------
def _position(ctx: Context, base: Vec | Tup, index: Const) -> int:
    at, size = index.value, len(base.items)
    if not isinstance(at, int):
        raise ctx.error(f"{describe(base)} at {at!r}", why="an index is an integer")
    if not -size <= at < size:
        raise ctx.compile_error(f"{describe(base)} at {at}", why=f"its indices are 0 to {size - 1}")
    return at % size


def component(ctx: Context, base: Val, index: Val) -> Val:
    """`base[index]` of a vector or a tuple; a run-time index selects among a vector's components."""
    if isinstance(base, (Vec, Tup)):
        if isinstance(index, Const):
            return base.items[_position(ctx, base, index)]
        if isinstance(base, Tup):
            raise ctx.error(
                "a tuple at a run-time index", why="its items may differ in type", hint="lw.Vector, or lw.local_array"
            )
        at = _integer(ctx, index, base)
        result = base.items[0]
        for k, item in enumerate(base.items[1:], start=1):
            here = ctx.op("eq", at, ctx.constant(k, ctx.dtype_of(at)))
            result = ctx.op("select", here, *unify(ctx, [item, result]))
        return result
    if isinstance(base, Struct):
        raise ctx.error(f"{describe(base)} has no elements", hint="a field: value.name")
    raise ctx.error(f"{describe(base)} has no elements")


def with_component(ctx: Context, base: Val, index: Val, value: Val) -> Val:
    """The vector with one component changed."""
    if not isinstance(base, Vec):
        why = "a tuple does not change" if isinstance(base, Tup) else ""
        raise ctx.error(f"an element of {describe(base)} is assigned", why=why, hint="lw.Vector([...])")
    first = typed(ctx, base)
    assert isinstance(first, Vec)
    items = list(first.items)
    new = convert(ctx, number(ctx, value, "for a component"), ctx.dtype_of(items[0]), "the vector's component")
    if isinstance(index, Const):
        items[_position(ctx, base, index)] = new
        return Vec(tuple(items))
    at = _integer(ctx, index, base)
    for k, old in enumerate(items):
        here = ctx.op("eq", at, ctx.constant(k, ctx.dtype_of(at)))
        items[k] = ctx.op("select", here, new, old)
    return Vec(tuple(items))


def _integer(ctx: Context, index: Val, base: Val) -> Number:
    at = number(ctx, index, "as an index")
    if not ctx.dtype_of(at).is_int:
        raise ctx.error(
            f"{describe(base)} at {describe(index)}", why="an index is an integer", hint="lw.cast(x, lw.i32)"
        )
    return at


# ---- methods ------------------------------------------------------------------------------------------------------
def _fold(opcode: str) -> Callable[[Context, Vec], Val]:
    """The components folded from left to right."""
    return lambda ctx, v: reduce(lambda a, b: ctx.op(opcode, a, b), _arithmetic(ctx, v))


def _arithmetic(ctx: Context, v: Vec) -> list[Number]:
    return [ctx.cast(n, dtypes.i32) if n.dtype == dtypes.bool_ else ctx.typed(n) for n in v.items]


def _dot(ctx: Context, a: Vec, other: Val) -> Val:
    """a[0] * b[0] + a[1] * b[1] + ..., from left to right."""
    if not isinstance(other, Vec) or len(other.items) != len(a.items):
        raise ctx.error(f"dot of {describe(a)} and {describe(other)}", why="it takes two vectors of one length")
    products = [
        ctx.op("mul", *unify(ctx, [x, y])) for x, y in zip(_arithmetic(ctx, a), _arithmetic(ctx, other), strict=True)
    ]
    return reduce(lambda x, y: ctx.op("add", x, y), products)


def _cross(ctx: Context, a: Vec, other: Val) -> Val:
    if not isinstance(other, Vec) or len(a.items) != 3 or len(other.items) != 3:
        raise ctx.error(f"cross of {describe(a)} and {describe(other)}", why="it takes two vectors of 3")
    x, y = _arithmetic(ctx, a), _arithmetic(ctx, other)

    def minor(i: int, j: int) -> Number:
        return ctx.op("sub", ctx.op("mul", *unify(ctx, [x[i], y[j]])), ctx.op("mul", *unify(ctx, [x[j], y[i]])))

    return vector_of(ctx, [minor(1, 2), minor(2, 0), minor(0, 1)])


def _norm(ctx: Context, v: Vec) -> Val:
    """sqrt(v . v)."""
    squares = _dot(ctx, v, v)
    assert isinstance(squares, NUMBERS)
    return ctx.op("sqrt", *floats(ctx, squares))


def _normalized(ctx: Context, v: Vec) -> Val:
    length = _norm(ctx, v)
    assert isinstance(length, (Const, Scalar))
    return vector_of(ctx, [ctx.op("div", *floats(ctx, n, length)) for n in v.items])


VECTOR_METHODS: dict[str, Callable[..., Val]] = {
    "dot": _dot,
    "cross": _cross,
    "norm": _norm,
    "normalized": _normalized,
    "sum": _fold("add"),
    "min": _fold("min"),
    "max": _fold("max"),
}
