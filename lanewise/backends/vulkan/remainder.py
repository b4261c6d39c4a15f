"""IR to IR: float `//` and `%`, from an exact remainder in integers.

SPIR-V's OpFRem is x - y * trunc(x / y) with an inexact division.  Here the mantissas are divided like long numbers, a
few bits a round, so the remainder is exact whatever the quotient's size, and denormals are never touched as floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dtypes import DType, f32, f64, i32, signed_of, unsigned_of
from ...ir import Block, Builder, Kernel, Op, Value
from ...ir.clone import renamed


def expand_float_division(kernel: Kernel) -> None:
    """Replace every float `floordiv` and `mod` of a kernel."""
    _expand(kernel.body, Builder(kernel.subgroup_size, block_dim=kernel.block_dim), {})


def _expand(block: Block, b: Builder, names: dict[Value, Value]) -> None:
    ops, block.ops = block.ops, []
    with b.at(block):
        for op in ops:
            for region in op.regions:
                _expand(region, b, names)
            operands = renamed(names, op.operands)
            if op.opcode in ("floordiv", "mod") and op.result.type.is_float:
                b.loc = op.loc
                names[op.result] = _FORMS[op.opcode](b, *operands)
            else:
                mask = None if op.mask is None else names.get(op.mask, op.mask)
                b.append(Op(op.opcode, operands, op.results, op.attrs, op.regions, mask, op.loc))
    block.yields = renamed(names, block.yields)


@dataclass(frozen=True, slots=True)
class _Format:
    """A float format as integers: the mantissa's stored bits, and the largest exponent field."""

    bits: DType
    mantissa: int

    @property
    def top(self) -> int:
        return (1 << (self.bits.bits - 1 - self.mantissa)) - 1


_FORMATS = {f32: _Format(unsigned_of(32), 23), f64: _Format(unsigned_of(64), 52)}


def remainder(b: Builder, x: Value, y: Value) -> Value:
    """C's fmod: x - y * trunc(x / y) without rounding, of x's sign; NaN for an infinite x or a zero y."""
    dtype = x.type
    if dtype.bits == 16:  # exact in f32, and so is its result in f16
        return b.cast(remainder(b, b.cast(x, f32), b.cast(y, f32)), dtype)
    form = _FORMATS[dtype]
    bits = form.bits

    def word(value: int) -> Value:
        return b.const(value, bits)

    def split(value: Value) -> tuple[Value, Value]:
        """The mantissa with its hidden bit, and the exponent; a denormal has the exponent 1 and no hidden bit."""
        field = b("shr", value, word(form.mantissa))
        stored = b.and_(value, word((1 << form.mantissa) - 1))
        normal = b("ne", field, word(0))
        mantissa = b.select(normal, b.or_(stored, word(1 << form.mantissa)), stored)
        return mantissa, b.cast(b.select(normal, field, word(1)), i32)

    magnitude = word((1 << (bits.bits - 1)) - 1)
    all_x, all_y = b("bitcast", x, dtype=bits), b("bitcast", y, dtype=bits)
    sign = b.and_(all_x, word(1 << (bits.bits - 1)))
    x_bits, y_bits = b.and_(all_x, magnitude), b.and_(all_y, magnitude)
    (mx, ex), (my, ey) = split(x_bits), split(y_bits)
    room = bits.bits - form.mantissa - 1  # a remainder below my can be shifted by this much

    def before(rest: Value, left: Value) -> tuple[Value, Sequence[Value]]:
        return b("gt", left, b.i32(0)), (rest, left)

    def after(rest: Value, left: Value) -> Sequence[Value]:
        step = b("min", left, b.i32(room))
        return b("mod", b("shl", rest, b.cast(step, bits)), my), b.sub(left, step)

    rest, _ = b.loop((b("mod", mx, my), b.sub(ex, ey)), before, after)

    # Back to a float: the highest one moves up to the hidden bit, or as far as the exponent lets it.
    up = b("min", b.sub(b("clz", rest), b.i32(bits.bits - 1 - form.mantissa)), b.sub(ey, b.i32(1)))
    shifted = b("shl", rest, b.cast(up, bits))
    field = b.cast(b.sub(ey, up), bits)
    hidden = b.and_(shifted, word(1 << form.mantissa))
    normal = b.or_(b("xor", shifted, hidden), b("shl", field, word(form.mantissa)))
    made = b.select(b("ne", hidden, word(0)), normal, shifted)
    made = b.select(b.lt(x_bits, y_bits), x_bits, made)
    infinity = word(form.top << form.mantissa)
    invalid = b.or_(b.ge(x_bits, infinity), b.or_(b.eq(y_bits, word(0)), b("gt", y_bits, infinity)))
    made = b.select(invalid, word((form.top << form.mantissa) | (1 << (form.mantissa - 1))), b.or_(made, sign))
    return b("bitcast", made, dtype=dtype)


def _with_sign(b: Builder, magnitude: Value, sign: Value) -> Value:
    """|magnitude| with the sign of `sign`."""
    if sign.type.bits == 16:
        return b.cast(_with_sign(b, b.cast(magnitude, f32), b.cast(sign, f32)), sign.type)
    signed, unsigned = signed_of(sign.type.bits), unsigned_of(sign.type.bits)
    bits = b("bitcast", b("abs", magnitude), dtype=unsigned)
    top = b("lt", b("bitcast", sign, dtype=signed), b.const(0, signed))
    return b("bitcast", b.select(top, b.or_(bits, b.const(1 << (unsigned.bits - 1), unsigned)), bits), dtype=sign.type)


def _moved(b: Builder, r: Value, y: Value) -> Value:
    """Whether the remainder lies on the other side of 0 than the divisor."""
    zero = b.const(0.0, r.type)
    return b.and_(b("ne", r, zero), b("ne", b.lt(r, zero), b.lt(y, zero)))


def _mod(b: Builder, x: Value, y: Value) -> Value:
    """The remainder moved to the divisor's side; a zero has the divisor's sign."""
    r = remainder(b, x, y)
    moved = b.select(_moved(b, r, y), b.add(r, y), r)
    zero = b.const(0.0, r.type)
    return b.select(b.eq(moved, zero), _with_sign(b, zero, y), moved)


def _floordiv(b: Builder, x: Value, y: Value) -> Value:
    """(x - r) / y, less one where the remainder was moved, set to the nearest integer; by zero x / y."""
    dtype = x.type
    zero, one, half = (b.const(v, dtype) for v in (0.0, 1.0, 0.5))
    r = remainder(b, x, y)
    exact = b("div", x, y)
    q = b("div", b.sub(x, r), y)
    q = b.select(_moved(b, r, y), b.sub(q, one), q)
    down = b("floor", q)
    down = b.select(b("gt", b.sub(q, down), half), b.add(down, one), down)
    whole = b.select(b.eq(q, zero), _with_sign(b, zero, exact), down)
    return b.select(b.eq(y, zero), exact, whole)


_FORMS = {"mod": _mod, "floordiv": _floordiv}
