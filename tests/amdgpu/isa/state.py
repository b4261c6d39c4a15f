"""What a wave is: its registers and the lanes that are enabled.

Values are never changed in place, so one array may stand in several registers; a value that is the same in all lanes
may have a last axis of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arr = np.ndarray[Any, Any]
Step = Callable[["Waves"], "int | None"]
"""Runs one instruction; the line to go on at where that is not the next one."""

# Numbers of scalar registers ("SGPR" and "Scalar operand encodings").
VCC, TTMP0, M0, EXEC = 106, 108, 124, 126
NULL = 128
"""`null` reads as 0 and ignores what is written; it may stand for a pair."""
SCALARS, VECTORS = 130, 512  # of the vector registers, the upper half are accumulation VGPRs
GARBAGE = 0xBADC0DE5
"""What registers hold before anything was written: no program may depend on it."""


@dataclass(frozen=True)
class Model:
    """The hardware: which generation, and how many lanes a wave has."""

    arch: str
    size: int
    convergent: bool = False
    """Whether every move between lanes must find all lanes enabled, as it does in code of lanewise."""

    @property
    def generation(self) -> int:
        return int(self.arch[3:-2])

    @property
    def words(self) -> int:
        """Scalar registers that a mask of lanes takes."""
        return self.size // 32

    @property
    def packed_thread_ids(self) -> bool:
        """Whether v0 holds the thread's three coordinates, ten bits each."""
        return self.arch in ("gfx90a", "gfx942", "gfx950") or self.generation >= 11


class Fault(Exception):
    """A program that does what it never should, or that runs for ever."""


def pack(mask: Arr) -> Arr:
    """Lanes (waves, W) as words (waves, W / 32)."""
    return np.ascontiguousarray(np.packbits(mask, axis=-1, bitorder="little")).view(np.uint32)


def unpack(words: Arr, size: int) -> Arr:
    """Words (waves, W / 32) as lanes (waves, W)."""
    return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little", count=size).view(bool)


@dataclass
class Waves:
    """Some waves that run together; every register is an array (waves, lanes)."""

    model: Model
    block: Arr
    """The hardware block of each wave."""
    number: Arr
    """The wave's number in the launch."""
    v: list[Arr]
    s: list[Arr]
    scc: Arr
    exec: Arr
    """The enabled lanes; `s[EXEC]` is kept in step."""
    full: bool = True
    """Whether all lanes are enabled in all waves."""
    pc: int = 0
    memory: Any = None
    barrier: bool = False
    """Whether they wait at one."""
    masks: dict[int, tuple[list[Arr], Arr]] = field(default_factory=dict)
    """What mask registers meant as lanes, with the words that did; not known of others."""

    @classmethod
    def fresh(cls, model: Model, block: Arr, memory: Any) -> Waves:
        count = len(block)
        garbage = np.full((1, 1), GARBAGE, np.uint32)
        waves = cls(
            model,
            block,
            np.arange(count),
            [garbage] * VECTORS,
            [garbage] * SCALARS,
            np.zeros((count, 1), bool),
            np.ones((count, model.size), bool),
            memory=memory,
        )
        waves.s[NULL] = waves.s[NULL + 1] = np.zeros((1, 1), np.uint32)
        waves.set_exec(waves.exec)
        return waves

    @property
    def count(self) -> int:
        return len(self.block)

    # ---- registers -----------------------------------------------------------------------------------------------
    def put(self, register: int, value: Arr, enabled: Arr | None = None) -> None:
        """Write a vector register in the enabled lanes, and of these in `enabled` alone."""
        if enabled is not None:
            self.v[register] = np.where(enabled if self.full else enabled & self.exec, value, self.v[register])
        elif self.full:
            self.v[register] = value
        else:
            self.v[register] = np.where(self.exec, value, self.v[register])

    def wide(self, value: Arr) -> Arr:
        """A value with its full shape."""
        shape = self.exec.shape
        return value if value.shape == shape else np.broadcast_to(value, shape)

    def mask(self, register: int) -> Arr:
        """The lanes whose bit is set in a mask register."""
        words = self.s[register : register + self.model.words]
        known = self.masks.get(register)
        if known is not None and all(a is b for a, b in zip(known[0], words, strict=True)):
            return known[1]
        joined = np.concatenate([np.broadcast_to(word, (self.count, 1)) for word in words], axis=-1)
        mask = unpack(np.ascontiguousarray(joined), self.model.size)
        self.masks[register] = words, mask
        return mask

    def put_mask(self, register: int, mask: Arr) -> None:
        """Write the enabled lanes of a mask; the others' bits become 0."""
        if register >= NULL:
            return
        mask = self.wide(mask)
        if not self.full:
            mask = mask & self.exec
        if register == EXEC:
            self.set_exec(mask)
            return
        words = pack(mask)
        for k in range(self.model.words):
            self.s[register + k] = np.ascontiguousarray(words[:, k : k + 1])
        self.masks[register] = self.s[register : register + self.model.words], mask

    def put_scalar(self, register: int, value: Arr) -> None:
        if register >= NULL:
            return
        self.s[register] = np.ascontiguousarray(value)
        if EXEC <= register < EXEC + self.model.words:
            self.exec = self.mask(EXEC)
            self.full = bool(self.exec.all())

    def set_exec(self, mask: Arr) -> None:
        words = pack(mask)
        self.exec, self.full = mask, bool(mask.all())
        for k in range(self.model.words):
            self.s[EXEC + k] = np.ascontiguousarray(words[:, k : k + 1])

    def meet(self) -> None:
        """Lanes meet here."""
        if self.model.convergent and not self.full:
            raise Fault("lanes meet while some are disabled")

    # ---- groups --------------------------------------------------------------------------------------------------
    def part(self, chosen: Arr) -> Waves:
        """Those of the waves that a boolean array names."""

        def cut(value: Arr) -> Arr:
            return value if len(value) == 1 else value[chosen]

        made = Waves(
            self.model,
            self.block[chosen],
            self.number[chosen],
            [cut(value) for value in self.v],
            [cut(value) for value in self.s],
            self.scc[chosen],
            self.exec[chosen],
            pc=self.pc,
            memory=self.memory,
        )
        made.full = bool(made.exec.all())
        return made

    @classmethod
    def joined(cls, groups: list[Waves]) -> Waves:
        """Groups that stand at the same line as one."""

        def join(values: list[Arr], counts: list[int]) -> Arr:
            if all(value is values[0] and len(value) == 1 for value in values):
                return values[0]
            width = max(value.shape[1] for value in values)
            return np.concatenate([np.broadcast_to(v, (n, width)) for v, n in zip(values, counts, strict=True)], axis=0)

        first, counts = groups[0], [group.count for group in groups]
        made = cls(
            first.model,
            np.concatenate([group.block for group in groups]),
            np.concatenate([group.number for group in groups]),
            [join(list(values), counts) for values in zip(*(group.v for group in groups), strict=True)],
            [join(list(values), counts) for values in zip(*(group.s for group in groups), strict=True)],
            np.concatenate([group.scc for group in groups]),
            np.concatenate([group.exec for group in groups]),
            pc=first.pc,
            memory=first.memory,
        )
        made.full = bool(made.exec.all())
        return made
