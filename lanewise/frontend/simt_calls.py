"""Calls of `simt` functions: arguments are bound and checked by the operation's declaration, then one op is emitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .. import dtypes
from ..dtypes import DType, as_dtype
from ..ir import OPCODES, Block, Shared, Value
from ..simt.op import Function, Kind, Param
from .context import Context
from .convert import convert_like, number, truth, typed
from .frame import Frame
from .func import Func
from .inlining import inline, known
from .values import (
    BUNDLES,
    NONE,
    NUMBERS,
    Const,
    Mem,
    Number,
    Scalar,
    Static,
    Tup,
    Val,
    describe,
    leaves,
    rebuild,
    shape,
)


# ---- functions that are compile-time facts, or make memory --------------------------------------------------------
def _block_dim(ctx: Context) -> int:
    if ctx.parallel is None:
        raise ctx.compile_error("block_dim() outside a parallel loop", why="each parallel loop has its own")
    return ctx.parallel.block_dim


def block_array(ctx: Context, dims: Val, dtype: Val, what: str) -> tuple[tuple[int, ...], DType]:
    """The checked shape and dtype of a shared or local array."""
    sizes = known(ctx, dims, f"the shape of {what} is fixed when the kernel is compiled")
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    if not sizes or any(type(size) is not int or size < 1 for size in sizes):
        raise ctx.error(f"{what} of shape {sizes}", why="a shape is one or more positive integers")
    scalar = as_dtype(dtype.obj) if isinstance(dtype, Static) and isinstance(dtype.obj, (type, DType)) else None
    if scalar is None:
        raise ctx.error(
            f"{what} of {describe(dtype)}", why="its elements are scalars", hint=f"one of {_names(dtypes.ALL)}"
        )
    ctx.require(scalar)
    if ctx.parallel is None:
        raise ctx.compile_error(
            f"{what} outside a parallel loop", why="each block or thread of a loop has its own", hint="inside the loop"
        )
    return sizes, scalar


def _shared_array(ctx: Context, dims: Val, dtype: Val) -> Mem:
    sizes, scalar = block_array(ctx, dims, dtype, "a shared array")
    return Mem(Shared("", scalar, sizes))


_SPECIAL: dict[str, Callable[..., Val]] = {
    "subgroup.group_size": lambda ctx: Const(ctx.options.subgroup_size),
    "subgroup.log2_group_size": lambda ctx: Const(ctx.options.log2_subgroup_size),
    "subgroup.num_subgroups": lambda ctx: Const(-(-_block_dim(ctx) // ctx.options.subgroup_size)),
    "block.block_dim": lambda ctx: Const(_block_dim(ctx)),
    "block.SharedArray": _shared_array,
}


# ---- calls --------------------------------------------------------------------------------------------------------
def call_simt(frame: Frame, function: Function, args: list[Val], kwargs: dict[str, Val]) -> Val:
    """The value of a call of a `simt` function."""
    ctx, function = frame.ctx, function.current()
    given = _bind(ctx, function, args, kwargs)
    special = _SPECIAL.get(function.op.name)
    if special is not None:
        return special(ctx, *given.values())
    _check_place(ctx, function)
    call = _Call(ctx, function)
    if function.tiled:
        call.log2_size = call.constant(function.params[-1], given[function.params[-1].name])
    for param in function.params:
        if param.name in given and param.name != "log2_size":
            _ARGUMENTS[param.kind](call, param, given[param.name])
    return call.emit()


def _bind(ctx: Context, function: Function, args: list[Val], kwargs: dict[str, Val]) -> dict[str, Val]:
    """The arguments by parameter, in order; optional ones that are not given are left out."""
    params, name = function.params, function.qualified_name
    form = f"{name}({', '.join(p.name for p in params)})"
    if len(args) > len(params):
        raise ctx.error(f"{name}() takes {len(params)} arguments and is given {len(args)}", hint=form)
    given = dict(zip((p.name for p in params), args, strict=False))
    for key, value in kwargs.items():
        if key in given or key not in {p.name for p in params}:
            raise ctx.error(
                f"{name}() is given {key}{' twice' if key in given else ', which it does not take'}", hint=form
            )
        given[key] = value
    missing = [p.name for p in params if p.name not in given and not p.optional]
    if missing:
        raise ctx.error(f"{name}() lacks {', '.join(missing)}", hint=form)
    return {p.name: given[p.name] for p in params if p.name in given}


def _check_place(ctx: Context, function: Function) -> None:
    op, name = function.op, function.qualified_name
    if ctx.parallel is None:
        raise ctx.compile_error(
            f"{name}() outside a parallel loop",
            why="statements outside the parallel loops run on the host, where there are no lanes",
            hint="the call inside `for i in range(...)`",
        )
    if ctx.no_lanes and OPCODES[op.name].convergent:
        raise ctx.compile_error(f"{name}() stands {ctx.no_lanes}", why="lanes meet in it", hint="a shuffle before that")
    if ctx.options.subgroup_size < op.min_subgroup_size:
        raise ctx.compile_error(
            f"{name}() needs a subgroup of at least {op.min_subgroup_size} lanes; "
            f"{ctx.options.device} has W = {ctx.options.subgroup_size}"
        )


@dataclass(slots=True, eq=False)
class _Call:
    """One op in the making: operands and attributes, argument by argument."""

    ctx: Context
    function: Function
    operands: list[Value] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    values: list[Val] = field(default_factory=list)  # the VALUE arguments
    func: Func | None = None
    log2_size: int | None = None

    @property
    def name(self) -> str:
        return self.function.qualified_name

    def constant(self, param: Param, val: Val) -> int:
        """A compile-time integer within its limits."""
        value = known(self.ctx, val, f"{param.name} of {self.name}() shapes the code")
        if type(value) is not int:
            raise self.ctx.error(f"{param.name} of {self.name}() is {value!r}", why="it is a compile-time integer")
        if param.name == "log2_size":
            most = self.ctx.options.log2_subgroup_size
            if not 0 <= value <= most:
                raise self.ctx.compile_error(
                    f"log2_size of {self.name}() is {value}, outside [0, {most}]",
                    why=f"log2_group_size() is {most} on {self.ctx.options.device}: a tile has 1 to {1 << most} lanes",
                    hint=f"{self.name}(..., lw.simt.subgroup.log2_group_size()) for the whole subgroup",
                )
        self.check_limit(param, value)
        return value

    def check_limit(self, param: Param, value: int) -> None:
        limits = {
            "subgroup": (0, self.ctx.options.subgroup_size - 1),
            "tile": (0, (self.ctx.options.subgroup_size if self.log2_size is None else 1 << self.log2_size) - 1),
        }
        if param.limit is None:
            return
        low, high = limits[param.limit] if isinstance(param.limit, str) else param.limit
        if not low <= value <= high:
            size = (
                f"the {'tile' if self.function.tiled else 'subgroup'} has {high + 1} lanes"
                if param.limit == "tile"
                else ""
            )
            raise self.ctx.compile_error(f"{param.name} of {self.name}() is {value}, outside [{low}, {high}]", why=size)

    def check_dtype(self, param: Param, dtype: DType) -> None:
        if dtype not in param.dtypes:
            hints = {"b": "lw.i32(x)", "f": "lw.bit_cast(x, lw.u32)", "i": "", "u": ""}
            raise self.ctx.error(
                f"{param.name} of {self.name}() is {dtype}",
                why=f"it takes {_names(param.dtypes)}",
                hint=hints[dtype.kind],
            )

    # ---- emission ------------------------------------------------------------------------------------------------
    def emit(self) -> Val:
        op = self.function.op
        if op.uses_log2_size:
            whole = self.ctx.options.log2_subgroup_size
            self.attrs["log2_size"] = whole if self.log2_size is None else self.log2_size
        if op.indexed:
            self.attrs["dtype"] = self.ctx.options.index_type
        if self.func is not None:
            return self._emit_generic()
        if op.fieldwise and self.values:
            return self._emit_fieldwise()
        operands = [*(self.ctx.value(self.scalar(v)) for v in self.values), *self.operands]
        results = self.ctx.builder.emit(op.name, *operands, **self.attrs)
        if not results:
            return NONE
        return Scalar(results[0]) if len(results) == 1 else Tup(tuple(Scalar(v) for v in results))

    def scalar(self, val: Val) -> Number:
        return number(self.ctx, val, f"in {self.name}()")

    def _emit_fieldwise(self) -> Val:
        """One op for each leaf of the value."""
        (val,) = self.values
        moved = [
            Scalar(
                self.ctx.builder(self.function.op.name, self.ctx.value(self.scalar(leaf)), *self.operands, **self.attrs)
            )
            for leaf in leaves(val)
        ]
        return rebuild(val, iter(moved))

    def _emit_generic(self) -> Val:
        """Operands: the leaves of the value, then of the identity; the region combines two values."""
        ctx, func = self.ctx, self.func
        val, given = self.values
        assert func is not None
        identity = convert_like(ctx, given, val, f"the identity of {self.name}()")
        kinds = [ctx.dtype_of(v) for v in _numbers(self, val)]
        args = tuple(Value(kind, f"{side}{k}") for side in "ab" for k, kind in enumerate(kinds))
        half = len(args) // 2
        a, b = (rebuild(val, iter([Scalar(v) for v in part])) for part in (args[:half], args[half:]))
        region = Block(args)
        with ctx.builder.at(region), ctx.without_lanes(f"inside the function of {self.name}()"):
            combined = typed(ctx, inline(ctx, func, [a, b], {}))
            if shape(combined) != shape(val):
                raise ctx.error(
                    f"{func.function.__name__}() gives {describe(combined)} for two values that are {describe(val)}",
                    why=f"{self.name}() combines values of one type into another of that type",
                )
            combined = convert_like(ctx, combined, val, f"the result of {func.function.__name__}()")
            region.yields = tuple(ctx.value(n) for n in _numbers(self, combined))
        operands = [ctx.value(n) for v in (val, identity) for n in _numbers(self, v)]
        results = ctx.builder.emit(self.function.op.name, *operands, regions=(region,), **self.attrs)
        return rebuild(val, iter([Scalar(v) for v in results]))


def _numbers(call: _Call, val: Val) -> Iterator[Number]:
    for leaf in leaves(val):
        yield call.scalar(leaf)


def _names(kinds: Any) -> str:
    return ", ".join(map(str, kinds))


# ---- arguments, by the kind of parameter --------------------------------------------------------------------------
def _value(call: _Call, param: Param, val: Val) -> None:
    val = typed(call.ctx, val)
    takes_bundles = call.function.op.fieldwise or any(p.kind is Kind.FUNC for p in call.function.params)
    if isinstance(val, BUNDLES) and not takes_bundles:
        raise call.ctx.error(
            f"{param.name} of {call.name}() is {describe(val)}", why="it takes one scalar", hint="a component at a time"
        )
    for leaf in _numbers(call, val):
        call.check_dtype(param, call.ctx.dtype_of(leaf))
    call.values.append(val)


def _predicate(call: _Call, param: Param, val: Val) -> None:
    call.operands.append(call.ctx.value(truth(call.ctx, call.scalar(val)), dtypes.bool_))


def _index(call: _Call, param: Param, val: Val) -> None:
    index = call.ctx.typed(call.scalar(val))
    if index.dtype not in param.dtypes:
        raise call.ctx.error(
            f"{param.name} of {call.name}() is {index.dtype}",
            why="it is an integer of any type",
            hint="lw.cast(x, lw.i32)",
        )
    if isinstance(index, Const):
        call.check_limit(param, int(index.value))
        call.attrs[param.name] = int(index.value)
    else:
        call.operands.append(index.value)


def _const(call: _Call, param: Param, val: Val) -> None:
    call.attrs[param.name] = call.constant(param, val)


def _bits(call: _Call, param: Param, val: Val) -> None:
    bits = call.scalar(val)
    kind = call.ctx.dtype_of(bits)
    call.check_dtype(param, kind)
    if kind.is_signed:  # a negative mask has no bits above its own width
        bits = call.ctx.cast(bits, dtypes.unsigned_of(kind.bits))
    call.operands.append(call.ctx.value(bits, dtypes.u64))


def _func(call: _Call, param: Param, val: Val) -> None:
    if not (isinstance(val, Static) and isinstance(val.obj, Func)):
        raise call.ctx.error(
            f"{param.name} of {call.name}() is {describe(val)}",
            why="it is a function of two values",
            hint="an @lw.func",
        )
    call.func = val.obj


def _checked(call: _Call, param: Param, val: Val) -> None:
    """`block_dim` and `dtype` only repeat what is known."""
    ctx = call.ctx
    got = known(ctx, val, f"{param.name} of {call.name}() repeats a compile-time fact")
    if param.name == "block_dim":
        if got != _block_dim(ctx):
            raise ctx.compile_error(
                f"block_dim of {call.name}() is {got}", why=f"the loop's blocks have {_block_dim(ctx)} threads"
            )
        return
    value = next(leaf for leaf in leaves(call.values[0]) if isinstance(leaf, NUMBERS))
    if (as_dtype(got) if isinstance(got, (type, DType)) else None) != value.dtype:
        raise ctx.error(
            f"dtype of {call.name}() is {got}", why=f"the value is {value.dtype}", hint=f"lw.cast(value, lw.{got})"
        )


def _scope(call: _Call, param: Param, val: Val) -> None:
    scope = known(call.ctx, val, f"{param.name} of {call.name}() shapes the code")
    if scope not in ("all", "buffer", "shared"):
        raise call.ctx.compile_error(f"the scope {scope!r} of {call.name}()", why='it is "all", "buffer" or "shared"')
    call.attrs[param.name] = scope


_ARGUMENTS: dict[Kind, Callable[[_Call, Param, Val], None]] = {
    Kind.VALUE: _value,
    Kind.PREDICATE: _predicate,
    Kind.INDEX: _index,
    Kind.CONST: _const,
    Kind.BITS: _bits,
    Kind.FUNC: _func,
    Kind.CHECKED: _checked,
    Kind.SCOPE: _scope,
}
