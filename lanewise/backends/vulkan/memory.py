"""Addresses, loads, stores, barriers and fences.

Arrays are reached as `buffers` has it; shared arrays are Workgroup variables, local ones Function variables.  A memory
is declared with the type that its accesses allow: a bool in memory is a byte; floats with an atomic that the device has
only on integers are kept as integers of their width; narrow elements of a shared array with an atomic lie in words.

With the Vulkan memory model the accesses of a kernel that orders memory at all are non-private, and its barriers and
fences make writes available and visible.  With the GLSL model its arrays are coherent instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ... import dtypes
from ...dtypes import DType, u32
from ...ir import Array, Kernel, Local, Memory, Op, Shared
from .atomics import is_float_instruction, is_narrow, load_from_word, store_in_word
from .buffers import Indices, buffers, part_of_word, row_major
from .code import Code
from .features import MissingFeature
from .interface import Arguments, accesses
from .module import sign_free
from .spirv import Id, MemoryAccess, Scope, Semantics, StorageClass

_ORDERING = frozenset({"block.barrier", "subgroup.barrier", "fence", "atomic"})


@dataclass(frozen=True, slots=True)
class Place:
    """How one memory is declared: its variable (or pointer type), storage class and element type."""

    storage: StorageClass
    element: DType
    variable: Id
    in_words: bool = False
    """Whether the variable's elements are words, each of several elements of the memory."""


class Memories:
    """All memories of one kernel."""

    def __init__(self, code: Code) -> None:
        self.code = code
        kernel = code.kernel
        self.ordered = any(op.opcode in _ORDERING for op in kernel.body.walk())
        self._as_integers = _floats_as_integers(kernel, code)
        self._in_words = {
            op.attrs["mem"]
            for op in accesses(kernel)
            if op.opcode == "atomic" and isinstance(op.attrs["mem"], Shared) and is_narrow(op.attrs["mem"])
        }
        self.buffers = buffers(code)
        self.places: dict[Memory, Place] = {}
        for op in accesses(kernel):
            mem: Memory = op.attrs["mem"]
            if mem in self.places:
                continue
            try:
                self.places[mem] = self._declare(mem)
            except MissingFeature as missing:
                raise code.error(op, str(missing)) from None
        self.arguments = Arguments(code, self.buffers, [mem for mem in self.places if isinstance(mem, Array)])

    def _declare(self, mem: Memory) -> Place:
        m = self.code.m
        dtype = sign_free(mem.dtype)
        if mem in self._as_integers:
            dtype = dtypes.unsigned_of(dtype.bits)
        if isinstance(mem, Local):
            variable = m.variable(m.array(m.type(dtype), prod(mem.shape)), mem.name)
            return Place(StorageClass.Function, dtype, variable)
        if dtype.is_bool:
            dtype = dtypes.u8
        if isinstance(mem, Shared):
            length, in_words = prod(mem.shape), mem in self._in_words
            if in_words:
                dtype, length = u32, -(-length * mem.dtype.itemsize // 4)
            variable = m.global_variable(StorageClass.Workgroup, m.array(m.type(dtype), length), mem.name)
            return Place(StorageClass.Workgroup, dtype, variable, in_words)
        coherent = self.ordered and not self.code.vulkan_model
        return Place(self.buffers.storage, dtype, self.buffers.declare(mem, dtype, coherent=coherent))

    # ---- addresses -------------------------------------------------------------------------------------------------
    def pointer(self, op: Op) -> tuple[Id, Place]:
        """A pointer to the element that an access names."""
        mem: Memory = op.attrs["mem"]
        place, m, indices = self.places[mem], self.code.m, self._indices(op)
        if isinstance(mem, Array):
            return self.buffers.element(self.arguments, mem, indices, place.element), place
        to_element = m.pointer(place.storage, m.type(place.element))
        return m("AccessChain", to_element, place.variable, self._number(mem, indices)), place

    def word(self, op: Op) -> tuple[Id, Id, Place]:
        """A pointer to the word around the narrow element that an access names, and the element's first bit there."""
        mem: Memory = op.attrs["mem"]
        place, m, indices = self.places[mem], self.code.m, self._indices(op)
        if isinstance(mem, Array):
            return *self.buffers.word(self.arguments, mem, indices, place.element), place
        number, shift = part_of_word(self.code, self._number(mem, indices), mem.dtype.itemsize)
        return m("AccessChain", m.pointer(place.storage, m.type(u32)), place.variable, number), shift, place

    def _indices(self, op: Op) -> Indices:
        mem: Memory = op.attrs["mem"]
        axes = mem.ndim if isinstance(mem, Array) else len(mem.shape)
        return list(zip(self.code.values(op), (v.type for v in op.operands), strict=True))[:axes]

    def _number(self, mem: Shared | Local, indices: Indices) -> Id:
        """An element's number in a shared or local array."""
        return row_major(self.code, indices, [self.code.m.u32(extent) for extent in mem.shape[1:]], dtypes.i32)

    def _operands(self, place: Place) -> tuple[MemoryAccess | int, ...]:
        """The memory operands of an access."""
        flags = MemoryAccess(0)
        if self.ordered and self.code.vulkan_model and place.storage is not StorageClass.Function:
            flags |= MemoryAccess.NonPrivatePointer
        if place.storage is self.buffers.storage:
            return self.buffers.operands(flags, place.element.itemsize)
        return (flags,) if flags else ()

    # ---- accesses ----------------------------------------------------------------------------------------------------
    def load(self, op: Op) -> Id:
        dtype: DType = op.attrs["mem"].dtype
        if self.places[op.attrs["mem"]].in_words:
            return load_from_word(self.code, dtype, *self.word(op))
        pointer, place = self.pointer(op)
        return self._unpacked(self.raw_load(pointer, place, op.result.hint), dtype, place)

    def store(self, op: Op) -> None:
        dtype, value = op.attrs["mem"].dtype, self.code.values(op)[-1]
        if self.places[op.attrs["mem"]].in_words:
            store_in_word(self.code, dtype, *self.word(op), value)
            return
        pointer, place = self.pointer(op)
        value = self._packed(value, dtype, place)
        self.code.m.do("Store", pointer, value, *self._operands(place))

    def raw_load(self, pointer: Id, place: Place, hint: str = "") -> Id:
        return self.code.m.emit("Load", place.element, pointer, *self._operands(place), hint=hint)

    def _packed(self, value: Id, dtype: DType, place: Place) -> Id:
        c = self.code
        if dtype.is_bool and place.element != dtype:
            return c.from_bool(value, place.element)
        return c.bitcast(value, sign_free(dtype), place.element)

    def _unpacked(self, value: Id, dtype: DType, place: Place) -> Id:
        c = self.code
        if dtype.is_bool and place.element != dtype:
            return c.nonzero(value, place.element)
        return c.bitcast(value, place.element, sign_free(dtype))

    # ---- ordering ----------------------------------------------------------------------------------------------------
    def barrier(self, op: Op) -> None:
        """Every thread of the block arrives; shared and global memory are ordered between them."""
        block = self.code.scope(Scope.Workgroup)
        self.code.m.do("ControlBarrier", block, block, self.code.semantics(_KINDS["all"]))

    def subgroup_barrier(self, op: Op) -> None:
        """Every lane of the subgroup arrives; shared and global memory are ordered between them."""
        subgroup = self.code.scope(Scope.Subgroup)
        self.code.m.do("ControlBarrier", subgroup, subgroup, self.code.semantics(_KINDS["all"]))

    def fence(self, op: Op) -> None:
        scopes = {"subgroup": Scope.Subgroup, "block": Scope.Workgroup, "grid": self.code.device_scope}
        scope = self.code.scope(scopes[op.attrs["level"]])
        self.code.m.do("MemoryBarrier", scope, self.code.semantics(_KINDS[op.attrs["scope"]]))


_KINDS = {
    "all": Semantics.UniformMemory | Semantics.WorkgroupMemory,
    "buffer": Semantics.UniformMemory,
    "shared": Semantics.WorkgroupMemory,
}


def _floats_as_integers(kernel: Kernel, code: Code) -> set[Memory]:
    """The float memories with an atomic that the device has only on integers."""
    return {
        op.attrs["mem"]
        for op in accesses(kernel)
        if op.opcode == "atomic" and op.attrs["mem"].dtype.is_float
        if not isinstance(op.attrs["mem"], Local) and not is_narrow(op.attrs["mem"])
        if not is_float_instruction(op, code.m.features)
    }
