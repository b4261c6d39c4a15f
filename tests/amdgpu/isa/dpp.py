"""DPP: an operand that comes from other lanes ("Data Parallel Processing", DPP_CTRL).

A source lane that does not exist or is not enabled (unless `fi:1` fetches it all the same) counts as invalid: with
`bound_ctrl:1` its value is 0, else the lane is not written.  Row and bank masks disable the writing of lanes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from .state import Arr, Model, Waves
from .text import Instruction

ROW, BANK = 16, 4

Sources = tuple[Arr, Arr]
"""The lane that each lane reads, and whether there is one."""


def _quad(model: Model, lane: Arr, argument: str) -> Sources:
    chosen = np.array([int(k) for k in argument.strip("[]").split(",")])
    return lane - lane % 4 + chosen[lane % 4], np.ones(model.size, bool)


def _everywhere(source: Callable[[Arr, Arr, int], Arr]) -> Callable[[Model, Arr, str], Sources]:
    """All lanes have a source: `source(row's first lane, place in the row, argument)`."""
    return lambda model, lane, argument: (
        source(lane - lane % ROW, lane % ROW, int(argument or "0", 0)),
        np.ones(model.size, bool),
    )


def _row_shift(sign: int) -> Callable[[Model, Arr, str], Sources]:
    def sources(model: Model, lane: Arr, argument: str) -> Sources:
        place = lane % ROW + sign * int(argument)
        return lane + sign * int(argument), (place >= 0) & (place < ROW)

    return sources


def _wave_shift(sign: int) -> Callable[[Model, Arr, str], Sources]:
    def sources(model: Model, lane: Arr, argument: str) -> Sources:
        source = lane + sign
        return source, (source >= 0) & (source < model.size)

    return sources


def _wave_rotation(sign: int) -> Callable[[Model, Arr, str], Sources]:
    return lambda model, lane, argument: ((lane + sign) % model.size, np.ones(model.size, bool))


def _row_broadcast(model: Model, lane: Arr, argument: str) -> Sources:
    """row_bcast:15 gives each row the last lane of the row below; row_bcast:31 the upper half that of the lower."""
    if argument == "15":
        return lane - lane % ROW - 1, lane >= ROW
    return np.full(model.size, 31), lane >= 32


GFX9, GFX10 = range(9, 10), range(10, 13)
EVERY = range(9, 13)
CONTROLS: dict[str, tuple[range, Callable[[Model, Arr, str], Sources]]] = {
    "quad_perm": (EVERY, _quad),
    "row_shl": (EVERY, _row_shift(1)),
    "row_shr": (EVERY, _row_shift(-1)),
    "row_ror": (EVERY, _everywhere(lambda row, place, n: row + (place - n) % ROW)),
    "row_mirror": (EVERY, _everywhere(lambda row, place, n: row + ROW - 1 - place)),
    "row_half_mirror": (EVERY, _everywhere(lambda row, place, n: row + (place ^ 7))),
    "wave_shl": (GFX9, _wave_shift(1)),
    "wave_shr": (GFX9, _wave_shift(-1)),
    "wave_rol": (GFX9, _wave_rotation(1)),
    "wave_ror": (GFX9, _wave_rotation(-1)),
    "row_bcast": (GFX9, _row_broadcast),
    "row_newbcast": (GFX9, _everywhere(lambda row, place, n: row + n)),
    "row_share": (GFX10, _everywhere(lambda row, place, n: row + n)),
    "row_xmask": (GFX10, _everywhere(lambda row, place, n: row + (place ^ n))),
}
MODIFIERS = {*CONTROLS, "row_mask", "bank_mask", "bound_ctrl", "fi", "dpp8"}


def mover(instruction: Instruction, model: Model) -> Callable[[Waves, Arr], tuple[Arr, Arr]]:
    """From a register's lanes to what each lane reads, and which lanes are written."""
    lane = np.arange(model.size)
    source, exists = _sources(instruction, model, lane)
    source = np.where(exists, source, 0)
    rows, banks = instruction.number("row_mask", 15), instruction.number("bank_mask", 15)
    written = (rows >> lane // ROW & 1).astype(bool) & (banks >> lane // BANK % 4 & 1).astype(bool)
    zero_if_invalid = instruction.modifiers.get("bound_ctrl") in ("1", "0")  # older text spells it bound_ctrl:0
    fetch_inactive = instruction.modifiers.get("fi") == "1"

    def move(w: Waves, value: Arr) -> tuple[Arr, Arr]:
        w.meet()
        valid = exists if fetch_inactive or w.full else exists & np.take(w.exec, source, axis=1)
        moved = np.take(w.wide(value), source, axis=1)
        if valid is not exists or not exists.all():
            moved = np.where(valid, moved, np.uint32(0))
        return moved, written if zero_if_invalid else written & valid

    return move


def _sources(instruction: Instruction, model: Model, lane: Arr) -> Sources:
    if found := instruction.modifiers.get("dpp8"):
        chosen = np.array([int(k) for k in re.findall(r"\d", found)])
        return lane - lane % 8 + chosen[lane % 8], np.ones(model.size, bool)
    for name, (generations, sources) in CONTROLS.items():
        if name in instruction.modifiers and model.generation in generations:
            return sources(model, lane, instruction.modifiers[name])
    raise NotImplementedError(f"on {model.arch}, the DPP control of {instruction.text!r}")
