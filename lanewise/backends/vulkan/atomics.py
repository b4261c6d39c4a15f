"""Atomics: relaxed, at the scope of all who may see the memory; each gives the old value.

What is no instruction is a compare and exchange, repeated until nobody came between: operations on floats but for the
additions that some devices have, and everything on elements narrower than a word, by way of the word around them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ... import dtypes
from ...dtypes import DType, bool_, u32
from ...ir import Array, Local, Memory, Op, Shared
from .arithmetic import in_word, out_of_word, pick
from .code import Code
from .features import Features
from .spirv import Capability, Id, Scope, StorageClass

if TYPE_CHECKING:
    from .memory import Memories, Place

# ---- those that are one instruction: for signed and for unsigned integers --------------------------------------------
_INTEGER = {
    "add": ("AtomicIAdd", "AtomicIAdd"),
    "sub": ("AtomicISub", "AtomicISub"),
    "min": ("AtomicSMin", "AtomicUMin"),
    "max": ("AtomicSMax", "AtomicUMax"),
    "and": ("AtomicAnd", "AtomicAnd"),
    "or": ("AtomicOr", "AtomicOr"),
    "xor": ("AtomicXor", "AtomicXor"),
    "exchange": ("AtomicExchange", "AtomicExchange"),
}
_FLOAT_ADD = {32: Capability.AtomicFloat32AddEXT, 64: Capability.AtomicFloat64AddEXT}


def is_narrow(mem: Memory) -> bool:
    """Whether its elements are narrower than any atomic of Vulkan."""
    return mem.dtype.itemsize < 4


def is_float_instruction(op: Op, features: Features) -> bool:
    """Whether the device does it on floats; else the memory is declared as integers, which all of its atomics take."""
    mem: Memory = op.attrs["mem"]
    feature = f"{_where(mem).lower()}_float{mem.dtype.bits}_atomic_add"
    return op.attrs["kind"] in ("add", "sub") and getattr(features, feature, False)


def _where(mem: Memory) -> str:
    """As the names of features have it."""
    return "Shared" if isinstance(mem, Shared) else "Buffer"


def atomic(memories: Memories, op: Op) -> Id:
    """Emit one; the old value."""
    c, mem, kind = memories.code, op.attrs["mem"], op.attrs["kind"]
    axes = mem.ndim if isinstance(mem, Array) else len(mem.shape)
    values = c.values(op)[axes:]
    if isinstance(mem, Local):
        return _own(memories, op, values)
    if is_narrow(mem):
        pointer, shift, place = memories.word(op)
        return _Word(c, mem.dtype, shift).retry(kind, pointer, *relaxed(c, place), values)
    pointer, place = memories.pointer(op)
    if place.element.bits == 64 and place.element.is_int:
        _require_int64(c, op)
    how = relaxed(c, place)
    if place.element.is_float:
        c.m.require(_FLOAT_ADD[mem.dtype.bits])
        c.m.need(f"shader{_where(mem)}Float{mem.dtype.bits}AtomicAdd")
        added = values[0] if kind == "add" else c.m("FNegate", mem.dtype, values[0])
        return c.m("AtomicFAddEXT", mem.dtype, pointer, *how, added)
    cell = _Cell(c, mem.dtype, place.element)
    if kind == "cas":
        compare, new = (cell.packed(v) for v in values)
        return cell.value(c.m("AtomicCompareExchange", place.element, pointer, *how, how[1], new, compare))
    # The exchange of a double makes Mesa 22 end the process, on processors for which its LLVM selects no such store.
    if mem.dtype.is_int or (kind == "exchange" and mem.dtype.bits == 32):
        name = _INTEGER[kind][not mem.dtype.is_signed]
        return cell.value(c.m(name, place.element, pointer, *how, cell.packed(values[0])))
    return cell.retry(kind, pointer, *how, values)


def relaxed(c: Code, place: Place) -> tuple[Id, Id]:
    """The operands that say who sees it, and that it orders nothing else."""
    scope = Scope.Workgroup if place.storage is StorageClass.Workgroup else c.device_scope
    return c.scope(scope), c.m.u32(0)


def _require_int64(c: Code, op: Op) -> None:
    where = _where(op.attrs["mem"])
    name = f"shader{where}Int64Atomics"
    if not getattr(c.m.features, f"{where.lower()}_int64_atomics"):
        raise c.error(op, f"the device has no {name}", "an array of 32-bit elements")
    c.m.require(Capability.Int64Atomics)
    c.m.need(name)


def _own(memories: Memories, op: Op, values: Sequence[Id]) -> Id:
    """On memory that no other thread sees, a plain load and store."""
    pointer, place = memories.pointer(op)
    old = memories.raw_load(pointer, place)
    new = _combined(memories.code, op.attrs["kind"], op.attrs["mem"].dtype, old, values)
    memories.code.m.do("Store", pointer, new)
    return old


# ---- compare and exchange --------------------------------------------------------------------------------------------
class _Cell:
    """What an atomic exchanges: an element of `dtype`, kept as an integer of its width."""

    def __init__(self, code: Code, dtype: DType, kept: DType) -> None:
        self.code = code
        self.dtype = dtype
        self.kept = kept

    def value(self, cell: Id) -> Id:
        """The element in a cell."""
        return self.code.bitcast(cell, self.kept, self.dtype)

    def packed(self, value: Id) -> Id:
        return self.code.bitcast(value, self.dtype, self.kept)

    def replaced(self, cell: Id, value: Id) -> Id:
        """The cell with another element in it."""
        return self.packed(value)

    def retry(self, kind: str, pointer: Id, scope: Id, semantics: Id, values: Sequence[Id]) -> Id:
        """Exchange the cell that was seen for what becomes of it, until it is the one that was there."""
        c, m = self.code, self.code.m
        kept = m.type(self.kept)
        seen, again = m.variable(kept, "seen"), m.variable(m.type(bool_), "again")
        m.do("Store", seen, m("AtomicLoad", kept, pointer, scope, semantics))
        m.do("Store", again, m.const(True, bool_))

        def attempt() -> None:
            cell = m("Load", kept, seen)
            new = self.replaced(cell, _combined(c, kind, self.dtype, self.value(cell), values))
            found = m("AtomicCompareExchange", kept, pointer, scope, semantics, semantics, new, cell)
            m.do("Store", seen, found)
            m.do("Store", again, m("INotEqual", bool_, found, cell))

        c.loop(lambda: m("Load", bool_, again), attempt)
        return self.value(m("Load", kept, seen))


class _Word(_Cell):
    """A u32 of which the element is a part, from bit `shift` on."""

    def __init__(self, code: Code, dtype: DType, shift: Id) -> None:
        super().__init__(code, dtype, u32)
        self.shift = shift

    def value(self, cell: Id) -> Id:
        return out_of_word(self.code, self.code.m("ShiftRightLogical", u32, cell, self.shift), self.dtype)

    def packed(self, value: Id) -> Id:
        return self.code.m("ShiftLeftLogical", u32, in_word(self.code, value, self.dtype), self.shift)

    def others(self) -> Id:
        """The bits of the word that are not the element's."""
        m, ones = self.code.m, (1 << 8 * self.dtype.itemsize) - 1
        return m("Not", u32, m("ShiftLeftLogical", u32, m.u32(ones), self.shift))

    def replaced(self, cell: Id, value: Id) -> Id:
        m = self.code.m
        return m("BitwiseOr", u32, m("BitwiseAnd", u32, cell, self.others()), self.packed(value))


def load_from_word(c: Code, dtype: DType, pointer: Id, shift: Id, place: Place) -> Id:
    """An element of a shared array that is kept in words."""
    return _Word(c, dtype, shift).value(c.m("AtomicLoad", u32, pointer, *relaxed(c, place)))


def store_in_word(c: Code, dtype: DType, pointer: Id, shift: Id, place: Place, value: Id) -> None:
    """In two steps: its own bits no other thread reads or writes meanwhile, and the others' stay."""
    word = _Word(c, dtype, shift)
    how = relaxed(c, place)
    c.m("AtomicAnd", u32, pointer, *how, word.others())
    c.m("AtomicOr", u32, pointer, *how, word.packed(value))


# ---- what an atomic writes -------------------------------------------------------------------------------------------
def _combined(c: Code, kind: str, dtype: DType, old: Id, values: Sequence[Id]) -> Id:
    if kind == "exchange":
        return values[0]
    if kind == "cas":
        compare, new = values
        return c.m("Select", dtype, _same_bits(c, dtype, old, compare), new, old)
    return _COMBINE[kind](c, dtype, old, values[0])


def _same_bits(c: Code, dtype: DType, a: Id, b: Id) -> Id:
    """As a compare and exchange compares."""
    if dtype.is_bool:
        return c.m("LogicalEqual", bool_, a, b)
    if dtype.is_float and dtype.bits == 16:
        return c.m("IEqual", bool_, in_word(c, a, dtype), in_word(c, b, dtype))
    bits = dtypes.unsigned_of(dtype.bits)
    return c.m("IEqual", bool_, c.bitcast(a, dtype, bits), c.bitcast(b, dtype, bits))


def _op(integer: str, float_: str = "", bool_op: str = "") -> Callable[[Code, DType, Id, Id], Id]:
    names = {"i": integer, "u": integer, "f": float_, "b": bool_op}
    return lambda c, dtype, old, value: c.m(names[dtype.kind], dtype, old, value)


def _extreme(largest: bool) -> Callable[[Code, DType, Id, Id], Id]:
    def combine(c: Code, dtype: DType, old: Id, value: Id) -> Id:
        if dtype.is_float:
            return pick(c, dtype, old, value, largest=largest)
        if dtype.is_bool:
            return c.m("LogicalOr" if largest else "LogicalAnd", bool_, old, value)
        compare = f"{'S' if dtype.is_signed else 'U'}{'Greater' if largest else 'Less'}Than"
        return c.m("Select", dtype, c.m(compare, bool_, old, value), old, value)

    return combine


_COMBINE: dict[str, Callable[[Code, DType, Id, Id], Id]] = {
    "add": _op("IAdd", "FAdd"),
    "sub": _op("ISub", "FSub"),
    "min": _extreme(largest=False),
    "max": _extreme(largest=True),
    "and": _op("BitwiseAnd", bool_op="LogicalAnd"),
    "or": _op("BitwiseOr", bool_op="LogicalOr"),
    "xor": _op("BitwiseXor", bool_op="LogicalNotEqual"),
}
