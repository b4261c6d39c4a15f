"""How a kernel reaches its arrays and its argument block: by address, or as storage buffers that are bound to it.

A device with bufferDeviceAddress is given addresses: that of the argument block as a push constant, that of each array
in its slot.  On one without, the argument block is binding 0 of descriptor set 0, and each array that the kernel
accesses has the next one.  An array's slot then holds the number of its first element in what is bound, so that the
array may begin anywhere there.  These numbers stay below 2**31, and are reckoned in 32 bits: what wraps, wraps back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ... import dtypes
from ...dtypes import DType, u32, u64
from ...ir import Array
from .code import Code
from .interface import Arguments, bound_arrays, push_constants
from .spirv import Capability, Decoration, Id, MemoryAccess, StorageClass

Indices = Sequence[tuple[Id, DType]]


class Buffers(ABC):
    """One way to reach device memory, in one module."""

    storage: ClassVar[StorageClass]
    stride: ClassVar[DType]
    """The type in which strides are read."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.push_constants = push_constants(code.m.features)

    @abstractmethod
    def declare(self, mem: Array, element: DType, *, coherent: bool) -> Id:
        """Declare an array with elements of this type: its variable, or the type of pointers to it."""

    @abstractmethod
    def slot(self, mem: Array) -> Id:
        """The type of an array's first slot."""

    @abstractmethod
    def pushed(self, block: Id) -> dict[str, Id]:
        """The push constants that stand for the argument block, with their types; `block` is its own type."""

    @abstractmethod
    def block(self, arguments: Arguments, block: Id) -> Id:
        """A pointer to the argument block."""

    @abstractmethod
    def operands(self, flags: MemoryAccess, alignment: int) -> tuple[MemoryAccess | int, ...]:
        """The memory operands of an access."""

    @abstractmethod
    def element(self, arguments: Arguments, mem: Array, indices: Indices, element: DType) -> Id:
        """A pointer to an element."""

    @abstractmethod
    def word(self, arguments: Arguments, mem: Array, indices: Indices, element: DType) -> tuple[Id, Id]:
        """A pointer to the word around a narrow element, and the element's first bit in it."""


def buffers(code: Code) -> Buffers:
    """The way that the device has."""
    return Addressed(code) if code.m.features.buffer_device_address else Bound(code)


class Addressed(Buffers):
    """By address (SPV_KHR_physical_storage_buffer)."""

    storage = StorageClass.PhysicalStorageBuffer
    stride = dtypes.i64

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        code.m.require(Capability.PhysicalStorageBufferAddresses)
        self._pointers: dict[Array, Id] = {}

    def declare(self, mem: Array, element: DType, *, coherent: bool) -> Id:
        m = self.code.m
        struct = m.buffer(m.stored(element), element.itemsize, coherent=coherent)
        self._pointers[mem] = m.pointer(self.storage, struct)
        return self._pointers[mem]

    def slot(self, mem: Array) -> Id:
        return self._pointers[mem]

    def pushed(self, block: Id) -> dict[str, Id]:
        return {"arguments": self.code.m.pointer(self.storage, block)}

    def block(self, arguments: Arguments, block: Id) -> Id:
        return arguments.pushed("arguments")

    def operands(self, flags: MemoryAccess, alignment: int) -> tuple[MemoryAccess | int, ...]:
        return flags | MemoryAccess.Aligned, alignment

    def element(self, arguments: Arguments, mem: Array, indices: Indices, element: DType) -> Id:
        c, m = self.code, self.code.m
        to_element = m.pointer(self.storage, m.type(element))
        base, zero = arguments.address(mem), m.u32(0)
        if mem.contiguous:
            index = row_major(c, indices, arguments.inner_extents(mem), c.kernel.index_type)
            return m("AccessChain", to_element, base, zero, index)
        # In 64 bits: strides may be large or negative.
        elements = strided(c, arguments, mem, indices, dtypes.i64)
        offset = m("IMul", dtypes.i64, elements, m.const(mem.dtype.itemsize, dtypes.i64))
        address = m("IAdd", dtypes.i64, m("ConvertPtrToU", dtypes.i64, base), offset)
        return m("AccessChain", to_element, m("ConvertUToPtr", self._pointers[mem], address), zero, zero)

    def word(self, arguments: Arguments, mem: Array, indices: Indices, element: DType) -> tuple[Id, Id]:
        m = self.code.m
        address = m("ConvertPtrToU", u64, self.element(arguments, mem, indices, element))
        to_word = m.pointer(self.storage, m.type(u32))
        word = m("ConvertUToPtr", to_word, m("BitwiseAnd", u64, address, m.const(-4, u64)))
        part = m("UConvert", u32, m("BitwiseAnd", u64, address, m.const(3, u64)))
        return word, m("IMul", u32, part, m.u32(8))


class Bound(Buffers):
    """As storage buffers in descriptor set 0.  Any two may be the same memory, so all are Aliased."""

    storage = StorageClass.StorageBuffer
    stride = u32

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._numbers = {mem: number for number, mem in enumerate(bound_arrays(code.kernel), 1)}
        self._variables: dict[tuple[Array, DType], Id] = {}
        self._coherent = False

    def _variable(self, mem: Array, element: DType) -> Id:
        """The array as elements of a type, made once; as several types it is several variables with one binding."""
        m = self.code.m
        if (mem, element) not in self._variables:
            struct = m.buffer(m.stored(element), element.itemsize, coherent=self._coherent)
            self._variables[mem, element] = self._bound(struct, mem.name, self._numbers[mem])
        return self._variables[mem, element]

    def _bound(self, struct: Id, name: str, number: int) -> Id:
        m = self.code.m
        variable = m.global_variable(self.storage, struct, name)
        m.decorate(variable, Decoration.DescriptorSet, 0)
        m.decorate(variable, Decoration.Binding, number)
        m.decorate(variable, Decoration.Aliased)
        return variable

    def declare(self, mem: Array, element: DType, *, coherent: bool) -> Id:
        self._coherent = coherent
        return self._variable(mem, element)

    def slot(self, mem: Array) -> Id:
        return self.code.m.type(u32)

    def pushed(self, block: Id) -> dict[str, Id]:
        return {}

    def block(self, arguments: Arguments, block: Id) -> Id:
        return self._bound(block, "arguments", 0)

    def operands(self, flags: MemoryAccess, alignment: int) -> tuple[MemoryAccess | int, ...]:
        return (flags,) if flags else ()

    def element(self, arguments: Arguments, mem: Array, indices: Indices, element: DType) -> Id:
        m = self.code.m
        to_element, number = m.pointer(self.storage, m.type(element)), self._number(arguments, mem, indices)
        return m("AccessChain", to_element, self._variable(mem, element), m.u32(0), number)

    def word(self, arguments: Arguments, mem: Array, indices: Indices, element: DType) -> tuple[Id, Id]:
        m = self.code.m
        number, shift = part_of_word(self.code, self._number(arguments, mem, indices), mem.dtype.itemsize)
        to_word = m.pointer(self.storage, m.type(u32))
        return m("AccessChain", to_word, self._variable(mem, u32), m.u32(0), number), shift

    def _number(self, arguments: Arguments, mem: Array, indices: Indices) -> Id:
        """An element's number in what is bound."""
        c, index_type = self.code, self.code.kernel.index_type
        if mem.contiguous:
            inside = row_major(c, indices, arguments.inner_extents(mem), index_type)
            inside = c.resize(inside, index_type, u32)
        else:
            inside = strided(c, arguments, mem, indices, u32)
        return c.m("IAdd", u32, arguments.address(mem), inside)


# ---- elements by number ----------------------------------------------------------------------------------------------
def row_major(c: Code, indices: Indices, extents: Sequence[Id], dtype: DType) -> Id:
    """((i0 * extent1 + i1) * extent2 + i2) ...: an element's number, below the number of elements."""
    if not indices:
        return c.m.const(0, dtype)
    total, *rest = (c.resize(index, source, dtype) for index, source in indices)
    for index, extent in zip(rest, extents, strict=True):
        total = c.m("IAdd", dtype, c.m("IMul", dtype, total, extent), index)
    return total


def strided(c: Code, arguments: Arguments, mem: Array, indices: Indices, dtype: DType) -> Id:
    """sum(index * stride)"""
    total = c.m.const(0, dtype)
    for axis, (index, source) in enumerate(indices):
        step = c.m("IMul", dtype, c.resize(index, source, dtype), arguments.stride(mem, axis))
        total = c.m("IAdd", dtype, total, step) if axis else step
    return total


def part_of_word(c: Code, number: Id, itemsize: int) -> tuple[Id, Id]:
    """The number of the word that a narrow element lies in, by the element's, and the element's first bit there."""
    m, log2_count = c.m, (4 // itemsize).bit_length() - 1
    word = m("ShiftRightLogical", u32, number, m.u32(log2_count))
    part = m("BitwiseAnd", u32, number, m.u32((1 << log2_count) - 1))
    return word, m("IMul", u32, part, m.u32(8 * itemsize))
