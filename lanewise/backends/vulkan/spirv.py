"""SPIR-V as data: the numbers of the instructions and enumerants that we use, and one instruction as words and as text.

Numbers are those of the SPIR-V specification's unified grammar.  The words and the text come from the same list of
instructions, and ids are numbered in the order in which they first appear, as `spirv-as` numbers them: assembling the
text gives the words back, bit for bit.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TypeAlias

import numpy as np

from ...dtypes import DType

MAGIC = 0x07230203
VERSION_1_3 = 0x00010300
"""What every Vulkan 1.1 device takes; what is newer comes as an extension."""


# ---- enumerants ------------------------------------------------------------------------------------------------------
class Capability(IntEnum):
    Shader = 1
    Float16 = 9
    Float64 = 10
    Int64 = 11
    Int64Atomics = 12
    Int16 = 22
    Int8 = 39
    GroupNonUniform = 61
    GroupNonUniformVote = 62
    GroupNonUniformArithmetic = 63
    GroupNonUniformBallot = 64
    GroupNonUniformShuffle = 65
    GroupNonUniformShuffleRelative = 66
    GroupNonUniformClustered = 67
    GroupNonUniformQuad = 68
    StorageBuffer16BitAccess = 4433
    StorageBuffer8BitAccess = 4448
    DenormPreserve = 4464
    SignedZeroInfNanPreserve = 4466
    RoundingModeRTE = 4467
    ShaderClockKHR = 5055
    VulkanMemoryModel = 5345
    PhysicalStorageBufferAddresses = 5347
    GroupNonUniformRotateKHR = 6026
    AtomicFloat32AddEXT = 6033
    AtomicFloat64AddEXT = 6034


class StorageClass(IntEnum):
    Input = 1
    Workgroup = 4
    Function = 7
    PushConstant = 9
    StorageBuffer = 12
    PhysicalStorageBuffer = 5349


class Decoration(IntEnum):
    Block = 2
    ArrayStride = 6
    BuiltIn = 11
    Aliased = 20
    Coherent = 23
    Binding = 33
    DescriptorSet = 34
    Offset = 35
    NoContraction = 42


class BuiltIn(IntEnum):
    NumWorkgroups = 24
    WorkgroupId = 26
    SubgroupId = 40
    SubgroupLocalInvocationId = 41


class ExecutionMode(IntEnum):
    LocalSize = 17
    DenormPreserve = 4459
    SignedZeroInfNanPreserve = 4461
    RoundingModeRTE = 4462
    MaximallyReconvergesKHR = 6023


class ExecutionModel(IntEnum):
    GLCompute = 5


class AddressingModel(IntEnum):
    Logical = 0
    PhysicalStorageBuffer64 = 5348


class MemoryModel(IntEnum):
    GLSL450 = 1
    Vulkan = 3


class MemoryAccess(IntFlag):
    Aligned = 2
    NonPrivatePointer = 32


class Control(IntFlag):
    """Function, selection and loop controls: we give no hints."""

    NONE = 0


class GroupOperation(IntEnum):
    Reduce = 0
    InclusiveScan = 1
    ExclusiveScan = 2
    ClusteredReduce = 3


class Scope(IntEnum):
    """Passed as the id of a constant."""

    Device = 1
    Workgroup = 2
    Subgroup = 3
    QueueFamily = 5


class Semantics(IntFlag):
    """Memory semantics; passed as the id of a constant."""

    AcquireRelease = 0x8
    UniformMemory = 0x40
    WorkgroupMemory = 0x100
    MakeAvailable = 0x2000
    MakeVisible = 0x4000


class Glsl(IntEnum):
    """The extended instructions of GLSL.std.450."""

    RoundEven = 2
    Trunc = 3
    FAbs = 4
    SAbs = 5
    Floor = 8
    Ceil = 9
    Sin = 13
    Cos = 14
    Tan = 15
    Cosh = 20
    Exp = 27
    Log = 28
    Exp2 = 29
    Log2 = 30
    Sqrt = 31
    UMin = 38
    SMin = 39
    UMax = 41
    SMax = 42
    Fma = 50
    FindILsb = 73
    FindUMsb = 75


EXTENSIONS: dict[Capability | ExecutionMode, str] = {
    Capability.StorageBuffer8BitAccess: "SPV_KHR_8bit_storage",
    Capability.DenormPreserve: "SPV_KHR_float_controls",
    Capability.SignedZeroInfNanPreserve: "SPV_KHR_float_controls",
    Capability.RoundingModeRTE: "SPV_KHR_float_controls",
    Capability.ShaderClockKHR: "SPV_KHR_shader_clock",
    Capability.VulkanMemoryModel: "SPV_KHR_vulkan_memory_model",
    Capability.PhysicalStorageBufferAddresses: "SPV_KHR_physical_storage_buffer",
    Capability.GroupNonUniformRotateKHR: "SPV_KHR_subgroup_rotate",
    Capability.AtomicFloat32AddEXT: "SPV_EXT_shader_atomic_float_add",
    Capability.AtomicFloat64AddEXT: "SPV_EXT_shader_atomic_float_add",
    ExecutionMode.MaximallyReconvergesKHR: "SPV_KHR_maximal_reconvergence",
}
"""The extension that brings what SPIR-V 1.3 does not have."""


# ---- instructions ----------------------------------------------------------------------------------------------------
def _numbered(first: int, names: str) -> dict[str, int]:
    return {name: first + offset for offset, name in enumerate(names.split())}


OPCODES: dict[str, int] = {
    "Extension": 10,
    "ExtInstImport": 11,
    "ExtInst": 12,
    "MemoryModel": 14,
    "EntryPoint": 15,
    "ExecutionMode": 16,
    "Capability": 17,
    **_numbered(19, "TypeVoid TypeBool TypeInt TypeFloat TypeVector"),
    **_numbered(28, "TypeArray TypeRuntimeArray TypeStruct"),
    **_numbered(32, "TypePointer TypeFunction"),
    **_numbered(41, "ConstantTrue ConstantFalse Constant ConstantComposite"),
    "ConstantNull": 46,
    "Function": 54,
    "FunctionEnd": 56,
    **_numbered(59, "Variable"),
    **_numbered(61, "Load Store"),
    "AccessChain": 65,
    **_numbered(71, "Decorate MemberDecorate"),
    **_numbered(80, "CompositeConstruct CompositeExtract"),
    **_numbered(109, "ConvertFToU ConvertFToS ConvertSToF ConvertUToF UConvert SConvert FConvert"),
    "ConvertPtrToU": 117,
    "ConvertUToPtr": 120,
    "Bitcast": 124,
    **_numbered(126, "SNegate FNegate IAdd FAdd ISub FSub IMul FMul UDiv SDiv FDiv UMod"),
    **_numbered(156, "IsNan IsInf"),
    **_numbered(164, "LogicalEqual LogicalNotEqual LogicalOr LogicalAnd LogicalNot Select IEqual INotEqual"),
    **_numbered(172, "UGreaterThan SGreaterThan UGreaterThanEqual SGreaterThanEqual"),
    **_numbered(176, "ULessThan SLessThan ULessThanEqual SLessThanEqual"),
    "FOrdEqual": 180,
    "FUnordNotEqual": 183,
    "FOrdLessThan": 184,
    "FOrdGreaterThan": 186,
    "FOrdLessThanEqual": 188,
    "FOrdGreaterThanEqual": 190,
    **_numbered(194, "ShiftRightLogical ShiftRightArithmetic ShiftLeftLogical BitwiseOr BitwiseXor BitwiseAnd Not"),
    **_numbered(204, "BitReverse BitCount"),
    **_numbered(224, "ControlBarrier MemoryBarrier"),
    **_numbered(227, "AtomicLoad AtomicStore AtomicExchange AtomicCompareExchange"),
    **_numbered(234, "AtomicIAdd AtomicISub AtomicSMin AtomicUMin AtomicSMax AtomicUMax AtomicAnd AtomicOr AtomicXor"),
    **_numbered(246, "LoopMerge SelectionMerge Label Branch BranchConditional"),
    "Return": 253,
    "GroupNonUniformAll": 334,
    "GroupNonUniformAny": 335,
    "GroupNonUniformBroadcast": 337,
    "GroupNonUniformBallot": 339,
    **_numbered(
        345, "GroupNonUniformShuffle GroupNonUniformShuffleXor GroupNonUniformShuffleUp GroupNonUniformShuffleDown"
    ),
    "GroupNonUniformIAdd": 349,
    "GroupNonUniformIMul": 351,
    "GroupNonUniformSMin": 353,
    "GroupNonUniformUMin": 354,
    "GroupNonUniformSMax": 356,
    "GroupNonUniformUMax": 357,
    **_numbered(359, "GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr GroupNonUniformBitwiseXor"),
    **_numbered(365, "GroupNonUniformQuadBroadcast GroupNonUniformQuadSwap"),
    "GroupNonUniformRotateKHR": 4431,
    "ReadClockKHR": 5056,
    "AtomicFAddEXT": 6035,
}


class Id:
    """A result id: identity is the object; it gets its number when the module is encoded."""

    __slots__ = ("hint",)

    def __init__(self, hint: str = "") -> None:
        self.hint = re.sub(r"\W", "", hint, flags=re.ASCII)

    def __repr__(self) -> str:
        return f"%{self.hint or hex(id(self))}"


@dataclass(frozen=True, slots=True)
class Number:
    """The literal of an OpConstant."""

    value: int | float
    dtype: DType

    @property
    def words(self) -> list[int]:
        """The bits, low word first; a type narrower than a word is extended by its sign, ours have none."""
        bits = np.array([self.value], self.dtype.np).tobytes()
        return list(struct.unpack(f"<{-(-len(bits) // 4)}I", bits.ljust(-(-len(bits) // 4) * 4, b"\0")))

    def __str__(self) -> str:
        if not self.dtype.is_float:
            return str(self.value)
        exact = float(np.array(self.value, self.dtype.np))
        if np.isfinite(exact):
            mantissa, _, exponent = exact.hex().partition("p")
            return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent}"
        # The assembler's spelling: the exponent that stands for infinities and NaNs, with its mantissa.
        top = {16: 16, 32: 128, 64: 1024}[self.dtype.bits]
        return f"{'-' if np.signbit(exact) else ''}0x1{'.8' if np.isnan(exact) else ''}p+{top}"


Operand: TypeAlias = "Id | int | str | Number"


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One instruction; `op` is its name without the "Op"."""

    op: str
    type: Id | None
    result: Id | None
    operands: tuple[Operand, ...]

    def ids(self) -> Iterable[Id]:
        """Its ids in the order of its words."""
        if self.type is not None:
            yield self.type
        if self.result is not None:
            yield self.result
        yield from (operand for operand in self.operands if isinstance(operand, Id))

    def words(self, number: Callable[[Id], int]) -> list[int]:
        body = [number(i) for i in (self.type, self.result) if i is not None]
        for operand in self.operands:
            body += _words(operand, number)
        return [(len(body) + 1) << 16 | OPCODES[self.op], *body]

    def text(self, name: Callable[[Id], str]) -> tuple[str, str]:
        """Its text in two parts: the result with its equals sign, and the rest."""
        left = f"{name(self.result)} = " if self.result is not None else ""
        right = [f"Op{self.op}"]
        if self.type is not None:
            right.append(name(self.type))
        right += [_text(operand, name) for operand in self.operands]
        return left, " ".join(right)


def _words(operand: Operand, number: Callable[[Id], int]) -> list[int]:
    if isinstance(operand, Id):
        return [number(operand)]
    if isinstance(operand, Number):
        return operand.words
    if isinstance(operand, str):
        data = operand.encode() + b"\0"
        data += bytes(-len(data) % 4)
        return list(struct.unpack(f"<{len(data) // 4}I", data))
    return [int(operand)]


def _text(operand: Operand, name: Callable[[Id], str]) -> str:
    if isinstance(operand, Id):
        return name(operand)
    if isinstance(operand, str):
        return f'"{operand}"'
    if isinstance(operand, IntFlag):
        return "|".join(flag.name or "" for flag in type(operand) if flag & operand) or "None"
    if isinstance(operand, IntEnum):
        return operand.name
    return str(operand)


_MARGIN = 18
"""Columns that the text keeps free for results."""


# ---- modules ---------------------------------------------------------------------------------------------------------
def encode(instructions: Sequence[Instruction]) -> list[int]:
    """The words of a module: its header and its instructions."""
    numbers: dict[Id, int] = {}
    for instruction in instructions:
        for i in instruction.ids():
            numbers.setdefault(i, len(numbers) + 1)
    words = [MAGIC, VERSION_1_3, 0, len(numbers) + 1, 0]
    for instruction in instructions:
        words += instruction.words(numbers.__getitem__)
    return words


def disassemble(instructions: Sequence[Instruction]) -> str:
    """The text of a module, in the assembler's syntax; ids have the names of the user's variables."""
    names: dict[Id, str] = {}
    taken: set[str] = set()

    def name(i: Id) -> str:
        if i not in names:
            stem = "" if i.hint.isdigit() else i.hint
            candidate, count = stem or str(len(names) + 1), 1
            while candidate in taken:
                count += 1
                candidate = f"{stem or len(names) + 1}_{count}"
            names[i] = candidate
            taken.add(candidate)
        return f"%{names[i]}"

    lines: list[str] = []
    for instruction in instructions:
        left, right = instruction.text(name)
        lines.append(f"{left:>{_MARGIN}}{right}")
    return "\n".join(lines) + "\n"
