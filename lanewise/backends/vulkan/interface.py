"""What a kernel and its launch agree on: the argument block's slots, the push constants, the group's size.

The argument block lies in device memory, in 8-byte slots: for each memory its address, its extents, its strides in
elements; then the scalars, each in the low bytes of its slot.  The push constants are four such slots.  Where a device
has no addresses (`buffers` says what it has instead), there are bindings, and three push constants.

A module whose threads carry one logical block (`items` is 1) has a group for each block: group g of a dispatch runs
block `first_block + g`, and `end_block` is not read.  One whose threads carry several takes any number of groups, which
share out the blocks from `first_block` to `end_block`: group g runs `items` blocks from `first_block + items * g`, then
those `items * groups` further on, ...
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ... import dtypes
from ...dtypes import DType
from ...ir import Array, Block, Kernel, Op, Value
from .arithmetic import out_of_word
from .bindings import Binding
from .code import Code
from .features import Features
from .spirv import Id, MemoryAccess, StorageClass

if TYPE_CHECKING:
    from .buffers import Buffers

SLOT = 8
PUSH_CONSTANTS = ("arguments", "first_block", "num_blocks", "end_block")
"""The address of the argument block; the first block of this dispatch, the blocks of the whole launch, the block after
this dispatch's last one, these three of the kernel's index type.  A grid with more blocks than a dispatch may have
groups is run by several dispatches."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What a run time needs to know to launch a module."""

    kernel: str
    entry_point: str
    subgroup_size: int
    """The size to require (VK_EXT_subgroup_size_control), with full subgroups."""
    local_size: int
    """Threads of a group: the block rounded up to whole subgroups."""
    shared_bytes: int
    index_type: DType
    argument_slots: int
    arguments: tuple[str, ...]
    """The name of every slot of the argument block: `a`, `a.extent0`, `a.stride0`, `n`."""
    regular: bool
    """Whether it is for blocks in which every thread has an item, or for all."""
    items: int
    """Logical blocks that a thread carries at a time."""
    push_constants: tuple[str, ...] = PUSH_CONSTANTS
    bindings: tuple[Binding, ...] | None = None
    """The arrays that are bound, from binding 1 on, after the argument block; None where all have addresses."""

    @property
    def bound(self) -> tuple[str, ...]:
        """The names of all that is bound, from binding 0 on."""
        return () if self.bindings is None else ("arguments", *(binding.name for binding in self.bindings))

    @property
    def push_constant_bytes(self) -> int:
        return SLOT * len(self.push_constants)


def slots(kernel: Kernel) -> dict[tuple[str, object, int], int]:
    """The slot of everything in the argument block, by ("address" | "extent" | "stride" | "scalar", whose, axis)."""
    keys: list[tuple[str, object, int]] = []
    for mem in kernel.memories:
        keys.append(("address", mem, 0))
        keys += [("extent", mem, axis) for axis in range(mem.ndim)]
        keys += [("stride", mem, axis) for axis in range(mem.ndim)]
    keys += [("scalar", scalar, 0) for scalar in kernel.scalars]
    return {key: number for number, key in enumerate(keys)}


def push_constants(features: Features) -> tuple[str, ...]:
    """Those of a device with these features."""
    return PUSH_CONSTANTS if features.buffer_device_address else PUSH_CONSTANTS[1:]


def bound_arrays(kernel: Kernel) -> list[Array]:
    """The arrays that the kernel accesses, in the order of their bindings."""
    accessed = {op.attrs["mem"] for op in accesses(kernel)}
    return [mem for mem in kernel.memories if mem in accessed]


def describe(kernel: Kernel, items: int, features: Features) -> Interface:
    names: list[str] = []
    numbers = slots(kernel)
    for (what, whose, axis), number in numbers.items():
        if isinstance(whose, Array):
            name = whose.name if what == "address" else f"{whose.name}.{what}{axis}"
        else:
            assert isinstance(whose, Value)
            name = whose.hint or f"slot{number}"
        names.append(f"{name}.slot{number}" if name in names else name)

    def binding(mem: Array) -> Binding:
        slot = numbers["address", mem, 0]
        return Binding(names[slot], slot, mem.ndim, mem.dtype.itemsize)

    return Interface(
        kernel=kernel.name,
        entry_point="main",
        subgroup_size=kernel.subgroup_size,
        local_size=kernel.num_subgroups * kernel.subgroup_size,
        shared_bytes=kernel.shared_bytes,
        index_type=kernel.index_type,
        argument_slots=len(names),
        arguments=tuple(names),
        regular=kernel.regular,
        items=items,
        push_constants=push_constants(features),
        bindings=None if features.buffer_device_address else tuple(map(binding, bound_arrays(kernel))),
    )


class Arguments:
    """The argument block and the push constants in the module; what the kernel uses of them is loaded on entry."""

    def __init__(self, code: Code, buffers: Buffers, arrays: Collection[Array]) -> None:
        """`arrays` are those that the kernel accesses; `buffers` has declared them."""
        self.code = code
        m, kernel = code.m, code.kernel
        numbers = slots(kernel)
        index = m.type(kernel.index_type)
        wanted = sorted((numbers[key], key) for key in _used(kernel, arrays))
        types: list[Id] = []
        for _, (what, whose, _) in wanted:
            if isinstance(whose, Array):
                types.append(self._type_of(buffers, what, whose))
            else:
                assert isinstance(whose, Value)
                types.append(m.type(_slot_type(whose.type)))
        self._loaded: dict[tuple[str, object, int], Id] = {}
        pushed = {name: index for name in buffers.push_constants if name != "arguments"}
        block = None
        if wanted:
            block = m.struct([(SLOT * number, t) for (number, _), t in zip(wanted, types, strict=True)], "Arguments")
            pushed |= buffers.pushed(block)
        members = [(SLOT * n, pushed[name]) for n, name in enumerate(buffers.push_constants) if name in pushed]
        self._pushed = {name: pushed[name] for name in buffers.push_constants if name in pushed}
        self._push = m.global_variable(StorageClass.PushConstant, m.struct(members, "PushConstants"), "push")
        if block is None:
            return
        arguments = buffers.block(self, block)
        for member, ((_, key), t) in enumerate(zip(wanted, types, strict=True)):
            at = m("AccessChain", m.pointer(buffers.storage, t), arguments, m.u32(member))
            hint = key[1].name if key[0] == "address" and isinstance(key[1], Array) else ""
            loaded = m.emit("Load", t, at, *buffers.operands(MemoryAccess(0), SLOT), hint=hint)
            if isinstance(key[1], Value):
                loaded = self._scalar(loaded, key[1].type)
                code.ids[key[1]] = loaded
            self._loaded[key] = loaded

    def _scalar(self, word: Id, dtype: DType) -> Id:
        """The value of a scalar from its slot; narrow ones lie in the low bytes of a word."""
        return word if dtype.bits >= 32 else out_of_word(self.code, word, dtype)

    def _type_of(self, buffers: Buffers, what: str, mem: Array) -> Id:
        """The type of one of an array's slots."""
        if what == "address":
            return buffers.slot(mem)
        return self.code.m.type(self.code.kernel.index_type if what == "extent" else buffers.stride)

    def pushed(self, name: str) -> Id:
        """A push constant: all but the address of the argument block are of the index type."""
        m, t, member = self.code.m, self._pushed[name], list(self._pushed).index(name)
        return m("Load", t, m("AccessChain", m.pointer(StorageClass.PushConstant, t), self._push, m.u32(member)))

    def address(self, mem: Array) -> Id:
        """The array's address, or the number of its first element in what is bound."""
        return self._loaded["address", mem, 0]

    def inner_extents(self, mem: Array) -> list[Id]:
        """All but the first."""
        return [self.extent(mem, axis) for axis in range(1, mem.ndim)]

    def extent(self, mem: Array, axis: int) -> Id:
        """Of the index type."""
        return self._loaded["extent", mem, axis]

    def stride(self, mem: Array, axis: int) -> Id:
        """In elements, of the type that `Buffers` names."""
        return self._loaded["stride", mem, axis]


def _slot_type(dtype: DType) -> DType:
    return dtype if dtype.bits >= 32 else dtypes.u32


def _used(kernel: Kernel, arrays: Collection[Array]) -> Iterator[tuple[str, object, int]]:
    """The slots that the kernel reads, each once."""
    found: dict[tuple[str, object, int], None] = {}
    for mem in arrays:
        found["address", mem, 0] = None
        if not mem.contiguous:
            found.update({("stride", mem, axis): None for axis in range(mem.ndim)})
        else:
            found.update({("extent", mem, axis): None for axis in range(1, mem.ndim)})
    for op in kernel.body.walk():
        if op.opcode == "extent":
            found["extent", op.attrs["mem"], op.attrs["axis"]] = None
    read = set(reads(kernel.body))
    found.update({("scalar", scalar, 0): None for scalar in kernel.scalars if scalar in read})
    yield from found


def reads(block: Block) -> Iterator[Value]:
    """Every read of a value in a block and its regions."""
    for op in block.ops:
        yield from op.uses
        for region in op.regions:
            yield from reads(region)
    yield from block.yields


def accesses(kernel: Kernel) -> Iterator[Op]:
    """The kernel's loads, stores and atomics."""
    return (op for op in kernel.body.walk() if op.opcode in ("load", "store", "atomic"))
