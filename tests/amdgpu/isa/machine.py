"""Runs a kernel: the program counter of each wave, branches, barriers, the start of a wave.

("Program Control", "Wave state at start".)  Waves at one instruction run together; where a branch parts them they run
on apart, the group behind first, and join again at barriers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from . import alu, lanes, memory, scalar, scalar_floats
from .operands import destination
from .space import Global, Memory, Rows
from .state import TTMP0, VCC, Arr, Fault, Model, Step, Waves
from .text import Instruction, KernelText, parse_instruction

LIMIT = 2_000_000
"""Steps of one launch: more than any test needs."""
END = -1

# What the first user registers hold, in this order, and how many each takes ("Initial kernel execution state").
_USER_REGISTERS = {
    "private_segment_buffer": 4,
    "dispatch_ptr": 2,
    "queue_ptr": 2,
    "kernarg_segment_ptr": 2,
    "dispatch_id": 2,
    "flat_scratch_init": 2,
    "private_segment_size": 1,
}
_DENORMALS_KEPT, _ROUND_TO_NEAREST = 3, 0


# ---- control --------------------------------------------------------------------------------------------------------
def _always(target: int) -> Step:
    return lambda w: target


def _where(condition: Callable[[Waves], Arr], target: int) -> Step:
    """Where the waves differ, the ones that jump are left to the machine."""

    def step(w: Waves) -> int | None:
        taken = np.broadcast_to(condition(w), (w.count, 1))
        if taken.all():
            return target
        if taken.any():
            raise Parted(taken[:, 0], target)
        return None

    return step


class Parted(Exception):
    """Some waves jump and some do not."""

    def __init__(self, taken: Arr, target: int) -> None:
        self.taken, self.target = taken, target


def _any_bit(register: int) -> Callable[[Waves], Arr]:
    def condition(w: Waves) -> Arr:
        found = w.s[register] != 0
        return found if w.model.words == 1 else found | (w.s[register + 1] != 0)

    return condition


_CONDITIONS: dict[str, Callable[[Waves], Any]] = {
    "s_cbranch_scc0": lambda w: ~w.scc,
    "s_cbranch_scc1": lambda w: w.scc,
    "s_cbranch_execz": lambda w: ~w.exec.any(axis=1, keepdims=True),
    "s_cbranch_execnz": lambda w: w.exec.any(axis=1, keepdims=True),
    "s_cbranch_vccz": lambda w: ~_any_bit(VCC)(w),
    "s_cbranch_vccnz": _any_bit(VCC),
}


def _barrier(w: Waves) -> None:
    w.barrier = True


def _get_register(instruction: Instruction, model: Model) -> Step:
    """S_GETREG_B32 of the clock, the one hardware register that kernels read."""
    if "SHADER_CYCLES" not in instruction.operands[1]:
        raise NotImplementedError(instruction.text)
    d = destination(instruction.operands[0], model).first
    high = "HI" in instruction.operands[1]
    ticks = [0]

    def step(w: Waves) -> None:
        ticks[0] += 64
        w.put_scalar(d, np.full((w.count, 1), 0 if high else ticks[0], np.uint32))

    return step


# ---- decoding -------------------------------------------------------------------------------------------------------
def decode(line: str, labels: dict[str, int], model: Model) -> Step:
    """One line of assembly as a step."""
    opcode = line.partition(" ")[0]
    if opcode == "s_branch":
        return _always(labels[line.rpartition(" ")[2]])
    if opcode in _CONDITIONS:
        return _where(_CONDITIONS[opcode], labels[line.rpartition(" ")[2]])
    return _decoded(line, model)


_SCALAR_BUILDERS = scalar.BUILDERS | scalar_floats.BUILDERS
_SCALAR_ROWS = scalar.ROWS | scalar_floats.ROWS


@lru_cache(maxsize=1 << 16)
def _decoded(line: str, model: Model) -> Step:
    """What does not depend on the place: kernels have much in common."""
    pair = line.split(" :: ")
    if len(pair) == 2:
        first, second = map(parse_instruction, pair)
        return alu.dual(first, second, model)
    instruction = parse_instruction(line)
    opcode = instruction.opcode
    if opcode == "s_endpgm":
        return _always(END)
    if opcode in ("s_barrier", "s_barrier_wait"):
        return _barrier
    if opcode == "s_barrier_signal" or line == "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)":
        return lambda w: None
    if opcode == "s_getreg_b32":
        return _get_register(instruction, model)
    if (build := lanes.BUILDERS.get(opcode.removesuffix("_e32").removesuffix("_e64"))) is not None:
        return build(instruction, model)
    name = scalar.ALIASES.get(opcode, opcode)
    if (build := _SCALAR_BUILDERS.get(name)) is not None:
        return build(instruction, model)
    if (row := _SCALAR_ROWS.get(name)) is not None:
        return scalar.from_row(row, instruction, model)
    if (build := memory.builder(opcode)) is not None:
        return build(instruction, model)
    if opcode.startswith("v_") and alu.find(instruction):
        return alu.step(instruction, model)
    raise NotImplementedError(f"{line!r} on {model.arch}")


@dataclass(frozen=True)
class Program:
    """A kernel, decoded for one architecture and wave size."""

    text: KernelText
    model: Model
    steps: list[Step]

    @classmethod
    def of(cls, text: KernelText, model: Model) -> Program:
        facts = text.facts
        for name in ("float_denorm_mode_32", "float_denorm_mode_16_64"):
            assert facts[name] == _DENORMALS_KEPT, name
        for name in ("float_round_mode_32", "float_round_mode_16_64"):
            assert facts[name] == _ROUND_TO_NEAREST, name
        assert bool(facts.get("wavefront_size32", 0)) == (model.size == 32)
        return cls(text, model, [decode(line, text.labels, model) for line in text.code])

    # ---- a launch --------------------------------------------------------------------------------------------------
    def launch(self, grid: int, threads: int, arguments: bytes, bounds: list[tuple[int, int]]) -> None:
        """Run `grid` blocks of `threads` threads, with a packed argument block and regions of memory."""
        size = self.model.size
        assert threads % size == 0, "blocks are whole waves"
        per_block = threads // size
        block = np.repeat(np.arange(grid), per_block)
        packed = np.frombuffer(arguments, np.uint8).copy()
        place = packed.ctypes.data
        lds = Rows.fresh("the block's LDS", grid, self.text.facts["group_segment_fixed_size"])
        scratch = self.text.facts["private_segment_fixed_size"]
        private = Rows.fresh("the lane's scratch", len(block) * size if scratch else 0, scratch)
        waves = Waves.fresh(self.model, block, Memory(Global.of([*bounds, (place, place + len(packed))]), lds, private))
        self._start(waves, place, np.tile(np.arange(per_block), grid) * size)
        with np.errstate(all="ignore"):
            self.run(waves)

    def _start(self, waves: Waves, arguments: int, first_thread: Arr) -> None:
        facts, place = self.text.facts, 0
        for name, count in _USER_REGISTERS.items():
            if facts.get(f"user_sgpr_{name}"):
                if name == "kernarg_segment_ptr":
                    for number in range(2):
                        half = np.array([[arguments >> 32 * number & 0xFFFFFFFF]], np.uint32)
                        waves.s[place + number] = half
                place += count
        place = facts["user_sgpr_count"]
        block = waves.block[:, None].astype(np.uint32)
        if self.model.generation >= 12:
            waves.s[TTMP0 + 9] = block
        elif facts["system_sgpr_workgroup_id_x"]:
            waves.s[place] = block
        waves.v[0] = (first_thread[:, None] + np.arange(self.model.size)).astype(np.uint32)

    def run(self, waves: Waves) -> None:
        """All waves to their end."""
        groups, waiting, budget = [waves], [], LIMIT
        while groups or waiting:
            if not groups:
                groups, waiting = _joined(waiting), []
            w = groups.pop()
            while True:
                budget -= 1
                if budget < 0:
                    raise Fault(f"{self.text.name} runs for ever: it is at {self.text.code[w.pc]!r}")
                step = self.steps[w.pc]
                w.pc += 1
                try:
                    target = step(w)
                except Parted as parted:
                    other = w.part(parted.taken)
                    other.pc = parted.target
                    w = w.part(~parted.taken)
                    groups.append(other)
                    continue
                except NotImplementedError:
                    raise
                except Exception as error:
                    line = self.text.code[w.pc - 1]
                    raise Fault(f"{self.text.name}: {line!r}: {error}") from error
                if target is not None:
                    if target == END:
                        break
                    w.pc = target
                elif w.barrier:
                    w.barrier = False
                    waiting.append(w)
                    break


def _joined(groups: list[Waves]) -> list[Waves]:
    """Those that stand at the same instruction as one."""
    by_place: dict[int, list[Waves]] = {}
    for group in groups:
        by_place.setdefault(group.pc, []).append(group)
    return [same[0] if len(same) == 1 else Waves.joined(same) for same in by_place.values()]
