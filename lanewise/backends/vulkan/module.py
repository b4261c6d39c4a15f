"""Builds a module: sections in the order that SPIR-V demands, types and constants made once, one function.

Every integer type is declared without a sign: in SPIR-V the instruction says how it reads its operands, so i32 and u32
are one type and a cast between them is nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ... import dtypes
from ...dtypes import DType
from .features import NEEDS, Features, MissingFeature
from .spirv import (
    EXTENSIONS,
    AddressingModel,
    BuiltIn,
    Capability,
    Control,
    Decoration,
    ExecutionMode,
    ExecutionModel,
    Glsl,
    Id,
    Instruction,
    MemoryModel,
    Number,
    Operand,
    StorageClass,
)

Type: TypeAlias = "DType | Id"

_TYPE_CAPABILITIES = {
    dtypes.u8: Capability.Int8,
    dtypes.u16: Capability.Int16,
    dtypes.u64: Capability.Int64,
    dtypes.f16: Capability.Float16,
    dtypes.f64: Capability.Float64,
}
_STORAGE_CAPABILITIES = {8: Capability.StorageBuffer8BitAccess, 16: Capability.StorageBuffer16BitAccess}
_NO_CONTRACTION = frozenset({"FAdd", "FSub", "FMul", "FDiv", "FNegate"})


def sign_free(dtype: DType) -> DType:
    """The DType that stands for the SPIR-V type: unsigned for every integer."""
    return dtypes.unsigned_of(dtype.bits) if dtype.is_int else dtype


class Module:
    """A compute module under construction; `emit` appends to the body of its one function."""

    def __init__(self, features: Features) -> None:
        self.features = features
        self._capabilities: dict[Capability, None] = {}
        self._needed: dict[str, None] = {}
        self._extensions: dict[str, None] = {}
        self._modes: list[tuple[ExecutionMode, tuple[int, ...]]] = []
        self._decorations: list[Instruction] = []
        self._globals: list[Instruction] = []
        self._unique: dict[tuple[object, ...], Id] = {}
        self._interface: list[Id] = []
        self._glsl = Id("glsl")
        self._uses_glsl = False
        self._locals: list[Instruction] = []
        self._entry: list[Instruction] = []
        self._body: list[Instruction] = []
        self._values: dict[Id, int | float | bool] = {}
        self.float_widths: set[int] = set()
        self.require(Capability.Shader)

    # ---- what the device must have -------------------------------------------------------------------------------
    def require(self, capability: Capability) -> None:
        """Declare a capability, with its extension; MissingFeature where the device lacks it."""
        need = NEEDS.get(capability)
        if need is not None:
            if not getattr(self.features, need.field):
                raise MissingFeature(f"the device has no {need.vulkan}")
            self._needed[need.vulkan] = None
        self._capabilities[capability] = None
        if capability in EXTENSIONS:
            self._extensions[EXTENSIONS[capability]] = None

    def need(self, feature: str) -> None:
        """Note a feature of the device, by Vulkan's name, that is no capability's alone."""
        self._needed[feature] = None

    @property
    def needed(self) -> tuple[str, ...]:
        """Vulkan's names of the features that the module uses."""
        return tuple(sorted(self._needed))

    def mode(self, mode: ExecutionMode, *literals: int) -> None:
        self._modes.append((mode, literals))
        if mode in EXTENSIONS:
            self._extensions[EXTENSIONS[mode]] = None

    # ---- types and constants ---------------------------------------------------------------------------------------
    def _global(self, op: str, type_: Id | None, *operands: Operand, hint: str = "") -> Id:
        """A type or constant, made once."""
        key = (op, type_, *(str(o) if isinstance(o, Number) else o for o in operands))
        found = self._unique.get(key)
        if found is None:
            found = self._unique[key] = Id(hint)
            self._globals.append(Instruction(op, type_, found, operands))
        return found

    def type(self, type_: Type) -> Id:
        """The id of a type."""
        if isinstance(type_, Id):
            return type_
        dtype = sign_free(type_)
        if dtype in _TYPE_CAPABILITIES:
            self.require(_TYPE_CAPABILITIES[dtype])
        if dtype.is_bool:
            return self._global("TypeBool", None, hint="bool")
        if dtype.is_float:
            self.float_widths.add(dtype.bits)
            return self._global("TypeFloat", None, dtype.bits, hint=dtype.name)
        return self._global("TypeInt", None, dtype.bits, 0, hint=dtype.name)

    def stored(self, dtype: DType) -> Id:
        """The id of a type that lies in device memory."""
        if dtype.bits in _STORAGE_CAPABILITIES:
            self.require(_STORAGE_CAPABILITIES[dtype.bits])
        return self.type(dtype)

    def vector(self, dtype: DType, count: int) -> Id:
        return self._global("TypeVector", None, self.type(dtype), count, hint=f"{dtype}x{count}")

    def array(self, element: Id, length: int) -> Id:
        return self._global("TypeArray", None, element, self.u32(length), hint=f"{element.hint}_array{length}")

    def pointer(self, storage: StorageClass, target: Id) -> Id:
        return self._global("TypePointer", None, storage, target, hint=f"{storage.name}_{target.hint}")

    def buffer(self, element: Id, stride: int, *, coherent: bool = False) -> Id:
        """The type of an array in device memory: a struct of one runtime array, as shaders declare their buffers."""
        key = ("buffer", element, coherent)
        if key not in self._unique:
            array, struct = Id(f"{element.hint}_elements"), Id(f"{element.hint}_buffer")
            self._globals.append(Instruction("TypeRuntimeArray", None, array, (element,)))
            self.decorate(array, Decoration.ArrayStride, stride)
            self._globals.append(Instruction("TypeStruct", None, struct, (array,)))
            self.decorate(struct, Decoration.Block)
            self.decorate_member(struct, 0, Decoration.Offset, 0)
            if coherent:
                self.decorate_member(struct, 0, Decoration.Coherent)
            self._unique[key] = struct
        return self._unique[key]

    def struct(self, members: Iterable[tuple[int, Id]], hint: str) -> Id:
        """A new block struct with its members at these byte offsets."""
        found = Id(hint)
        members = list(members)
        self._globals.append(Instruction("TypeStruct", None, found, tuple(t for _, t in members)))
        self.decorate(found, Decoration.Block)
        for number, (offset, _) in enumerate(members):
            self.decorate_member(found, number, Decoration.Offset, offset)
        return found

    def const(self, value: int | float | bool, dtype: DType) -> Id:
        """A constant; a negative integer is given as its bits."""
        dtype = sign_free(dtype)
        type_ = self.type(dtype)
        if dtype.is_bool:
            made = self._global("ConstantTrue" if value else "ConstantFalse", type_, hint="true" if value else "false")
        else:
            if dtype.is_int:
                value = int(value) & ((1 << dtype.bits) - 1)
            hint = f"{dtype}_{value}".replace(".", "_").replace("-", "m")
            made = self._global("Constant", type_, Number(value, dtype), hint=hint)
        self._values[made] = value
        return made

    def u32(self, value: int) -> Id:
        return self.const(value, dtypes.u32)

    def constant_array(self, values: Iterable[int]) -> Id:
        """A constant array of u32."""
        items = [self.u32(v) for v in values]
        return self._global("ConstantComposite", self.array(self.type(dtypes.u32), len(items)), *items, hint="table")

    def value_of(self, id_: Id) -> int | float | bool | None:
        """The value of a scalar constant (integers as their bits), None of anything else."""
        return self._values.get(id_)

    # ---- variables and decorations -----------------------------------------------------------------------------------
    def decorate(self, target: Id, decoration: Decoration, *literals: int) -> None:
        self._decorations.append(Instruction("Decorate", None, None, (target, decoration, *literals)))

    def decorate_member(self, struct: Id, member: int, decoration: Decoration, *literals: int) -> None:
        self._decorations.append(Instruction("MemberDecorate", None, None, (struct, member, decoration, *literals)))

    def global_variable(self, storage: StorageClass, target: Id, hint: str) -> Id:
        made = Id(hint)
        self._globals.append(Instruction("Variable", self.pointer(storage, target), made, (storage,)))
        if storage is StorageClass.Input:
            self._interface.append(made)
        return made

    def builtin(self, which: BuiltIn, type_: Id) -> Id:
        """The Input variable of a built-in value, made once."""
        key = ("builtin", which)
        if key not in self._unique:
            self._unique[key] = self.global_variable(StorageClass.Input, type_, which.name)
            self.decorate(self._unique[key], Decoration.BuiltIn, which)
        return self._unique[key]

    def variable(self, target: Id, hint: str = "", initial: Id | None = None) -> Id:
        """A variable of the function."""
        made = Id(hint)
        operands = (StorageClass.Function,) if initial is None else (StorageClass.Function, initial)
        self._locals.append(Instruction("Variable", self.pointer(StorageClass.Function, target), made, operands))
        return made

    # ---- the function's body -----------------------------------------------------------------------------------------
    def emit(self, op: str, type_: Type, *operands: Operand, hint: str = "") -> Id:
        """Append an instruction with a result."""
        made = Id(hint)
        self._body.append(Instruction(op, self.type(type_), made, operands))
        if op in _NO_CONTRACTION:
            self.decorate(made, Decoration.NoContraction)
        return made

    __call__ = emit

    def at_entry(self, op: str, type_: Type, *operands: Operand, hint: str = "") -> Id:
        """The result of a pure instruction on what is there from the start, computed once, at the function's top."""
        key = ("entry", op, *operands)
        if key not in self._unique:
            self._unique[key] = Id(hint)
            self._entry.append(Instruction(op, self.type(type_), self._unique[key], operands))
        return self._unique[key]

    def do(self, op: str, *operands: Operand) -> None:
        """Append an instruction without a result."""
        self._body.append(Instruction(op, None, None, operands))

    def glsl(self, which: Glsl, type_: Type, *operands: Id) -> Id:
        self._uses_glsl = True
        return self.emit("ExtInst", type_, self._glsl, which, *operands)

    def label(self, label: Id) -> None:
        """Begin a block."""
        self._body.append(Instruction("Label", None, label, ()))

    # ---- the whole ---------------------------------------------------------------------------------------------------
    def finish(self, name: str) -> list[Instruction]:
        """All instructions of the module, in order."""

        def plain(op: str, *operands: Operand) -> Instruction:
            return Instruction(op, None, None, operands)

        void = self._global("TypeVoid", None, hint="void")
        signature = self._global("TypeFunction", None, void, hint="kernel")
        main, entry = Id("main"), Id("entry")
        model = MemoryModel.Vulkan if Capability.VulkanMemoryModel in self._capabilities else MemoryModel.GLSL450
        physical = Capability.PhysicalStorageBufferAddresses in self._capabilities
        addressing = AddressingModel.PhysicalStorageBuffer64 if physical else AddressingModel.Logical
        imports = [Instruction("ExtInstImport", None, self._glsl, ("GLSL.std.450",))] if self._uses_glsl else []
        return [
            *(plain("Capability", c) for c in sorted(self._capabilities)),
            *(plain("Extension", e) for e in sorted(self._extensions)),
            *imports,
            plain("MemoryModel", addressing, model),
            plain("EntryPoint", ExecutionModel.GLCompute, main, name, *self._interface),
            *(plain("ExecutionMode", main, mode, *literals) for mode, literals in self._modes),
            *self._decorations,
            *self._globals,
            Instruction("Function", void, main, (Control.NONE, signature)),
            Instruction("Label", None, entry, ()),
            *self._locals,
            *self._entry,
            *self._body,
            plain("Return"),
            plain("FunctionEnd"),
        ]
