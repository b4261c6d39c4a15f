"""A module of kernels as text, and through LLVM to assembly or an object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from ...ir import Kernel
from .kernel import Emitter
from .target import Target, entry_name


@cache
def _initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def target_machine(triple: str, cpu: str, features: str) -> llvm.TargetMachine:
    _initialise()
    return llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic")


def module_text(target: Target, kernels: Iterable[tuple[Kernel, int]], machine: llvm.TargetMachine) -> str:
    """The LLVM IR of kernels, each with the number of logical blocks that a thread carries at a time."""
    functions: list[str] = []
    declarations: dict[str, str] = {}
    library: set[str] = set()
    shared: list[str] = []
    for kernel, items in kernels:
        emitter = Emitter(target, kernel, items)
        functions.append(emitter.function())
        declarations.update(emitter.w.declarations)
        library.update(emitter.w.library)
        if kernel.shared:
            shared.append(target.shared_memory(kernel))
    head = [f'target datalayout = "{machine.target_data}"', f'target triple = "{target.triple}"']
    parts = [*head, *shared, *functions, *sorted(library), *sorted(declarations.values()), target.module_text()]
    return "\n".join(part for part in parts if part) + "\n"


def optimised(
    text: str, machine: llvm.TargetMachine, kernels: Sequence[Kernel], library: Path | None = None
) -> llvm.ModuleRef:
    """Parse, link a bitcode library of which only what is called stays, and run LLVM's pipeline."""
    module = llvm.parse_assembly(text)
    module.verify()
    if library is not None:
        other = llvm.parse_bitcode(library.read_bytes())
        other.triple, other.data_layout = module.triple, module.data_layout
        module.link_in(other)
        keep = {entry_name(kernel) for kernel in kernels}
        for symbol in (*module.functions, *module.global_variables):
            if not symbol.is_declaration and symbol.name not in keep:
                symbol.linkage = llvm.Linkage.internal
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    return module
