"""Operations between lanes that have an instruction of their own: `redux.sync` and `match.any.sync`.

`redux.sync` (PTX ISA 9.7.13.9, sm_80) folds 32-bit integers over the warp; narrower ones are widened, which changes no
result.  `match.any.sync` (9.7.13.8) compares bits, so it serves integers only.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import dtypes
from ...dtypes import DType
from ...ir import Op
from ...simt.algebra import MONOIDS
from ..llvm.arithmetic import convert
from ..llvm.target import Native
from ..llvm.text import Writer, literal, scalar_type
from .sorting import SORTS

WARP = 5  # log2 of its size
FULL = "i32 -1"

# The sign matters to the order only.
REDUX = {"add": "add", "min": "{u}min", "max": "{u}max", "and": "and", "or": "or", "xor": "xor"}


def _wide(t: DType) -> DType:
    return dtypes.i32 if t.is_signed else dtypes.u32


def _folds(op: Op) -> bool:
    t = op.operands[0].type
    return t.is_int and t.bits <= 32 and op.attrs["log2_size"] == WARP


def _reduction(name: str) -> Native:
    def emit(w: Writer, op: Op, args: Sequence[str], mask: str | None) -> str:
        t = op.operands[0].type
        (value,) = args
        if mask is not None:
            ty = scalar_type(t)
            value = w.let(f"select i1 {mask}, {ty} {value}, {ty} {literal(MONOIDS[name].neutral(t), t)}")
        value = convert(w, value, t, _wide(t))
        function = f"llvm.nvvm.redux.sync.{REDUX[name].format(u='' if t.is_signed else 'u')}"
        return convert(w, w.call("i32", function, f"i32 {value}", FULL), _wide(t), t)

    return Native(_folds, emit)


def _match_any(w: Writer, op: Op, args: Sequence[str], mask: str | None) -> str:
    t = op.operands[0].type
    wide = t if t.bits == 64 else _wide(t)
    ty = scalar_type(wide)
    value = convert(w, args[0], t, wide)
    found = w.call("i32", f"llvm.nvvm.match.any.sync.{ty}", FULL, f"{ty} {value}")
    if mask is not None:
        active = w.call("i32", "llvm.nvvm.vote.ballot.sync", FULL, f"i1 {mask}")
        found = w.let(f"and i32 {found}, {active}")
    return w.let(f"zext i32 {found} to i64")


def natives_of(capability: int) -> dict[str, Native]:
    """What a compute capability (90 for sm_90) has."""
    found = {"subgroup.match_any": Native(lambda op: op.operands[0].type.is_int, _match_any), **SORTS}
    if capability >= 80:
        found |= {f"subgroup.{kind}_{name}": _reduction(name) for kind in ("reduce", "reduce_all") for name in REDUX}
    return found
