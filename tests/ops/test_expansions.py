"""Each operation's expansion into primitives gives the bits of its meaning: any type, tile, mask and subgroup size.

The two are written apart: meanings after the contract, over whole arrays; expansions as trees of shuffles.  Here both
are evaluated on the same values, the expansion as a device would run it, with every lane present.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from lanewise import dtypes
from lanewise.backends.interpreter.evaluate import Evaluator
from lanewise.dtypes import DType
from lanewise.ir import OPCODES, Block, Builder, Effect, Kernel, Value
from lanewise.ir.verifier import verify
from lanewise.passes.expansion import expand
from lanewise.simt.op import Arr, Kind, Lanes, Param, SimtOp

SIZES = (1, 2, 8, 32, 64)
_NO_VALUE = ("simt.clock", "subgroup.sync", "block.sync", "subgroup.mem_fence", "block.mem_fence", "grid.mem_fence")
OPERATIONS = sorted(
    name
    for name, row in OPCODES.items()
    if isinstance(row, SimtOp) and row.expand is not None and name not in _NO_VALUE
)
BLOCKS = 2
TRIALS = 3


# ---- cases --------------------------------------------------------------------------------------------------------
@dataclass
class Case:
    """One call: the operands as block arguments, the attributes, and who is active."""

    row: SimtOp
    width: int
    block_dim: int
    mask: Arr | None
    operands: list[Arr] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    region: Block | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        return (BLOCKS, -(-self.block_dim // self.width), self.width)

    @property
    def active(self) -> Arr:
        return np.ones(self.shape, bool) if self.mask is None else self.mask


SPECIAL = (0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e-40, 0.1)


def random_values(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...]) -> Arr:
    """Anything that the type holds: few distinct values in a third of the cases, so that equal ones meet."""
    if rng.random() < 0.3:
        few = random_values(rng, dtype, (3,))
        return rng.choice(few, shape)
    if dtype.is_bool:
        return rng.random(shape) < 0.5
    if dtype.is_int:
        return rng.integers(int(dtype.lowest), int(dtype.highest), shape, dtype.np, endpoint=True)
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, shape)
    if rng.random() < 0.5:
        special = rng.random(shape) < rng.choice([0.05, 0.7])
        values = np.where(special, rng.choice(SPECIAL, shape), values)
    return values.astype(dtype.np)


def random_mask(rng: np.random.Generator, shape: tuple[int, int, int], block_dim: int) -> Arr | None:
    """All lanes, most, few, whole subgroups missing, or one lane."""
    exists = (np.arange(shape[1] * shape[2]) < block_dim).reshape(shape[1:])
    kind = rng.integers(5)
    if kind == 0:
        return None if exists.all() else np.broadcast_to(exists, shape)
    density = (0, 0.9, 0.2, 0.5, 0.0)[kind]
    mask = (rng.random(shape) < density) & exists
    if kind == 3:
        mask &= rng.random(shape[:2])[..., None] < 0.5
    if not mask.any():
        mask[0, -1, 0] = True
    return mask


def _argmax_region() -> Block:
    """(key, index) pairs: the larger key, the second operand where they are equal; two leaves, of f32 and i32."""
    region = Block(tuple(Value(t) for t in (dtypes.f32, dtypes.i32) * 2))
    b = Builder(1, region)
    first = b("gt", region.args[0], region.args[2])
    region.yields = tuple(b.select(first, x, y) for x, y in zip(region.args[:2], region.args[2:], strict=True))
    return region


def _arithmetic_region(opcode: str, dtype: DType) -> Block:
    region = Block((Value(dtype), Value(dtype)))
    region.yields = (Builder(1, region)(opcode, *region.args),)
    return region


def add_generic(case: Case, rng: np.random.Generator) -> None:
    if rng.random() < 0.3:
        case.region = _argmax_region()
        keys, places = random_values(rng, dtypes.f32, case.shape), random_values(rng, dtypes.i32, case.shape)
        identity = (np.full(case.shape, -np.inf, np.float32), np.full(case.shape, -1, np.int32))
        case.operands = [keys, places, *identity]
        return
    dtype = dtypes.NUMERIC[rng.integers(len(dtypes.NUMERIC))]
    opcode = ("add", "mul")[rng.integers(2)]
    case.region = _arithmetic_region(opcode, dtype)
    case.operands = [random_values(rng, dtype, case.shape), np.full(case.shape, opcode == "mul", dtype.np)]


def add_param(case: Case, param: Param, rng: np.random.Generator) -> None:
    if param.kind is Kind.CHECKED:
        return
    if param.kind is Kind.SCOPE:
        case.attrs[param.name] = "all"
    elif param.kind is Kind.CONST:
        low, high = param.limit if isinstance(param.limit, tuple) else (0, 3)
        case.attrs[param.name] = int(rng.integers(low, high + 1))
    elif param.kind is Kind.INDEX and rng.random() < 0.5:
        size = 1 << case.attrs.get("log2_size", 0)
        low, high = param.limit if isinstance(param.limit, tuple) else (0, size - 1) if param.limit else (-99, 99)
        case.attrs[param.name] = int(rng.integers(low, high + 1))
    elif param.kind is Kind.INDEX:
        dtype = dtypes.INTEGERS[rng.integers(len(dtypes.INTEGERS))]
        values = random_values(rng, dtype, case.shape)
        if rng.random() < 0.6:
            low = -case.width if dtype.is_signed else 0
            values = rng.integers(low, 2 * case.width, case.shape).astype(dtype.np)
        case.operands.append(values)
    else:
        allowed = {Kind.PREDICATE: (dtypes.bool_,), Kind.BITS: (dtypes.u64,)}.get(param.kind, tuple(param.dtypes))
        case.operands.append(random_values(rng, allowed[rng.integers(len(allowed))], case.shape))


def cases(name: str, width: int, trials: int, tile_sizes: int = 7) -> Iterator[Case]:
    """Random calls of an operation, a number of `trials` with each tile size, or with some of them."""
    row = OPCODES[name]
    assert isinstance(row, SimtOp)
    rng = np.random.default_rng(zlib.crc32(f"{name} {width}".encode()))
    sizes = range(width.bit_length()) if row.uses_log2_size else (None,)
    if len(sizes) > tile_sizes:
        sizes = rng.choice(len(sizes), tile_sizes, replace=False).tolist()
    for log2_size in sizes:
        for _ in range(trials):
            subgroups = int(rng.choice([1, 2, 3, 7, 9 if width <= 8 else 5, 2 * width + 1 if width <= 8 else 4]))
            block_dim = subgroups * width - int(rng.integers(width) if rng.random() < 0.5 else 0)
            case = Case(row, width, block_dim, None)
            case.mask = random_mask(rng, case.shape, block_dim)
            if log2_size is not None:
                case.attrs["log2_size"] = log2_size
            if row.indexed:
                case.attrs["dtype"] = dtypes.i64
            if any(p.kind is Kind.FUNC for p in row.params):
                add_generic(case, rng)
            else:
                for param in row.params:
                    add_param(case, param, rng)
            yield case


# ---- the two sides ------------------------------------------------------------------------------------------------
def by_meaning(case: Case) -> tuple[Arr, ...]:
    """The front form: the mask is implicit."""
    args = [Value(dtypes.BY_NUMPY[v.dtype]) for v in case.operands]
    b = Builder(case.width, Block(tuple(args)), case.block_dim)
    regions = () if case.region is None else (case.region,)
    b.block.yields = b.emit(case.row.name, *args, regions=regions, **case.attrs)
    return evaluate(case, b.block, case.operands, case.active)


def by_expansion(case: Case) -> tuple[Arr, ...]:
    """The converged form: every lane runs, the mask is a value."""
    args = [Value(dtypes.BY_NUMPY[v.dtype]) for v in case.operands]
    active = None if case.mask is None else Value(dtypes.bool_, "active")
    b = Builder(case.width, Block(tuple(args if active is None else [*args, active])), case.block_dim)
    assert case.row.expand is not None
    region = {} if case.region is None else {"region": case.region}
    made = case.row.expand(b, active, *args, **case.attrs, **region)
    b.block.yields = made if isinstance(made, tuple) else (made,)
    # An expansion may use other operations, which are expanded in turn.
    block = expand(Kernel("k", [], [], (), b.block, case.width, case.block_dim, dtypes.i32)).body
    check(block, case)
    operands = case.operands if case.mask is None else [*case.operands, case.mask]
    return evaluate(case, block, operands, np.ones(case.shape, bool))


def check(block: Block, case: Case) -> None:
    """The expansion is valid IR of the result's types, and no operation with an expansion is left in it."""
    body = Block(ops=list(block.ops))
    verify(Kernel("k", list(block.args), [], (), body, case.width, case.block_dim, dtypes.i32))
    types = tuple(dtypes.BY_NUMPY[v.dtype] for v in case.operands)
    assert tuple(v.type for v in block.yields) == case.row.infer(types, case.attrs)
    for op in block.walk():
        row = OPCODES[op.opcode]
        assert not isinstance(row, SimtOp), op.opcode
        assert op.mask is None


def evaluate(case: Case, block: Block, operands: list[Arr], mask: Arr) -> tuple[Arr, ...]:
    evaluator = Evaluator(Lanes(mask, case.block_dim, 5, 9), {}, dict(zip(block.args, operands, strict=True)))
    with np.errstate(all="ignore"):
        return tuple(np.broadcast_to(v, case.shape) for v in evaluator.run(block, mask))


# ---- what is compared ---------------------------------------------------------------------------------------------
def defined(case: Case) -> Arr:
    """The lanes in which the result is defined."""
    name = case.row.name.split(".")[1]
    if name != "reduce" and (not name.startswith("reduce_") or name.startswith("reduce_all")):
        return case.active
    if case.row.group == "block":
        return case.active & (np.arange(case.shape[1] * case.width) == 0).reshape(case.shape[1:])
    tiles = case.active.reshape(*case.shape[:2], -1, 1 << case.attrs["log2_size"])
    return (tiles & (np.cumsum(tiles, axis=-1) == 1)).reshape(case.shape)


def bits(values: Arr, *, exact: bool) -> Arr:
    """The bits; but for data movement, every NaN is the same."""
    if values.dtype.kind == "f" and not exact:
        values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_expansion_is_meaning(name: str, width: int) -> None:
    row = OPCODES[name]
    assert isinstance(row, SimtOp)
    if width < row.min_subgroup_size:
        return
    for case in cases(name, width, TRIALS):
        where = defined(case)
        for want, got in zip(by_meaning(case), by_expansion(case), strict=True):
            assert want.dtype == got.dtype
            same = bits(want, exact=row.fieldwise) == bits(got, exact=row.fieldwise)
            bad = np.argwhere(where & ~same)
            assert not len(bad), (
                f"{case.attrs} {case.operands[0].dtype if case.operands else ''} block_dim={case.block_dim}"
                f" at {bad[0]}: {want[tuple(bad[0])]} by meaning, {got[tuple(bad[0])]} by expansion"
            )


def test_primitives_have_no_expansion() -> None:
    """Whatever is left after expansion is what backends must supply, and they have it from one list.

    But for the sort, which comes from a backend's own expansion alone.
    """
    left = {name for name, row in OPCODES.items() if row.effect & Effect.CROSS_LANE and not isinstance(row, SimtOp)}
    assert left - {"subgroup.sort"} == {
        "subgroup.permute", "subgroup.gather", "subgroup.ballot_bits", "subgroup.any", "subgroup.barrier",
        "block.barrier",
    }  # fmt: skip
