"""Vector ALU: instructions by their names.

The two instructions of a `v_dual_` line both read before either writes ("VOPD").
"""

from __future__ import annotations

import re

from . import floats
from .rows import ROWS, Commit, Compute, from_row, row_of
from .special import SPECIAL, compare_into_exec
from .state import Model, Step, Waves
from .text import Instruction

_ENCODING = re.compile(r"(.+?)((?:_e32|_e64|_e64_dpp|_e32_dpp|_dpp|_dpp8|_sdwa)?)")


def find(instruction: Instruction) -> tuple[str, str] | None:
    """The name of the row and the encoding; None where there is no such instruction."""
    found = _ENCODING.fullmatch(instruction.opcode.replace("v_dual_", "v_", 1))
    assert found
    name, encoding = found[1], found[2].lstrip("_")
    plain = name.replace("v_cmpx_", "v_cmp_", 1)
    known = row_of(plain) is not None or plain in floats.ACCUMULATING or plain in SPECIAL
    return (name, encoding) if known else None


def build(instruction: Instruction, model: Model) -> tuple[Compute, Commit]:
    """What reads and computes, and what writes."""
    found = find(instruction)
    if found is None:
        raise NotImplementedError(instruction.text)
    name, encoding = found
    if name in SPECIAL:
        return SPECIAL[name](instruction, model)
    if name.startswith("v_cmpx_"):
        return compare_into_exec(name, encoding, instruction, model)
    operands = list(instruction.operands)
    if name in floats.ACCUMULATING:
        row = ROWS[floats.ACCUMULATING[name]]
        operands.append(operands[0])
    else:
        row = row_of(name)
        assert row is not None
    return from_row(row, operands, encoding, instruction, model)


def step(instruction: Instruction, model: Model) -> Step:
    compute, commit = build(instruction, model)
    return lambda w: commit(w, compute(w))


def dual(first: Instruction, second: Instruction, model: Model) -> Step:
    (compute, commit), (compute2, commit2) = build(first, model), build(second, model)

    def both(w: Waves) -> None:
        values, values2 = compute(w), compute2(w)
        commit(w, values)
        commit2(w, values2)

    return both
