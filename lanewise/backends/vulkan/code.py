"""What the emission of every operation shares: the module, the ids of the IR's values, the kernel's facts."""

from __future__ import annotations

from collections.abc import Callable

from ... import dtypes
from ...dtypes import DType
from ...errors import CompileError
from ...ir import Block, Kernel, Op, Value
from .module import Module
from .spirv import BuiltIn, Control, Id, Scope, Semantics


class Code:
    """The state of one emission.  `m` appends instructions; `ids` holds the SPIR-V id of each value met so far."""

    def __init__(self, kernel: Kernel, module: Module) -> None:
        self.kernel = kernel
        self.m = module
        self.ids: dict[Value, Id] = {}
        self.low_words = _low_words(kernel)
        """Ballots of which only the low word is read: their ids are of u32, so that they need no 64-bit integers."""
        self.extended: dict[Id, tuple[Id, DType]] = {}
        """Of each i64 made by extending a sign: from what, of which type."""

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

    def group(self) -> Id:
        """The number of the thread's group in its dispatch."""
        return self._first_of_three(BuiltIn.WorkgroupId, "group")

    def num_groups(self) -> Id:
        """The groups of the dispatch."""
        return self._first_of_three(BuiltIn.NumWorkgroups, "groups")

    def _first_of_three(self, which: BuiltIn, hint: str) -> Id:
        triple = self.m.vector(dtypes.u32, 3)
        loaded = self.m.at_entry("Load", triple, self.m.builtin(which, triple), hint=hint)
        return self.m.at_entry("CompositeExtract", dtypes.u32, loaded, 0)

    def loop(self, test: Callable[[], Id], body: Callable[[], None]) -> None:
        """While what `test` emits is true, what `body` emits: one flag, read at one place."""
        m = self.m
        head, at_test, inside, on, end = Id("loop"), Id("test"), Id("body"), Id("continue"), Id("endloop")
        m.do("Branch", head)
        m.label(head)
        m.do("LoopMerge", end, on, Control.NONE)
        m.do("Branch", at_test)
        m.label(at_test)
        m.do("BranchConditional", test(), inside, end)
        m.label(inside)
        body()
        m.do("Branch", on)
        m.label(on)
        m.do("Branch", head)
        m.label(end)

    # ---- small helpers that several operations use -----------------------------------------------------------------
    def resize(self, value: Id, source: DType, target: DType) -> Id:
        """An integer in another width, extended by the source's sign; the same id where the width is the same."""
        if source.bits == target.bits:
            return value
        made = self.m("SConvert" if source.is_signed else "UConvert", target, value)
        if source.is_signed and target.bits == 64:
            self.extended[made] = value, source
        return made

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
        if dtype.is_float and dtype.bits == 32:  # by its bits: a device may take a denormal for 0
            magnitude = self.m("BitwiseAnd", dtypes.u32, self.m("Bitcast", dtypes.u32, value), self.m.u32(2**31 - 1))
            return self.m("INotEqual", dtypes.bool_, magnitude, self.m.u32(0))
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


def _low_words(kernel: Kernel) -> set[Value]:
    if kernel.subgroup_size > 32:
        return set()
    found = {op.result for op in kernel.body.walk() if op.opcode == "subgroup.ballot_bits"}

    def keep(block: Block) -> None:
        found.difference_update(block.yields)
        for op in block.ops:
            if not (op.opcode == "cast" and op.result.type.is_int and op.result.type.bits <= 32):
                found.difference_update(op.uses)
            for region in op.regions:
                keep(region)

    keep(kernel.body)
    return found
