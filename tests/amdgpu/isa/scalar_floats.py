"""Scalar ALU on floats, which came with gfx11.5 ("SOP1", "SOP2", "SOPC"): the vector instructions' functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import compares, floats
from .operands import destination, parse_operand, reader, signed
from .scalar import Row, write
from .state import Model, Step, Waves
from .text import Instruction

_SAME_NAME = (
    *(f"{name}_f{bits}" for name in ("add", "sub", "mul", "min", "max", "min_num", "max_num") for bits in (16, 32)),
    *(f"{name}_f{bits}" for name in ("floor", "ceil", "trunc", "rndne") for bits in (16, 32)),
    *"cvt_f32_i32 cvt_f32_u32 cvt_i32_f32 cvt_u32_f32 cvt_f16_f32 cvt_f32_f16".split(),
)

ROWS: dict[str, Row] = {
    f"s_{name}": Row(row.sources, row.function, result=row.results)
    for name in _SAME_NAME
    for row in (floats.ROWS[f"v_{name}"],)
}
ROWS["s_cvt_hi_f32_f16"] = Row("u32", lambda a: (a >> np.uint32(16)).astype(np.uint16).view(np.float16), result="f32")


def _compare(name: str, kind: str) -> Callable[[Instruction, Model], Step]:
    function = compares.ROWS[f"v_cmp_{name}_{kind}"].function

    def build(instruction: Instruction, model: Model) -> Step:
        operands = [parse_operand(text, model) for text in instruction.operands]
        a, b = (signed(reader(operand, kind), operand) for operand in operands)

        def step(w: Waves) -> None:
            w.scc = np.broadcast_to(function(a(w), b(w)), (w.count, 1))

        return step

    return build


def _multiply_add(kind: str, *, accumulates: bool) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        target, *sources = instruction.operands
        d = destination(target, model).first
        reads = [reader(parse_operand(text, model), kind) for text in (*sources, *([target] if accumulates else []))]
        return lambda w: write(d, w, floats.fma(*(read(w) for read in reads)))

    return build


BUILDERS: dict[str, Callable[[Instruction, Model], Step]] = {
    **{
        f"s_cmp_{name}_f{bits}": _compare(name, f"f{bits}")
        for name in "lt eq le gt ge lg o u nge nlg ngt nle neq nlt".split()
        for bits in (16, 32)
    },
    **{f"s_fmac_f{bits}": _multiply_add(f"f{bits}", accumulates=True) for bits in (16, 32)},
    "s_fmaak_f32": _multiply_add("f32", accumulates=False),
    "s_fmamk_f32": _multiply_add("f32", accumulates=False),
}
