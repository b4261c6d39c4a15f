"""Addresses, loads, stores and atomics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

from ... import dtypes
from ...dtypes import DType
from ...ir import Array, Local, Memory, Op, Value
from .arithmetic import ROWS, convert
from .target import GLOBAL, SHARED
from .text import memory_type, scalar_type

if TYPE_CHECKING:
    from .kernel import Emitter


def _space(e: Emitter, mem: Memory) -> int:
    if isinstance(mem, Local):
        return e.target.local_space
    return GLOBAL if isinstance(mem, Array) else SHARED


def _stride(e: Emitter, mem: Memory, axis: int) -> str | int:
    """Elements from one index of an axis to the next: 1, a number, or an i64 of the argument block."""
    if not isinstance(mem, Array):
        return prod(mem.shape[axis + 1 :])
    if mem.contiguous and axis == mem.ndim - 1:
        return 1
    return e.argument(e.arguments.stride(mem, axis), "i64")


def address(e: Emitter, mem: Memory, indices: Sequence[Value], names: Sequence[str]) -> str:
    """A typed pointer operand, `ptr addrspace(1) %x`: base + sum of index * stride, in 64 bits."""
    w = e.w
    total = ""
    for axis, (index, name) in enumerate(zip(indices, names, strict=True)):
        term = convert(w, name, index.type, dtypes.i64 if index.type.is_signed else dtypes.u64)
        if (stride := _stride(e, mem, axis)) != 1:
            term = w.let(f"mul i64 {term}, {stride}")
        total = w.let(f"add i64 {total}, {term}") if total else term
    space = f"ptr addrspace({_space(e, mem)})"
    if not total:
        return f"{space} {e.base(mem)}"
    return f"{space} {w.let(f'getelementptr inbounds {memory_type(mem.dtype)}, {space} {e.base(mem)}, i64 {total}')}"


def _from_memory(e: Emitter, value: str, t: DType) -> str:
    return e.w.let(f"icmp ne i8 {value}, 0") if t.is_bool else value


def _to_memory(e: Emitter, value: str, t: DType) -> str:
    return e.w.let(f"zext i1 {value} to i8") if t.is_bool else value


def load(e: Emitter, op: Op, args: Sequence[str]) -> str:
    mem: Memory = op.attrs["mem"]
    place = address(e, mem, op.operands, args)
    value = e.w.let(f"load {memory_type(mem.dtype)}, {place}, align {mem.dtype.itemsize}")
    return _from_memory(e, value, mem.dtype)


def store(e: Emitter, op: Op, args: Sequence[str]) -> None:
    mem: Memory = op.attrs["mem"]
    *indices, value = args
    place = address(e, mem, op.operands[:-1], indices)
    stored = _to_memory(e, value, mem.dtype)
    e.w.do(f"store {memory_type(mem.dtype)} {stored}, {place}, align {mem.dtype.itemsize}")


# ---- atomics ------------------------------------------------------------------------------------------------------
# LLVM's operation on signed integers, unsigned ones (and bools), floats; "" where it is a compare-and-swap loop.
_READ_MODIFY_WRITE: dict[str, tuple[str, str, str]] = {
    "add": ("add", "add", "fadd"),
    "sub": ("sub", "sub", "fsub"),
    "min": ("min", "umin", ""),
    "max": ("max", "umax", ""),
    "and": ("and", "and", ""),
    "or": ("or", "or", ""),
    "xor": ("xor", "xor", ""),
    "exchange": ("xchg", "xchg", "xchg"),
}
_COLUMN = {"i": 0, "u": 1, "b": 1, "f": 2}


def atomic(e: Emitter, op: Op, args: Sequence[str]) -> str:
    """Relaxed, at the scope of the memory; the old value."""
    mem: Memory = op.attrs["mem"]
    kind: str = op.attrs["kind"]
    count = 2 if kind == "cas" else 1
    place = address(e, mem, op.operands[:-count], args[:-count])
    values = [_to_memory(e, value, mem.dtype) for value in args[-count:]]
    if isinstance(mem, Local):
        return _from_memory(e, _own(e, op, place, values), mem.dtype)
    scope = f'syncscope("{e.target.scopes["grid" if isinstance(mem, Array) else "block"]}")'
    if kind == "cas":
        old = _compare_and_swap(e, mem.dtype, place, values[0], values[1], scope)
    elif code := _READ_MODIFY_WRITE[kind][_COLUMN[mem.dtype.kind]]:
        ty = memory_type(mem.dtype)
        old = e.w.let(
            f"atomicrmw {code} {place}, {ty} {values[0]} {scope} monotonic, align {mem.dtype.itemsize}"
            + e.target.atomic_notes
        )
    else:
        old = _swap_until_unchanged(e, op, place, values[0], scope)
    return _from_memory(e, old, mem.dtype)


def _bits(e: Emitter, t: DType, value: str) -> str:
    ty = memory_type(t)
    return e.w.let(f"bitcast {ty} {value} to i{t.bits}") if t.is_float else value


def _unbits(e: Emitter, t: DType, value: str) -> str:
    return e.w.let(f"bitcast i{t.bits} {value} to {memory_type(t)}") if t.is_float else value


def _compare_and_swap(e: Emitter, t: DType, place: str, expected: str, new: str, scope: str) -> str:
    """Stores `new` where the element's bits are those of `expected`; the old element."""
    ty = f"i{8 * t.itemsize}"
    operands = f"{ty} {_bits(e, t, expected)}, {ty} {_bits(e, t, new)}"
    pair = e.w.let(f"cmpxchg {place}, {operands} {scope} monotonic monotonic, align {t.itemsize}")
    return _unbits(e, t, e.w.let(f"extractvalue {{ {ty}, i1 }} {pair}, 0"))


def _combined(e: Emitter, op: Op, old: str, value: str) -> str:
    """What the element becomes, by the arithmetic row of the same name."""
    t = op.result.type
    if op.attrs["kind"] == "exchange":
        return value
    row = ROWS[op.attrs["kind"]]
    return row(e.w, Op(op.attrs["kind"], (Value(t), Value(t)), (Value(t),)), (old, value))


def _swap_until_unchanged(e: Emitter, op: Op, place: str, value: str, scope: str) -> str:
    """A read-modify-write that the hardware lacks: repeated until no other thread came between."""
    w, t = e.w, op.result.type
    ty = scalar_type(t)
    first = w.let(f"load atomic {ty}, {place} {scope} monotonic, align {t.itemsize}")
    before, again, done = w.label, w.fresh("retry"), w.fresh("swapped")
    w.jump(again)
    w.start(again)
    seen = w.phi(ty)
    seen.add(first, before)
    new = _combined(e, op, seen.name, value)
    old = _compare_and_swap(e, t, place, seen.name, new, scope)
    int_type = f"i{t.bits}"
    unchanged = w.let(f"icmp eq {int_type} {_bits(e, t, old)}, {_bits(e, t, seen.name)}")
    seen.add(old, w.label)
    w.branch(unchanged, done, again)
    w.start(done)
    return old


def _own(e: Emitter, op: Op, place: str, values: Sequence[str]) -> str:
    """On memory that no other thread sees, a plain load and store."""
    t: DType = op.attrs["mem"].dtype
    ty = memory_type(t)
    old = e.w.let(f"load {ty}, {place}, align {t.itemsize}")
    if op.attrs["kind"] == "cas":
        int_type = f"i{8 * t.itemsize}"
        same = e.w.let(f"icmp eq {int_type} {_bits(e, t, old)}, {_bits(e, t, values[0])}")
        new = e.w.let(f"select i1 {same}, {ty} {values[1]}, {ty} {old}")
    elif t.is_bool:
        new = values[0] if op.attrs["kind"] == "exchange" else e.w.let(f"{op.attrs['kind']} i8 {old}, {values[0]}")
    else:
        new = _combined(e, op, old, values[0])
    e.w.do(f"store {ty} {new}, {place}, align {t.itemsize}")
    return old


ACCESSES: dict[str, Callable[[Emitter, Op, Sequence[str]], str | None]] = {
    "load": load,
    "store": store,
    "atomic": atomic,
}
