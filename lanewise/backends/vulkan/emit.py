"""A kernel in convergent form as a SPIR-V module.

The IR's control flow is SPIR-V's: `if` is a selection, `loop` a loop that a flag controls at one place.

A value that leaves a region goes through a Function variable, not an OpPhi.  That is what the compilers of shading
languages emit, so it is what drivers are used to (several turn phis into such variables first), and a store is masked
by the lanes that are still in a loop, where some drivers let later rounds overwrite a value that is used outside.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ... import dtypes
from ...dtypes import u32
from ...errors import CompileError
from ...ir import OPCODES, Block, Kernel, Op, Value
from ...ir.arith import MATH
from ..gpu.schedule import can_interleave
from . import lanes, natives
from .arithmetic import arithmetic
from .atomics import atomic
from .code import Code
from .features import Features, MissingFeature
from .interface import Interface, describe, reads
from .math import math_function
from .memory import Memories
from .module import Module
from .remainder import expand_float_division
from .spirv import Capability, Control, ExecutionMode, Id, Instruction, Scope, disassemble, encode


@dataclass(frozen=True)
class SpirvModule:
    """A compute module, as text and as words, and what a launch must give it."""

    instructions: tuple[Instruction, ...]
    interface: Interface
    needed: tuple[str, ...]
    """The features of the device that it uses, by Vulkan's names."""

    @cached_property
    def text(self) -> str:
        """In the assembler's syntax, after a head that says how the module is launched."""
        i = self.interface
        arguments = ", ".join(f"{8 * number}: {name}" for number, name in enumerate(i.arguments))
        head = (
            f"; {i.kernel}: {i.local_size} threads, subgroups of {i.subgroup_size}, {i.shared_bytes} shared bytes\n"
            f"; push constants: {', '.join(i.push_constants)}\n"
            f"; arguments: {arguments}\n"
        )
        if i.bound:
            head += f"; bindings: {', '.join(i.bound)}\n"
        return head + disassemble(self.instructions)

    @cached_property
    def words(self) -> list[int]:
        return encode(self.instructions)

    @property
    def bytes(self) -> bytes:
        return struct.pack(f"<{len(self.words)}I", *self.words)


def emit_spirv(kernel: Kernel, features: Features, items: int = 1) -> SpirvModule:
    """The module of a kernel that `passes.prepare` made; float `//` and `%` in it are expanded in place.

    `items` is the number of logical blocks that a thread carries at a time, where the kernel allows it.  CompileError
    where the device lacks something: the operation, its type, and the feature.
    """
    expand_float_division(kernel)
    return _Emitter(kernel, features, items if can_interleave(kernel) else 1).run()


class _Emitter:
    def __init__(self, kernel: Kernel, features: Features, items: int) -> None:
        self.kernel = kernel
        self.items = items
        self.m = Module(features)
        self.c = Code(kernel, self.m)
        self.read = set(reads(kernel.body))

    def run(self) -> SpirvModule:
        m, kernel = self.m, self.kernel
        interface = describe(kernel, self.items, m.features)
        try:
            self.model()
            self.memories = Memories(self.c)
        except MissingFeature as missing:  # for what no operation asks, such as a scalar's type
            what = f"{kernel.name} cannot be compiled for Vulkan"
            raise CompileError(what, loc=kernel.loc, why=str(missing)) from None
        self.table = self.operations()
        self.blocks()
        m.mode(ExecutionMode.LocalSize, interface.local_size, 1, 1)
        self.float_controls()
        if m.features.maximal_reconvergence:
            m.mode(ExecutionMode.MaximallyReconvergesKHR)
            m.need("shaderMaximalReconvergence")
        return SpirvModule(tuple(m.finish(interface.entry_point)), interface, m.needed)

    def model(self) -> None:
        """What every kernel needs."""
        self.m.require(Capability.GroupNonUniform)
        if self.m.features.vulkan_memory_model:
            self.m.require(Capability.VulkanMemoryModel)

    def float_controls(self) -> None:
        """For the float types in use, as far as the device lets them be set."""
        f = self.m.features
        for widths, capability, mode in (
            (f.denorm_preserve, Capability.DenormPreserve, ExecutionMode.DenormPreserve),
            (
                f.signed_zero_inf_nan_preserve,
                Capability.SignedZeroInfNanPreserve,
                ExecutionMode.SignedZeroInfNanPreserve,
            ),
            (f.rounding_mode_rte, Capability.RoundingModeRTE, ExecutionMode.RoundingModeRTE),
        ):
            for width in sorted(widths & self.m.float_widths):
                self.m.require(capability)
                self.m.mode(mode, width)

    # ---- operations ------------------------------------------------------------------------------------------------
    def operations(self) -> dict[str, Callable[[Op], Id | None]]:
        """Every opcode that is no control flow and no arithmetic."""
        memories = self.memories
        table: dict[str, Callable[[Op], Id | None]] = {
            "const": lambda op: self.m.const(op.attrs["value"], op.result.type),
            "undef": lambda op: self.m.const(0, op.result.type),
            "extent": self.extent,
            "lane": lambda op: self.c.lane(),
            "subgroup_id": lambda op: self.c.subgroup_id(),
            "block_idx": self.block_idx,
            "num_blocks": lambda op: self.as_index(memories.arguments.pushed("num_blocks"), op),
            "clock": self.clock,
            "load": memories.load,
            "store": memories.store,
            "atomic": lambda op: atomic(memories, op),
            "block.barrier": memories.barrier,
            "subgroup.barrier": memories.subgroup_barrier,
            "fence": memories.fence,
        }
        for name, emit in lanes.EMIT.items():
            table[name] = lambda op, emit=emit: emit(self.c, op)
        for name in natives.OPERATIONS:
            table[name] = lambda op: natives.fold(self.c, op)
        for name in MATH:
            table[name] = lambda op: math_function(self.c, op)
        return table

    def op(self, op: Op) -> None:
        if op.opcode in ("if", "loop"):
            getattr(self, f"{op.opcode}_")(op)
            return
        emit = self.table.get(op.opcode)
        if emit is None:
            if OPCODES[op.opcode].meaning is None or OPCODES[op.opcode].convergent:
                raise self.c.error(op, "a Vulkan kernel has no way to do it")
            emit = self.arithmetic
        try:
            made = emit(op)
        except MissingFeature as missing:
            raise self.c.error(op, str(missing)) from None
        if made is not None:
            self.c.ids[op.result] = made

    def arithmetic(self, op: Op) -> Id:
        return arithmetic(self.c, op)

    def as_index(self, value: Id, op: Op) -> Id:
        """A value of the kernel's index type in the operation's."""
        return self.c.resize(value, self.kernel.index_type, op.result.type)

    def extent(self, op: Op) -> Id:
        return self.as_index(self.memories.arguments.extent(op.attrs["mem"], op.attrs["axis"]), op)

    def block_idx(self, op: Op) -> Id:
        return self.as_index(self.block_number, op)

    def clock(self, op: Op) -> Id:
        self.m.require(Capability.ShaderClockKHR)
        return self.m("ReadClockKHR", dtypes.u64, self.c.scope(Scope.Subgroup))

    # ---- the launch's blocks -----------------------------------------------------------------------------------------
    def blocks(self) -> None:
        """All blocks of the thread's group, as `interface` says which they are."""
        first, index = self.memories.arguments.pushed("first_block"), self.kernel.index_type
        if self.items == 1:
            self.side_by_side([self.m("IAdd", index, first, self.c.resize(self.c.group(), u32, index))])
            return
        end, items = self.memories.arguments.pushed("end_block"), self.m.const(self.items, index)
        rest = self.m("UMod", index, self.m("ISub", index, end, first), items)
        whole = self.m("ISub", index, end, rest)
        self.strided(first, whole, self.items)
        self.strided(whole, end, 1)

    def strided(self, first: Id, end: Id, items: int) -> None:
        """The group's share of these blocks, `items` at a time."""
        m, index, step = self.m, self.kernel.index_type, self.m.const(items, self.kernel.index_type)

        def scaled(count: Id) -> Id:
            wide = self.c.resize(count, u32, index)
            return wide if items == 1 else m("IMul", index, wide, step)

        variable = m.variable(m.type(index), "block_var")
        m.do("Store", variable, m("IAdd", index, first, scaled(self.c.group())))
        number = Id()

        def test() -> Id:
            nonlocal number
            number = m.emit("Load", index, variable, hint="block")
            return m("ULessThan", dtypes.bool_, number, end)  # the step may have passed 2**31, but not 2**32

        def body() -> None:
            self.side_by_side([number, *(m("IAdd", index, number, m.const(k, index)) for k in range(1, items))])
            m.do("Store", variable, m("IAdd", index, number, scaled(self.c.num_groups())))

        self.c.loop(test, body)

    def side_by_side(self, numbers: Sequence[Id]) -> None:
        """The blocks of these numbers, operation by operation; what has control flow follows block by block."""
        known = self.c.ids
        items = [(number, dict(known)) for number in numbers]
        for op in self.kernel.body.ops:
            for self.block_number, self.c.ids in items:
                self.op(op)
        self.c.ids = known

    # ---- control flow ------------------------------------------------------------------------------------------------
    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def outgoing(self, values: Sequence[Value]) -> dict[Value, Id]:
        """A variable for each of these values that somebody reads."""
        return {
            v: self.m.variable(self.m.type(v.type), f"{v.hint}_var" if v.hint else "") for v in values if v in self.read
        }

    def save(self, variables: Mapping[Value, Id], targets: Sequence[Value], sources: Sequence[Value]) -> None:
        """Store each source in the variable of its target."""
        for target, source in zip(targets, sources, strict=True):
            if target in variables:
                self.m.do("Store", variables[target], self.c.ids[source])

    def restore(self, variables: Mapping[Value, Id]) -> None:
        for value, variable in variables.items():
            self.c.ids[value] = self.m.emit("Load", value.type, variable, hint=value.hint)

    def if_(self, op: Op) -> None:
        m, (then, orelse) = self.m, op.regions
        results = self.outgoing(op.results)
        taken, other, merge = Id("then"), Id("else"), Id("endif")
        empty = not orelse.ops and not orelse.yields
        m.do("SelectionMerge", merge, Control.NONE)
        m.do("BranchConditional", self.c.ids[op.operands[0]], taken, merge if empty else other)
        for label, region in ((taken, then), (other, orelse)):
            if region is orelse and empty:
                continue
            m.label(label)
            self.block(region)
            self.save(results, op.results, region.yields)
            m.do("Branch", merge)
        m.label(merge)
        self.restore(results)

    def loop_(self, op: Op) -> None:
        """The flag is tested once, at the end of `before`; what `before` forwards is stored for those who leave."""
        before, after = op.regions
        args, results = self.outgoing(before.args), self.outgoing(op.results)
        self.save(args, before.args, op.operands)
        go_on, *forwarded = before.yields

        def test() -> Id:
            self.restore(args)
            self.block(before)
            self.save(results, op.results, forwarded)
            return self.c.ids[go_on]

        def body() -> None:
            for arg, value in zip(after.args, forwarded, strict=True):
                self.c.ids[arg] = self.c.ids[value]
            self.block(after)
            self.save(args, before.args, after.yields)

        self.c.loop(test, body)
        self.restore(results)
