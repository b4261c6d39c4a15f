"""Reductions in the form that strips like: butterflies, which stay within a strip, and floats compared as floats.

Lane 0 of a butterfly has the bits of the tree that defines a reduction, and a tree whose steps reach into the next
strip costs shuffles.  The lesser of two floats is one instruction where neither is a NaN and not both are zeros: a NaN
is put behind all numbers first, and a result that may hide a NaN or a -0 is found again by the integers that define it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ... import dtypes
from ...ir import Builder, Op, Value
from ...passes import Expansion
from ...simt import emit, trees
from ...simt.algebra import MONOIDS, Monoid

_LESS = {"min": "lt", "max": "gt"}


def reductions() -> Mapping[str, Expansion]:
    """The expansions of all that are not generic."""
    return {
        f"subgroup.{form}_{name}": _expansion(monoid)
        for form in ("reduce", "reduce_all")
        for name, monoid in MONOIDS.items()
    }


def _expansion(monoid: Monoid) -> Expansion:
    def expand(b: Builder, op: Op, active: Value | None, values: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if active is not None:
            return None
        (value,), log2_size = values, op.attrs["log2_size"]

        def butterfly() -> tuple[Value, ...]:
            keyed = monoid.keyed(b, value)
            return (keyed.decode(trees.fold_all(b, (keyed.value,), keyed.algebra, log2_size)[0]),)

        # Halves are compared in f32, to and from which they would be converted at every step.
        if monoid.name in _LESS and value.type in (dtypes.f32, dtypes.f64):
            return _extreme(b, monoid, value, log2_size, butterfly)
        return butterfly()

    return expand


def _extreme(
    b: Builder, monoid: Monoid, value: Value, log2_size: int, by_integers: Callable[[], tuple[Value, ...]]
) -> tuple[Value, ...]:
    t = value.type
    last = b.const(monoid.identity(t), t)

    def closer(x: Value, y: Value) -> Value:
        """As x86's MINPS and MAXPS have it: y where either is a NaN, so no NaN comes of a y that is none."""
        return b.select(b(_LESS[monoid.name], x, y), x, y)

    found = value if log2_size else closer(value, last)
    for step in reversed(range(log2_size)):
        other = emit.permute(b, found, "xor", 1 << step, log2_size)
        found = closer(found, closer(other, last) if found is value else other)
    if emit.is_whole(b, log2_size):
        found = emit.permute(b, found, "broadcast", 0, log2_size)
    word = dtypes.unsigned_of(t.bits)
    magnitude = b.and_(b("bitcast", found, dtype=word), b.const((1 << t.bits - 1) - 1, word))
    infinite = int(t.np.type(math.inf).view(word.np))
    doubt = b.ge(b.sub(magnitude, b.const(1, word)), b.const(infinite - 1, word))
    return emit.rarely(b, doubt, by_integers, lambda: (found,))
