"""How values take a type: promotion of operands, implicit conversion by assignment, truth, common forms of branches."""

from __future__ import annotations

from collections.abc import Sequence

from .. import dtypes
from ..dtypes import DType, promote
from ..types import VectorType, is_struct, struct_fields
from .context import Context
from .values import (
    BUNDLES,
    NUMBERS,
    Bundle,
    Const,
    Mem,
    Number,
    Scalar,
    Static,
    Struct,
    Tup,
    Val,
    Vec,
    describe,
    leaves,
)


def number(ctx: Context, val: Val, role: str = "") -> Number:
    """`val`, which must be a scalar; `role` says where it is wanted."""
    if isinstance(val, NUMBERS):
        return val
    place = f" {role}" if role else ""
    hint = "an element of it, such as a[i]" if isinstance(val, Mem) else ""
    if isinstance(val, BUNDLES):
        hint = "one component of it"
    raise ctx.error(f"{describe(val)} stands where a scalar is wanted{place}", hint=hint)


def common_type(ctx: Context, numbers: Sequence[Number]) -> DType | None:
    """The type in which numbers meet; literals give way where they fit.  None: all are literals."""
    known = [n.dtype for n in numbers if n.dtype is not None]
    if not known:
        return None
    result = known[0]
    for dtype in known[1:]:
        result = promote(result, dtype)
    for n in numbers:
        if isinstance(n, Const) and n.weak and not result.holds(n.value):
            result = promote(result, ctx.default_type(n.value))
    return result


def unify(ctx: Context, numbers: Sequence[Number]) -> list[Number]:
    """The numbers in their common type; literals alone stay literals."""
    dtype = common_type(ctx, numbers)
    return list(numbers) if dtype is None else [ctx.cast(n, dtype) for n in numbers]


def convert(ctx: Context, val: Number, dtype: DType, target: str) -> Number:
    """The implicit conversion of a store or an assignment: everything but float to integer."""
    if ctx.dtype_of(val).is_float and not dtype.is_float:
        raise ctx.error(
            f"{describe(val)} does not convert to {target}, which is {dtype}",
            why="a variable keeps the type of its first assignment, and a float becomes an integer only when asked",
            hint=f"lw.cast(..., lw.{dtype})" if dtype.is_int else "a comparison, such as x != 0.0",
        )
    return ctx.cast(val, dtype)


def convert_like(ctx: Context, val: Val, like: Val, target: str) -> Val:
    """`val` in the type of `like`, an earlier value of `target`."""
    if isinstance(like, NUMBERS) and isinstance(val, NUMBERS):
        return convert(ctx, val, ctx.dtype_of(like), target)
    if isinstance(like, BUNDLES) and isinstance(val, BUNDLES) and _same_kind(val, like):
        pairs = zip(val.items, like.items, strict=True)
        return like.rebuild([convert_like(ctx, v, old, target) for v, old in pairs])
    if isinstance(val, (Static, Mem)) and type(like) is type(val):
        return val
    raise ctx.error(
        f"{describe(val)} is assigned to {target}, which is {describe(like)}",
        why="a variable keeps the type of its first assignment",
        hint="another variable",
    )


def _same_kind(a: Bundle, b: Bundle) -> bool:
    cls = a.cls if isinstance(a, Struct) else None
    return type(a) is type(b) and len(a.items) == len(b.items) and cls is (b.cls if isinstance(b, Struct) else None)


def convert_to(ctx: Context, val: Val, kind: DType | VectorType | type, target: str) -> Val:
    """`val` in an annotated type: a scalar, vector or struct."""
    if isinstance(kind, DType):
        return convert(ctx, number(ctx, val, f"for {target}"), kind, target)
    if isinstance(kind, VectorType):
        if isinstance(val, (Vec, Tup)) and len(val.items) == kind.n:
            return Vec(tuple(convert(ctx, number(ctx, item), kind.dtype, target) for item in val.items))
    elif is_struct(kind) and isinstance(val, Struct) and val.cls is kind:
        pairs = zip(val.items, struct_fields(kind), strict=True)
        return val.rebuild([convert_to(ctx, v, f.type, f"{target}.{f.name}") for v, f in pairs])
    name = kind.__name__ if isinstance(kind, type) else repr(kind)
    raise ctx.error(f"{describe(val)} is given for {target}, which is {name}")


def typed(ctx: Context, val: Val) -> Val:
    """The value with every literal in it in its default type, as a variable has it."""
    if isinstance(val, Vec):
        return val.rebuild(ctx.typed(n) for n in unify(ctx, val.items))
    if isinstance(val, BUNDLES):
        return val.rebuild([typed(ctx, item) for item in val.items])
    return ctx.typed(val) if isinstance(val, NUMBERS) else val


def truth(ctx: Context, val: Val) -> Number:
    """The value as a condition: `!= 0` for numbers; compile-time objects by Python's rule."""
    if isinstance(val, Scalar):
        return val if val.dtype.is_bool else ctx.op("ne", val, ctx.constant(0, val.dtype))
    if isinstance(val, Const):
        return Const(bool(val.value), dtypes.bool_ if val.dtype else None)
    if isinstance(val, Tup):
        return Const(bool(val.items))
    if isinstance(val, Static):
        return Const(bool(val.obj))
    raise ctx.error(
        f"{describe(val)} is no condition",
        why="a condition is one scalar",
        hint="a comparison of its elements" if isinstance(val, (Mem, Vec)) else "",
    )


def vector_of(ctx: Context, numbers: Sequence[Number]) -> Vec:
    """A vector of numbers in the type where they meet."""
    return Vec(tuple(unify(ctx, numbers)))


def merge_types(ctx: Context, a: Val, b: Val) -> list[DType | None]:
    """The common types of two values of one shape, leaf by leaf; None where a leaf is no number."""
    result: list[DType | None] = []
    for x, y in zip(leaves(a), leaves(b), strict=True):
        if isinstance(x, NUMBERS) and isinstance(y, NUMBERS):
            result.append(common_type(ctx, [x, y]) or common_type(ctx, [ctx.typed(x), ctx.typed(y)]))
        else:
            result.append(None)
    return result
