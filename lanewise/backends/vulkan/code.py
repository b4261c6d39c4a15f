"""What the emission of every operation shares: the module, the ids of the IR's values, the kernel's facts."""

from __future__ import annotations

from ... import dtypes
from ...dtypes import DType
from ...errors import CompileError
from ...ir import Kernel, Op, Value
from .module import Module
from .spirv import BuiltIn, Id, Scope, Semantics


class Code:
    """The state of one emission.  `m` appends instructions; `ids` holds the SPIR-V id of each value met so far."""

    def __init__(self, kernel: Kernel, module: Module) -> None:
        self.kernel = kernel
        self.m = module
        self.ids: dict[Value, Id] = {}

    def values(self, op: Op) -> tuple[Id, ...]:
        """The ids of the operands."""
        return tuple(self.ids[v] for v in op.operands)

    def error(self, op: Op, why: str, hint: str = "") -> CompileError:
        """An error that says which operation, of which type, this backend cannot do."""
        types = [v.type for v in (*op.results, *op.operands)]
        if "mem" in op.attrs:
            types = [op.attrs["mem"].dtype]
        elif op.opcode == "cast":
            types = [op.operands[0].type, op.result.type]
        name = f"atomic_{op.attrs['kind']}" if op.opcode == "atomic" else op.attrs.get("called", op.opcode)
        of = f" of {' to '.join(t.name for t in (types if op.opcode == 'cast' else types[:1]))}" if types else ""
        return CompileError(f"{name}{of} cannot be compiled for Vulkan", loc=op.loc, why=why, hint=hint)

    # ---- where the thread is ---------------------------------------------------------------------------------------
    def builtin(self, which: BuiltIn, hint: str) -> Id:
        """A built-in 32-bit value."""
        u32 = self.m.type(dtypes.u32)
        return self.m.at_entry("Load", u32, self.m.builtin(which, u32), hint=hint)

    def lane(self) -> Id:
        return self.builtin(BuiltIn.SubgroupLocalInvocationId, "lane")

    def subgroup_id(self) -> Id:
        return self.builtin(BuiltIn.SubgroupId, "subgroup_id")

    def block_idx(self) -> Id:
        """The number of the thread's group in its dispatch."""
        triple = self.m.vector(dtypes.u32, 3)
        group = self.m.at_entry("Load", triple, self.m.builtin(BuiltIn.WorkgroupId, triple), hint="group")
        return self.m.at_entry("CompositeExtract", dtypes.u32, group, 0)

    # ---- small helpers that several operations use -----------------------------------------------------------------
    def resize(self, value: Id, source: DType, target: DType) -> Id:
        """An integer in another width, extended by the source's sign; the same id where the width is the same."""
        if source.bits == target.bits:
            return value
        return self.m("SConvert" if source.is_signed else "UConvert", target, value)

    def bitcast(self, value: Id, source: DType, target: DType) -> Id:
        if source == target or (source.is_int and target.is_int):
            return value
        return self.m("Bitcast", target, value)

    def is_zero(self, value: Id, dtype: DType) -> Id:
        return self.m("IEqual", dtypes.bool_, value, self.m.const(0, dtype))

    def nonzero(self, value: Id, dtype: DType) -> Id:
        """`value != 0`; a NaN is not 0."""
        if dtype.is_bool:
            return value
        zero = self.m.const(0, dtype)
        return self.m("FUnordNotEqual" if dtype.is_float else "INotEqual", dtypes.bool_, value, zero)

    def from_bool(self, value: Id, dtype: DType) -> Id:
        return self.m("Select", dtype, value, self.m.const(1, dtype), self.m.const(0, dtype))

    # ---- the memory model --------------------------------------------------------------------------------------------
    @property
    def vulkan_model(self) -> bool:
        return self.m.features.vulkan_memory_model

    def scope(self, scope: Scope) -> Id:
        return self.m.u32(scope)

    def semantics(self, memory: Semantics) -> Id:
        """Acquire and release of these kinds of memory; the Vulkan model wants it said that others see it."""
        flags = memory | Semantics.AcquireRelease
        if self.vulkan_model:
            flags |= Semantics.MakeAvailable | Semantics.MakeVisible
        return self.m.u32(flags)

    @property
    def device_scope(self) -> Scope:
        """Every block of a launch: in the Vulkan model the queue's scope, as the device's is an extra feature there."""
        return Scope.QueueFamily if self.vulkan_model else Scope.Device
