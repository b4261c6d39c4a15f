"""One kernel as one LLVM function: structured control flow becomes blocks and phis, a value one scalar of a thread.

The entry function runs a range of logical blocks, which the hardware's blocks share out: block `first + b`, then
`first + b + grid`, ...  A thread may carry several logical blocks at a time (`items`): the straight-line part of the
kernel is emitted for all of them side by side, so that their loads are in flight together; what has control flow of its
own follows block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from ... import dtypes
from ...ir import Array, Block, Kernel, Memory, Op, Shared, Value
from ...ir.arith import MATH
from ...passes.uniformity import analyse
from ...simt.primitives import lane_map
from .arguments import ArgumentBlock
from .arithmetic import ROWS, convert
from .lanes import from_words, to_words
from .memory import ACCESSES
from .target import GLOBAL, SHARED, Target
from .text import Writer, literal, memory_type, scalar_type


@dataclass(slots=True)
class Item:
    """One logical block that the thread is part of: its number (an i64) and the names of its values."""

    block: str
    names: dict[Value, str] = field(default_factory=dict)


class Emitter:
    """Emits one kernel for one target."""

    def __init__(self, target: Target, kernel: Kernel, items: int = 1) -> None:
        self.target = target
        self.kernel = kernel
        self.items = items
        self.arguments = ArgumentBlock.of(kernel)
        self.w = Writer()
        # Strictly: helpers too must hold the value, as they may be the lane that the hardware asks.
        self.uniform = analyse(kernel.body, kernel.scalars, kernel.subgroup_size, strict=True)
        self._arguments: dict[tuple[int, str], str] = {}
        self._bases: dict[Memory, str] = {}

    def function(self) -> str:
        """The function's definition."""
        first, end, grid = (
            self.argument(slot, "i64")
            for slot in (self.arguments.first_block, self.arguments.end_block, self.arguments.grid)
        )
        if self.items > 1:
            first = self.blocks(first, end, grid, self.items)
        self.blocks(first, end, grid, 1)
        self.w.do("ret void")
        signature = self.target.signature(self.kernel, self.arguments.size)
        return f"{signature} {{\n{self.w.body()}\n}}"

    # ---- the launch's blocks -----------------------------------------------------------------------------------
    def blocks(self, first: str, end: str, grid: str, items: int) -> str:
        """Run the blocks from `first` while `items` of them are left; the first block that is not run."""
        w = self.w
        mine = w.let(f"zext i32 {self.target.hardware_block(w)} to i64")
        step = grid
        if items > 1:
            mine, step = (w.let(f"mul i64 {value}, {items}") for value in (mine, grid))
            whole = w.let(f"sdiv i64 {w.let(f'sub i64 {end}, {first}')}, {items}")
            end = w.let(f"add i64 {first}, {w.let(f'mul i64 {whole}, {items}')}")
        start = w.let(f"add i64 {first}, {mine}")
        before, head, body, done = w.label, w.fresh("blocks"), w.fresh("block"), w.fresh("done")
        w.jump(head)
        w.start(head)
        number = w.phi("i64")
        number.add(start, before)
        w.branch(w.let(f"icmp slt i64 {number.name}, {end}"), body, done)
        w.start(body)
        carried = [Item(number.name)] + [Item(w.let(f"add i64 {number.name}, {k}")) for k in range(1, items)]
        for op in self.kernel.body.ops:
            self.side_by_side(op, carried)
        if self.kernel.shared:  # the next block writes what this one may still be reading
            self.target.block_barrier(w)
        number.add(w.let(f"add i64 {number.name}, {step}"), w.label)
        w.jump(head)
        w.start(done)
        return end

    # ---- arguments and stack -----------------------------------------------------------------------------------
    def argument(self, offset: int, type_: str) -> str:
        """A field of the argument block, loaded once, in the entry block."""
        if (offset, type_) not in self._arguments:
            w, pointer = self.w, f"ptr addrspace({self.target.argument_space})"
            place = w.let_in_entry(f"getelementptr i8, {pointer} %args, i64 {offset}")
            self._arguments[offset, type_] = w.let_in_entry(f"load {type_}, {pointer} {place}, align 8")
        return self._arguments[offset, type_]

    def scalar(self, value: Value) -> str:
        name = self.argument(self.arguments.scalars[value], memory_type(value.type))
        return self.w.let(f"icmp ne i8 {name}, 0") if value.type.is_bool else name

    def base(self, mem: Memory) -> str:
        """The pointer to a memory's first element, made once, in the entry block."""
        if mem not in self._bases:
            self._bases[mem] = self._base(mem)
        return self._bases[mem]

    def _base(self, mem: Memory) -> str:
        if isinstance(mem, Array):
            return self.argument(self.arguments.pointers[mem], f"ptr addrspace({GLOBAL})")
        if isinstance(mem, Shared):
            symbol, offset = self.target.shared_symbol(self.kernel), self.kernel.shared[mem]
            return self.w.let_in_entry(f"getelementptr i8, ptr addrspace({SHARED}) {symbol}, i64 {offset}")
        slot = f"[{prod(mem.shape)} x {memory_type(mem.dtype)}], align 8"
        return self.w.let_in_entry(f"alloca {slot}, addrspace({self.target.local_space})")

    def name(self, value: Value, item: Item) -> str:
        if value not in item.names:
            item.names[value] = self.scalar(value)  # a parameter: everything else is named where it is defined
        return item.names[value]

    def names(self, values: Sequence[Value], item: Item) -> list[str]:
        return [self.name(value, item) for value in values]

    # ---- operations --------------------------------------------------------------------------------------------
    def side_by_side(self, op: Op, items: Sequence[Item]) -> None:
        """One operation for all items: in one go, where the target can do that better than one by one."""
        together = self.target.natives[op.opcode].together if len(items) > 1 and self.target.keeps(op) else None
        if together is None:
            for item in items:
                self.op(op, item)
            return
        masks = [None if op.mask is None else self.name(op.mask, item) for item in items]
        results = together(self.w, op, [self.names(op.operands, item) for item in items], masks)
        for item, result in zip(items, results, strict=True):
            item.names[op.result] = result

    def op(self, op: Op, item: Item) -> None:
        if op.opcode in _CONTROL:
            _CONTROL[op.opcode](self, op, item)
            return
        args = self.names(op.operands, item)
        if op.opcode in ROWS:
            result = ROWS[op.opcode](self.w, op, args)
        elif op.opcode in ACCESSES:
            result = ACCESSES[op.opcode](self, op, args)
        elif op.opcode in _OPERATIONS:
            result = _OPERATIONS[op.opcode](self, op, args, item)
        elif self.target.keeps(op):
            mask = None if op.mask is None else self.name(op.mask, item)
            result = self.target.natives[op.opcode].emit(self.w, op, args, mask)
        elif op.opcode in MATH:
            result = self.target.math(self.w, op, args)
        else:
            raise self.target.unsupported(op, "it has no code for it")
        if op.results:
            assert result is not None
            results = (result,) if isinstance(result, str) else result
            item.names.update(zip(op.results, results, strict=True))

    def region(self, block: Block, item: Item) -> list[str]:
        """Emit a region here; the names of what it yields."""
        for op in block.ops:
            self.op(op, item)
        return self.names(block.yields, item)

    def if_(self, op: Op, item: Item) -> None:
        w = self.w
        then, orelse, join = w.fresh("then"), w.fresh("else"), w.fresh("join")
        w.branch(self.name(op.operands[0], item), then, orelse)
        yielded: list[tuple[list[str], str]] = []
        for label, region in zip((then, orelse), op.regions, strict=True):
            w.start(label)
            yielded.append((self.region(region, item), w.label))
            w.jump(join)
        w.start(join)
        for number, result in enumerate(op.results):
            phi = w.phi(scalar_type(result.type))
            for values, label in yielded:
                phi.add(values[number], label)
            item.names[result] = phi.name

    def loop(self, op: Op, item: Item) -> None:
        """before; while its answer is yes: after, before.  What is forwarded dominates the exit."""
        w = self.w
        before, after = op.regions
        inits, entered = self.names(op.operands, item), w.label
        head, body, done = w.fresh("loop"), w.fresh("body"), w.fresh("exit")
        w.jump(head)
        w.start(head)
        phis = [w.phi(scalar_type(arg.type)) for arg in before.args]
        for arg, phi, init in zip(before.args, phis, inits, strict=True):
            phi.add(init, entered)
            item.names[arg] = phi.name
        go_on, *forwarded = self.region(before, item)
        w.branch(go_on, body, done)
        w.start(body)
        item.names.update(zip(after.args, forwarded, strict=True))
        for phi, following in zip(phis, self.region(after, item), strict=True):
            phi.add(following, w.label)
        w.jump(head)
        w.start(done)
        item.names.update(zip(op.results, forwarded, strict=True))

    def num_blocks(self, op: Op) -> str:
        """ceil(product of the extents / block_dim)"""
        w, total = self.w, "1"
        for extent in self.kernel.extents:
            wide = convert(w, self.scalar(extent), extent.type, dtypes.i64)
            total = w.let(f"mul i64 {total}, {wide}")
        rounded = w.let(f"add i64 {total}, {self.kernel.block_dim - 1}")
        return convert(w, w.let(f"sdiv i64 {rounded}, {self.kernel.block_dim}"), dtypes.i64, op.result.type)

    # ---- between lanes -----------------------------------------------------------------------------------------
    def permute(self, op: Op, value: str) -> str:
        size = self.kernel.subgroup_size
        sources = lane_map(op.attrs["kind"], op.attrs["amount"], op.attrs["log2_size"], size)
        if sources == tuple(range(size)):
            return value
        return self.by_words(op, value, lambda word, lane: self.target.permute(self.w, word, sources, lane))

    def gather(self, op: Op, value: str, index: str) -> str:
        uniform = self.uniform.is_uniform(op.operands[1])
        return self.by_words(
            op, value, lambda word, lane: self.target.gather(self.w, word, index, lane, uniform=uniform)
        )

    def by_words(self, op: Op, value: str, move: Callable[[str, str], str]) -> str:
        lane, t = self.target.lane(self.w), op.result.type
        words = [move(word, lane) for word in to_words(self.w, value, t)]
        return from_words(self.w, words, t)

    def clock(self) -> str:
        return self.w.call("i64", "llvm.readcyclecounter")

    def fence(self, op: Op) -> None:
        self.w.do(f'fence syncscope("{self.target.scopes[op.attrs["level"]]}") acq_rel')


_CONTROL: dict[str, Callable[[Emitter, Op, Item], None]] = {"if": Emitter.if_, "loop": Emitter.loop}

_OPERATIONS: dict[str, Callable[[Emitter, Op, Sequence[str], Item], str | None]] = {
    "const": lambda e, op, args, item: literal(op.attrs["value"], op.result.type),
    "undef": lambda e, op, args, item: literal(0, op.result.type),
    "extent": lambda e, op, args, item: convert(
        e.w,
        e.argument(e.arguments.extent(op.attrs["mem"], op.attrs["axis"]), "i64"),
        dtypes.i64,
        op.result.type,
    ),
    "lane": lambda e, op, args, item: e.target.lane(e.w),
    "subgroup_id": lambda e, op, args, item: e.target.subgroup_id(e.w),
    "block_idx": lambda e, op, args, item: convert(e.w, item.block, dtypes.i64, op.result.type),
    "num_blocks": lambda e, op, args, item: e.num_blocks(op),
    "clock": lambda e, op, args, item: e.clock(),
    "fence": lambda e, op, args, item: e.fence(op),
    "subgroup.permute": lambda e, op, args, item: e.permute(op, *args),
    "subgroup.gather": lambda e, op, args, item: e.gather(op, *args),
    "subgroup.ballot_bits": lambda e, op, args, item: e.target.ballot(e.w, *args),
    "subgroup.any": lambda e, op, args, item: e.target.any(e.w, *args),
    "subgroup.barrier": lambda e, op, args, item: e.target.subgroup_barrier(e.w),
    "block.barrier": lambda e, op, args, item: e.target.block_barrier(e.w),
}
