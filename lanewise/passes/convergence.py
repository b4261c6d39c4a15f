"""Makes control flow convergent: every cross-lane operation ends up where the whole subgroup runs, every barrier where
the whole block runs, with an explicit mask of the lanes that are active there (None where all of them are).

Code without such operations is left as it is, guarded by the mask where it touches memory.  A varying `if` that holds
an operation is cut at it: the condition joins the mask.  A varying `loop` that holds one runs while any lane is in it;
a lane that left stays to the end as a helper, with its results frozen at the time it left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..errors import CompileError, Loc
from ..ir import OPCODES, Block, Builder, Effect, Kernel, Level, Op, Value
from ..ir.clone import clone_op, fresh, renamed
from .uniformity import analyse


def converge(kernel: Kernel) -> Kernel:
    """The same kernel in convergent form."""
    check_places(kernel)
    pass_ = _Converge(kernel)
    pass_.run(kernel.body, None)  # the prologue computes `exists`, and what follows it has that mask
    kernel.body = pass_.b.block
    if kernel.exists is not None:
        kernel.exists = pass_.names[kernel.exists]
    return kernel


# ---- where operations may stand -----------------------------------------------------------------------------------
def check_places(kernel: Kernel) -> None:
    """Refuse a barrier in control flow that is not block-uniform, lanes that ended their item aside.

    Refuse a cross-lane operation in what is evaluated lazily, where lanes may differ in whether they evaluate it.
    """
    levels = analyse(kernel.body, kernel.scalars, kernel.subgroup_size, ignore_exits=True).level

    def visit(block: Block, branch: tuple[str, Loc] | None, lazy: str) -> None:
        for op in block.ops:
            effect = OPCODES[op.opcode].effect
            if effect & (Effect.CROSS_LANE | Effect.BARRIER) and lazy:
                raise CompileError(
                    f"{op.opcode}() where it is evaluated only if {_LAZY[lazy]}",
                    loc=op.loc,
                    why="lanes meet in it, and not all that are active would come",
                    hint="assign it to a variable first",
                )
            if effect & Effect.BARRIER and branch is not None:
                kind, place = branch
                raise CompileError(
                    f"{op.opcode}() stands in control flow that is not block-uniform",
                    loc=op.loc,
                    why=f"the {kind} in line {place.line} may differ between the threads of a block, "
                    "and a barrier must be reached by all of them",
                    hint=f"move it out of the {kind}, or make the condition the same in every thread of the block",
                )
            inner, lazily = branch, lazy
            if op.opcode in ("if", "loop") and not op.attrs.get("exit_guard"):
                cond = op.operands[0] if op.opcode == "if" else op.regions[0].yields[0]
                if levels[cond] > Level.BLOCK:
                    inner = (op.opcode, op.loc)
                if levels[cond] > Level.SUBGROUP:
                    lazily = lazy or op.attrs.get("lazy", "")
            for region in op.regions:
                visit(region, inner, lazily)

    visit(kernel.body, None, "")


_LAZY = {
    "and": "the left side of `and` is true",
    "or": "the left side of `or` is false",
    "ternary": "the condition picks it",
}


# ---- the pass -----------------------------------------------------------------------------------------------------
class _Converge:
    def __init__(self, kernel: Kernel) -> None:
        self.b = Builder(kernel.subgroup_size, block_dim=kernel.block_dim)
        self.exists = kernel.exists
        self.names: dict[Value, Value] = {}
        size = kernel.subgroup_size
        self.level = analyse(kernel.body, kernel.scalars, size).level
        self.strict = analyse(kernel.body, kernel.scalars, size, strict=True).level
        self.uses = Counter(_uses(kernel.body))
        self.effect: dict[Op, Effect] = {}
        self._find_effects(kernel.body)

    def _find_effects(self, block: Block) -> Effect:
        """What each operation does, its regions included; an `if` of pure operations is pure, a loop might not end."""
        total = Effect.NONE
        for op in block.ops:
            effect = OPCODES[op.opcode].effect if op.opcode != "if" else Effect.NONE
            for region in op.regions:
                effect |= self._find_effects(region)
            self.effect[op] = effect
            total |= effect
        return total

    def convergent(self, op: Op) -> bool:
        return bool(self.effect[op] & (Effect.CROSS_LANE | Effect.BARRIER))

    # ---- blocks ----------------------------------------------------------------------------------------------
    def run(self, block: Block, mask: Value | None) -> tuple[Value, ...]:
        """Emit a block for the lanes in `mask`, in control flow that the whole subgroup follows; what it yields."""
        ordinary: list[Op] = []
        for op in block.ops:
            if not self.convergent(op):
                ordinary.append(op)
            else:
                self.ordinary(ordinary, mask)
                ordinary = []
                self.b.loc = op.loc
                emit = {"if": self.if_, "loop": self.loop}.get(op.opcode, self.operation)
                emit(op, mask)
            if self.exists is not None and self.exists in op.results:
                self.ordinary(ordinary, mask)
                ordinary = []
                mask, self.exists = self.names[self.exists], None
        self.ordinary(ordinary, mask)
        return renamed(self.names, block.yields)

    def region(self, block: Block, mask: Value | None) -> Block:
        with self.b.at(Block(fresh(self.names, block.args))) as new:
            new.yields = self.run(block, mask)
        return new

    def ordinary(self, ops: Sequence[Op], mask: Value | None) -> None:
        """Emit operations that act on their own lane: those that any lane may run in the open, the rest masked."""
        guarded: list[Op] = []
        behind: set[Value] = set()  # values that only exist under the guard
        for op in ops:
            if mask is None or (self.effect[op] is Effect.NONE and not any(v in behind for v in _op_uses(op))):
                self.b.append(clone_op(op, self.names))
            else:
                guarded.append(op)
                behind.update(op.results)
        if not guarded or mask is None:
            return
        inside = Counter(v for op in guarded for v in _op_uses(op))
        leaving = [v for op in guarded for v in op.results if self.uses[v] > inside[v]]
        then, orelse = Block(), Block()
        with self.b.at(then):
            for op in guarded:
                self.b.append(clone_op(op, self.names))
            then.yields = renamed(self.names, leaving)
        self.b.loc = guarded[0].loc
        self.b.block, outer = orelse, self.b.block
        orelse.yields = tuple(self.b.undef(v.type) for v in leaving)
        self.b.block = outer
        for old, new in zip(leaving, self.b.if_op(mask, then, orelse), strict=True):
            self.names[old] = new

    # ---- cross-lane operations ---------------------------------------------------------------------------------
    def operation(self, op: Op, mask: Value | None) -> None:
        self.b.append(clone_op(op, self.names, mask))

    def vote(self, cond: Value, mask: Value | None, barrier: bool) -> Value:
        """Whether the condition holds in any active lane: of the subgroup, or of the block where a barrier follows."""
        active = self.b.both(mask, cond)
        assert active is not None
        if not barrier:
            return self.b("subgroup.any", active)
        counted = self.b("block.sync_any_nonzero", active)
        return self.b("ne", counted, self.b.const(0, counted.type))

    def follows(self, op: Op, cond: Value) -> tuple[bool, bool]:
        """Whether everyone concerned follows this condition together: as active lanes, and even as helpers."""
        limit = Level.BLOCK if self.effect[op] & Effect.BARRIER else Level.SUBGROUP
        return self.level[cond] <= limit, self.strict[cond] <= limit

    # ---- if ------------------------------------------------------------------------------------------------------
    def if_(self, op: Op, mask: Value | None) -> None:
        (old,) = op.operands
        cond = self.names.get(old, old)
        together, strictly = self.follows(op, old)
        barrier = bool(self.effect[op] & Effect.BARRIER)
        if together:
            if mask is not None and not strictly:
                cond = self.vote(cond, mask, barrier)
            results = self.b.if_op(cond, *(self.region(r, mask) for r in op.regions), **op.attrs)
        else:
            sides = (cond, self.b.not_(cond))
            then, orelse = (
                self.side(region, self.b.both(mask, side), op) for region, side in zip(op.regions, sides, strict=True)
            )
            results = tuple(self.b.select(cond, x, y) for x, y in zip(then, orelse, strict=True))
        self.names.update(zip(op.results, results, strict=True))

    def side(self, region: Block, mask: Value | None, op: Op) -> tuple[Value, ...]:
        """One side of a cut `if`: in the open where a barrier stands in it, else skipped when no lane takes it."""
        effect = Effect.NONE
        for inner in region.ops:
            effect |= self.effect[inner]
        if effect & Effect.BARRIER or not effect & Effect.CROSS_LANE:
            return self.run(region, mask)
        assert mask is not None
        taken = self.region(region, mask)
        with self.b.at(Block()) as skipped:
            skipped.yields = tuple(self.b.undef(v.type) for v in taken.yields)
        return self.b.if_op(self.b("subgroup.any", mask), taken, skipped)

    # ---- loop ----------------------------------------------------------------------------------------------------
    def loop(self, op: Op, mask: Value | None) -> None:
        go_on = op.regions[0].yields[0]
        together, strictly = self.follows(op, go_on)
        if together:
            self.uniform_loop(op, mask, vote=mask is not None and not strictly)
        else:
            self.varying_loop(op, mask)

    def uniform_loop(self, op: Op, mask: Value | None, *, vote: bool) -> None:
        before = self.region(op.regions[0], mask)
        if vote:
            with self.b.at(before):
                cond = self.vote(before.yields[0], mask, bool(self.effect[op] & Effect.BARRIER))
            before.yields = (cond, *before.yields[1:])
        after = self.region(op.regions[1], mask)
        results = self.b.loop_op(renamed(self.names, op.operands), before, after, **op.attrs)
        self.names.update(zip(op.results, results, strict=True))

    def varying_loop(self, op: Op, mask: Value | None) -> None:
        """Carried beside the user's values: the results so far of each lane that left, and who is still in."""
        old_before, old_after = op.regions
        b, count = self.b, len(op.operands)
        kept = [number for number, value in enumerate(op.results) if self.uses[value]]
        inits = renamed(self.names, op.operands)
        live = mask if mask is not None else b.const(True, old_before.yields[0].type)
        frozen = tuple(b.undef(op.results[number].type) for number in kept)

        def before(*args: Value) -> tuple[Value, Sequence[Value]]:
            values, results, live = args[:count], args[count:-1], args[-1]
            self.names.update(zip(old_before.args, values, strict=True))
            cond, *forwarded = self.run(old_before, live)
            results = [b.select(live, forwarded[n], r) for n, r in zip(kept, results, strict=True)]
            live = b.and_(live, cond)
            return self.vote(live, None, bool(self.effect[op] & Effect.BARRIER)), [*forwarded, *results, live]

        def after(*args: Value) -> Sequence[Value]:
            forwarded, results = args[: len(op.results)], args[len(op.results) :]
            self.names.update(zip(old_after.args, forwarded, strict=True))
            return [*self.run(old_after, args[-1]), *results]

        left = b.loop([*inits, *frozen, live], before, after, **op.attrs)
        for place, number in enumerate(kept, start=len(op.results)):
            self.names[op.results[number]] = left[place]


def _op_uses(op: Op) -> list[Value]:
    found = list(op.uses)
    for region in op.regions:
        found += _uses(region)
    return found


def _uses(block: Block) -> list[Value]:
    """Every read of a value in a block, nested regions included."""
    found = [v for op in block.ops for v in _op_uses(op)]
    return found + list(block.yields)
