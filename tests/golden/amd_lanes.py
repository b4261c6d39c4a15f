"""Runs a straight line of AMDGPU intrinsics over the lanes of one wavefront, as the ISA documents define them.

Written from the documents and apart from the compiler's own tables, so that a wrong table is found.  All lanes are
active.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise.backends.llvm.text import Writer

Lanes = np.ndarray[Any, Any]

CALL = re.compile(r"(%\w+) = call i32 @llvm\.([\w.]+)\((.*)\)")
SELECT = re.compile(r"(%\w+) = select i1 (\S+), i32 (\S+), i32 (\S+)")
PLAIN = re.compile(r"(%\w+) = (\w+|icmp \w+) i(\d+) (\S+), (\S+)")
CONVERT = re.compile(r"(%\w+) = (?:zext|trunc) i\d+ (\S+) to i(\d+)")

PLAIN_MEANINGS = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": np.left_shift,
    "lshr": np.right_shift,
    "icmp ne": np.not_equal,
}


class Wave:
    """One wavefront of a generation (9, 10, 11 or 12)."""

    def __init__(self, generation: int, size: int) -> None:
        self.generation = generation
        self.size = size
        self.lane = np.arange(size)
        self.values: dict[str, Lanes] = {}

    def run(self, w: Writer, inputs: dict[str, Lanes], result: str) -> Lanes:
        """The lanes of `result` after a writer's instructions."""
        self.values = {name: value.astype(np.uint64) for name, value in inputs.items()}
        for line in w.lines:
            self.step(str(line).strip())
        return self.read(result)

    def read(self, text: str) -> Lanes:
        if text in self.values:
            return self.values[text]
        number = {"true": 1, "false": 0, "poison": 0xDEAD}.get(text)
        return np.full(self.size, (int(text) % (1 << 64)) if number is None else number, np.uint64)

    def step(self, line: str) -> None:
        if found := CALL.fullmatch(line):
            name, function, arguments = found.groups()
            operands = [a.rsplit(" ", 1)[1] for a in arguments.split(", ")]
            function = function.removeprefix("amdgcn.").removesuffix(".i32").replace(".", "_")
            value = getattr(self, function)(*operands)
        elif found := SELECT.fullmatch(line):
            name, cond, a, b = found.groups()
            value = np.where(self.read(cond) != 0, self.read(a), self.read(b))
        elif found := CONVERT.fullmatch(line):
            name, source, bits = found.groups()
            value = self.read(source) & np.uint64((1 << int(bits)) - 1)
        elif found := PLAIN.fullmatch(line):
            name, code, bits, a, b = found.groups()
            value = PLAIN_MEANINGS[code](self.read(a), self.read(b)).astype(np.uint64)
            value &= np.uint64((1 << int(bits)) - 1)
        else:
            raise NotImplementedError(line)
        self.values[name] = value

    def _signed(self, text: str) -> Lanes:
        return self.read(text).astype(np.uint32).view(np.int32)

    # ---- the intrinsics any target has ---------------------------------------------------------------------------
    def umin(self, a: str, b: str) -> Lanes:
        return np.minimum(self.read(a), self.read(b))

    def umax(self, a: str, b: str) -> Lanes:
        return np.maximum(self.read(a), self.read(b))

    def smin(self, a: str, b: str) -> Lanes:
        return np.minimum(self._signed(a), self._signed(b)).view(np.uint32).astype(np.uint64)

    def smax(self, a: str, b: str) -> Lanes:
        return np.maximum(self._signed(a), self._signed(b)).view(np.uint32).astype(np.uint64)

    # ---- those of AMDGPU ------------------------------------------------------------------------------------------
    def update_dpp(self, old: str, x: str, control: str, rows: str, banks: str, bound_control: str) -> Lanes:
        """Vega ISA 9.3.9, RDNA3 ISA 16.1: DPP_CTRL."""
        word, l = int(control), self.lane
        n, place, row = word & 15, l % 16, l - l % 16
        valid = np.ones(self.size, bool)
        if word < 0x100:
            source = l - l % 4 + np.array([word >> 2 * k & 3 for k in range(4)])[l % 4]
        elif word in range(0x101, 0x110):  # row_shl: from the lane n above
            source, valid = l + n, place + n < 16
        elif word in range(0x111, 0x120):
            source, valid = l - n, place >= n
        elif word in range(0x121, 0x130):
            source = row + (place - n) % 16
        elif word == 0x140:
            source = row + 15 - place
        elif word == 0x141:
            source = l - l % 8 + 7 - l % 8
        elif self.generation == 9 and word in (0x130, 0x138):
            source = l + (1 if word == 0x130 else -1)
            valid = (source >= 0) & (source < self.size)
        elif self.generation == 9 and word in (0x134, 0x13C):
            source = (l + (1 if word == 0x134 else -1)) % self.size
        elif self.generation == 9 and word == 0x142:
            source, valid = row - 1, l >= 16
        elif self.generation == 9 and word == 0x143:
            source, valid = np.full(self.size, 31), l >= 32
        elif self.generation >= 10 and word in range(0x150, 0x160):
            source = row + n
        elif self.generation >= 10 and word in range(0x160, 0x170):
            source = l ^ n
        else:
            raise NotImplementedError(f"DPP control {word:#x} on gfx{self.generation}")
        enabled = (int(rows) >> l // 16 & 1).astype(bool) & (int(banks) >> l // 4 % 4 & 1).astype(bool)
        read = np.where(valid, self.read(x)[np.clip(source, 0, self.size - 1)], 0)
        return np.where(enabled & (valid | (bound_control == "true")), read, self.read(old))

    def _row_select(self, x: str, low: str, high: str, flip: int) -> Lanes:
        if self.generation < 10:
            raise NotImplementedError("permlane16 came with gfx10")
        select = (int(low) & 0xFFFFFFFF) | (int(high) & 0xFFFFFFFF) << 32
        place = np.array([select >> 4 * (lane % 16) & 15 for lane in range(self.size)])
        return self.read(x)[(self.lane // 16 ^ flip) * 16 + place]

    def permlane16(self, old: str, x: str, low: str, high: str, *flags: str) -> Lanes:
        return self._row_select(x, low, high, 0)

    def permlanex16(self, old: str, x: str, low: str, high: str, *flags: str) -> Lanes:
        return self._row_select(x, low, high, 1)

    def permlane64(self, x: str) -> Lanes:
        if self.generation < 11:
            raise NotImplementedError("permlane64 came with gfx11")
        return np.roll(self.read(x), 32) if self.size == 64 else self.read(x)

    def readlane(self, x: str, lane: str) -> Lanes:
        chosen: Sequence[int] = self.read(lane).tolist()
        assert len(set(chosen)) == 1, "readlane of a varying lane"
        return np.full(self.size, self.read(x)[chosen[0]])

    def readfirstlane(self, x: str) -> Lanes:
        return np.full(self.size, self.read(x)[0])

    def ds_bpermute(self, address: str, x: str) -> Lanes:
        lane = (self.read(address).astype(np.int64) >> 2) % self.size
        if self.size == 64 and self.generation in (10, 11):  # only within the reader's half
            lane = lane % 32 + self.lane // 32 * 32
        return self.read(x)[lane]

    def ds_swizzle(self, x: str, pattern: str) -> Lanes:
        word = int(pattern)
        assert word < 1 << 15, "bit-mask mode"
        keep, set_, flip = word & 31, word >> 5 & 31, word >> 10 & 31
        return self.read(x)[self.lane // 32 * 32 + (((self.lane % 32) & keep | set_) ^ flip)]

    def mbcnt_lo(self, mask: str, base: str) -> Lanes:
        return np.minimum(self.lane, 32).astype(np.uint64)

    def mbcnt_hi(self, mask: str, base: str) -> Lanes:
        return self.read(base) + np.maximum(self.lane - 32, 0).astype(np.uint64)
