"""Reductions and scans over a subgroup or its tiles, with the seven built-in operations and with the user's own.

Floats fold in one fixed order everywhere (see `folds.py`, which is the definition); a lane that is not active is left
out and changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..dtypes import BY_NUMPY, DType
from ..ir import Block, Builder, Value
from ..ir.opcodes import Level, always, same
from . import folds, trees
from .algebra import MONOIDS, Algebra, Monoid, from_combine, from_region, skipping_emitted, skipping_numeric
from .folds import Leaves
from .op import CROSS_LANE, Arr, Kind, Lanes, Param, SimtOp, declare, paragraphs, uniform_if_whole
from .trees import Values

_VARYING = always(Level.VARYING)


# ---- the four forms -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Form:
    """One way to use an operation: its meaning and its expansion, for any algebra, and the words for it.

    `expand(b, active, values, algebra, log2_size, commutes)`: `commutes` is false where exchanging a and b in `combine`
    might change a bit, as the user's operation may among equals.
    """

    name: str
    formula: str
    placement: str
    cost: str
    vendors: str
    meaning: Callable[[Lanes, Leaves, Algebra[Arr], int], Leaves]
    expand: Callable[[Builder, Value | None, Values, Algebra[Value], int, bool], Values]
    level: Callable[[Any, int], Level] = _VARYING


def _reduce(lanes: Lanes, values: Leaves, algebra: Algebra[Arr], log2_size: int) -> Leaves:
    return folds.fold(folds.neutralised(lanes.mask, values, algebra), algebra, 1 << log2_size)


def _inclusive(lanes: Lanes, values: Leaves, algebra: Algebra[Arr], log2_size: int) -> Leaves:
    return folds.scan(folds.neutralised(lanes.mask, values, algebra), algebra, 1 << log2_size)


def _exclusive(lanes: Lanes, values: Leaves, algebra: Algebra[Arr], log2_size: int) -> Leaves:
    inclusive = _inclusive(lanes, values, algebra, log2_size)
    return folds.exclusive_of(inclusive, lanes.mask, algebra, 1 << log2_size)


def expand_reduce(
    b: Builder, active: Value | None, values: Values, algebra: Algebra[Value], log2_size: int, commutes: bool
) -> Values:
    """In lane 0; where that may not be active, in every lane."""
    if active is None:
        return trees.fold(b, values, algebra, log2_size)
    return expand_reduce_all(b, active, values, algebra, log2_size, commutes)


def expand_reduce_all(
    b: Builder, active: Value | None, values: Values, algebra: Algebra[Value], log2_size: int, commutes: bool
) -> Values:
    values = trees.neutralised(b, active, values, algebra)
    return trees.fold_all(b, values, algebra, log2_size, commutes=commutes)


def expand_inclusive(
    b: Builder, active: Value | None, values: Values, algebra: Algebra[Value], log2_size: int, commutes: bool = True
) -> Values:
    return trees.scan(b, trees.neutralised(b, active, values, algebra), algebra, log2_size)


def expand_exclusive(
    b: Builder, active: Value | None, values: Values, algebra: Algebra[Value], log2_size: int, commutes: bool
) -> Values:
    inclusive = expand_inclusive(b, active, values, algebra, log2_size)
    return trees.below_or(b, active, inclusive, algebra.identity, log2_size, exact=algebra.exact)


REDUCE = Form(
    "reduce",
    "r = v[0] {op} v[1] {op} ..., folded as the tree v[l] {op} v[l + d], d = size/2 ... 1",
    "Defined in lane 0 of the tile (in the lowest active lane, where lane 0 is not active).",
    "log2(size) shuffles.",
    "PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.",
    _reduce,
    expand_reduce,
)
REDUCE_ALL = Form(
    "reduce_all",
    "r = v[0] {op} v[1] {op} ..., folded as the butterfly v[l] {op} v[l ^ d], d = size/2 ... 1",
    "Defined in every active lane: the same bits as the reduction in lane 0.",
    "log2(size) shuffles.",
    "PTX redux.sync, SPIR-V OpGroupNonUniform* with Reduce.",
    _reduce,
    expand_reduce_all,
    uniform_if_whole,
)
INCLUSIVE = Form(
    "inclusive",
    "r[l] = v[0] {op} ... {op} v[l], folded as v[l - d] {op} v[l], d = 1, 2, 4 ...",
    "Defined in every active lane.",
    "log2(size) shuffles.",
    "SPIR-V OpGroupNonUniform* with InclusiveScan.",
    _inclusive,
    expand_inclusive,
)
EXCLUSIVE = Form(
    "exclusive",
    "r[l] = v[0] {op} ... {op} v[l - 1]: the inclusive value of the nearest active lane below",
    "Defined in every active lane; the identity ({identity}) in the lowest.",
    "log2(size) + 1 shuffles.",
    "SPIR-V OpGroupNonUniform* with ExclusiveScan.",
    _exclusive,
    expand_exclusive,
)
FORMS = (REDUCE, REDUCE_ALL, INCLUSIVE, EXCLUSIVE)

IDENTITY_WORDS = {
    "add": "0",
    "mul": "1",
    "min": "+inf or the type's maximum",
    "max": "-inf or the type's minimum",
    "and": "all ones",
    "or": "0",
    "xor": "0",
}
_NAN_RULE = "A NaN is skipped; all NaN gives NaN; -0 is below +0."


def monoid_doc(form: Form, monoid: Monoid) -> str:
    kinds = "integers" if not any(t.is_float for t in monoid.dtypes) else "integers, which wrap, and floats"
    return paragraphs(
        form.formula.format(op=monoid.symbol),
        f"{form.placement.format(identity=IDENTITY_WORDS[monoid.name])}  Takes {kinds}; anything else is a TypeError."
        f"  {_NAN_RULE if monoid.name in ('min', 'max') else ''}".rstrip(),
        f"{form.cost}  {form.vendors}",
    )


def generic_doc(form: Form) -> str:
    return paragraphs(
        form.formula.format(op="op"),
        f"{form.placement.format(identity='`identity`')}  `op` is a @func of two arguments: associative, and for a "
        "reduction commutative.  `identity` is what an exclusive scan gives where nothing precedes.  Takes scalars, "
        "vectors and structs.",
        form.cost,
    )


# ---- declarations -------------------------------------------------------------------------------------------------
def dtype_of(value: Arr) -> DType:
    return BY_NUMPY[value.dtype]


def _declare(form: Form, monoid: Monoid) -> None:
    def meaning(lanes: Lanes, value: Arr, *, log2_size: int) -> Arr:
        return form.meaning(lanes, (value,), monoid.numeric(dtype_of(value)), log2_size)[0]

    def expand(b: Builder, active: Value | None, /, value: Value, *, log2_size: int) -> Value:
        keyed = monoid.keyed(b, value)
        if keyed.value is not value and form is not EXCLUSIVE:  # the same of integers may be native
            name = f"subgroup.{form.name}_{monoid.name}"
            return keyed.decode(b(name, keyed.value, active=active, log2_size=log2_size))
        return keyed.decode(form.expand(b, active, (keyed.value,), keyed.algebra, log2_size, True)[0])

    declare(
        SimtOp(
            f"subgroup.{form.name}_{monoid.name}",
            same,
            CROSS_LANE,
            meaning,
            form.level,
            params=(Param("value", dtypes=monoid.dtypes),),
            doc=monoid_doc(form, monoid),
            expand=expand,
            uses_log2_size=True,
        ),
        tiled=True,
    )


def leaves(types: tuple[DType, ...], attrs: Any) -> tuple[DType, ...]:
    """A generic operation's results: its first operands' types, the second half being the identity's."""
    return types[: len(types) // 2]


VALUE_OP_IDENTITY = (Param("value"), Param("op", Kind.FUNC), Param("identity"))


def _declare_generic(form: Form, name: str) -> None:
    def meaning(lanes: Lanes, *operands: Arr, combine: Callable[..., Any], log2_size: int) -> Leaves:
        values, algebra = skipping_numeric(*from_combine(combine, operands))
        return form.meaning(lanes, values, algebra, log2_size)[:-1]

    def expand(b: Builder, active: Value | None, /, *operands: Value, region: Block, log2_size: int) -> Values:
        values, algebra = from_region(b, region, operands)
        if active is None:
            return form.expand(b, active, values, algebra, log2_size, False)
        values, algebra = skipping_emitted(b, values, algebra)
        return form.expand(b, active, values, algebra, log2_size, False)[:-1]

    declare(
        SimtOp(
            f"subgroup.{name}",
            leaves,
            CROSS_LANE,
            meaning,
            form.level,
            params=VALUE_OP_IDENTITY,
            doc=generic_doc(form),
            expand=expand,
            uses_log2_size=True,
        ),
        tiled=True,
    )


for _form in FORMS:
    for _monoid in MONOIDS.values():
        _declare(_form, _monoid)

_declare_generic(REDUCE, "reduce")
_declare_generic(replace(REDUCE_ALL, formula=REDUCE.formula, cost="log2(size) shuffles and a broadcast."), "reduce_all")
_declare_generic(INCLUSIVE, "inclusive_scan")
_declare_generic(EXCLUSIVE, "exclusive_scan")
