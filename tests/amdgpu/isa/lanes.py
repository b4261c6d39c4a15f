"""Moves between lanes that are instructions of their own: lane reads, permlane, ds_permute, ds_swizzle, mbcnt.

("VOP3", V_READLANE ... V_PERMLANE64; "LDS", DS_SWIZZLE_B32 and DS_BPERMUTE_B32, which use its crossbar but no memory.)
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from .operands import Operand, Read, destination, parse_operand, reader, word
from .state import Arr, Model, Step, Waves
from .text import Instruction

HALF, ROW = 32, 16


def _vector(text: str, model: Model) -> Operand:
    found = parse_operand(text, model)
    if found.file != "v":
        raise NotImplementedError(f"{text!r} as a vector register")
    return found


def _scalar(text: str, model: Model) -> Read:
    return reader(parse_operand(text, model), "u32")


def _of_waves(w: Waves, value: Arr) -> Arr:
    """A scalar as (waves, 1)."""
    return np.broadcast_to(value, (w.count, 1))


# ---- one lane -------------------------------------------------------------------------------------------------------
def readlane(instruction: Instruction, model: Model) -> Step:
    """The lane's value, enabled or not."""
    target, source, lane = instruction.operands
    d, x, number = destination(target, model).first, word(_vector(source, model)), _scalar(lane, model)

    def step(w: Waves) -> None:
        chosen = _of_waves(w, number(w)).astype(np.int64) % model.size
        w.put_scalar(d, np.take_along_axis(w.wide(x(w)), chosen, axis=1))

    return step


def readfirstlane(instruction: Instruction, model: Model) -> Step:
    """The lowest enabled lane's value; lane 0's where none is."""
    target, source = instruction.operands
    d, x = destination(target, model).first, word(parse_operand(source, model))

    def step(w: Waves) -> None:
        w.put_scalar(d, np.take_along_axis(w.wide(x(w)), w.exec.argmax(axis=1)[:, None], axis=1))

    return step


def writelane(instruction: Instruction, model: Model) -> Step:
    """One lane is written, enabled or not."""
    target, value, lane = instruction.operands
    d, x, number = _vector(target, model).first, _scalar(value, model), _scalar(lane, model)

    def step(w: Waves) -> None:
        here = np.arange(model.size) == _of_waves(w, number(w)) % model.size
        w.v[d] = np.where(here, x(w), w.v[d])

    return step


# ---- rows and halves ------------------------------------------------------------------------------------------------
def _permlane16(flip: int) -> Callable[[Instruction, Model], Step]:
    """Each lane reads the lane of its row, or of the neighbouring one, that 4 bits of two scalars name.

    OP_SEL[0] fetches from disabled lanes too, OP_SEL[1] makes 0 of an invalid source, as in DPP.
    """

    def build(instruction: Instruction, model: Model) -> Step:
        target, source, low, high = instruction.operands
        d, x = _vector(target, model).first, word(_vector(source, model))
        selects = (_scalar(low, model), _scalar(high, model))
        fetch_inactive, zero_if_invalid = (instruction.flags("op_sel") or [0, 0])[:2]
        lane = np.arange(model.size)
        row, place = (lane // ROW ^ flip) * ROW, lane % ROW
        shift = (place % 8 * 4).astype(np.uint32)

        def step(w: Waves) -> None:
            w.meet()
            words = [_of_waves(w, select(w)) for select in selects]
            chosen = np.where(place < 8, words[0] >> shift, words[1] >> shift) & 15
            source = row + chosen.astype(np.int64)
            moved = np.take_along_axis(w.wide(x(w)), source, axis=1)
            if fetch_inactive or w.full:
                w.put(d, moved)
                return
            valid = np.take_along_axis(w.exec, source, axis=1)
            w.put(d, np.where(valid, moved, np.uint32(0)), None if zero_if_invalid else valid)

        return step

    return build


def permlane64(instruction: Instruction, model: Model) -> Step:
    """The halves change places; the source may be disabled."""
    target, source = instruction.operands
    d, x = _vector(target, model).first, word(_vector(source, model))
    other = np.arange(model.size) ^ (HALF if model.size == 64 else 0)

    def step(w: Waves) -> None:
        w.meet()
        w.put(d, np.take(w.wide(x(w)), other, axis=1))

    return step


def _swap(distance: int) -> Callable[[Instruction, Model], Step]:
    """gfx950: odd rows (or halves) of the first register change places with even ones of the second."""

    def build(instruction: Instruction, model: Model) -> Step:
        a, b = (_vector(text, model).first for text in instruction.operands)
        lane = np.arange(model.size)
        odd, other = lane // distance % 2 == 1, lane ^ distance

        def step(w: Waves) -> None:
            w.meet()
            x, y = w.wide(w.v[a]), w.wide(w.v[b])
            w.put(a, np.where(odd, y[:, other], x))
            w.put(b, np.where(odd, y, x[:, other]))

        return step

    return build


# ---- through the crossbar of the LDS --------------------------------------------------------------------------------
def _exchanged(w: Waves, value: Arr, source: Arr) -> Arr:
    """The value of each source lane, 0 from a disabled one."""
    w.meet()
    moved = np.take_along_axis(w.wide(value), source, axis=1)
    return moved if w.full else np.where(np.take_along_axis(w.exec, source, axis=1), moved, np.uint32(0))


def bpermute(instruction: Instruction, model: Model) -> Step:
    """Each lane reads lane address / 4; in wave64 of gfx10 and gfx11 within its own half."""
    target, address, source = instruction.operands
    d, at, x = _vector(target, model).first, word(_vector(address, model)), word(_vector(source, model))
    offset = instruction.number("offset")
    reach = HALF if model.generation in (10, 11) else model.size
    base = np.arange(model.size) // reach * reach

    def step(w: Waves) -> None:
        lane = (w.wide(at(w)).astype(np.int64) + offset) // 4 % reach
        w.put(d, _exchanged(w, x(w), base + lane))

    return step


def swizzle(instruction: Instruction, model: Model) -> Step:
    target, source = instruction.operands
    d, x = _vector(target, model).first, word(_vector(source, model))
    lane0_of_32 = 'swizzle(BITMASK_PERM, "00000")'  # is the offset 0, which is not printed
    sources = _swizzled(instruction.modifiers.get("offset", lane0_of_32), np.arange(model.size))
    return lambda w: w.put(d, _exchanged(w, x(w), np.broadcast_to(sources, (w.count, model.size))))


def _swizzled(pattern: str, lane: Arr) -> Arr:
    """The modes of DS_SWIZZLE_B32, as LLVM spells them."""
    found = re.fullmatch(r"swizzle\((\w+), ?(.*)\)", pattern)
    assert found, pattern
    mode, arguments = found[1], [a.strip(' "') for a in found[2].split(",")]
    if mode == "QUAD_PERM":
        return lane - lane % 4 + np.array([int(a) for a in arguments])[lane % 4]
    if mode == "SWAP":
        return lane ^ int(arguments[0])
    if mode == "REVERSE":
        return lane ^ (int(arguments[0]) - 1)
    if mode == "BROADCAST":
        size, chosen = (int(a) for a in arguments)
        return lane - lane % size + chosen
    if mode == "BITMASK_PERM":  # for each bit of the lane: 0, 1, (p)reserved, (i)nverted
        letters = arguments[0][::-1]
        keep = sum(1 << bit for bit, letter in enumerate(letters) if letter in "pi")
        flip = sum(1 << bit for bit, letter in enumerate(letters) if letter in "1i")
        return lane // HALF * HALF + (lane % HALF & keep ^ flip)
    raise NotImplementedError(pattern)


# ---- counting -------------------------------------------------------------------------------------------------------
def _mbcnt(first: int) -> Callable[[Instruction, Model], Step]:
    """How many of the mask's lanes, of `first` ... first + 31, are below this one, added to a base."""

    def build(instruction: Instruction, model: Model) -> Step:
        target, mask, base = instruction.operands
        d = _vector(target, model).first
        bits, start = (reader(parse_operand(text, model), "u32") for text in (mask, base))
        below = np.clip(np.arange(model.size) - first, 0, 32).astype(np.uint64)
        lower = ((np.uint64(1) << below) - np.uint64(1)).astype(np.uint32)
        return lambda w: w.put(d, np.bitwise_count(bits(w) & lower).astype(np.uint32) + start(w))

    return build


BUILDERS: dict[str, Callable[[Instruction, Model], Step]] = {
    "v_readlane_b32": readlane,
    "v_readfirstlane_b32": readfirstlane,
    "v_writelane_b32": writelane,
    "v_permlane16_b32": _permlane16(0),
    "v_permlanex16_b32": _permlane16(1),
    "v_permlane64_b32": permlane64,
    "v_permlane16_swap_b32": _swap(ROW),
    "v_permlane32_swap_b32": _swap(HALF),
    "v_mbcnt_lo_u32_b32": _mbcnt(0),
    "v_mbcnt_hi_u32_b32": _mbcnt(32),
    "ds_bpermute_b32": bpermute,
    "ds_swizzle_b32": swizzle,
}
