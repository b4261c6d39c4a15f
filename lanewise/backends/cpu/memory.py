"""Loads and stores: one scalar for a uniform address, vectors where lanes are adjacent, else one element a lane."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Local, Memory, Op, Value
from .address import Adjacent, One, Scattered, address, harmless
from .body import Body, Emitter
from .forms import Strips, Uniform, strip_literal
from .text import memory_type


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
        case Scattered() as where:
            if where.is_one_offset(body):
                lanes = where.lane_pointers(body)
                names = tuple(_load_lanes(body, element, dtype.itemsize, strip) for strip in lanes)
            else:
                names = gather(body, element, dtype.itemsize, harmless(body, where.pointers(body)))
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
        scatter(body, element, dtype.itemsize, names, harmless(body, where.pointers(body)))


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
    name, bits = f"llvm.masked.load.{_suffix(body, element)}.p0", body.vector.of("i1")
    return body.each(
        lambda place, cond: body.text.do(
            f"call {vector} @{name}(ptr align {dtype.itemsize} {place}, {bits} {cond}, {vector} zeroinitializer)"
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
    intrinsic = f"llvm.masked.store.{_suffix(body, element)}.p0"
    for place, name, cond in zip(places, names, body.conds(), strict=True):
        body.text.put(f"call void @{intrinsic}({vector} {name}, ptr align {dtype.itemsize} {place}, {bits} {cond})")


def _spread(body: Body, element: str, places: Sequence[str]) -> tuple[str, ...]:
    """Adjacent elements as a pointer a lane."""
    steps = strip_literal(list(range(body.S)), "i64")
    type_ = body.vector.of("i64")
    return body.each(lambda p: body.text.do(f"getelementptr {element}, ptr {p}, {type_} {steps}"), places)


def _suffix(body: Body, element: str) -> str:
    short = {"half": "f16", "float": "f32", "double": "f64"}.get(element, element)
    return f"v{body.S}{short}"


def gather(body: Body, element: str, align: int, pointers: tuple[str, ...]) -> tuple[str, ...]:
    """One element a lane, from pointers that are all good; LLVM knows whether the processor's gather is worth it."""
    vector, ptrs, everyone = body.vector.of(element), body.vector.of("ptr"), f"{body.vector.of('i1')} splat (i1 true)"
    name = f"llvm.masked.gather.{_suffix(body, element)}.v{body.S}p0"
    return body.each(
        lambda p: body.text.do(f"call {vector} @{name}({ptrs} align {align} {p}, {everyone}, {vector} poison)"),
        pointers,
    )


def _load_lanes(body: Body, element: str, align: int, pointers: Sequence[str]) -> str:
    """One strip, a lane at a time: as fast as an instruction that gathers, and much faster where that is microcode."""
    vector, made = body.vector.of(element), "poison"
    for lane, pointer in enumerate(pointers):
        one = body.text.do(f"load {element}, ptr {pointer}, align {align}")
        made = body.text.do(f"insertelement {vector} {made}, {element} {one}, i64 {lane}")
    return made


def scatter(body: Body, element: str, align: int, names: tuple[str, ...], pointers: tuple[str, ...]) -> None:
    """One element a lane, in lane order, to pointers that are all good."""
    vector, ptrs, everyone = body.vector.of(element), body.vector.of("ptr"), f"{body.vector.of('i1')} splat (i1 true)"
    name = f"llvm.masked.scatter.{_suffix(body, element)}.v{body.S}p0"
    for value, pointer in zip(names, pointers, strict=True):
        body.text.put(f"call void @{name}({vector} {value}, {ptrs} align {align} {pointer}, {everyone})")


def emit_fence(body: Body, op: Op) -> None:
    """Only other threads need one, and a block runs in one thread."""
    if op.attrs.get("level") == "grid":
        body.text.put("fence seq_cst")


MEMORY: dict[str, Emitter] = {"load": emit_load, "store": emit_store, "fence": emit_fence}
