"""Assembly text into instructions: the syntax that LLVM prints ("Syntax of AMDGPU Instruction Operands")."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_FACT = re.compile(r"\s*\.amdhsa_(\w+) (\d+)")
_LABEL = re.compile(r"([.\w$]+):")
_MODIFIER = re.compile(r"(\w+)(?::(.*))?")
_TIMING = re.compile(
    r"s_(waitcnt\w*|wait_(?!event)\w+|delay_alu|clause|nop|sleep|inst_prefetch|set_inst_prefetch_distance)\b"
)
"""Instructions that only wait or schedule: nothing here is in flight."""


@dataclass(frozen=True)
class Instruction:
    """One instruction: `opcode operands modifiers`."""

    opcode: str
    operands: tuple[str, ...]
    modifiers: dict[str, str]
    """`offset:16` is "16", a bare word such as `glc` is ""."""
    text: str

    def number(self, modifier: str, otherwise: int = 0) -> int:
        return int(self.modifiers[modifier], 0) if modifier in self.modifiers else otherwise

    def flags(self, modifier: str) -> list[int] | None:
        """`op_sel:[0,1]`"""
        found = self.modifiers.get(modifier)
        return None if found is None else [int(bit) for bit in found.strip("[]").split(",")]


@dataclass(frozen=True)
class KernelText:
    """One kernel of a module: its instructions, and what the descriptor says (`.amdhsa_...`)."""

    name: str
    code: list[str]
    """A line holds one instruction, or the two of a `v_dual_` pair with ` :: ` between them."""
    labels: dict[str, int]
    """The number of the line that follows each label."""
    facts: dict[str, int] = field(default_factory=dict)


def _split(text: str) -> list[str]:
    """At commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]


def _words(text: str) -> list[str]:
    """At blanks that stand outside brackets."""
    return re.findall(r"(?:[^\s\[(]|\[[^\]]*\]|\([^)]*\))+", text)


def parse_instruction(text: str) -> Instruction:
    opcode, _, rest = text.partition(" ")
    operands = _split(rest.strip()) if rest.strip() else []
    modifiers: dict[str, str] = {}
    if operands:
        last, *words = _words(operands[-1])
        operands[-1] = last
        for word in words:
            found = _MODIFIER.fullmatch(word)
            if found is None:
                raise NotImplementedError(f"modifier {word!r} of {text!r}")
            modifiers[found[1]] = found[2] or ""
    return Instruction(opcode, tuple(operands), modifiers, text)


def parse_module(text: str) -> dict[str, KernelText]:
    """Every kernel of a module by its name."""
    found: dict[str, KernelText] = {}
    facts: dict[str, dict[str, int]] = {}
    current: KernelText | None = None
    described = ""
    names = set(re.findall(r"\.amdhsa_kernel (\S+)", text))
    for line in text.splitlines():
        line = line.split(";")[0].rstrip()
        stripped = line.strip()
        if label := _LABEL.fullmatch(stripped):
            if label[1] in names:
                current = found[label[1]] = KernelText(label[1], [], {})
            elif label[1].startswith(".Lfunc_end"):
                current = None
            elif current is not None:
                current.labels[label[1]] = len(current.code)
        elif stripped.startswith(".amdhsa_kernel"):
            described = stripped.split()[1]
        elif fact := _FACT.fullmatch(line):
            facts.setdefault(described, {})[fact[1]] = int(fact[2])
        elif stripped.startswith(".section"):
            current = None
        elif current is not None and stripped and not stripped.startswith(".") and not _TIMING.match(stripped):
            current.code.append(stripped.replace("\t", " "))
    for name, kernel in found.items():
        kernel.facts.update(facts[name])
    return found
