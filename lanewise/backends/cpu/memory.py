"""Loads and stores: one scalar for a uniform address, vectors where lanes are adjacent, else one element a lane.

An address is a scalar pointer for lane 0 plus, where lanes differ, elements to add in each.  A linear index of a signed
type does not wrap between lanes (its base is extended, then stepped); one of an unsigned type may, and becomes strips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from ...dtypes import DType
from ...ir import Array, Local, Memory, Op, Shared, Value
from .body import Body, Emitter
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
class Scattered:
    """Each lane has its own element: `pointers` are strips of pointers."""

    pointers: tuple[str, ...]


Address: TypeAlias = One | Adjacent | Scattered


# ---- addresses ----------------------------------------------------------------------------------------------------
def address(body: Body, memory: Memory, indices: Sequence[Value]) -> Address:
    """Where `memory[indices]` lies for each lane."""
    base, strides, per_lane = _layout(body, memory)
    text = body.text
    element = memory_type(memory.dtype)
    offset = "0"  # of lane 0, an i64
    step: str = str(per_lane)  # from a lane to the next, an i64
    varying: tuple[str, ...] | None = None
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
                part = _scaled(body, index.type, names, stride)
                varying = part if varying is None else body.each(_vector_add(body), varying, part)
    pointer = text.do(f"getelementptr {element}, ptr {base}, i64 {offset}") if offset != "0" else base
    if varying is None and step == "0":
        return One(pointer)
    if varying is None and step == "1":
        return Adjacent(pointer)
    if step != "0":
        steps = _lane_steps(body, step)
        varying = steps if varying is None else body.each(_vector_add(body), varying, steps)
    assert varying is not None
    ptrs = body.vector.of("i64")
    return Scattered(
        body.each(lambda v: text.do(f"getelementptr {element}, ptr {pointer}, {ptrs} {v}"), varying)
    )


def _layout(body: Body, memory: Memory) -> tuple[str, list[str], int]:
    """The pointer, the strides (i64, in elements) and the elements between neighbouring lanes."""
    if isinstance(memory, Array):
        strides = [body.arguments.stride(memory, axis) for axis in range(memory.ndim)]
        return body.arguments.pointer(memory), strides, 0
    inner = [prod(memory.shape[axis + 1 :]) for axis in range(len(memory.shape))]
    if isinstance(memory, Shared):
        place = body.text.do(f"getelementptr i8, ptr %shared, i64 {body.kernel.shared[memory]}")
        return place, [str(n) for n in inner], 0
    # A thread's own array: element e of all lanes lies together, so that a uniform index is a vector access.
    count = prod(memory.shape) * body.W
    place = body.stack(f"local {id(memory)}", memory_type(memory.dtype), count)
    return place, [str(n * body.W) for n in inner], 1


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


def _vector_add(body: Body):
    type_ = body.vector.of("i64")
    return lambda a, b: body.text.do(f"add {type_} {a}, {b}")


def _scaled(body: Body, dtype: DType, names: tuple[str, ...], stride: str) -> tuple[str, ...]:
    """Indices as i64 strips, times the stride."""
    wide, narrow = body.vector.of("i64"), body.vector.of(lane_type(dtype))
    if dtype.bits < 64:
        how = "sext" if dtype.is_signed else "zext"
        names = body.each(lambda a: body.text.do(f"{how} {narrow} {a} to {wide}"), names)
    if stride == "1":
        return names
    factor = f"splat (i64 {stride})" if is_constant(stride) else _splat_word(body, stride)
    return body.each(lambda a: body.text.do(f"mul {wide} {a}, {factor}"), names)


def _splat_word(body: Body, name: str) -> str:
    from ... import dtypes

    return splat(body.text, body.S, dtypes.i64, name)


def _lane_steps(body: Body, step: str) -> tuple[str, ...]:
    """`step * lane` as i64 strips."""
    lanes = [list(range(r * body.S, (r + 1) * body.S)) for r in range(body.R)]
    if is_constant(step):
        return tuple(strip_literal([int(step) * lane for lane in strip], "i64") for strip in lanes)
    factor, wide = _splat_word(body, step), body.vector.of("i64")
    return tuple(body.text.do(f"mul {wide} {factor}, {strip_literal(strip, 'i64')}") for strip in lanes)


def harmless(body: Body, pointers: tuple[str, ...]) -> tuple[str, ...]:
    """The pointers, with those of lanes that are not active aimed at a spare slot on the stack.

    One element a lane without a branch a lane: cheaper than a masked gather or scatter where LLVM must take it apart.
    """
    if body.mask is None:
        return pointers
    spare = body.stack("spare", "i64", 1)
    type_ = body.vector.of("ptr")
    first = body.text.do(f"insertelement {type_} poison, ptr {spare}, i64 0")
    spares = body.text.do(
        f"shufflevector {type_} {first}, {type_} poison, {body.vector.of('i32')} zeroinitializer"
    )
    bits = body.vector.of("i1")
    return body.each(
        lambda c, p: body.text.do(f"select {bits} {c}, {type_} {p}, {type_} {spares}"), body.conds(), pointers
    )


# ---- access -------------------------------------------------------------------------------------------------------
def emit_load(body: Body, op: Op) -> None:
    memory: Memory = op.attrs["mem"]
    dtype, element = memory.dtype, memory_type(memory.dtype)
    match address(body, memory, op.operands):
        case One(pointer):
            assert body.some, "a uniform load wants an active lane"
            name = body.text.do(f"load {element}, ptr {pointer}, align {dtype.itemsize}")
            body.define(op.result, Uniform(body.from_memory(body.scalar, dtype, name)))
            return
        case Adjacent(pointer):
            names = _load_adjacent(body, memory, pointer)
        case Scattered(pointers):
            names = gather(body, element, dtype.itemsize, harmless(body, pointers))
    body.define(op.result, Strips(tuple(body.from_memory(body.vector, dtype, name) for name in names)))


def emit_store(body: Body, op: Op) -> None:
    memory: Memory = op.attrs["mem"]
    *indices, value = op.operands
    dtype, element = memory.dtype, memory_type(memory.dtype)
    where = address(body, memory, indices)
    if isinstance(where, One):
        assert body.some, "a uniform store wants an active lane"
        name = body.to_memory(body.scalar, dtype, last_active(body, value))
        body.text.put(f"store {element} {name}, ptr {where.pointer}, align {dtype.itemsize}")
        return
    names = tuple(body.to_memory(body.vector, dtype, strip) for strip in body.strips(value))
    if isinstance(where, Adjacent):
        _store_adjacent(body, memory, where.pointer, names)
    else:
        scatter(body, element, dtype.itemsize, names, harmless(body, where.pointers))


def last_active(body: Body, value: Value) -> str:
    """What stays of stores by all active lanes to one place, in lane order."""
    form = body.form(value)
    if isinstance(form, Uniform):
        return form.name
    if body.mask is None:
        return body.lane_of(value.type, body.strips(value), str(body.W - 1))
    bits = body.ballot(body.mask)
    above = body.text.do(f"call i64 @llvm.ctlz.i64(i64 {bits}, i1 false)")
    lane = body.text.do(f"sub i64 63, {above}")
    return body.lane_of(value.type, body.strips(value), body.text.do(f"and i64 {lane}, {body.W - 1}"))


def _places(body: Body, element: str, pointer: str) -> list[str]:
    """A pointer for each strip of adjacent elements."""
    return [pointer] + [
        body.text.do(f"getelementptr {element}, ptr {pointer}, i64 {r * body.S}") for r in range(1, body.R)
    ]


def _plain(body: Body, memory: Memory) -> bool:
    """Whether whole strips may be read and written: every lane is active, or each has an element of its own."""
    return body.mask is None or isinstance(memory, Local)


def _load_adjacent(body: Body, memory: Memory, pointer: str) -> tuple[str, ...]:
    dtype, element = memory.dtype, memory_type(memory.dtype)
    vector = body.vector.of(element)
    places = _places(body, element, pointer)
    if _plain(body, memory):
        return tuple(body.text.do(f"load {vector}, ptr {place}, align {dtype.itemsize}") for place in places)
    if dtype.itemsize * 8 not in body.host.masked_bits:
        return gather(body, element, dtype.itemsize, harmless(body, _spread(body, element, places)))
    suffix = _suffix(body, element)
    return body.each(
        lambda place, cond: body.text.do(
            f"call {vector} @llvm.masked.load.{suffix}.p0(ptr align {dtype.itemsize} {place}, "
            f"{body.vector.of('i1')} {cond}, {vector} zeroinitializer)"
        ),
        places,
        body.conds(),
    )


def _store_adjacent(body: Body, memory: Memory, pointer: str, names: tuple[str, ...]) -> None:
    dtype, element = memory.dtype, memory_type(memory.dtype)
    vector, bits = body.vector.of(element), body.vector.of("i1")
    places = _places(body, element, pointer)
    if body.mask is not None and isinstance(memory, Local):
        old = _load_adjacent(body, memory, pointer)
        names = body.each(
            lambda c, new, old: body.text.do(f"select {bits} {c}, {vector} {new}, {vector} {old}"),
            body.conds(),
            names,
            old,
        )
    if _plain(body, memory):
        for place, name in zip(places, names, strict=True):
            body.text.put(f"store {vector} {name}, ptr {place}, align {dtype.itemsize}")
        return
    if dtype.itemsize * 8 not in body.host.masked_bits:
        scatter(body, element, dtype.itemsize, names, harmless(body, _spread(body, element, places)))
        return
    suffix = _suffix(body, element)
    for place, name, cond in zip(places, names, body.conds(), strict=True):
        body.text.put(
            f"call void @llvm.masked.store.{suffix}.p0({vector} {name}, ptr align {dtype.itemsize} {place}, {bits} {cond})"
        )


def _spread(body: Body, element: str, places: Sequence[str]) -> tuple[str, ...]:
    """Adjacent elements as a pointer a lane."""
    steps = strip_literal(list(range(body.S)), "i64")
    type_ = body.vector.of("i64")
    return body.each(lambda p: body.text.do(f"getelementptr {element}, ptr {p}, {type_} {steps}"), places)


def _suffix(body: Body, element: str) -> str:
    short = {"half": "f16", "float": "f32", "double": "f64"}.get(element, element)
    return f"v{body.S}{short}"


def gather(body: Body, element: str, align: int, pointers: tuple[str, ...]) -> tuple[str, ...]:
    """One element a lane, from pointers that are all good."""
    vector, ptrs, bits = body.vector.of(element), body.vector.of("ptr"), body.vector.of("i1")
    suffix = f"{_suffix(body, element)}.v{body.S}p0"
    return body.each(
        lambda p: body.text.do(
            f"call {vector} @llvm.masked.gather.{suffix}({ptrs} align {align} {p}, {bits} splat (i1 true), {vector} poison)"
        ),
        pointers,
    )


def scatter(body: Body, element: str, align: int, names: tuple[str, ...], pointers: tuple[str, ...]) -> None:
    """One element a lane, in lane order, to pointers that are all good."""
    vector, ptrs, bits = body.vector.of(element), body.vector.of("ptr"), body.vector.of("i1")
    suffix = f"{_suffix(body, element)}.v{body.S}p0"
    for name, pointer in zip(names, pointers, strict=True):
        body.text.put(
            f"call void @llvm.masked.scatter.{suffix}({vector} {name}, {ptrs} align {align} {pointer}, {bits} splat (i1 true))"
        )


def emit_fence(body: Body, op: Op) -> None:
    """Only other threads need one, and a block runs in one thread."""
    if op.attrs.get("level") == "grid":
        body.text.put("fence seq_cst")


MEMORY: dict[str, Emitter] = {"load": emit_load, "store": emit_store, "fence": emit_fence}
