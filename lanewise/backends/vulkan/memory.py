"""Loads, stores, atomics, barriers and fences.

Arrays are reached by physical address; shared arrays are Workgroup variables, local ones Function variables.  A memory
is declared with the type that its accesses allow: a bool in memory is a byte; floats with an atomic that the device has
only on integers are kept as integers of their width.

With the Vulkan memory model the accesses of a kernel that orders memory at all are non-private, and its barriers and
fences make writes available and visible.  With the GLSL model its arrays are coherent instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ... import dtypes
from ...dtypes import DType, bool_
from ...ir import Array, Kernel, Local, Memory, Op, Shared
from .arithmetic import pick
from .code import Code
from .features import MissingFeature
from .interface import Arguments, accesses
from .module import sign_free
from .spirv import Capability, Control, Id, MemoryAccess, Scope, Semantics, StorageClass

# ---- atomics that are one instruction, by the kind of the element ----------------------------------------------------
_INTEGER_ATOMICS = {
    "add": ("AtomicIAdd", "AtomicIAdd"),
    "sub": ("AtomicISub", "AtomicISub"),
    "min": ("AtomicSMin", "AtomicUMin"),
    "max": ("AtomicSMax", "AtomicUMax"),
    "and": ("AtomicAnd", "AtomicAnd"),
    "or": ("AtomicOr", "AtomicOr"),
    "xor": ("AtomicXor", "AtomicXor"),
}
_FLOAT_ADD = {32: Capability.AtomicFloat32AddEXT, 64: Capability.AtomicFloat64AddEXT}
_ORDERING = frozenset({"block.barrier", "subgroup.barrier", "fence", "atomic"})


@dataclass(frozen=True, slots=True)
class _Place:
    """How one memory is declared: its variable (or pointer type), storage class and element type."""

    storage: StorageClass
    element: DType
    variable: Id


class Memories:
    """All memories of one kernel."""

    def __init__(self, code: Code) -> None:
        self.code = code
        kernel = code.kernel
        self.ordered = any(op.opcode in _ORDERING for op in kernel.body.walk())
        self._as_integers = _floats_as_integers(kernel, code)
        self.places: dict[Memory, _Place] = {}
        buffers: dict[Array, Id] = {}
        for op in accesses(kernel):
            mem: Memory = op.attrs["mem"]
            if mem in self.places:
                continue
            try:
                self.places[mem] = self._declare(mem)
            except MissingFeature as missing:
                raise code.error(op, str(missing)) from None
            if isinstance(mem, Array):
                buffers[mem] = self.places[mem].variable
        self.arguments = Arguments(code, buffers)

    def _declare(self, mem: Memory) -> _Place:
        m = self.code.m
        dtype = sign_free(mem.dtype)
        if mem in self._as_integers:
            dtype = dtypes.unsigned_of(dtype.bits)
        if isinstance(mem, Local):
            variable = m.variable(m.array(m.type(dtype), prod(mem.shape)), mem.name)
            return _Place(StorageClass.Function, dtype, variable)
        if dtype.is_bool:
            dtype = dtypes.u8
        if isinstance(mem, Shared):
            array = m.array(m.type(dtype), prod(mem.shape))
            return _Place(StorageClass.Workgroup, dtype, m.global_variable(StorageClass.Workgroup, array, mem.name))
        coherent = self.ordered and not self.code.vulkan_model
        pointer = m.buffer(m.stored(dtype), dtype.itemsize, coherent=coherent)
        return _Place(StorageClass.PhysicalStorageBuffer, dtype, pointer)

    # ---- addresses -------------------------------------------------------------------------------------------------
    def pointer(self, op: Op) -> tuple[Id, _Place]:
        """A pointer to the element that an access names."""
        mem: Memory = op.attrs["mem"]
        place, m = self.places[mem], self.code.m
        axes = mem.ndim if isinstance(mem, Array) else len(mem.shape)
        indices = list(zip(self.code.values(op), (v.type for v in op.operands), strict=True))[:axes]
        to_element = m.pointer(place.storage, m.type(place.element))
        if isinstance(mem, Array):
            base, zero = self.arguments.address(mem), m.u32(0)
            if mem.contiguous:
                extents = [self.arguments.extent(mem, axis) for axis in range(1, mem.ndim)]
                index = self._row_major(indices, extents, self.code.kernel.index_type)
                return m("AccessChain", to_element, base, zero, index), place
            moved = self._strided(mem, indices, base, place)
            return m("AccessChain", to_element, moved, zero, zero), place
        extents = [m.u32(extent) for extent in mem.shape[1:]]
        return m("AccessChain", to_element, place.variable, self._row_major(indices, extents, dtypes.i32)), place

    def _row_major(self, indices: Sequence[tuple[Id, DType]], extents: Sequence[Id], dtype: DType) -> Id:
        """((i0 * extent1 + i1) * extent2 + i2) ...: an element's number, below the number of elements."""
        c, m = self.code, self.code.m
        if not indices:
            return m.const(0, dtype)
        total, *rest = (c.resize(index, source, dtype) for index, source in indices)
        for index, extent in zip(rest, extents, strict=True):
            total = m("IAdd", dtype, m("IMul", dtype, total, extent), index)
        return total

    def _strided(self, mem: Array, indices: Sequence[tuple[Id, DType]], base: Id, place: _Place) -> Id:
        """A pointer to `base + itemsize * sum(index * stride)`, in 64 bits: strides may be large or negative."""
        c, m, wide = self.code, self.code.m, dtypes.i64
        total = m.const(0, wide)
        for axis, (index, source) in enumerate(indices):
            step = m("IMul", wide, c.resize(index, source, wide), self.arguments.stride(mem, axis))
            total = m("IAdd", wide, total, step) if axis else step
        offset = m("IMul", wide, total, m.const(mem.dtype.itemsize, wide))
        address = m("IAdd", wide, m("ConvertPtrToU", wide, base), offset)
        return m("ConvertUToPtr", place.variable, address)

    def _operands(self, place: _Place) -> tuple[MemoryAccess | int, ...]:
        """The memory operands of an access."""
        flags = MemoryAccess(0)
        if self.ordered and self.code.vulkan_model and place.storage is not StorageClass.Function:
            flags |= MemoryAccess.NonPrivatePointer
        if place.storage is StorageClass.PhysicalStorageBuffer:
            return flags | MemoryAccess.Aligned, place.element.itemsize
        return (flags,) if flags else ()

    # ---- accesses ----------------------------------------------------------------------------------------------------
    def load(self, op: Op) -> Id:
        pointer, place = self.pointer(op)
        return self._unpacked(self._raw_load(pointer, place, op.result.hint), op.attrs["mem"].dtype, place)

    def store(self, op: Op) -> None:
        pointer, place = self.pointer(op)
        value = self._packed(self.code.values(op)[-1], op.attrs["mem"].dtype, place)
        self.code.m.do("Store", pointer, value, *self._operands(place))

    def _raw_load(self, pointer: Id, place: _Place, hint: str = "") -> Id:
        return self.code.m.emit("Load", place.element, pointer, *self._operands(place), hint=hint)

    def _packed(self, value: Id, dtype: DType, place: _Place) -> Id:
        c = self.code
        if dtype.is_bool and place.element != dtype:
            return c.from_bool(value, place.element)
        return c.bitcast(value, sign_free(dtype), place.element)

    def _unpacked(self, value: Id, dtype: DType, place: _Place) -> Id:
        c = self.code
        if dtype.is_bool and place.element != dtype:
            return c.nonzero(value, place.element)
        return c.bitcast(value, place.element, sign_free(dtype))

    # ---- atomics: relaxed, at the scope of all who may see the memory ------------------------------------------------
    def atomic(self, op: Op) -> Id:
        """The old value."""
        m, mem, kind = self.code.m, op.attrs["mem"], op.attrs["kind"]
        pointer, place = self.pointer(op)
        dtype: DType = mem.dtype
        axes = mem.ndim if isinstance(mem, Array) else len(mem.shape)
        values = self.code.values(op)[axes:]
        if isinstance(mem, Local):
            old = self._unpacked(self._raw_load(pointer, place), dtype, place)
            m.do("Store", pointer, self._packed(self._combined(kind, old, values, dtype), dtype, place))
            return old
        if dtype.is_bool or dtype.bits < 32:
            raise self.code.error(op, "Vulkan has atomics of 32 and 64 bits", "keep the array in i32, u32 or f32")
        if place.element.bits == 64 and place.element.is_int:
            self._require_int64(op, place)
        how = (self.code.scope(self._scope(place)), m.u32(0))
        values = tuple(self._packed(v, dtype, place) for v in values)
        if kind == "exchange":
            old = m("AtomicExchange", place.element, pointer, *how, *values)
        elif kind == "cas":
            compare, new = values
            old = m("AtomicCompareExchange", place.element, pointer, *how, how[1], new, compare)
        elif dtype.is_int:
            name = _INTEGER_ATOMICS[kind][dtype.kind == "u"]
            old = m(name, place.element, pointer, *how, *values)
        elif place.element.is_float:
            m.require(_FLOAT_ADD[dtype.bits])
            added = values[0] if kind == "add" else m("FNegate", dtype, values[0])
            old = m("AtomicFAddEXT", dtype, pointer, *how, added)
        else:
            old = self._retry(kind, pointer, place, how, op)
        return self._unpacked(old, dtype, place)

    def _retry(self, kind: str, pointer: Id, place: _Place, how: tuple[Id, Id], op: Op) -> Id:
        """Compare and exchange until nobody came between; the loop's flag is whether somebody did."""
        m, mem = self.code.m, op.attrs["mem"]
        element = m.type(place.element)
        values = self.code.values(op)[-1:]
        seen = m.variable(element)
        m.do("Store", seen, m("AtomicLoad", element, pointer, *how))
        head, body, on, end = Id(), Id(), Id(), Id()
        m.do("Branch", head)
        m.label(head)
        m.do("LoopMerge", end, on, Control.NONE)
        m.do("Branch", body)
        m.label(body)
        old = m("Load", element, seen)
        new = self._combined(kind, self._unpacked(old, mem.dtype, place), values, mem.dtype)
        found = m("AtomicCompareExchange", element, pointer, *how, how[1], self._packed(new, mem.dtype, place), old)
        m.do("Store", seen, found)
        m.do("BranchConditional", m("IEqual", bool_, found, old), end, on)
        m.label(on)
        m.do("Branch", head)
        m.label(end)
        return m("Load", element, seen)

    def _combined(self, kind: str, old: Id, values: Sequence[Id], dtype: DType) -> Id:
        """What an atomic writes."""
        m = self.code.m
        if kind == "exchange":
            return values[0]
        if kind == "cas":
            compare, new = values
            same = {"b": "LogicalEqual", "f": "FOrdEqual"}.get(dtype.kind, "IEqual")
            return m("Select", dtype, m(same, bool_, old, compare), new, old)
        return _COMBINE[kind](self.code, dtype, old, values[0])

    def _scope(self, place: _Place) -> Scope:
        return Scope.Workgroup if place.storage is StorageClass.Workgroup else self.code.device_scope

    def _require_int64(self, op: Op, place: _Place) -> None:
        features = self.code.m.features
        shared = place.storage is StorageClass.Workgroup
        if not (features.shared_int64_atomics if shared else features.buffer_int64_atomics):
            name = "shaderSharedInt64Atomics" if shared else "shaderBufferInt64Atomics"
            raise self.code.error(op, f"the device has no {name}")
        self.code.m.require(Capability.Int64Atomics)

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
    features = code.m.features
    found: set[Memory] = set()
    for op in accesses(kernel):
        mem: Memory = op.attrs["mem"]
        if op.opcode != "atomic" or not mem.dtype.is_float or isinstance(mem, Local):
            continue
        where = "shared" if isinstance(mem, Shared) else "buffer"
        adds = getattr(features, f"{where}_float{mem.dtype.bits}_atomic_add", False)
        if not (op.attrs["kind"] == "exchange" or (op.attrs["kind"] in ("add", "sub") and adds)):
            found.add(mem)
    return found


def _op(integer: str, float_: str = "", bool_op: str = "") -> Callable[[Code, DType, Id, Id], Id]:
    names = {"i": integer, "u": integer, "f": float_, "b": bool_op}
    return lambda c, dtype, old, value: c.m(names[dtype.kind], dtype, old, value)


def _extreme(largest: bool) -> Callable[[Code, DType, Id, Id], Id]:
    def combine(c: Code, dtype: DType, old: Id, value: Id) -> Id:
        if dtype.is_float:
            return pick(c, dtype, old, value, largest=largest)
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
