"""The language's own functions, and Python's that mean something in a kernel: one handler each."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from functools import reduce
from typing import Any

from .. import dtypes, lang
from ..dtypes import DType, as_dtype
from ..ir import Local
from ..types import VectorType
from .arrays import atomic, element
from .calls import RAW_BUILTINS, builtin
from .context import Context, LoopConfig
from .convert import common_type, number, truth, unify, vector_of
from .expressions import select as select_values
from .frame import Frame
from .inlining import known
from .messages import print_values
from .operators import BINARY, binary, floats
from .simt_calls import block_array
from .values import NONE, NUMBERS, Axis, Const, Mem, Number, Range, Static, Text, Tup, Val, Vec, describe
from .vectors import make_vector


def componentwise(ctx: Context, vals: tuple[Val, ...], function: Callable[..., Number], name: str) -> Val:
    """`function` of scalars; with vectors among them, of each component, a scalar standing beside every one."""
    sizes = {len(v.items) for v in vals if isinstance(v, Vec)}
    if not sizes:
        return function(ctx, *(number(ctx, v, f"in {name}()") for v in vals))
    if len(sizes) > 1:
        raise ctx.error(f"{name}() of vectors of {' and '.join(map(str, sorted(sizes)))} components")
    (size,) = sizes
    columns = [v.items if isinstance(v, Vec) else (number(ctx, v, f"in {name}()"),) * size for v in vals]
    return vector_of(ctx, [function(ctx, *column) for column in zip(*columns, strict=True)])


def _dtype(ctx: Context, val: Val, name: str) -> DType:
    dtype = as_dtype(val.obj) if isinstance(val, Static) and isinstance(val.obj, (type, DType)) else None
    if dtype is None:
        raise ctx.error(
            f"{describe(val)} is given to {name}() as a type", hint=f"one of {', '.join(map(str, dtypes.ALL))}"
        )
    return dtype


# ---- compile time and loops ---------------------------------------------------------------------------------------
def _static(frame: Frame, node: ast.Call) -> Val:
    ctx = frame.ctx
    if len(node.args) != 1 or node.keywords:
        raise ctx.error("static() takes one argument", hint="lw.static(value)")
    ctx.static_depth += 1
    value = frame.eval(node.args[0])
    ctx.static_depth -= 1
    if isinstance(value, Range):
        return _static_range(ctx, value)
    if not isinstance(value, Mem):
        known(ctx, value, "static() takes a compile-time value")
    return value


def _static_range(ctx: Context, over: Range) -> Tup:
    wanted = "a static loop is unrolled when the kernel is compiled"
    spans = [range(known(ctx, a.start, wanted), known(ctx, a.stop, wanted), a.step) for a in over.axes]
    if over.flat:
        return Tup(tuple(Const(k) for k in spans[0]))
    grid: list[tuple[Val, ...]] = [()]
    for span in spans:
        grid = [(*point, Const(k)) for point in grid for k in span]
    return Tup(tuple(Tup(point) for point in grid))


RAW_BUILTINS[lang.static] = _static


_NO_TEXT = Static("")
_ZERO = Const(0)
_DEFAULT_BLOCK = Const(128)


@builtin(lang.static_assert)
def _static_assert(frame: Frame, condition: Val, message: Val = _NO_TEXT) -> Val:
    if not known(frame.ctx, condition, "static_assert() checks when the kernel is compiled"):
        parts = message.parts if isinstance(message, Text) else (message,)
        text = "".join(p if isinstance(p, str) else str(known(frame.ctx, p, "the message is fixed")) for p in parts)
        raise frame.ctx.compile_error("static_assert failed" + (f": {text}" if text else ""))
    return NONE


@builtin(lang.loop_config)
def _loop_config(frame: Frame, *, block_dim: Val = _DEFAULT_BLOCK, name: Val = _NO_TEXT) -> Val:
    ctx = frame.ctx
    if not (frame.is_kernel and frame.top_level and ctx.parallel is None):
        raise ctx.compile_error(
            "loop_config() away from a parallel loop", hint="the line before a kernel's top-level `for`"
        )
    threads = known(ctx, block_dim, "a block's size shapes the code")
    if type(threads) is not int or not 1 <= threads <= ctx.options.max_block_dim:
        raise ctx.compile_error(
            f"block_dim is {threads!r}",
            why=f"{ctx.options.device} runs blocks of 1 to {ctx.options.max_block_dim} threads",
        )
    ctx.config = LoopConfig(threads, str(known(ctx, name, "the name is fixed")), ctx.builder.loc)
    return NONE


@builtin(range)
def _range(frame: Frame, *bounds: Val) -> Val:
    ctx = frame.ctx
    if not 1 <= len(bounds) <= 3:
        raise ctx.error(f"range() takes 1 to 3 arguments, not {len(bounds)}", hint="range(start, stop, step)")
    start, stop = (Const(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
    step = 1
    if len(bounds) == 3:
        step = known(ctx, bounds[2], "the sign of a loop's step shapes the code, so the step is a compile-time integer")
        if type(step) is not int or step == 0:
            raise ctx.compile_error(f"a loop's step is {step!r}", why="it is an integer other than 0")
    return Range((Axis(_bound(ctx, start), _bound(ctx, stop), step),), flat=True)


def _bound(ctx: Context, val: Val) -> Number:
    bound = number(ctx, val, "as a bound of a loop")
    dtype = ctx.typed(bound).dtype
    if dtype is not None and dtype.is_float:
        raise ctx.error(
            f"{describe(val)} as a bound of a loop", why="a loop counts integers", hint="lw.cast(x, lw.i32)"
        )
    return bound


@builtin(lang.ndrange)
def _ndrange(frame: Frame, *axes: Val) -> Val:
    if not axes:
        raise frame.ctx.error("ndrange() takes an extent for each axis", hint="lw.ndrange(n, m)")
    made: list[Axis] = []
    for axis in axes:
        pair = axis.items if isinstance(axis, Tup) else (Const(0), axis)
        if len(pair) != 2:
            raise frame.ctx.error(f"an axis of ndrange() is {describe(axis)}", hint="a stop, or (start, stop)")
        made.append(Axis(_bound(frame.ctx, pair[0]), _bound(frame.ctx, pair[1])))
    return Range(tuple(made), flat=False)


@builtin(len)
def _len(frame: Frame, value: Val) -> Val:
    if isinstance(value, Mem):
        from .arrays import shape_of

        if not value.ndim:
            raise frame.ctx.error(f"len() of {describe(value)}, which has no axes")
        return shape_of(frame.ctx, value).items[0]
    if isinstance(value, (Tup, Vec)):
        return Const(len(value.items))
    if isinstance(value, Static) and hasattr(value.obj, "__len__"):
        return Const(len(value.obj))
    raise frame.ctx.error(f"len() of {describe(value)}")


@builtin(print)
def _print(frame: Frame, *values: Val) -> Val:
    print_values(frame.ctx, values)
    return NONE


# ---- conversions --------------------------------------------------------------------------------------------------
@builtin(lang.cast)
def cast(frame: Frame, value: Val, dtype: Val) -> Val:
    ctx = frame.ctx
    if isinstance(dtype, Static) and isinstance(dtype.obj, VectorType):
        if not isinstance(value, Vec) or len(value.items) != dtype.obj.n:
            raise ctx.error(f"cast of {describe(value)} to {dtype.obj!r}")
        return Vec(tuple(ctx.cast(n, dtype.obj.dtype) for n in value.items))
    kind = _dtype(ctx, dtype, "cast")
    return componentwise(ctx, (value,), lambda ctx, n: ctx.cast(n, kind), "cast")


@builtin(bool)
def _bool(frame: Frame, value: Val = _ZERO) -> Val:
    return truth(frame.ctx, value)


@builtin(int)
def _int(frame: Frame, value: Val = _ZERO) -> Val:
    if isinstance(value, Const) and value.weak and abs(value.value) < math.inf:
        return Const(int(value.value))
    return cast(frame, value, Static(frame.ctx.options.default_ip))


@builtin(float)
def _float(frame: Frame, value: Val = _ZERO) -> Val:
    if isinstance(value, Const) and value.weak:
        return Const(float(value.value))
    if isinstance(value, Static) and isinstance(value.obj, str):
        return Const(float(value.obj))
    return cast(frame, value, Static(frame.ctx.options.default_fp))


@builtin(lang.bit_cast)
def _bit_cast(frame: Frame, value: Val, dtype: Val) -> Val:
    kind = _dtype(frame.ctx, dtype, "bit_cast")

    def one(ctx: Context, n: Number) -> Number:
        source = ctx.dtype_of(n)
        if source == kind:
            return ctx.typed(n)
        if source.bits != kind.bits or kind.is_bool or source.is_bool:
            same_width = [t for t in dtypes.NUMERIC if t.bits == source.bits]
            raise ctx.error(
                f"bit_cast of {source} to {kind}",
                why="it keeps the bits, so both types have one width",
                hint=f"one of {', '.join(map(str, same_width))}" if same_width else "lw.cast",
            )
        ctx.require(kind)
        return ctx.op("bitcast", n, dtype=kind)

    return componentwise(frame.ctx, (value,), one, "bit_cast")


@builtin(lang.select)
def _select(frame: Frame, condition: Val, a: Val, b: Val) -> Val:
    ctx = frame.ctx
    if isinstance(condition, Vec):

        def one(ctx: Context, cond: Number, x: Number, y: Number) -> Number:
            return number(ctx, select_values(frame, truth(ctx, cond), x, y))

        return componentwise(ctx, (condition, a, b), one, "select")
    if isinstance(a, Vec) and isinstance(b, NUMBERS):
        b = Vec((b,) * len(a.items))
    elif isinstance(b, Vec) and isinstance(a, NUMBERS):
        a = Vec((a,) * len(b.items))
    return select_values(frame, truth(ctx, condition), a, b)


# ---- arithmetic ---------------------------------------------------------------------------------------------------
def _no_bool(ctx: Context, n: Number) -> Number:
    return ctx.cast(n, dtypes.i32) if n.dtype == dtypes.bool_ else n


@builtin(lang.abs, builtins.abs)
def _abs(frame: Frame, x: Val) -> Val:
    def one(ctx: Context, n: Number) -> Number:
        if isinstance(n, Const) and n.weak:
            return Const(abs(n.value))
        n = _no_bool(ctx, n)
        return n if ctx.dtype_of(n).kind == "u" else ctx.op("abs", n)

    return componentwise(frame.ctx, (x,), one, "abs")


def _extremum(opcode: str, python: Callable[..., Any]) -> Callable[..., Val]:
    def handler(frame: Frame, *values: Val) -> Val:
        ctx = frame.ctx
        if len(values) == 1 and isinstance(values[0], (Vec, Tup)):
            values = tuple(values[0].items)
        if not values:
            raise ctx.error(f"{opcode}() of nothing", hint=f"{opcode}(a, b)")

        def two(ctx: Context, a: Number, b: Number) -> Number:
            if isinstance(a, Const) and isinstance(b, Const) and a.weak and b.weak:
                return Const(python(a.value, b.value))
            return ctx.op(opcode, *unify(ctx, [_no_bool(ctx, a), _no_bool(ctx, b)]))

        return reduce(lambda a, b: componentwise(ctx, (a, b), two, opcode), values)

    return handler


builtin(lang.min, builtins.min)(_extremum("min", min))
builtin(lang.max, builtins.max)(_extremum("max", max))


@builtin(lang.fma)
def _fma(frame: Frame, a: Val, b: Val, c: Val) -> Val:
    def one(ctx: Context, *n: Number) -> Number:
        numbers = [_no_bool(ctx, x) for x in n]
        dtype = common_type(ctx, numbers) or ctx.options.default_fp
        return ctx.op("fma", *(ctx.cast(x, dtype) for x in numbers))

    return componentwise(frame.ctx, (a, b, c), one, "fma")


@builtin(lang.pow, builtins.pow, math.pow)
def _pow(frame: Frame, x: Val, y: Val) -> Val:
    return binary(frame.ctx, BINARY[ast.Pow], x, y)


@builtin(divmod)
def _divmod(frame: Frame, a: Val, b: Val) -> Val:
    return Tup((binary(frame.ctx, BINARY[ast.FloorDiv], a, b), binary(frame.ctx, BINARY[ast.Mod], a, b)))


def _unary_float(opcode: str, python: Callable[[float], float] | None) -> Callable[..., Val]:
    def one(ctx: Context, n: Number) -> Number:
        if python is not None and isinstance(n, Const) and n.weak:
            try:
                return Const(float(python(n.value)))
            except (ValueError, OverflowError):  # NaN or inf in a kernel, an exception in Python
                pass
        return ctx.op(opcode, *floats(ctx, n))

    def handler(frame: Frame, x: Val) -> Val:
        return componentwise(frame.ctx, (x,), one, opcode)

    return handler


_EXACT = {"rsqrt": None, "exp2": None, "round": round, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
_AS_IN_MATH = "sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh"
for _name in (*_EXACT, *_AS_IN_MATH.split()):
    _python = _EXACT[_name] if _name in _EXACT else getattr(math, _name)
    _also = {getattr(module, _name) for module in (math, builtins) if hasattr(module, _name)}
    builtin(getattr(lang, _name), *_also)(_unary_float(_name, _python))


@builtin(lang.atan2, math.atan2)
def _atan2(frame: Frame, y: Val, x: Val) -> Val:
    return componentwise(frame.ctx, (y, x), lambda ctx, a, b: ctx.op("atan2", *floats(ctx, a, b)), "atan2")


# ---- bits ---------------------------------------------------------------------------------------------------------
def _integer(ctx: Context, n: Number, name: str) -> Number:
    n = ctx.typed(n)
    if not ctx.dtype_of(n).is_int:
        raise ctx.error(
            f"{name}() of {describe(n)}", why="it takes integers", hint="lw.bit_cast(x, lw.u32), or lw.cast"
        )
    return n


def _ffs(ctx: Context, n: Number) -> Number:
    """ctz + 1, and 0 for 0."""
    place = ctx.op("add", ctx.op("ctz", n), ctx.constant(1, dtypes.i32))
    is_zero = ctx.op("eq", n, ctx.constant(0, ctx.dtype_of(n)))
    return ctx.op("select", is_zero, ctx.constant(0, dtypes.i32), place)


_BITS: dict[Any, Callable[[Context, Number], Number]] = {
    lang.popcnt: lambda ctx, n: ctx.op("popcnt", n),
    lang.clz: lambda ctx, n: ctx.op("clz", n),
    lang.ctz: lambda ctx, n: ctx.op("ctz", n),
    lang.ffs: _ffs,
    lang.bit_reverse: lambda ctx, n: ctx.op("bitrev", n),
}


def _bits_handler(function: Any, emit: Callable[[Context, Number], Number]) -> Callable[..., Val]:
    name = function.__name__

    def handler(frame: Frame, x: Val) -> Val:
        return componentwise(frame.ctx, (x,), lambda ctx, n: emit(ctx, _integer(ctx, n, name)), name)

    return handler


for _function, _emit in _BITS.items():
    builtin(_function)(_bits_handler(_function, _emit))


# ---- memory -------------------------------------------------------------------------------------------------------
@builtin(lang.local_array)
def _local_array(frame: Frame, shape: Val, dtype: Val) -> Val:
    sizes, scalar = block_array(frame.ctx, shape, dtype, "a local array")
    return Mem(Local("", scalar, sizes))


@builtin(lang.Vector)
def _vector(frame: Frame, values: Val, dtype: Val = NONE) -> Val:
    return make_vector(frame.ctx, values, None if dtype is NONE else _dtype(frame.ctx, dtype, "Vector"))


def _atomic(kind: str, operands: int) -> Callable[[Frame, ast.Call], Val]:
    def handler(frame: Frame, node: ast.Call) -> Val:
        ctx, name = frame.ctx, f"atomic_{kind}"
        form = f"{name}(a[i], {'expected, value' if operands == 2 else 'value'})"
        if len(node.args) != operands + 1 or node.keywords:
            raise ctx.error(f"wrong arguments of {name}()", hint=form)
        target = node.args[0]
        base = frame.eval(target.value) if isinstance(target, ast.Subscript) else None
        if not isinstance(base, Mem) or not isinstance(target, ast.Subscript):
            raise ctx.error(f"{name}() of {ast.unparse(target)}", why="it changes an element of an array", hint=form)
        with frame.at(target):
            place = element(frame, base, target)
        return atomic(ctx, place, kind, [frame.eval(arg) for arg in node.args[1:]])

    return handler


for _kind in ("add", "sub", "min", "max", "and", "or", "xor", "exchange", "cas"):
    RAW_BUILTINS[getattr(lang, f"atomic_{_kind}")] = _atomic(_kind, 2 if _kind == "cas" else 1)
