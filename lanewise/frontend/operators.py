"""Python's operators on scalars and vectors: one row each, with the rule for its types."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import dtypes
from ..dtypes import DType
from ..errors import CompileError
from ..ir import Value
from .context import Context
from .convert import common_type, number, unify, vector_of
from .values import NUMBERS, Const, Number, Scalar, Static, Tup, Val, Vec, describe

Rule = Callable[[Context, "Operator", Number, Number], Number]


@dataclass(frozen=True, slots=True)
class Operator:
    """`opcode` in the IR, `symbol` in errors, `python` on literals, `rule` otherwise."""

    opcode: str
    symbol: str
    python: Callable[[Any, Any], Any]
    rule: Rule


# ---- rules --------------------------------------------------------------------------------------------------------
def _no_bools(ctx: Context, numbers: Sequence[Number]) -> list[Number]:
    """In arithmetic a bool is the i32 0 or 1."""
    return [ctx.cast(n, dtypes.i32) if n.dtype is not None and n.dtype.is_bool else n for n in numbers]


def _arithmetic(ctx: Context, row: Operator, a: Number, b: Number) -> Number:
    return ctx.op(row.opcode, *unify(ctx, _no_bools(ctx, (a, b))))


def _true_division(ctx: Context, row: Operator, a: Number, b: Number) -> Number:
    return ctx.op("div", *floats(ctx, a, b))


def _bits(ctx: Context, row: Operator, a: Number, b: Number) -> Number:
    dtype = common_type(ctx, (a, b))
    if dtype is not None and dtype.is_float:
        raise _not_an_integer(ctx, row.symbol, dtype)
    return ctx.op(row.opcode, *unify(ctx, (a, b)))


def _shift(ctx: Context, row: Operator, a: Number, b: Number) -> Number:
    a, b = _no_bools(ctx, (ctx.typed(a), ctx.typed(b)))
    for operand in (a, b):
        if operand.dtype is not None and operand.dtype.is_float:
            raise _not_an_integer(ctx, row.symbol, operand.dtype)
    dtype = ctx.dtype_of(a)
    if isinstance(b, Const) and not 0 <= b.value < dtype.bits:
        raise ctx.compile_error(
            f"a shift of {dtype} by {b.value}",
            why=f"a constant amount is from 0 to {dtype.bits - 1}",
            hint="a wider type, such as lw.u64(x)" if b.value >= dtype.bits and dtype.bits < 64 else "",
        )
    return ctx.op(row.opcode, a, ctx.cast(b, dtype))


def _power(ctx: Context, row: Operator, a: Number, b: Number) -> Number:
    a, b = _no_bools(ctx, (a, b))
    exponent = b.value if isinstance(b, Const) else None
    if isinstance(exponent, int) and not (b.dtype is not None and b.dtype.is_float):
        return _constant_power(ctx, ctx.typed(a), exponent)
    if isinstance(a, Const) and a.weak:
        a = unify(ctx, (a, b))[0]
    a, b = ctx.typed(a), ctx.typed(b)
    if ctx.dtype_of(a).is_int and ctx.dtype_of(b).is_int:
        return _integer_power(ctx, a, b)
    return ctx.op("pow", *floats(ctx, a, b))


def _constant_power(ctx: Context, base: Number, exponent: int) -> Number:
    """x ** 13 is x * x**4 * x**8, the squares shared; a negative power is 1 over the positive one."""
    if exponent < 0:
        (base,) = floats(ctx, base)
        return ctx.op("div", ctx.constant(1, ctx.dtype_of(base)), _constant_power(ctx, base, -exponent))
    result: Number | None = None
    square = base
    while exponent:
        if exponent & 1:
            result = square if result is None else ctx.op("mul", result, square)
        exponent >>= 1
        if exponent:
            square = ctx.op("mul", square, square)
    return ctx.constant(1, ctx.dtype_of(base)) if result is None else result


def _integer_power(ctx: Context, base: Number, exponent: Number) -> Number:
    """Repeated squaring; a negative exponent gives 0."""
    b, dtype, kind = ctx.builder, ctx.dtype_of(base), ctx.dtype_of(exponent)
    inits = [ctx.value(base), ctx.value(exponent), b.const(1, dtype)]

    def before(square: Value, left: Value, product: Value) -> tuple[Value, Sequence[Value]]:
        return b("gt", left, b.const(0, kind)), (square, left, product)

    def after(square: Value, left: Value, product: Value) -> Sequence[Value]:
        odd = b("ne", b("and", left, b.const(1, kind)), b.const(0, kind))
        more = b.select(odd, b("mul", product, square), product)
        return b("mul", square, square), b("shr", left, b.const(1, kind)), more

    result = b.loop(inits, before, after)[2]
    if kind.is_signed:
        result = b.select(b("lt", inits[1], b.const(0, kind)), b.const(0, dtype), result)
    return Scalar(result)


def _not_an_integer(ctx: Context, symbol: str, dtype: DType) -> CompileError:
    return ctx.error(
        f"{symbol} of {dtype}", why="bit operations take integers", hint="lw.bit_cast(x, lw.u32), or lw.cast"
    )


def floats(ctx: Context, *numbers: Number) -> list[Number]:
    """The numbers in one float type: theirs, or the default one where all are integers."""
    dtype = common_type(ctx, numbers)
    if dtype is None or not dtype.is_float:
        dtype = ctx.options.default_fp
    return [ctx.cast(n, dtype) for n in numbers]


BINARY: dict[type[ast.operator], Operator] = {
    ast.Add: Operator("add", "+", operator.add, _arithmetic),
    ast.Sub: Operator("sub", "-", operator.sub, _arithmetic),
    ast.Mult: Operator("mul", "*", operator.mul, _arithmetic),
    ast.Div: Operator("div", "/", operator.truediv, _true_division),
    ast.FloorDiv: Operator("floordiv", "//", operator.floordiv, _arithmetic),
    ast.Mod: Operator("mod", "%", operator.mod, _arithmetic),
    ast.Pow: Operator("pow", "**", operator.pow, _power),
    ast.BitAnd: Operator("and", "&", operator.and_, _bits),
    ast.BitOr: Operator("or", "|", operator.or_, _bits),
    ast.BitXor: Operator("xor", "^", operator.xor, _bits),
    ast.LShift: Operator("shl", "<<", operator.lshift, _shift),
    ast.RShift: Operator("shr", ">>", operator.rshift, _shift),
}

COMPARE: dict[type[ast.cmpop], Operator] = {
    kind: Operator(opcode, symbol, python, _arithmetic)
    for kind, opcode, symbol, python in (
        (ast.Eq, "eq", "==", operator.eq),
        (ast.NotEq, "ne", "!=", operator.ne),
        (ast.Lt, "lt", "<", operator.lt),
        (ast.LtE, "le", "<=", operator.le),
        (ast.Gt, "gt", ">", operator.gt),
        (ast.GtE, "ge", ">=", operator.ge),
    )
}


# ---- application --------------------------------------------------------------------------------------------------
def binary(ctx: Context, row: Operator, a: Val, b: Val) -> Val:
    """`a symbol b`, component by component on vectors."""
    if isinstance(a, NUMBERS) and isinstance(b, NUMBERS):
        return _numbers(ctx, row, a, b)
    if isinstance(a, Vec) or isinstance(b, Vec):
        return vector_of(ctx, [_numbers(ctx, row, x, y) for x, y in zip_components(ctx, row.symbol, a, b)])
    if row.symbol == "+" and isinstance(a, Tup) and isinstance(b, Tup):
        return Tup(a.items + b.items)
    if row.symbol == "*" and isinstance(a, Tup) and isinstance(b, Const) and isinstance(b.value, int):
        return Tup(a.items * b.value)
    if isinstance(a, Static) and isinstance(b, Static) and row.symbol in ("==", "!="):
        return Const(bool(row.python(a.obj, b.obj)))
    odd = b if isinstance(a, (*NUMBERS, Vec)) else a
    number(ctx, odd, f"beside {row.symbol}")
    raise AssertionError(odd)


def zip_components(ctx: Context, symbol: str, a: Val, b: Val) -> list[tuple[Number, Number]]:
    """The components of two operands in pairs, a scalar beside each component of a vector."""
    size = len(a.items) if isinstance(a, Vec) else len(b.items) if isinstance(b, Vec) else 1
    columns: list[Sequence[Number]] = []
    for side in (a, b):
        if isinstance(side, (Vec, Tup)):
            if len(side.items) != size:
                raise ctx.error(f"{describe(a)} {symbol} {describe(b)}", why="the vectors differ in length")
            columns.append([number(ctx, item) for item in side.items])
        else:
            columns.append([number(ctx, side, f"beside {symbol}")] * size)
    return list(zip(*columns, strict=True))


def _numbers(ctx: Context, row: Operator, a: Number, b: Number) -> Number:
    if isinstance(a, Const) and isinstance(b, Const) and a.weak and b.weak:
        try:
            result = row.python(a.value, b.value)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise ctx.compile_error(f"{a.value} {row.symbol} {b.value} cannot be computed", why=str(error)) from error
        return Const(result)
    if row.symbol in ("==", "!=") and {a.dtype, b.dtype} <= {dtypes.bool_, None} and not _is_int_literal(a, b):
        return ctx.op(row.opcode, *unify(ctx, (a, b)))
    return row.rule(ctx, row, a, b)


def _is_int_literal(*numbers: Number) -> bool:
    return any(isinstance(n, Const) and n.weak and not isinstance(n.value, bool) for n in numbers)


def negative(ctx: Context, a: Number) -> Number:
    if isinstance(a, Const) and a.weak:
        return Const(-a.value)
    return ctx.op("neg", *_no_bools(ctx, (a,)))


def positive(ctx: Context, a: Number) -> Number:
    if isinstance(a, Const) and a.weak:
        return Const(+a.value)
    return _no_bools(ctx, (a,))[0]


def invert(ctx: Context, a: Number) -> Number:
    if ctx.dtype_of(a).is_bool:
        raise ctx.error("~ of a bool", why="in Python ~True is -2", hint="not x, or x != other")
    if isinstance(a, Const) and a.weak and isinstance(a.value, int):
        return Const(~a.value)
    a = ctx.typed(a)
    if ctx.dtype_of(a).is_float:
        raise _not_an_integer(ctx, "~", ctx.dtype_of(a))
    return ctx.op("not", a)


UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Context, Number], Number]]] = {
    ast.USub: ("-", negative),
    ast.UAdd: ("+", positive),
    ast.Invert: ("~", invert),
}


def map_components(ctx: Context, val: Val, function: Callable[[Context, Number], Number], symbol: str) -> Val:
    """`function` of a scalar, or of each component of a vector."""
    if isinstance(val, Vec):
        return vector_of(ctx, [function(ctx, n) for n in val.items])
    return function(ctx, number(ctx, val, f"beside {symbol}"))
