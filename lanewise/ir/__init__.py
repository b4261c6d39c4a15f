"""The intermediate representation: nodes, the table of opcodes, builder, printer, verifier."""

from . import arith  # its rows complete the table of opcodes
from .builder import Builder
from .nodes import EXIT_FLAG, NOWHERE, Array, Block, Kernel, Local, Memory, Op, Program, Shared, Value
from .opcodes import OPCODES, Effect, Level, Opcode, register
from .printer import to_text

__all__ = [
    "EXIT_FLAG",
    "NOWHERE",
    "OPCODES",
    "Array",
    "Block",
    "Builder",
    "Effect",
    "Kernel",
    "Level",
    "Local",
    "Memory",
    "Op",
    "Opcode",
    "Program",
    "Shared",
    "Value",
    "arith",
    "register",
    "to_text",
]
