"""The operations that reductions and scans fold with.

An `Algebra` is an associative operation with its two constants, over tuples of leaves: of IR values while code is
emitted, of NumPy arrays in a meaning.  The *neutral* value stands for a lane that is left out and changes no bit of
what it meets; the *identity* is the answer where nothing precedes.  For floats they differ: -0 and 0 for addition, NaN
(which min and max skip) and an infinity for the extremes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from .. import dtypes
from ..dtypes import DType
from ..ir import OPCODES, Block, Builder, Value
from ..ir.clone import inline_region
from . import emit
from .op import Arr

T = TypeVar("T")
Combine: TypeAlias = Callable[[tuple[T, ...], tuple[T, ...]], tuple[T, ...]]


@dataclass(frozen=True)
class Algebra(Generic[T]):
    """`combine(a, b)` is a op b; `combine_alike` the same where the result is known to be the same in every lane.

    `exact`: any order of folding gives the same bits, and the neutral value is the identity.
    """

    combine: Combine[T]
    neutral: tuple[T, ...]
    identity: tuple[T, ...]
    exact: bool = False
    alike: Combine[T] | None = None

    @property
    def combine_alike(self) -> Combine[T]:
        return self.alike or self.combine


@dataclass(frozen=True)
class Monoid:
    """One of the seven built-in operations: its arithmetic opcode, the types it takes, its constants for a type."""

    name: str
    symbol: str
    opcode: str
    dtypes: Sequence[DType]
    identity: Callable[[DType], int | float]
    float_neutral: float = 0.0

    def neutral(self, dtype: DType) -> int | float:
        return self.float_neutral if dtype.is_float else self.identity(dtype)

    def emitted(self, b: Builder, dtype: DType) -> Algebra[Value]:
        """In the IR."""
        return Algebra(
            lambda x, y: (b(self.opcode, x[0], y[0]),),
            (b.const(self.neutral(dtype), dtype),),
            (b.const(self.identity(dtype), dtype),),
            exact=dtype.is_int,
            alike=lambda x, y: (b(self.opcode, x[0], y[0], uniform=True),),
        )

    def keyed(self, b: Builder, value: Value) -> Keyed:
        """A value in the form in which it is best folded: floats to be compared, as integers of the same order."""
        t = value.type
        if not t.is_float or self.opcode not in ("min", "max"):
            return Keyed(value, self.emitted(b, t), lambda v: v)
        key = dtypes.signed_of(t.bits)
        nan = b.const(self.identity(key), key)  # behind every number, and still a NaN when it comes back

        identity = emit.ordered(b, b("bitcast", b.const(self.identity(t), t), dtype=key))
        algebra = replace(self.emitted(b, key), neutral=(nan,), identity=(identity,), exact=False)
        ordered = emit.ordered(b, b("bitcast", value, dtype=key))
        chosen = b.select(b("ne", value, value), nan, ordered)
        return Keyed(chosen, algebra, lambda v: b("bitcast", emit.ordered(b, v), dtype=t))

    def numeric(self, dtype: DType) -> Algebra[Arr]:
        """Over NumPy arrays."""
        meaning = OPCODES[self.opcode].meaning
        assert meaning is not None
        return Algebra(
            lambda x, y: (meaning(x[0], y[0]),),
            (_constant(self.neutral(dtype), dtype),),
            (_constant(self.identity(dtype), dtype),),
        )


@dataclass(frozen=True)
class Keyed:
    """A value ready to be folded, what folds it, and the way back from a result.

    Comparing floats takes several instructions where NaN and -0 count; integers take one, and native reductions of
    integers are at hand.
    """

    value: Value
    algebra: Algebra[Value]
    decode: Callable[[Value], Value]


def _constant(value: int | float, dtype: DType) -> Arr:
    return np.array(value, np.float64 if dtype.is_float else np.int64 if value < 0 else np.uint64).astype(dtype.np)


_INT, _NUM = dtypes.INTEGERS, dtypes.NUMERIC
MONOIDS = {
    m.name: m
    for m in (
        Monoid("add", "+", "add", _NUM, lambda t: 0, float_neutral=-0.0),
        Monoid("mul", "*", "mul", _NUM, lambda t: 1, float_neutral=1.0),
        Monoid("min", "min", "min", _NUM, lambda t: t.highest, float_neutral=float("nan")),
        Monoid("max", "max", "max", _NUM, lambda t: t.lowest, float_neutral=float("nan")),
        Monoid("and", "&", "and", _INT, lambda t: -1),
        Monoid("or", "|", "or", _INT, lambda t: 0),
        Monoid("xor", "^", "xor", _INT, lambda t: 0),
    )
}


# ---- the user's own operation -------------------------------------------------------------------------------------
def from_region(b: Builder, region: Block, operands: tuple[Value, ...]) -> tuple[tuple[Value, ...], Algebra[Value]]:
    """The value's leaves, and the operation that a region and the identity's leaves describe."""
    half = len(operands) // 2
    identity = operands[half:]
    return operands[:half], Algebra(lambda x, y: inline_region(b, region, (*x, *y)), identity, identity)


def from_combine(combine: Callable[..., Any], operands: tuple[Arr, ...]) -> tuple[tuple[Arr, ...], Algebra[Arr]]:
    """The same in a meaning."""
    half = len(operands) // 2
    identity = operands[half:]
    return operands[:half], Algebra(combine, identity, identity)


def _skipping(
    algebra: Algebra[T],
    absent: T,
    choose: Callable[[T, T, T], T],
    both: Callable[[T, T], T],
    either: Callable[[T, T], T],
) -> Algebra[T]:
    """The same operation with "is there a value at all?" as one more leaf: what is left out changes no bit.

    An identity is not enough for that: 0.0 is one of addition, and turns -0.0 into 0.0.
    """

    def combine(x: tuple[T, ...], y: tuple[T, ...]) -> tuple[T, ...]:
        (*xs, has_x), (*ys, has_y) = x, y
        meeting = algebra.combine(tuple(xs), tuple(ys))
        met = both(has_x, has_y)
        leaves = (choose(met, together, choose(has_x, a, b)) for together, a, b in zip(meeting, xs, ys, strict=True))
        return (*leaves, either(has_x, has_y))

    return Algebra(combine, (*algebra.neutral, absent), (*algebra.identity, absent))


def skipping_emitted(
    b: Builder, values: tuple[Value, ...], algebra: Algebra[Value]
) -> tuple[tuple[Value, ...], Algebra[Value]]:
    """Values that are there, and the operation that skips those that are not."""
    present, absent = (b.const(flag, dtypes.bool_) for flag in (True, False))
    return (*values, present), _skipping(algebra, absent, b.select, b.and_, b.or_)


def skipping_numeric(values: tuple[Arr, ...], algebra: Algebra[Arr]) -> tuple[tuple[Arr, ...], Algebra[Arr]]:
    """The same in a meaning."""
    present = np.ones(values[0].shape, bool)
    return (*values, present), _skipping(algebra, np.array(False), np.where, np.logical_and, np.logical_or)
