"""Reductions, scans and counting votes over a block, for any number of threads and any subgroup size.

Each subgroup folds its own lanes.  The subgroups' partial results go through shared memory; every subgroup then folds
them again, in rounds of W, from left to right, so that no second exchange is needed.  A block of one subgroup needs
neither memory nor barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import dtypes
from ..ir import Block, Builder, Value
from ..ir.opcodes import Effect, Level, always, same, to
from . import emit, folds, reductions, trees
from .algebra import MONOIDS, Algebra, Monoid, from_combine, from_region, skipping_emitted, skipping_numeric
from .exchange import Partials, num_subgroups, share
from .folds import Leaves
from .op import BARRIER, PREDICATE, Arr, Kind, Lanes, Param, SimtOp, declare, paragraphs
from .reductions import EXCLUSIVE, INCLUSIVE, REDUCE, REDUCE_ALL, VALUE_OP_IDENTITY, dtype_of, leaves
from .trees import Values

_CHECKED = (Param("block_dim", Kind.CHECKED, optional=True), Param("dtype", Kind.CHECKED, optional=True))


def _log2_above(count: int) -> int:
    """The smallest k with 2**k >= count."""
    return (count - 1).bit_length()


# ---- meanings -----------------------------------------------------------------------------------------------------
def _rounds(partials: Leaves, width: int) -> Iterator[Leaves]:
    """The subgroups' values W at a time, along the lanes' axis: (blocks, 1, up to W)."""
    for start in range(0, partials[0].shape[-1], width):
        yield tuple(p[..., None, start : start + width] for p in partials)


def _padded(values: Leaves, algebra: Algebra[Arr]) -> Leaves:
    """With neutral values up to a power of two."""
    count = values[0].shape[-1]
    missing = (1 << _log2_above(count)) - count
    return tuple(
        np.concatenate([v, np.broadcast_to(_scalar(n), (*v.shape[:-1], missing)).astype(v.dtype)], axis=-1)
        for v, n in zip(values, algebra.neutral, strict=True)
    )


def _scalar(constant: Arr) -> Arr:
    """A constant as one element, also where it is given in every lane."""
    return constant.reshape(-1)[0]


def _reduce(lanes: Lanes, values: Leaves, algebra: Algebra[Arr]) -> Leaves:
    partials = folds.fold(folds.neutralised(lanes.mask, values, algebra), algebra, lanes.W)
    total: Leaves | None = None
    for chunk in _rounds(tuple(p[..., 0] for p in partials), lanes.W):
        padded = _padded(chunk, algebra)
        folded = tuple(v[..., :1] for v in folds.fold(padded, algebra, padded[0].shape[-1]))
        total = folded if total is None else algebra.combine(total, folded)
    assert total is not None
    return tuple(lanes.spread(t) for t in total)


def _inclusive(lanes: Lanes, values: Leaves, algebra: Algebra[Arr]) -> Leaves:
    inclusive = folds.scan(folds.neutralised(lanes.mask, values, algebra), algebra, lanes.W)
    last = folds.latest(lanes.mask, lanes.W)[..., -1:]
    totals = folds.choose(
        last >= 0,
        tuple(np.take_along_axis(v, np.maximum(last, 0), axis=-1) for v in inclusive),
        tuple(_scalar(n) for n in algebra.neutral),
    )
    scanned: list[Leaves] = []
    for chunk in _rounds(tuple(t[..., 0] for t in totals), lanes.W):
        padded = _padded(chunk, algebra)
        prefix = folds.scan(padded, algebra, padded[0].shape[-1])
        if scanned:
            carry = tuple(v[..., -1:] for v in scanned[-1])
            prefix = algebra.combine(tuple(np.broadcast_to(c, prefix[0].shape) for c in carry), prefix)
        scanned.append(tuple(v[..., : chunk[0].shape[-1]] for v in prefix))
    prefixes = tuple(np.concatenate(parts, axis=-1) for parts in zip(*scanned, strict=True))
    before = tuple(np.roll(p, 1, axis=-1).swapaxes(-1, -2) for p in prefixes)  # of the subgroups below
    carried = algebra.combine(tuple(lanes.spread(v) for v in before), inclusive)
    return folds.choose(lanes.subgroup > 0, carried, inclusive)


def _exclusive(lanes: Lanes, values: Leaves, algebra: Algebra[Arr]) -> Leaves:
    def threads(value: Arr) -> Arr:
        return value.reshape(len(value), -1)

    inclusive = tuple(threads(v) for v in _inclusive(lanes, values, algebra))
    identity = tuple(threads(lanes.spread(v)) for v in algebra.identity)
    constants = replace(algebra, identity=identity)
    mask = threads(lanes.mask)
    result = folds.exclusive_of(inclusive, mask, constants, mask.shape[-1])
    return tuple(v.reshape(lanes.mask.shape) for v in result)


def _count(lanes: Lanes, predicate: Arr) -> Arr:
    """How many active threads of the block have the predicate."""
    return lanes.spread((predicate & lanes.mask).sum(axis=(-1, -2), keepdims=True, dtype=np.int32))


# ---- expansions ---------------------------------------------------------------------------------------------------
def _expand_reduce_all(
    b: Builder, active: Value | None, values: Values, algebra: Algebra[Value], commutes: bool
) -> Values:
    count, width = num_subgroups(b), emit.log2_width(b)
    if count == 1:
        return reductions.expand_reduce_all(b, active, values, algebra, width, commutes)
    folded = reductions.expand_reduce(b, active, values, algebra, width, commutes)
    total: Values | None = None
    for number, partials in enumerate(share(b, folded, algebra.neutral).rounds):
        left = min(count - number * b.subgroup_size, b.subgroup_size)
        log2_size = _log2_above(left)
        chunk = trees.fold_all(b, partials, algebra, log2_size, commutes=commutes)
        if log2_size < width:
            chunk = trees.each(chunk, lambda v: emit.permute(b, v, "broadcast", 0, width))
        total = chunk if total is None else algebra.combine(total, chunk)
    assert total is not None
    return total


def _expand_reduce(b: Builder, active: Value | None, values: Values, algebra: Algebra[Value], commutes: bool) -> Values:
    if num_subgroups(b) == 1:
        return reductions.expand_reduce(b, active, values, algebra, emit.log2_width(b), commutes)
    return _expand_reduce_all(b, active, values, algebra, commutes)


def _prefixes(b: Builder, totals: Partials, algebra: Algebra[Value]) -> tuple[Partials, Partials]:
    """Of each subgroup: the scan over the totals up to its own, and the inclusive value of its highest active lane.

    The second is the scan up to the subgroup below, combined with the subgroup's own total.
    """
    width = emit.log2_width(b)
    first = b.eq(b.lane(), b.i32(0))
    scanned: list[Values] = []
    ends: list[Values] = []
    carry: Values | None = None
    for values in totals.rounds:
        prefix = trees.scan(b, values, algebra, width)
        if carry is not None:
            prefix = algebra.combine(carry, prefix)
        below = trees.each(prefix, lambda v: emit.permute(b, v, "up", 1, width))
        if carry is not None:
            below = trees.choose(b, first, carry, below)
        end = algebra.combine(below, values)
        ends.append(trees.choose(b, first, values, end) if carry is None else end)
        scanned.append(prefix)
        carry = trees.each(prefix, lambda v: emit.permute(b, v, "broadcast", b.subgroup_size - 1, width))
    return Partials(totals.width, tuple(scanned)), Partials(totals.width, tuple(ends))


def _carried(b: Builder, prefixes: Partials, inclusive: Values, algebra: Algebra[Value]) -> Values:
    """A subgroup's scan continued from the subgroups below it."""
    mine = b("subgroup_id")
    before = prefixes.at(b, b.sub(mine, b.i32(1)))
    return trees.choose(b, b("gt", mine, b.i32(0)), algebra.combine(before, inclusive), inclusive)


def _expand_inclusive(
    b: Builder, active: Value | None, values: Values, algebra: Algebra[Value], commutes: bool
) -> Values:
    inclusive = reductions.expand_inclusive(b, active, values, algebra, emit.log2_width(b))
    if num_subgroups(b) == 1:
        return inclusive
    totals = share(b, trees.last_active(b, active, inclusive, algebra), algebra.neutral)
    prefixes, _ = _prefixes(b, totals, algebra)
    return _carried(b, prefixes, inclusive, algebra)


def _expand_exclusive(
    b: Builder, active: Value | None, values: Values, algebra: Algebra[Value], commutes: bool
) -> Values:
    """Below a subgroup's lowest active lane, the nearest active thread is the last one of an earlier subgroup."""
    width = emit.log2_width(b)
    if num_subgroups(b) == 1:
        return reductions.expand_exclusive(b, active, values, algebra, width, commutes)
    inclusive = reductions.expand_inclusive(b, active, values, algebra, width)
    shared, neutral = trees.last_active(b, active, inclusive, algebra), algebra.neutral
    if active is not None:  # and whether the subgroup has an active lane at all
        shared = (*shared, b("subgroup.any", active))
        neutral = (*neutral, b.const(False, dtypes.bool_))
    totals = share(b, shared, neutral)
    if active is None:
        nearest = b.sub(b("subgroup_id"), b.i32(1))
    else:
        nearest = _nearest_below(b, tuple(values[-1] for values in totals.rounds))
        totals = Partials(totals.width, tuple(values[:-1] for values in totals.rounds))
    prefixes, ends = _prefixes(b, totals, algebra)
    inclusive = _carried(b, prefixes, inclusive, algebra)
    start = trees.choose(b, b.ge(nearest, b.i32(0)), ends.at(b, nearest), algebra.identity)
    return trees.below_or(b, active, inclusive, start, width)


def _nearest_below(b: Builder, inhabited: tuple[Value, ...]) -> Value:
    """The nearest subgroup below mine that has an active lane; -1 where there is none."""
    mine, nearest = b("subgroup_id"), b.i32(-1)
    for number, flags in enumerate(inhabited):
        start = b.i32(number * b.subgroup_size)
        bits = emit.ballot(b, b.and_(flags, b.lt(b.add(b.lane(), start), mine)))
        nearest = b.select(emit.is_nonzero(b, bits), b.add(start, emit.highest(b, bits)), nearest)
    return nearest


def _expand_count(b: Builder, active: Value | None, /, predicate: Value) -> Value:
    hits = b("popcnt", emit.ballot(b, emit.both(b, active, predicate)))
    if num_subgroups(b) == 1:
        b.emit("block.barrier")
        return hits
    add = MONOIDS["add"].emitted(b, dtypes.i32)
    total: Value | None = None
    for (partial,) in share(b, (hits,), add.neutral).rounds:
        (chunk,) = trees.fold_all(b, (partial,), add, emit.log2_width(b))
        total = chunk if total is None else b.add(total, chunk)
    assert total is not None
    return total


def _expand_any(b: Builder, active: Value | None, /, predicate: Value) -> Value:
    return b.cast(emit.is_nonzero(b, _expand_count(b, active, predicate)), dtypes.i32)


def _expand_all(b: Builder, active: Value | None, /, predicate: Value) -> Value:
    misses = _expand_count(b, active, b.not_(predicate))
    return b.cast(b.eq(misses, b.i32(0)), dtypes.i32)


# ---- declarations -------------------------------------------------------------------------------------------------
_Meaning = Callable[[Lanes, Leaves, Algebra[Arr]], Leaves]
_Expansion = Callable[[Builder, Value | None, Values, Algebra[Value], bool], Values]
_EFFECT = BARRIER & ~Effect.WRITES


@dataclass(frozen=True)
class _BlockForm:
    form: reductions.Form
    meaning: _Meaning
    expand: _Expansion
    level: Level
    placement: str


_FORMS = (
    _BlockForm(REDUCE, _reduce, _expand_reduce, Level.VARYING, "Defined in thread 0."),
    _BlockForm(REDUCE_ALL, _reduce, _expand_reduce_all, Level.BLOCK, "Defined in every active thread."),
    _BlockForm(INCLUSIVE, _inclusive, _expand_inclusive, Level.VARYING, "Defined in every active thread."),
    _BlockForm(
        EXCLUSIVE,
        _exclusive,
        _expand_exclusive,
        Level.VARYING,
        "Defined in every active thread; the identity ({identity}) in the lowest.",
    ),
)
_HOW = """Each subgroup folds as in `subgroup`; the subgroups' results are folded in rounds of W by the same tree, the
    rounds from left to right.  Every thread of the block must reach it, those that have ended their item aside.
    `block_dim` and `dtype` are accepted and checked.  Two barriers, and one value a subgroup of shared memory."""
_FORMULAS = {
    "reduce": "r = v[0] {op} v[1] {op} ... over the active threads of the block",
    "reduce_all": "r = v[0] {op} v[1] {op} ... over the active threads of the block",
    "inclusive": "r[t] = v[0] {op} ... {op} v[t] over the active threads of the block",
    "exclusive": "r[t] = the inclusive value of the nearest active thread below t",
}


def _declare(shape: _BlockForm, monoid: Monoid) -> None:
    def meaning(lanes: Lanes, value: Arr) -> Arr:
        return shape.meaning(lanes, (value,), monoid.numeric(dtype_of(value)))[0]

    def expand(b: Builder, active: Value | None, /, value: Value) -> Value:
        keyed = monoid.keyed(b, value)
        return keyed.decode(shape.expand(b, active, (keyed.value,), keyed.algebra, True)[0])

    words = reductions.IDENTITY_WORDS[monoid.name]
    declare(
        SimtOp(
            f"block.{shape.form.name}_{monoid.name}",
            same,
            _EFFECT,
            meaning,
            always(shape.level),
            params=(Param("value", dtypes=monoid.dtypes), *_CHECKED),
            group="block",
            doc=paragraphs(
                _FORMULAS[shape.form.name].format(op=monoid.symbol), shape.placement.format(identity=words), _HOW
            ),
            expand=expand,
        )
    )


def _declare_generic(shape: _BlockForm, name: str) -> None:
    def meaning(lanes: Lanes, *operands: Arr, combine: Callable[..., Any]) -> Leaves:
        values, algebra = skipping_numeric(*from_combine(combine, operands))
        return shape.meaning(lanes, values, algebra)[:-1]

    def expand(b: Builder, active: Value | None, /, *operands: Value, region: Block) -> Values:
        values, algebra = skipping_emitted(b, *from_region(b, region, operands))
        return shape.expand(b, active, values, algebra, False)[:-1]

    declare(
        SimtOp(
            f"block.{name}",
            leaves,
            _EFFECT,
            meaning,
            always(shape.level),
            params=(*VALUE_OP_IDENTITY, *_CHECKED),
            group="block",
            doc=paragraphs(
                _FORMULAS[shape.form.name].format(op="op"),
                shape.placement.format(identity="`identity`"),
                "`op` is a @func of two arguments: associative, and for a reduction commutative.  `identity` is the "
                "same in every thread.  Takes scalars, vectors and structs.",
                _HOW,
            ),
            expand=expand,
        )
    )


_OPERATIONS = tuple(MONOIDS[name] for name in ("add", "min", "max"))
for _shape in _FORMS:
    for _monoid in _OPERATIONS:
        _declare(_shape, _monoid)
for _shape, _name in zip(_FORMS, ("reduce", "reduce_all", "inclusive_scan", "exclusive_scan"), strict=True):
    _declare_generic(_shape, _name)


def _counting(name: str, meaning: Any, expand: Any, doc: str) -> None:
    declare(
        SimtOp(
            f"block.{name}",
            to(dtypes.i32),
            BARRIER,
            meaning,
            always(Level.BLOCK),
            params=(PREDICATE,),
            group="block",
            doc=paragraphs(doc, "An i32, the same in every thread, after a barrier as by `sync`.", "PTX barrier.red."),
            expand=expand,
        )
    )


_counting(
    "sync_count_nonzero", _count, _expand_count, "How many active threads of the block have a predicate that is not 0."
)
_counting(
    "sync_any_nonzero",
    lambda lanes, predicate: (_count(lanes, predicate) > 0).astype(np.int32),
    _expand_any,
    "1 where some active thread of the block has a predicate that is not 0, else 0.",
)
_counting(
    "sync_all_nonzero",
    lambda lanes, predicate: (_count(lanes, ~predicate) == 0).astype(np.int32),
    _expand_all,
    "1 where every active thread of the block has a predicate that is not 0, else 0.",
)
