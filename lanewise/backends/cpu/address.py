"""Addresses: a scalar pointer for lane 0 plus, where lanes differ, elements to add in each.

A linear index of a signed type does not wrap between lanes (its base is extended, then stepped); one of an unsigned
type may, and becomes strips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from ... import dtypes
from ...dtypes import DType
from ...ir import Array, Memory, Shared, Value
from .body import Body
from .forms import Linear, Strips, Uniform, splat, strip_literal
from .text import is_constant, lane_type, memory_type


@dataclass(frozen=True, slots=True)
class One:
    """The same element for all lanes."""

    pointer: str


@dataclass(frozen=True, slots=True)
class Adjacent:
    """Lane `l` has the `l`-th element from the pointer."""

    pointer: str


@dataclass(frozen=True, slots=True)
class Part:
    """Strips of an index, and its stride in elements."""

    dtype: DType
    names: tuple[str, ...]
    stride: str


@dataclass(frozen=True, slots=True)
class Scattered:
    """Each lane has its own element: behind the pointer by its indices, and by `step` for each lane."""

    pointer: str
    element: str
    parts: tuple[Part, ...]
    step: str

    def pointers(self, body: Body) -> tuple[str, ...]:
        """As strips of pointers."""
        offsets = [_scaled(body, part) for part in self.parts]
        if self.step != "0":
            offsets.append(_lane_steps(body, self.step))
        total, wide = offsets[0], body.vector.of("i64")
        for offset in offsets[1:]:
            total = body.each(lambda a, b: body.text.do(f"add {wide} {a}, {b}"), total, offset)
        return body.each(lambda v: body.text.do(f"getelementptr {self.element}, ptr {self.pointer}, {wide} {v}"), total)

    def is_one_offset(self, body: Body) -> bool:
        """Whether a lane's element is found by one index, or one step, that is good in every lane."""
        if self.parts:
            return len(self.parts) == 1 and self.step == "0" and body.some
        return body.mask is None

    def lane_pointers(self, body: Body) -> list[list[str]]:
        """A pointer for each lane of each strip, if `is_one_offset`."""
        if self.parts:
            (part,) = self.parts
            offsets = [[self._offset(body, part, name, n) for n in range(body.S)] for name in self._safe(body, part)]
        else:
            offsets = [[_times(body, self.step, str(lane)) for lane in strip] for strip in _lanes(body)]
        return [
            [body.text.do(f"getelementptr {self.element}, ptr {self.pointer}, i64 {offset}") for offset in strip]
            for strip in offsets
        ]

    @staticmethod
    def _offset(body: Body, part: Part, name: str, lane: int) -> str:
        index = extend(body, part.dtype, body.extract(part.dtype, name, str(lane)))
        return _times(body, index, part.stride)

    def _safe(self, body: Body, part: Part) -> tuple[str, ...]:
        """The index, 0 in lanes that are not active.

        Indices that do not differ are in the pointer, and a lane that is active has an element of this axis: so there
        is one of index 0.
        """
        if body.mask is None:
            return part.names
        type_, bits = body.vector.of(lane_type(part.dtype)), body.vector.of("i1")
        return body.each(
            lambda c, a: body.text.do(f"select {bits} {c}, {type_} {a}, {type_} zeroinitializer"),
            body.conds(),
            part.names,
        )


Address: TypeAlias = One | Adjacent | Scattered


def address(body: Body, memory: Memory, indices: Sequence[Value]) -> Address:
    """Where `memory[indices]` lies for each lane."""
    base, strides, per_lane = _layout(body, memory)
    text = body.text
    element = memory_type(memory.dtype)
    offset = "0"  # of lane 0, an i64
    step: str = str(per_lane)  # from a lane to the next, an i64
    parts: list[Part] = []
    for index, stride in zip(indices, strides, strict=True):
        form = body.form(index)
        if isinstance(form, Linear) and not (index.type.is_signed or index.type.bits == 64):
            form = Strips(body.strips(index))
        match form:
            case Uniform(name):
                offset = _add(body, offset, _times(body, extend(body, index.type, name), stride))
            case Linear(name, slope):
                offset = _add(body, offset, _times(body, extend(body, index.type, name), stride))
                step = _add(body, step, _times(body, str(slope), stride))
            case Strips(names):
                parts.append(Part(index.type, names, stride))
    pointer = text.do(f"getelementptr {element}, ptr {base}, i64 {offset}") if offset != "0" else base
    if not parts and step in ("0", "1"):
        return One(pointer) if step == "0" else Adjacent(pointer)
    return Scattered(pointer, element, tuple(parts), step)


def _layout(body: Body, memory: Memory) -> tuple[str, list[str], int]:
    """The pointer, the strides (i64, in elements) and the elements between neighbouring lanes."""
    if isinstance(memory, Array):
        strides = [body.arguments.stride(memory, axis) for axis in range(memory.ndim)]
        return body.arguments.pointer(memory), strides, 0
    inner = [prod(memory.shape[axis + 1 :]) for axis in range(len(memory.shape))]
    if isinstance(memory, Shared):
        # Shared memory is the start of the scratch memory.
        place = body.text.do(f"getelementptr i8, ptr %scratch, i64 {body.kernel.shared[memory]}")
        return place, [str(n) for n in inner], 0
    # A thread's own array: element e of all lanes lies together, so that a uniform index is a vector access.
    return body.local(memory), [str(n * body.W) for n in inner], 1


def extend(body: Body, dtype: DType, name: str) -> str:
    """An index as an i64."""
    if dtype.bits == 64 or is_constant(name):
        return name
    return body.text.do(f"{'sext' if dtype.is_signed else 'zext'} i{dtype.bits} {name} to i64")


def _add(body: Body, a: str, b: str) -> str:
    if is_constant(a) and is_constant(b):
        return str(int(a) + int(b))
    if a == "0" or b == "0":
        return b if a == "0" else a
    return body.text.do(f"add i64 {a}, {b}")


def _times(body: Body, a: str, b: str) -> str:
    if is_constant(a) and is_constant(b):
        return str(int(a) * int(b))
    if a == "1" or b == "1":
        return b if a == "1" else a
    return body.text.do(f"mul i64 {a}, {b}")


def _scaled(body: Body, part: Part) -> tuple[str, ...]:
    """Indices as i64 strips, times the stride."""
    names, stride = part.names, part.stride
    wide, narrow = body.vector.of("i64"), body.vector.of(lane_type(part.dtype))
    if part.dtype.bits < 64:
        how = "sext" if part.dtype.is_signed else "zext"
        names = body.each(lambda a: body.text.do(f"{how} {narrow} {a} to {wide}"), names)
    if stride == "1":
        return names
    factor = f"splat (i64 {stride})" if is_constant(stride) else _splat_word(body, stride)
    return body.each(lambda a: body.text.do(f"mul {wide} {a}, {factor}"), names)


def _splat_word(body: Body, name: str) -> str:
    return splat(body.text, body.S, dtypes.i64, name)


def _lanes(body: Body) -> list[list[int]]:
    """The lanes of each strip."""
    return [list(range(r * body.S, (r + 1) * body.S)) for r in range(body.R)]


def _lane_steps(body: Body, step: str) -> tuple[str, ...]:
    """`step * lane` as i64 strips."""
    lanes = _lanes(body)
    if is_constant(step):
        return tuple(strip_literal([int(step) * lane for lane in strip], "i64") for strip in lanes)
    factor, wide = _splat_word(body, step), body.vector.of("i64")
    return tuple(body.text.do(f"mul {wide} {factor}, {strip_literal(strip, 'i64')}") for strip in lanes)


def harmless(body: Body, pointers: tuple[str, ...]) -> tuple[str, ...]:
    """The pointers, with those of lanes that are not active aimed at a spare place.

    One element a lane without a branch a lane: cheaper than a masked gather or scatter where LLVM must take it apart.
    """
    if body.mask is None:
        return pointers
    type_ = body.vector.of("ptr")
    first = body.text.do(f"insertelement {type_} poison, ptr {body.spare()}, i64 0")
    spares = body.text.do(f"shufflevector {type_} {first}, {type_} poison, {body.vector.of('i32')} zeroinitializer")
    bits = body.vector.of("i1")
    return body.each(
        lambda c, p: body.text.do(f"select {bits} {c}, {type_} {p}, {type_} {spares}"), body.conds(), pointers
    )
