"""Reductions and scans that are one group instruction: integers only, as their order of folding changes no bit.

Over the whole subgroup they are OpGroupNonUniform* with Reduce, InclusiveScan or ExclusiveScan; in a tile there is
ClusteredReduce, and no scan.  A lane that is left out takes part with the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...ir import Kernel, Op, Program
from ...passes import prepare
from ...simt.algebra import MONOIDS
from ...simt.packed import sort_packed
from ...simt.sorting import expansions
from .code import Code
from .features import Features
from .spirv import Capability, GroupOperation, Id, Scope

INSTRUCTIONS = {
    "add": ("IAdd", "IAdd"),
    "mul": ("IMul", "IMul"),
    "min": ("SMin", "UMin"),
    "max": ("SMax", "UMax"),
    "and": ("BitwiseAnd", "BitwiseAnd"),
    "or": ("BitwiseOr", "BitwiseOr"),
    "xor": ("BitwiseXor", "BitwiseXor"),
}
"""For signed and for unsigned integers."""

FORMS = {
    "reduce": GroupOperation.Reduce,
    "reduce_all": GroupOperation.Reduce,
    "inclusive": GroupOperation.InclusiveScan,
    "exclusive": GroupOperation.ExclusiveScan,
}
OPERATIONS = {f"subgroup.{form}_{name}": (group, name) for form, group in FORMS.items() for name in INSTRUCTIONS}


def natives_of(features: Features, subgroup_size: int) -> Callable[[Op], bool]:
    """Which operations the device does by itself: a rule for `passes.prepare(natives=...)`."""

    def keeps(op: Op) -> bool:
        if op.opcode not in OPERATIONS or not features.subgroup_arithmetic:
            return False
        dtype = op.operands[0].type
        if not dtype.is_int or not (dtype.bits == 32 or features.subgroup_extended_types):
            return False
        whole = 1 << op.attrs["log2_size"] == subgroup_size
        group, _ = OPERATIONS[op.opcode]
        return whole or (group is GroupOperation.Reduce and features.subgroup_clustered)

    return keeps


def prepared(program: Program, number: int, features: Features, *, regular: bool, max_shared_bytes: int) -> Kernel:
    """One variant of a parallel loop, with what the device has natively, sorted by integers that it has."""
    return prepare(
        program,
        number,
        regular=regular,
        natives=natives_of(features, program.subgroup_size),
        expansions=expansions(partial(sort_packed, widest=64 if features.int64 else 32)),
        max_shared_bytes=max_shared_bytes,
    )


def fold(c: Code, op: Op) -> Id:
    """Emit one of OPERATIONS."""
    m, (value,), dtype = c.m, c.values(op), op.result.type
    group, name = OPERATIONS[op.opcode]
    if op.mask is not None:
        left_out = m.const(MONOIDS[name].identity(dtype), dtype)
        value = m("Select", dtype, c.ids[op.mask], value, left_out)
    instruction = f"GroupNonUniform{INSTRUCTIONS[name][not dtype.is_signed]}"
    m.require(Capability.GroupNonUniformArithmetic)
    size = 1 << op.attrs["log2_size"]
    if size == c.kernel.subgroup_size:
        return m.emit(instruction, dtype, c.scope(Scope.Subgroup), group, value, hint=op.result.hint)
    m.require(Capability.GroupNonUniformClustered)
    clustered = GroupOperation.ClusteredReduce
    return m.emit(instruction, dtype, c.scope(Scope.Subgroup), clustered, value, m.u32(size), hint=op.result.hint)
