"""Loads and stores: scalar ("SMEM"), global and flat ("FLAT"), scratch ("FLAT", "MUBUF") and LDS ("LDS")."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from .access import FORMS, Form, checked, global_way, lds_way, load, scratch_way, store
from .atomics import atomic, parse_atomic
from .operands import destination, parse_operand, reader
from .state import Model, Step, Waves
from .text import Instruction


def _global_load(form: Form) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        target, vector, *rest = checked(instruction).operands
        return load(global_way(instruction, vector, "".join(rest), model), form, destination(target, model).first)

    return build


def _global_store(form: Form) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        vector, source, *rest = checked(instruction).operands
        return store(global_way(instruction, vector, "".join(rest), model), form, parse_operand(source, model).first)

    return build


def _scratch_load(form: Form) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        target, *offsets = checked(instruction).operands
        return load(scratch_way(instruction, offsets, model), form, destination(target, model).first)

    return build


def _scratch_store(form: Form) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        vector, source, scalar = checked(instruction).operands
        return store(scratch_way(instruction, [vector, scalar], model), form, parse_operand(source, model).first)

    return build


def _buffer(form: Form, move: Callable[..., Step]) -> Callable[[Instruction, Model], Step]:
    """Scratch before FLAT_SCRATCH: data, offset of a lane, buffer resource (the wave's scratch), offset of a wave."""

    def build(instruction: Instruction, model: Model) -> Step:
        data, vector, _, scalar = checked(instruction).operands
        return move(scratch_way(instruction, [vector, scalar], model), form, parse_operand(data, model).first)

    return build


def _ds_load(form: Form) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        target, vector = checked(instruction).operands
        return load(lds_way(instruction, vector, model), form, destination(target, model).first)

    return build


def _ds_store(form: Form) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        vector, source = checked(instruction).operands
        return store(lds_way(instruction, vector, model), form, parse_operand(source, model).first)

    return build


def _two(words: int, stride: int, *, writes: bool) -> Callable[[Instruction, Model], Step]:
    """DS_READ2, DS_WRITE2: two places, whose offsets count elements (or 64 of them, in the ST64 forms)."""

    def build(instruction: Instruction, model: Model) -> Step:
        form = Form(4, words)
        offsets = [instruction.number(name) * 4 * words * stride for name in ("offset0", "offset1")]
        if set(instruction.modifiers) - {"offset0", "offset1"}:
            raise NotImplementedError(instruction.text)
        vector = instruction.operands[0 if writes else 1]
        ways = [lds_way(instruction, vector, model, offset) for offset in offsets]
        if writes:
            firsts = [parse_operand(text, model).first for text in instruction.operands[1:]]
            steps = [store(way, form, first) for way, first in zip(ways, firsts, strict=True)]
        else:
            d = destination(instruction.operands[0], model).first
            address = parse_operand(vector, model).first
            # The address may lie in the registers that the first load writes.
            order = (1, 0) if d <= address < d + words else (0, 1)
            steps = [load(ways[k], form, d + k * words) for k in order]

        def step(w: Waves) -> None:
            for each in steps:
                each(w)

        return step

    return build


def _scalar_load(size: int, words: int, signed: bool = False) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        target, base, *rest = checked(instruction).operands
        d, start = destination(target, model).first, reader(parse_operand(base, model), "u64")
        offsets = [reader(parse_operand(text, model), "u32") for text in rest if text != "null"]
        constant = instruction.number("offset")

        def step(w: Waves) -> None:
            address = np.broadcast_to(start(w), (w.count, 1))
            for offset in offsets:
                address = address + offset(w).astype(np.uint64)
            # "SMEM": the two low bits of the address of a word are dropped.
            aligned = (address[:, 0] + np.uint64(constant)) & np.uint64((1 << 64) - size)
            for number in range(words):
                value = np.zeros(w.count, f"u{size}")
                places = w.memory.all.places(aligned + np.uint64(4 * number), size, instruction.text)
                for chosen, place, data in places:
                    value[chosen] = data.cells(size)[place]
                if signed:
                    value = value.view(f"i{size}").astype(np.int32)
                w.put_scalar(d + number, value.astype(np.uint32)[:, None])

        return step

    return build


def _clock(instruction: Instruction, model: Model) -> Step:
    """A counter that goes on from call to call, as does the line count of the machine that runs."""
    d = destination(instruction.operands[0], model).first
    ticks = np.zeros((), np.uint64)

    def step(w: Waves) -> None:
        ticks[...] += np.uint64(64)
        value = np.full((w.count, 1), ticks)
        w.put_scalar(d, value.astype(np.uint32))
        w.put_scalar(d + 1, (value >> np.uint64(32)).astype(np.uint32))

    return step


BUILDERS: dict[str, Callable[[Instruction, Model], Step]] = {
    "s_memtime": _clock,
    "s_memrealtime": _clock,
}
for _name, _form in FORMS.items():
    for _space in ("global", "flat"):
        BUILDERS[f"{_space}_load_{_name}"] = _global_load(_form)
        BUILDERS[f"{_space}_store_{_name}"] = _global_store(_form)
    BUILDERS[f"scratch_load_{_name}"] = _scratch_load(_form)
    BUILDERS[f"scratch_store_{_name}"] = _scratch_store(_form)
    BUILDERS[f"buffer_load_{_name}"] = _buffer(_form, load)
    BUILDERS[f"buffer_store_{_name}"] = _buffer(_form, store)
    for _verb in ("read", "load"):
        BUILDERS[f"ds_{_verb}_{_name}"] = _ds_load(_form)
    for _verb in ("write", "store"):
        BUILDERS[f"ds_{_verb}_{_name}"] = _ds_store(_form)
for _words, _bits in ((1, 32), (2, 64)):
    for _suffix, _stride in (("", 1), ("st64", 64)):
        for _read, _write, _join in (("read2", "write2", ""), ("load_2addr", "store_2addr", "_" if _suffix else "")):
            BUILDERS[f"ds_{_read}{_join}{_suffix}_b{_bits}"] = _two(_words, _stride, writes=False)
            BUILDERS[f"ds_{_write}{_join}{_suffix}_b{_bits}"] = _two(_words, _stride, writes=True)
for _words, _names in {
    1: ("dword", "b32"),
    2: ("dwordx2", "b64"),
    3: ("dwordx3", "b96"),
    4: ("dwordx4", "b128"),
    8: ("dwordx8", "b256"),
    16: ("dwordx16", "b512"),
}.items():
    for _name in _names:
        BUILDERS[f"s_load_{_name}"] = _scalar_load(4, _words)
for _name, _size, _signed in (("u8", 1, False), ("i8", 1, True), ("u16", 2, False), ("i16", 2, True)):
    BUILDERS[f"s_load_{_name}"] = _scalar_load(_size, 1, _signed)

_NO_EFFECT = re.compile(r"buffer_(wbl2|inv|gl[01]_inv|wbinvl1(_vol)?)|global_(inv|wb|wbinv)|s_(dcache_inv|icache_inv)")


def builder(opcode: str) -> Callable[[Instruction, Model], Step] | None:
    """What builds an instruction of this name; caches have no effect here."""
    if _NO_EFFECT.fullmatch(opcode):
        return lambda instruction, model: lambda w: None
    if named := parse_atomic(opcode):
        return lambda instruction, model: atomic(checked(instruction), named, model)
    return BUILDERS.get(opcode)
