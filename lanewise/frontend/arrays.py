"""Array elements: indices, loads, stores, updates, atomics, and with debug=True the checks of their bounds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import dtypes
from ..ir import Array, Local, Value
from .context import Context
from .convert import convert, number
from .frame import Frame
from .hints import refuse
from .operators import Operator, binary
from .values import Const, Mem, Number, Scalar, Static, Tup, Val, Vec, describe

ATOMIC_UPDATES = ("add", "sub", "and", "or", "xor")
_BITS = ("and", "or", "xor")


@dataclass(frozen=True, slots=True)
class Element:
    """`array[indices]`, to be read or written."""

    array: Mem
    indices: tuple[Value, ...]

    @property
    def name(self) -> str:
        return f"{self.array.mem.name}[...]"


def element(frame: Frame, array: Mem, node: ast.Subscript) -> Element:
    """The element that a subscript names; the number and types of its indices are checked."""
    ctx = frame.ctx
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    values: list[Val] = []
    for part in parts:
        if isinstance(part, ast.Slice):
            raise refuse(ctx, part)
        value = frame.eval(part)
        is_group = isinstance(value, (Tup, Vec))
        values += value.items if is_group else [] if isinstance(value, Static) and value.obj is None else [value]
    mem = array.mem
    if ctx.parallel is None:
        raise ctx.compile_error(
            f"an element of {mem.name} outside a parallel loop",
            why="statements outside the parallel loops run on the host, which does not see the array",
            hint="the access inside `for i in range(...)`, or the element passed as a scalar argument",
        )
    if len(values) != array.ndim:
        axes = f"{array.ndim} axes" if array.ndim != 1 else "one axis"
        raise ctx.error(
            f"{mem.name} has {axes} and is given {len(values)} {'index' if len(values) == 1 else 'indices'}"
        )
    return Element(array, tuple(_index(ctx, array, axis, value) for axis, value in enumerate(values)))


def _index(ctx: Context, array: Mem, axis: int, val: Val) -> Value:
    index = number(ctx, val, f"as an index of {array.mem.name}")
    kind = ctx.dtype_of(index)
    if kind.is_float:
        raise ctx.error(
            f"{describe(val)} as an index of {array.mem.name}", why="an index is an integer", hint="lw.cast(x, lw.i32)"
        )
    if isinstance(index, Const):
        size = None if isinstance(array.mem, Array) else array.mem.shape[axis]
        if index.value < 0:
            end = f"{array.mem.name}.shape[{axis}] - {-index.value}" if size is None else f"{size + index.value}"
            raise ctx.compile_error(f"{array.mem.name} at {index.value}", why="negative indices do not wrap", hint=end)
        if size is not None and index.value >= size:
            raise ctx.compile_error(f"{array.mem.name} at {index.value}, which has {size} elements on axis {axis}")
    if kind.is_bool or (isinstance(index, Const) and index.weak):
        return ctx.value(index, ctx.options.index_type)
    return ctx.value(index)


# ---- bounds -------------------------------------------------------------------------------------------------------
def extent(ctx: Context, array: Mem, axis: int) -> Number:
    mem, dtype = array.mem, ctx.options.index_type
    if isinstance(mem, Array):
        return Scalar(ctx.builder("extent", mem=mem, axis=axis, dtype=dtype))
    return Const(mem.shape[axis], dtype)


def shape_of(ctx: Context, array: Mem) -> Tup:
    """`array.shape`."""
    if isinstance(array.mem, Array):
        return Tup(tuple(extent(ctx, array, axis) for axis in range(array.ndim)))
    return Tup(tuple(Const(size) for size in array.mem.shape))


def _checked(ctx: Context, target: Element, access: Callable[[], Sequence[Value]]) -> Sequence[Value]:
    """The access; with debug=True its bounds are asserted, and it is made only where they hold."""
    if not ctx.options.debug or not target.indices:
        return access()
    b, name = ctx.builder, target.array.mem.name
    inside: Value | None = None
    for axis, index in enumerate(target.indices):
        wide, size = b.cast(index, dtypes.i64), ctx.value(extent(ctx, target.array, axis), dtypes.i64)
        ok = b.and_(b.ge(wide, b.const(0, dtypes.i64)), b.lt(wide, size))
        parts = ("index ", None, f" of {name} is outside axis {axis}, which has ", None, " elements")
        b.emit("assert", ok, index, size, parts=parts)
        inside = b.both(inside, ok)
    assert inside is not None
    block, values = ctx.region(access)
    block.yields = tuple(values)
    orelse, undefined = ctx.region(lambda: [b.undef(v.type) for v in values])
    orelse.yields = tuple(undefined)
    return b.if_op(inside, block, orelse)


# ---- accesses -----------------------------------------------------------------------------------------------------
def load(ctx: Context, target: Element) -> Scalar:
    """`a[i]`."""
    (value,) = _checked(ctx, target, lambda: [ctx.builder.load(target.array.mem, *target.indices)])
    return Scalar(value)


def store(ctx: Context, target: Element, val: Val) -> None:
    """`a[i] = val`."""
    _writable(ctx, target)
    new = ctx.value(convert(ctx, number(ctx, val, f"for {target.name}"), target.array.mem.dtype, target.name))

    def access() -> Sequence[Value]:
        ctx.builder.store(target.array.mem, target.indices, new)
        return ()

    _checked(ctx, target, access)


def update(ctx: Context, target: Element, row: Operator, val: Val) -> None:
    """`a[i] op= val`: atomic for + - & | ^ on global and shared arrays, else a load and a store."""
    _writable(ctx, target)
    if isinstance(target.array.mem, Local) or row.opcode not in ATOMIC_UPDATES:
        store(ctx, target, binary(ctx, row, load(ctx, target), val))
        return
    atomic(ctx, target, row.opcode, [val])
    last = ctx.builder.block.ops[-1]
    if last.opcode == "atomic":  # with bounds checks it stands in a region, and stays atomic
        ctx.augmented.add(last)


def atomic(ctx: Context, target: Element, kind: str, vals: Sequence[Val]) -> Scalar:
    """`atomic_kind(a[i], *vals)`: the old value."""
    _writable(ctx, target)
    mem = target.array.mem
    allowed = dtypes.INTEGERS if kind in _BITS else dtypes.NUMERIC
    if mem.dtype not in allowed:
        raise ctx.error(
            f"atomic_{kind} on {mem.name}, whose elements are {mem.dtype}",
            why=f"it takes {', '.join(map(str, allowed))}",
            hint="an array of lw.i32 flags" if mem.dtype.is_bool else "an array of integers",
        )
    new = [ctx.value(convert(ctx, number(ctx, v, f"for {target.name}"), mem.dtype, target.name)) for v in vals]
    (old,) = _checked(ctx, target, lambda: [ctx.builder("atomic", *target.indices, *new, mem=mem, kind=kind)])
    return Scalar(old)


def _writable(ctx: Context, target: Element) -> None:
    mem = target.array.mem
    if isinstance(mem, Array) and not mem.writable:
        raise ctx.error(f"{mem.name} is written, but it is read-only", hint="a writable array, such as a copy of it")
