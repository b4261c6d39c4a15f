"""SPIR-V as files for other Vulkan programs: the modules, and a description in JSON of how each is launched."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from ...ir import Op, Program, Value
from ...passes.outline import captured_scalars, parallel_loops
from .emit import SpirvModule
from .interface import SLOT, Interface
from .probe import FEATURE_EXTENSIONS
from .spirv import Capability

VERSION = 1
"""Of the description's own form."""
FIRST_ELEMENT = "first element"
"""The type of a slot that says where an array begins in its binding: the number of its first element there, an i64."""
_OPERATION = "VK_SUBGROUP_FEATURE_"


def files(program: Program, modules: Sequence[Sequence[SpirvModule]], name: str) -> dict[str, bytes]:
    """By file name: `kernel.spv` and its like, and `kernel.json`.  `modules` has those of each loop."""
    made: dict[str, bytes] = {}
    stem, loops = PurePath(name).stem, list[Any]()
    for number, (loop, variants) in enumerate(zip(parallel_loops(program), modules, strict=True)):
        place = f"{stem}.{number}" if len(modules) > 1 else stem
        described: list[Any] = []
        for module in variants:
            file = f"{place}.regular.spv" if module.interface.regular else f"{place}.spv"
            made[file] = module.bytes
            described.append(_module(program, loop, module, file))
        loops.append(_loop(program, loop, variants[0].interface) | {"modules": described})
    head = {"kernel": program.name, "version": VERSION, "vulkan": "1.3, or 1.2 with VK_EXT_subgroup_size_control"}
    made[f"{stem}.json"] = json.dumps({**head, "loops": loops}, indent=2).encode() + b"\n"
    return made


def _loop(program: Program, loop: Op, interface: Interface) -> dict[str, Any]:
    """What all variants of a parallel loop share."""
    values = dict(zip(_scalar_names(interface, program), captured_scalars(program, loop), strict=True))
    expression = _Expressions(program)
    slots = [
        {"name": name, "offset": SLOT * number, "type": _slot_type(program, name, values, interface)}
        | ({"value": expression.of(values[name])} if name in values else {})
        for number, name in enumerate(interface.arguments)
    ]
    block_dim: int = loop.attrs["block_dim"]
    return {
        "extents": [expression.of(v) for v in loop.operands],
        "block_dim": block_dim,
        "num_blocks": f"(items + {block_dim - 1}) // {block_dim}, items the product of the extents",
        "argument_block": {"bytes": SLOT * len(slots), "strides_in": "elements", "slots": slots},
        "push_constants": [
            {"name": name, "offset": SLOT * number, "type": "address" if name == "arguments" else "i64"}
            for number, name in enumerate(interface.push_constants)
        ],
    }


def _module(program: Program, loop: Op, module: SpirvModule, file: str) -> dict[str, Any]:
    interface, items = module.interface, module.interface.items
    covers: dict[str, Any] = {"blocks": "0 to num_blocks"}
    if interface.regular:
        covers["blocks"] = f"0 to items // {loop.attrs['block_dim']}"
        if len(loop.operands) > 1:
            covers["only_if"] = f"the last extent is a multiple of {program.subgroup_size}"
    return {
        "file": file,
        "variant": "regular" if interface.regular else "general",
        "covers": covers,
        "entry_point": interface.entry_point,
        "subgroup_size": interface.subgroup_size,
        "full_subgroups": True,
        "local_size": [interface.local_size, 1, 1],
        "shared_bytes": interface.shared_bytes,
        "blocks_per_thread": items,
        "groups": "end_block - first_block" if items == 1 else f"(end_block - first_block + {items - 1}) // {items}",
        **_bindings(interface),
        **_needs(module),
    }


def _bindings(interface: Interface) -> dict[str, Any]:
    """The storage buffers of descriptor set 0, where arrays have no addresses."""
    rows = [{"name": name, "set": 0, "binding": number} for number, name in enumerate(interface.bound)]
    return {"bindings": rows} if rows else {}


def _needs(module: SpirvModule) -> dict[str, Any]:
    """What of the device a module uses."""
    declared = [i.operands[0] for i in module.instructions if i.op == "Capability"]
    features = [name for name in module.needed if not name.startswith(_OPERATION)]
    features += ["subgroupSizeControl", "computeFullSubgroups"]
    return {
        "capabilities": [c.name for c in declared if isinstance(c, Capability)],
        "spirv_extensions": [i.operands[0] for i in module.instructions if i.op == "Extension"],
        "features": features,
        "subgroup_operations": [name for name in module.needed if name.startswith(_OPERATION)],
        "device_extensions": sorted({FEATURE_EXTENSIONS[name] for name in features if name in FEATURE_EXTENSIONS}),
    }


def _scalar_names(interface: Interface, program: Program) -> Sequence[str]:
    """The names of the last slots, which are the scalars."""
    return interface.arguments[sum(1 + 2 * memory.ndim for memory in program.memories) :]


def _slot_type(program: Program, name: str, values: dict[str, Value], interface: Interface) -> str:
    if name in values:
        return values[name].type.name
    if name not in {memory.name for memory in program.memories}:
        return "i64"
    return "address" if interface.bindings is None else FIRST_ELEMENT


# ---- the host's values -----------------------------------------------------------------------------------------------
_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "div": "/"}


class _Expressions:
    """What the host computes for a launch, as text in Python's terms."""

    def __init__(self, program: Program) -> None:
        self._made_by = {result: op for op in _walk(program) for result in op.results}
        self._parameters = {value: value.hint or f"scalar{n}" for n, value in enumerate(program.scalars)}

    def of(self, value: Value) -> str:
        if value in self._parameters:
            return self._parameters[value]
        op = self._made_by.get(value)
        if op is None or op.regions:
            return "computed by the host: see lanewise source --target ir"
        if op.opcode == "const":
            return str(op.attrs["value"])
        if op.opcode == "extent":
            return f"{op.attrs['mem'].name}.extent{op.attrs['axis']}"
        operands = [self.of(v) for v in op.operands]
        if op.opcode in _INFIX:
            return f"({operands[0]} {_INFIX[op.opcode]} {operands[1]})"
        if op.opcode == "cast" and op.result.type.is_int and op.operands[0].type.is_int:
            return operands[0]
        name = op.result.type.name if op.opcode == "cast" else op.opcode
        return f"{name}({', '.join(operands)})"


def _walk(program: Program) -> Iterator[Op]:
    return (op for op in program.body.ops if op.opcode != "parallel")
