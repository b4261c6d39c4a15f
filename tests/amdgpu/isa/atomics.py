"""Atomics of global memory and of the LDS: lane by lane, in the order of lanes and waves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .access import global_way, lds_way, spread
from .operands import parse_operand
from .state import Arr, Model, Step, Waves
from .text import Instruction


def _wrapping(function: Callable[[int, int], int]) -> Callable[[int, int, str], int]:
    """On the bits of an unsigned integer."""
    return lambda old, value, kind: function(old, value) & ((1 << int(kind[1:])) - 1)


def _in_kind(function: Callable[..., Arr]) -> Callable[[int, int, str], int]:
    """On values of a type."""

    def combined(old: int, value: int, kind: str) -> int:
        bits = int(kind[1:])
        pair = np.array([old, value], f"u{bits // 8}").view(f"{kind[0]}{bits // 8}")
        return int(np.asarray(function(pair[:1], pair[1:])).view(f"u{bits // 8}")[0])

    return combined


ATOMICS: dict[str, Callable[[int, int, str], int]] = {
    "add": _wrapping(lambda old, value: old + value),
    "sub": _wrapping(lambda old, value: old - value),
    "and": _wrapping(lambda old, value: old & value),
    "or": _wrapping(lambda old, value: old | value),
    "xor": _wrapping(lambda old, value: old ^ value),
    "swap": _wrapping(lambda old, value: value),
    "min": _in_kind(np.minimum),
    "max": _in_kind(np.maximum),
    "fadd": _in_kind(np.add),
}
_ATOMIC = re.compile(
    r"(?:(global|flat)_atomic|ds)_(add|sub|rsub|[su]?min|[su]?max|and|or|xor|swap|wrxchg|storexchg|cmpswap|cmpst|cmpstore)"
    r"(_rtn)?(?:_(num_)?([uifb])(32|64))?(_x2)?(_rtn)?"
)
_CALLED = {"wrxchg": "swap", "storexchg": "swap", "smin": "min", "umin": "min", "smax": "max", "umax": "max"}


@dataclass(frozen=True)
class Atomic:
    """What the name of an atomic says."""

    function: str
    kind: str
    """u32, i64, f32 ..."""
    local: bool
    returns: bool
    """By its name, as those of the LDS."""
    swapped: bool
    """Whether the compared value comes before the new one (DS_CMPST; elsewhere after it)."""


def parse_atomic(opcode: str) -> Atomic | None:
    found = _ATOMIC.fullmatch(opcode)
    if found is None:
        return None
    space, name, rtn, _, letter, bits, x2, rtn2 = found.groups()
    compare = name.startswith("cmp")
    sign = {"s": "i", "u": "u"}.get(name[0], "u") if name[1:] in ("min", "max") else letter or "u"
    function = "cmp" if compare else _CALLED.get(name, name)
    sign = "u" if sign == "b" else sign
    if sign == "f":
        function = {"add": "fadd"}[function]
    width = 64 if x2 else int(bits or 32)
    return Atomic(function, f"{sign}{width}", space is None, bool(rtn or rtn2), name == "cmpst")


def atomic(instruction: Instruction, atomic: Atomic, model: Model) -> Step:
    operands = list(instruction.operands)
    returns = atomic.returns or (
        not atomic.local
        and (bool({"glc", "sc0"} & set(instruction.modifiers)) or "RETURN" in instruction.modifiers.get("th", ""))
    )
    size, words = int(atomic.kind[1:]) // 8, int(atomic.kind[1:]) // 32
    d = parse_operand(operands.pop(0), model).first if returns else None
    if atomic.local:
        way = lds_way(instruction, operands[0], model)
        sources = [parse_operand(text, model).first for text in operands[1:]]
    else:
        scalar = operands[2] if len(operands) > 2 else ""
        way = global_way(instruction, operands[0], scalar, model)
        first = parse_operand(operands[1], model).first
        sources = [first, first + words]

    def data(w: Waves, register: int) -> list[int]:
        low = w.wide(w.v[register])[w.exec].astype(np.uint64)
        if words == 2:
            low |= w.wide(w.v[register + 1])[w.exec].astype(np.uint64) << np.uint64(32)
        return low.tolist()

    def step(w: Waves) -> None:
        first = data(w, sources[0])
        second = data(w, sources[1]) if atomic.function == "cmp" else first
        olds = np.zeros(len(first), f"u{size}")
        for chosen, places, memory in way(w, 0, size):
            cells = memory.cells(size)
            for number, place in zip(np.flatnonzero(chosen).tolist(), places.tolist(), strict=True):
                olds[number] = old = int(cells[place])
                if atomic.function == "cmp":
                    compared, new = first[number], second[number]
                    if not atomic.swapped:
                        compared, new = new, compared
                    if old == compared:
                        cells[place] = new
                else:
                    cells[place] = ATOMICS[atomic.function](old, first[number], atomic.kind)
        if d is not None:
            w.put(d, spread(w, olds.astype(np.uint32)))
            if words == 2:
                w.put(d + 1, spread(w, (olds >> np.uint64(32)).astype(np.uint32)))

    return step
