"""Reductions over a warp: `redux.sync` where it folds the type, else the butterfly, and several of those in one.

`redux.sync` (PTX ISA 9.7.13.9, sm_80) folds 32-bit integers; narrower ones are widened, which changes no result.

Where a thread carries the same lane of several blocks, their butterflies share shuffles.  At the first step half the
lanes take over one item and half another: a lane gives away what it leaves and keeps what it takes, so one shuffle
serves two items.  Eight items take 4 + 2 + 1 + 1 + 1 shuffles and a broadcast each, instead of 40.  Each still folds
as the tree says; only a op b may have become b op a, which is the same bits for every operation.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import dtypes
from ...dtypes import DType
from ...ir import Op, Value
from ...simt.algebra import MONOIDS, Monoid
from ..llvm.arithmetic import ROWS, convert
from ..llvm.lanes import from_words, to_words
from ..llvm.target import Native
from ..llvm.text import Writer, literal, scalar_type

WARP = 5  # log2 of its size
FULL = "i32 -1"


def shuffle(w: Writer, mode: str, value: str, t: DType, operand: int) -> str:
    """`shfl.sync` over the whole warp, word by word (PTX ISA 9.7.9.6: c = 0x1f)."""
    function = f"llvm.nvvm.shfl.sync.{mode}.i32"
    words = [w.call("i32", function, FULL, f"i32 {word}", f"i32 {operand}", "i32 31") for word in to_words(w, value, t)]
    return from_words(w, words, t)


# The sign matters to the order only.
REDUX = {"add": "add", "min": "{u}min", "max": "{u}max", "and": "and", "or": "or", "xor": "xor"}


class Fold:
    """One operation's reductions over the warp, with the result in every lane."""

    def __init__(self, monoid: Monoid, *, has_redux: bool) -> None:
        self.monoid = monoid
        self._redux = REDUX.get(monoid.name) if has_redux else None

    def accepts(self, op: Op) -> bool:
        """All but those floats whose expansion is a `redux.sync` of integers."""
        t = op.operands[0].type
        compared = t.is_float and t.bits <= 32 and self.monoid.opcode in ("min", "max")
        return op.attrs["log2_size"] == WARP and not (compared and self._redux)

    def emit(self, w: Writer, op: Op, args: Sequence[str], mask: str | None) -> str:
        t = op.operands[0].type
        value = self._neutralised(w, t, args[0], mask)
        return self._reduced(w, t, value) if self._is_redux(t) else self._halved(w, t, value, 1 << WARP >> 1)

    def _is_redux(self, t: DType) -> bool:
        return self._redux is not None and t.is_int and t.bits <= 32

    def _reduced(self, w: Writer, t: DType, value: str) -> str:
        assert self._redux is not None
        wide = dtypes.i32 if t.is_signed else dtypes.u32
        function = f"llvm.nvvm.redux.sync.{self._redux.format(u='' if t.is_signed else 'u')}"
        return convert(w, w.call("i32", function, f"i32 {convert(w, value, t, wide)}", FULL), wide, t)

    def _combine(self, w: Writer, t: DType, a: str, b: str) -> str:
        row = self.monoid.opcode
        return ROWS[row](w, Op(row, (Value(t), Value(t)), (Value(t),)), (a, b))

    def _neutralised(self, w: Writer, t: DType, value: str, mask: str | None) -> str:
        if mask is None:
            return value
        ty = scalar_type(t)
        return w.let(f"select i1 {mask}, {ty} {value}, {ty} {literal(self.monoid.neutral(t), t)}")

    def _halved(self, w: Writer, t: DType, value: str, step: int) -> str:
        while step:
            value = self._combine(w, t, value, shuffle(w, "bfly", value, t, step))
            step //= 2
        return value

    def together(self, w: Writer, op: Op, items: Sequence[Sequence[str]], masks: Sequence[str | None]) -> list[str]:
        t = op.operands[0].type
        if self._is_redux(t):
            return [self.emit(w, op, args, mask) for args, mask in zip(items, masks, strict=True)]
        ty = scalar_type(t)
        values = [self._neutralised(w, t, args[0], mask) for args, mask in zip(items, masks, strict=True)]
        thread = w.call("range(i32 0, 1024) i32", "llvm.nvvm.read.ptx.sreg.tid.x")
        step = 1 << WARP >> 1
        while len(values) > 1 and step:
            upper = w.let(f"icmp ne i32 {w.let(f'and i32 {thread}, {step}')}, 0")
            half = len(values) // 2
            shared: list[str] = []
            for low, high in zip(values[:half], values[half:], strict=True):
                kept = w.let(f"select i1 {upper}, {ty} {high}, {ty} {low}")
                given = w.let(f"select i1 {upper}, {ty} {low}, {ty} {high}")
                shared.append(self._combine(w, t, kept, shuffle(w, "bfly", given, t, step)))
            values = shared
            step //= 2
        (value,) = values
        value = self._halved(w, t, value, step)
        # Item k is now in the lanes whose upper bits are k.
        spread = (1 << WARP) // len(items)
        return [shuffle(w, "idx", value, t, k * spread) for k in range(len(items))]


def folds(capability: int) -> dict[str, Native]:
    """The reductions that a compute capability (90 for sm_90) does better than by their expansions."""
    made = {name: Fold(monoid, has_redux=capability >= 80) for name, monoid in MONOIDS.items()}
    return {
        f"subgroup.{form}_{name}": Native(found.accepts, found.emit, found.together)
        for form in ("reduce", "reduce_all")
        for name, found in made.items()
    }
