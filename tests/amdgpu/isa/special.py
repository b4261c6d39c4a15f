"""Vector ALU instructions that are no rows: packed and mixed ones ("VOP3P"), V_CMPX, V_BITOP3, swaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import floats
from .integers import Row
from .operands import (
    KINDS,
    Operand,
    Read,
    destination,
    parse_operand,
    reader,
    signed,
    to_words,
)
from .rows import ROWS, Commit, Compute, Values, from_row, mask_target, narrow_target, row_of
from .state import Arr, Model, Waves
from .text import Instruction


def compare_into_exec(name: str, encoding: str, instruction: Instruction, model: Model) -> tuple[Compute, Commit]:
    """V_CMPX: EXEC is the result; before gfx10 the named mask is too."""
    operands = list(instruction.operands)
    named = operands.pop(0) if model.generation == 9 else None
    masks = "exec" if model.size == 64 else "exec_lo"
    row = row_of(name.replace("v_cmpx_", "v_cmp_", 1))
    assert row is not None
    compute, commit = from_row(row, [masks, *operands], encoding, instruction, model)
    if named is None:
        return compute, commit
    also = mask_target(named, model)

    def both(w: Waves, values: Values) -> None:
        also(w, values[0][0], None)
        commit(w, values)

    return compute, both


def _halves_by_op_sel(instruction: Instruction, count: int) -> tuple[list[int], list[int]]:
    """Which half of each source makes the low and the high part of a packed result."""
    return (
        instruction.flags("op_sel") or [0] * count,
        instruction.flags("op_sel_hi") or [1] * count,
    )


def _packed(
    kind: str, function: Callable[..., Arr], count: int
) -> Callable[[Instruction, Model], tuple[Compute, Commit]]:
    """VOP3P: the same on both parts of a register (16 bits) or a pair of them (32 bits)."""

    def make(instruction: Instruction, model: Model) -> tuple[Compute, Commit]:
        target, *sources = instruction.operands
        if set(instruction.modifiers) - {"op_sel", "op_sel_hi", "neg_lo", "neg_hi"}:
            raise NotImplementedError(instruction.text)
        d, operands = destination(target, model).first, [parse_operand(text, model) for text in sources]
        parts: list[list[Read]] = []
        for chosen, negated in zip(_halves_by_op_sel(instruction, count), ("neg_lo", "neg_hi"), strict=True):
            signs = instruction.flags(negated) or [0] * count
            parts.append(
                [
                    signed(_part(operand, kind, half), replace(operand, negated=bool(sign)))
                    for operand, half, sign in zip(operands, chosen, signs, strict=True)
                ]
            )

        def compute(w: Waves) -> Values:
            low, high = (function(*(read(w) for read in reads)) for reads in parts)
            return (low, high), None

        def commit(w: Waves, values: Values) -> None:
            low, high = (to_words(value.astype(KINDS[kind], copy=False))[0] for value in values[0])
            if KINDS[kind].itemsize == 4:
                w.put(d, low)
                w.put(d + 1, high)
            else:
                w.put(d, low | high << np.uint32(16))

        return compute, commit

    return make


def _part(operand: Operand, kind: str, half: int) -> Read:
    if KINDS[kind].itemsize == 2:
        return reader(operand, kind, half)
    if operand.file == "constant":
        return reader(operand, kind)
    return reader(replace(operand, first=operand.first + half, count=1), kind)


def _truth_table(kind: str) -> Callable[[Instruction, Model], tuple[Compute, Commit]]:
    """V_BITOP3 of gfx950: bit 4a + 2b + c of a constant."""

    def make(instruction: Instruction, model: Model) -> tuple[Compute, Commit]:
        table = instruction.number("bitop3")

        def function(a: Arr, b: Arr, c: Arr) -> Arr:
            result = a & ~a
            for row in range(8):
                if table >> row & 1:
                    result = result | (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
            return result

        modifiers = {name: value for name, value in instruction.modifiers.items() if name != "bitop3"}
        row = Row(kind, f"{kind} {kind} {kind}", function)
        return from_row(row, list(instruction.operands), "e64", replace(instruction, modifiers=modifiers), model)

    return make


def _swap(instruction: Instruction, model: Model) -> tuple[Compute, Commit]:
    a, b = (destination(text, model).first for text in instruction.operands)

    def commit(w: Waves, values: Values) -> None:
        w.put(a, values[0][1])
        w.put(b, values[0][0])

    return lambda w: ((w.v[a], w.v[b]), None), commit


SPECIAL: dict[str, Callable[[Instruction, Model], tuple[Compute, Commit]]] = {
    "v_bitop3_b32": _truth_table("u32"),
    "v_bitop3_b16": _truth_table("u16"),
    "v_swap_b32": _swap,
    "v_nop": lambda instruction, model: (lambda w: ((), None), lambda w, values: None),
}


def _mixed(result: str, half: int) -> Callable[[Instruction, Model], tuple[Compute, Commit]]:
    """V_FMA_MIX: an f32 multiply-add of sources that OP_SEL_HI makes f32 (0) or a half of a register as f16 (1)."""

    def make(instruction: Instruction, model: Model) -> tuple[Compute, Commit]:
        target, *sources = instruction.operands
        if set(instruction.modifiers) - {"op_sel", "op_sel_hi"}:
            raise NotImplementedError(instruction.text)
        d = destination(target, model)
        chosen, narrow = instruction.flags("op_sel") or [0] * 3, instruction.flags("op_sel_hi") or [0] * 3
        reads: list[Read] = []
        for text, upper, is_half in zip(sources, chosen, narrow, strict=True):
            operand = parse_operand(text, model)
            read = reader(operand, "f16", upper) if is_half else reader(operand, "f32")
            reads.append(signed(read, operand))
        write = narrow_target(d.first, KINDS["f16"], half, clears=False)

        def commit(w: Waves, values: Values) -> None:
            if result == "f16":
                write(w, values[0][0], None)
            else:
                w.put(d.first, values[0][0].view(np.uint32))

        return lambda w: ((floats.fma(*(read(w).astype(np.float32) for read in reads)),), None), commit

    return make


def _packed_move(instruction: Instruction, model: Model) -> tuple[Compute, Commit]:
    """V_PK_MOV_B32: the low part from the first source, the high part from the second."""
    target, *sources = instruction.operands
    d = destination(target, model).first
    chosen = instruction.flags("op_sel") or [0, 0]
    reads = [_part(parse_operand(text, model), "u32", half) for text, half in zip(sources, chosen, strict=True)]

    def commit(w: Waves, values: Values) -> None:
        for number, value in enumerate(values[0]):
            w.put(d + number, value)

    return lambda w: (tuple(read(w) for read in reads), None), commit


SPECIAL["v_pk_mov_b32"] = _packed_move
SPECIAL |= {
    "v_fma_mix_f32": _mixed("f32", 0),
    "v_fma_mixlo_f16": _mixed("f16", 0),
    "v_fma_mixhi_f16": _mixed("f16", 1),
}
for _kind, _functions in {
    "u16": ("add", "sub", "mul_lo", "min", "max"),
    "i16": ("min", "max", "add", "sub"),
    "f16": ("add", "mul", "min", "max", "fma", "min_num", "max_num"),
    "f32": ("add", "mul", "fma"),
}.items():
    for _function in _functions:
        _base = ROWS[f"v_{_function}_{_kind}"]
        SPECIAL[f"v_pk_{_function}_{_kind}"] = _packed(_kind, _base.function, len(_base.sources.split()))
for _name, _kind in {"lshlrev_b16": "u16", "lshrrev_b16": "u16", "ashrrev_i16": "i16"}.items():
    SPECIAL[f"v_pk_{_name}"] = _packed(_kind, ROWS[f"v_{_name}"].function, 2)
