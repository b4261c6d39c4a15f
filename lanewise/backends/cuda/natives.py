"""Operations between lanes that are more than their expansions: reductions and `match.any.sync`.

`match.any.sync` (PTX ISA 9.7.13.8) compares bits, so it serves integers only.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import dtypes
from ...dtypes import DType
from ...ir import Op
from ..llvm.arithmetic import convert
from ..llvm.target import Native
from ..llvm.text import Writer, scalar_type
from .folds import FULL, folds


def _wide(t: DType) -> DType:
    return dtypes.i32 if t.is_signed else dtypes.u32


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
    match_any = Native(lambda op: op.operands[0].type.is_int, _match_any)
    return {"subgroup.match_any": match_any, **folds(capability)}
