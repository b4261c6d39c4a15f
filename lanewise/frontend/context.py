"""The state of one translation, and the way it raises errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import BY_NUMPY, DType
from ..errors import CompileError, LanewiseSyntaxError, LanewiseTypeError, Loc
from ..ir import OPCODES, Array, Block, Builder, Local, Op, Shared, Value
from ..ir.arith import MATH
from ..types import is_struct, struct_fields
from .func import Func
from .specs import ArraySpec, Options
from .values import NUMBERS, Const, Mem, Number, Scalar, Static, Struct, Tup, Val


@dataclass(slots=True, eq=False)
class Parallel:
    """The parallel loop being translated."""

    block_dim: int
    indices: tuple[Value, ...] = ()  # the user's loop indices


@dataclass(slots=True, eq=False)
class LoopConfig:
    """What `loop_config` said for the next parallel loop."""

    block_dim: int
    name: str
    loc: Loc


@dataclass(slots=True, eq=False)
class Context:
    """Emission with constant folding, closed-over values, errors; shared by all functions inlined into one kernel."""

    options: Options
    builder: Builder
    memories: list[Array] = field(default_factory=list)
    captured: list[Any] = field(default_factory=list)
    parallel: Parallel | None = None
    config: LoopConfig | None = None
    no_lanes: str = ""  # where we are, if no cross-lane operation may stand here
    static_depth: int = 0  # inside `static(...)`
    inlined: list[Func] = field(default_factory=list)  # the functions being inlined, outermost first
    augmented: set[Op] = field(default_factory=set)  # the atomics that `a[i] += x` made
    bounds: list[tuple[Value, ...]] = field(default_factory=list)  # of each parallel loop, those that no i32 may hold
    beyond: bool = False  # whether a parallel loop has a constant bound that no i32 holds
    overlapping: set[Array] = field(default_factory=set)  # arrays in which two indices may be one place
    apart: set[Array] = field(default_factory=set)  # arrays that must be the same or have no place in common
    negated: dict[Value, Value] = field(default_factory=dict)  # the operand of each `not`
    _arrays: dict[int, Mem] = field(default_factory=dict)

    # ---- errors --------------------------------------------------------------------------------------------------
    def error(
        self,
        what: str,
        *,
        why: str = "",
        hint: str = "",
        kind: type[CompileError] = LanewiseTypeError,
        loc: Loc | None = None,
    ) -> CompileError:
        """The error to raise at `loc`, or at the expression being translated."""
        return kind(what, loc=loc or self.builder.loc, why=why, hint=hint)

    def syntax_error(self, what: str, *, why: str = "", hint: str = "", loc: Loc | None = None) -> CompileError:
        return self.error(what, why=why, hint=hint, kind=LanewiseSyntaxError, loc=loc)

    def compile_error(self, what: str, *, why: str = "", hint: str = "", loc: Loc | None = None) -> CompileError:
        return self.error(what, why=why, hint=hint, kind=CompileError, loc=loc)

    # ---- numbers -------------------------------------------------------------------------------------------------
    def default_type(self, value: bool | int | float) -> DType:
        """The type of a literal that meets no partner."""
        if isinstance(value, bool):
            return dtypes.bool_
        if isinstance(value, float):
            return self.options.default_fp
        for dtype in (self.options.default_ip, dtypes.i64, dtypes.u64):
            if dtype.holds(value):
                return dtype
        raise self.error(f"{value} fits no integer type", why="the widest types are i64 and u64")

    def dtype_of(self, number: Number) -> DType:
        """The type of a number; of a weak literal, its default one."""
        if number.dtype is not None:
            return number.dtype
        assert isinstance(number, Const)
        return self.default_type(number.value)

    def typed(self, number: Number) -> Number:
        """A weak literal in its default type; anything else as it is."""
        if isinstance(number, Const) and number.dtype is None:
            return self.constant(number.value, self.default_type(number.value))
        return number

    def constant(self, value: bool | int | float, dtype: DType) -> Const:
        """A typed constant: the number converted as `cast` does."""
        self._require_in_kernels(dtype)
        if dtype.is_bool:
            return Const(value != 0, dtype)
        if dtype.is_float:
            with np.errstate(all="ignore"):
                try:
                    return Const(float(dtype.np.type(value)), dtype)
                except OverflowError:  # an integer beyond f64
                    return Const(float("inf") if value > 0 else float("-inf"), dtype)
        if isinstance(value, float):  # truncates and saturates, NaN gives 0
            inside = 0 if value != value else min(max(value, dtype.lowest), dtype.highest)
            return Const(int(inside), dtype)
        wrapped = int(value) & ((1 << dtype.bits) - 1)
        if dtype.is_signed and wrapped >> (dtype.bits - 1):
            wrapped -= 1 << dtype.bits
        return Const(wrapped, dtype)

    def value(self, number: Number, dtype: DType | None = None) -> Value:
        """The number as a value of the IR, converted to `dtype` where one is given."""
        if dtype is not None:
            number = self.cast(number, dtype)
        if isinstance(number, Scalar):
            return number.value
        dtype = self.dtype_of(number)
        return self.builder("const", value=self.cast_constant(number, dtype).value, dtype=dtype)

    def cast(self, number: Number, dtype: DType) -> Number:
        """Convert as `lw.cast` does."""
        if isinstance(number, Const):
            return self.cast_constant(number, dtype)
        if number.dtype == dtype:
            return number
        self._require_in_kernels(dtype)
        return Scalar(self.builder("cast", number.value, dtype=dtype))

    def cast_constant(self, number: Const, dtype: DType) -> Const:
        return number if number.dtype == dtype else self.constant(number.value, dtype)

    def require(self, dtype: DType) -> None:
        """An error where the device lacks a type."""
        if dtype not in self.options.dtypes:
            raise self.error(
                f"{self.options.device} has no {dtype}",
                why=f"its types are {', '.join(str(t) for t in sorted(self.options.dtypes, key=lambda t: t.name))}",
            )

    def _require_in_kernels(self, dtype: DType) -> None:
        """The same of what is computed inside a parallel loop; the host, outside, has every type."""
        if self.parallel is not None:
            self.require(dtype)

    def op(self, opcode: str, *numbers: Number, **attrs: Any) -> Number:
        """A pure operation with one result, folded where all its operands are known and its bits are promised."""
        if opcode not in MATH and all(isinstance(n, Const) for n in numbers):
            row = OPCODES[opcode]
            assert row.meaning is not None
            typed = [self.typed(n) for n in numbers]
            with np.errstate(all="ignore"):
                out = row.meaning(*(np.array([n.value], n.dtype.np) for n in typed), **attrs)  # type: ignore[union-attr]
            return Const(out[0].item(), BY_NUMPY[out.dtype])
        return Scalar(self.builder(opcode, *(self.value(n) for n in numbers), **attrs))

    def logical_not(self, number: Number) -> Number:
        """`not` of a bool; of a `not`, its operand."""
        if isinstance(number, Const):
            return Const(not number.value, number.dtype)
        known = self.negated.get(number.value)
        if known is not None:
            return Scalar(known)
        result = self.builder("not", number.value)
        self.negated[result] = number.value
        return Scalar(result)

    def named(self, val: Val, name: str, since: int) -> Val:
        """Give what was just made, after the block's first `since` ops, its variable's name for the printed IR."""
        ops = self.builder.block.ops
        if isinstance(val, Mem) and isinstance(val.mem, (Shared, Local)) and not val.mem.name and len(ops) == since:
            return Mem(replace(val.mem, name=name))
        if not isinstance(val, Scalar) or val.value.hint or len(ops) <= since or ops[-1].results != (val.value,):
            return val
        if ops[-1].regions:
            return val
        value = Value(val.value.type, name)
        ops[-1] = replace(ops[-1], results=(value,))
        if val.value in self.negated:
            self.negated[value] = self.negated[val.value]
        return Scalar(value)

    # ---- values from outside the function ------------------------------------------------------------------------
    def wrap(self, obj: Any, name: str = "") -> Val:
        """A Python object of the user's as a value: numbers are frozen, device arrays become parameters."""
        if isinstance(obj, (bool, int, float)) and type(obj) in (bool, int, float):
            return Const(obj)
        if isinstance(obj, np.generic) and obj.dtype in BY_NUMPY:
            return self.constant(obj.item(), BY_NUMPY[obj.dtype])
        if isinstance(obj, (tuple, list)):
            return Tup(tuple(self.wrap(item, name) for item in obj))
        if is_struct(type(obj)):
            return self.wrap_struct(obj, name)
        known = self._arrays.get(id(obj))
        if known is not None:
            return known
        spec = self.options.array_spec(obj)
        if spec is not None:
            self.captured.append(obj)
            made = self._arrays[id(obj)] = self.add_array(name or f"array{len(self.memories)}", spec)
            return made
        if isinstance(obj, np.ndarray):
            raise self.error(
                f"{name or 'a NumPy array'} is a NumPy array that the kernel closes over",
                why="a kernel may close over device arrays only",
                hint="pass it as an argument, or make it with lw.from_numpy(...)",
            )
        return Static(obj)

    def wrap_struct(self, obj: Any, name: str) -> Val:
        items: list[Val] = []
        for field_ in struct_fields(type(obj)):
            item = self.wrap(getattr(obj, field_.name), name)
            if isinstance(field_.type, DType) and isinstance(item, NUMBERS):
                item = self.cast(item, field_.type)
            items.append(item)
        return Struct(type(obj), tuple(items))

    def add_array(self, name: str, spec: ArraySpec) -> Mem:
        """One more array parameter, of a name that no other has."""
        self.require(spec.dtype)
        taken = {m.name for m in self.memories}
        unique, count = name, 0
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        memory = Array(unique, spec.dtype, spec.ndim, spec.contiguous, spec.writable)
        self.memories.append(memory)
        if not spec.distinct:
            self.overlapping.add(memory)
        return Mem(memory)

    # ---- regions -------------------------------------------------------------------------------------------------
    def region(self, emit: Callable[[], Any]) -> tuple[Block, Any]:
        """A block with what `emit` emits, and what it returned."""
        with self.builder.at(Block()) as block:
            result = emit()
        return block, result

    @contextmanager
    def without_lanes(self, where: str) -> Iterator[None]:
        """Refuse cross-lane operations for a while."""
        outer, self.no_lanes = self.no_lanes, self.no_lanes or where
        try:
            yield
        finally:
            self.no_lanes = outer


def is_pure(block: Block) -> bool:
    """Whether running `block` for lanes that do not need it changes nothing."""
    return all(OPCODES[op.opcode].pure for op in block.ops)


def splice(ctx: Context, block: Block) -> None:
    """Run the operations of a finished block here."""
    ctx.builder.block.ops.extend(block.ops)
