"""Atomic read-modify-write: once for the subgroup where that is the same, else lane by lane in lane order.

Integers have instructions; floats (whose min and max follow the contract) and bools go through compare-and-exchange.
A block runs in one thread, so shared memory needs no atomicity at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import dtypes
from ...dtypes import DType
from ...ir import NOWHERE, Array, Memory, Op, Value
from .address import Address, Adjacent, One, Scattered, address
from .arithmetic import ROWS
from .body import Body, Emitter
from .forms import Strips, Uniform
from .text import lane_type, memory_type, scalar_type
from .width import Width

_INSTRUCTIONS = {  # of integers: signed, unsigned
    "add": ("add", "add"),
    "sub": ("sub", "sub"),
    "min": ("min", "umin"),
    "max": ("max", "umax"),
    "and": ("and", "and"),
    "or": ("or", "or"),
    "xor": ("xor", "xor"),
    "exchange": ("xchg", "xchg"),
}
_IDEMPOTENT = frozenset({"and", "or", "min", "max"})
_FOLDS = {"add": "add", "sub": "add", "and": "and", "or": "or", "xor": "xor", "min": "min", "max": "max"}
"""How the operands of several lanes join into one operand, where the old value is not asked for."""


def emit_atomic(body: Body, op: Op) -> None:
    memory: Memory = op.attrs["mem"]
    assert body.some, "an atomic wants an active lane"
    count = 2 if op.attrs["kind"] == "cas" else 1
    indices, values = op.operands[:-count], op.operands[-count:]
    where = address(body, memory, indices)
    asked = op.result in body.used
    if isinstance(where, One) and not asked and memory.dtype.is_int and op.attrs["kind"] in _FOLDS:
        operand = _fold(body, op.attrs["kind"], memory.dtype, values[0])
        _update(body, memory, op.attrs["kind"], where.pointer, [operand])
        body.define(op.result, Uniform("0"))
        return
    body.define(op.result, Strips(_lane_by_lane(body, op, where, values)))


# ---- once for the subgroup ----------------------------------------------------------------------------------------
def _fold(body: Body, kind: str, dtype: DType, value: Value) -> str:
    """The operands of all active lanes as one."""
    element = scalar_type(dtype)
    if body.uniform(value):
        name = body.first(value)
        if kind in _IDEMPOTENT:
            return name
        lanes = body.text.do(f"call i64 @llvm.ctpop.i64(i64 {body.active_bits()})")
        if kind == "xor":
            lanes = body.text.do(f"and i64 {lanes}, 1")
        if dtype.bits < 64:
            lanes = body.text.do(f"trunc i64 {lanes} to {element}")
        return body.text.do(f"mul {element} {name}, {lanes}")
    fold = _FOLDS[kind]
    strips = body.strips(value)
    if body.mask is not None:
        neutral = {"and": -1, "min": dtype.highest, "max": dtype.lowest}.get(fold, 0)
        vector, bits = body.vector.of(element), body.vector.of("i1")
        strips = body.each(
            lambda c, a: body.text.do(f"select {bits} {c}, {vector} {a}, {vector} splat ({element} {neutral})"),
            body.conds(),
            strips,
        )
    total = strips[0]
    for strip in strips[1:]:
        total = _combine(body.vector, fold, dtype, total, strip)
    name = fold if fold not in ("min", "max") else ("s" if dtype.is_signed else "u") + fold
    return body.text.do(
        f"call {element} @llvm.vector.reduce.{name}.v{body.S}{element}({body.vector.of(element)} {total})"
    )


# ---- lane by lane -------------------------------------------------------------------------------------------------
def _lane_by_lane(body: Body, op: Op, where: Address, values: Sequence[Value]) -> tuple[str, ...]:
    """A loop over the bits of the active lanes; operands and old values lie on the stack meanwhile."""
    text, dtype = body.text, op.result.type
    memory: Memory = op.attrs["mem"]
    element = lane_type(dtype)
    fetch = [_operand(body, value, number) for number, value in enumerate(values)]
    pointer_of = _pointers(body, memory, where)
    asked = op.result in body.used
    olds = body.spill(element, ("zeroinitializer",) * body.R, "old") if asked else ""

    head, out, origin = text.new_label("lane"), text.new_label("lanes"), text.label
    bits = body.active_bits()
    text.jump(head)
    text.begin(head)
    rest, place = text.reserve_phi("i64")
    lane = text.do(f"call i64 @llvm.cttz.i64(i64 {rest}, i1 true)")
    old = _update(body, memory, op.attrs["kind"], pointer_of(lane), [operand(lane) for operand in fetch])
    if asked:
        slot = text.do(f"getelementptr {element}, ptr {olds}, i64 {lane}")
        kept = text.do(f"sext i1 {old} to i32") if dtype.is_bool else old
        text.put(f"store {element} {kept}, ptr {slot}")
    lower = text.do(f"sub i64 {rest}, 1")
    fewer = text.do(f"and i64 {rest}, {lower}")
    text.fill_phi(place, [(bits, origin), (fewer, text.label)])
    text.branch(text.do(f"icmp eq i64 {fewer}, 0"), out, head)
    text.begin(out)
    return body.reload(element, olds) if asked else ("zeroinitializer",) * body.R


def _operand(body: Body, value: Value, number: int) -> Callable[[str], str]:
    """What gives the operand of a lane, in the loop."""
    if body.uniform(value):
        name = body.first(value)
        return lambda lane: name
    element = lane_type(value.type)
    place = body.spill(element, body.strips(value), f"operand {number}")

    def fetch(lane: str) -> str:
        slot = body.text.do(f"getelementptr {element}, ptr {place}, i64 {lane}")
        name = body.text.do(f"load {element}, ptr {slot}")
        return body.text.do(f"icmp ne i32 {name}, 0") if value.type.is_bool else name

    return fetch


def _pointers(body: Body, memory: Memory, where: Address) -> Callable[[str], str]:
    match where:
        case One(pointer):
            return lambda lane: pointer
        case Adjacent(pointer):
            element = memory_type(memory.dtype)
            return lambda lane: body.text.do(f"getelementptr {element}, ptr {pointer}, i64 {lane}")
        case Scattered():
            place = body.spill("ptr", where.pointers(body), "pointers")

            def fetch(lane: str) -> str:
                slot = body.text.do(f"getelementptr ptr, ptr {place}, i64 {lane}")
                return body.text.do(f"load ptr, ptr {slot}")

            return fetch


# ---- one update ---------------------------------------------------------------------------------------------------
def _combine(w: Width, kind: str, dtype: DType, old: str, operand: str) -> str:
    """An arithmetic row outside any operation of the kernel."""
    value = Value(dtype)
    return ROWS[kind](w, Op(kind, (value, value), (value,), loc=NOWHERE), [old, operand])


def _next(body: Body, kind: str, dtype: DType, old: str, operands: Sequence[str]) -> str:
    """What the element becomes."""
    if kind == "exchange":
        return operands[0]
    if kind == "cas":
        type_ = scalar_type(dtype)
        bits = dtypes.unsigned_of(dtype.bits) if dtype.is_float else dtype
        same = body.text.do(
            f"icmp eq {scalar_type(bits)} {_as_bits(body, dtype, old)}, {_as_bits(body, dtype, operands[0])}"
        )
        return body.text.do(f"select i1 {same}, {type_} {operands[1]}, {type_} {old}")
    return _combine(body.scalar, kind, dtype, old, operands[0])


def _as_bits(body: Body, dtype: DType, name: str) -> str:
    if not dtype.is_float:
        return name
    return body.text.do(f"bitcast {scalar_type(dtype)} {name} to i{dtype.bits}")


def _update(body: Body, memory: Memory, kind: str, pointer: str, operands: Sequence[str]) -> str:
    """One read-modify-write of one element; the old value."""
    text, dtype = body.text, memory.dtype
    if not isinstance(memory, Array):
        return _plain_update(body, memory, kind, pointer, operands)
    if dtype.is_int and kind in _INSTRUCTIONS:
        name = _INSTRUCTIONS[kind][not dtype.is_signed]
        return text.do(f"atomicrmw {name} ptr {pointer}, {scalar_type(dtype)} {operands[0]} monotonic")
    if dtype.is_int and kind == "cas":
        type_ = scalar_type(dtype)
        pair = text.do(f"cmpxchg ptr {pointer}, {type_} {operands[0]}, {type_} {operands[1]} monotonic monotonic")
        return text.do(f"extractvalue {{ {type_}, i1 }} {pair}, 0")
    return _retry(body, dtype, kind, pointer, operands)


def _plain_update(body: Body, memory: Memory, kind: str, pointer: str, operands: Sequence[str]) -> str:
    dtype, element = memory.dtype, memory_type(memory.dtype)
    loaded = body.text.do(f"load {element}, ptr {pointer}, align {dtype.itemsize}")
    old = body.from_memory(body.scalar, dtype, loaded)
    new = body.to_memory(body.scalar, dtype, _next(body, kind, dtype, old, operands))
    body.text.put(f"store {element} {new}, ptr {pointer}, align {dtype.itemsize}")
    return old


def _retry(body: Body, dtype: DType, kind: str, pointer: str, operands: Sequence[str]) -> str:
    """Compute the new value from the old one until nobody came between."""
    text = body.text
    word, element = f"i{dtype.itemsize * 8}", memory_type(dtype)
    first = text.do(f"load atomic {word}, ptr {pointer} monotonic, align {dtype.itemsize}")
    head, out, origin = text.new_label("retry"), text.new_label("done"), text.label
    text.jump(head)
    text.begin(head)
    seen, place = text.reserve_phi(word)
    raw = text.do(f"bitcast {word} {seen} to {element}") if dtype.is_float else seen
    old = body.from_memory(body.scalar, dtype, raw)
    new = body.to_memory(body.scalar, dtype, _next(body, kind, dtype, old, operands))
    wanted = text.do(f"bitcast {element} {new} to {word}") if dtype.is_float else new
    pair = text.do(f"cmpxchg ptr {pointer}, {word} {seen}, {word} {wanted} monotonic monotonic")
    current = text.do(f"extractvalue {{ {word}, i1 }} {pair}, 0")
    text.fill_phi(place, [(first, origin), (current, text.label)])
    text.branch(text.do(f"extractvalue {{ {word}, i1 }} {pair}, 1"), out, head)
    text.begin(out)
    return old


ATOMICS: dict[str, Emitter] = {"atomic": emit_atomic}
