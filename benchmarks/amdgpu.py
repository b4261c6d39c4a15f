"""What operations between lanes cost on AMD GPUs, in instructions: static counts of the code, nothing runs.

    python benchmarks/amdgpu.py                 all architectures, all instructions
    python benchmarks/amdgpu.py gfx942/64 ...   some, by class

For each operation the instructions that it adds to a kernel that copies an array, beside those of the plain form: the
same operation made of ds_bpermute alone, without native versions and patterns.  Scalar instructions are not counted.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from lanewise import dtypes
from lanewise.backends.amdgpu.permutes import gather, source_lane
from lanewise.backends.amdgpu.target import AmdTarget
from lanewise.backends.llvm.lanes import Pattern
from lanewise.backends.llvm.module import module_text, optimised, target_machine
from lanewise.backends.llvm.text import Writer
from lanewise.dtypes import DType
from lanewise.ir import Array, Block, Builder, Op, Program, Value
from lanewise.passes import prepare

TARGETS = ("gfx90a/64", "gfx942/64", "gfx950/64", "gfx1030/32", "gfx1030/64", "gfx1100/32", "gfx1100/64", "gfx1200/64")

Body = Callable[[Builder, Value], Value]


class PlainTarget(AmdTarget):
    """Every exchange by ds_bpermute."""

    def __init__(self, arch: str, subgroup_size: int) -> None:
        super().__init__(arch, subgroup_size)
        self.natives = {}

    def permute(self, w: Writer, word: str, sources: Pattern, lane: str) -> str:
        return gather(w, self.features, word, source_lane(w, lane, sources), lane, self.subgroup_size)


# ---- operations -----------------------------------------------------------------------------------------------------
def simple(name: str, **attributes: Any) -> Body:
    """An operation of the whole subgroup, or of the tile that `log2_size` says."""

    def body(b: Builder, x: Value) -> Value:
        wanted: dict[str, Any] = {"log2_size": b.subgroup_size.bit_length() - 1} | attributes
        return b(name, x, **wanted)

    return body


def quad(name: str) -> Body:
    return lambda b, x: b(name, x)


OPERATIONS: dict[str, tuple[DType, Body]] = {
    "reduce_add i32": (dtypes.i32, simple("subgroup.reduce_add")),
    "reduce_all_min u16": (dtypes.u16, simple("subgroup.reduce_all_min")),
    "reduce_all_add i64": (dtypes.i64, simple("subgroup.reduce_all_add")),
    "reduce_all_max f32": (dtypes.f32, simple("subgroup.reduce_all_max")),
    "reduce_add f32": (dtypes.f32, simple("subgroup.reduce_add")),
    "reduce_all_add f32": (dtypes.f32, simple("subgroup.reduce_all_add")),
    "reduce_all_add_tiled(v, 3) i32": (dtypes.i32, simple("subgroup.reduce_all_add", log2_size=3)),
    "inclusive_add i32": (dtypes.i32, simple("subgroup.inclusive_add")),
    "exclusive_add i32": (dtypes.i32, simple("subgroup.exclusive_add")),
    "inclusive_add f32": (dtypes.f32, simple("subgroup.inclusive_add")),
    **{f"shuffle_xor(v, {mask})": (dtypes.i32, simple("subgroup.shuffle_xor", mask=mask)) for mask in (1, 2, 3)},
    **{f"shuffle_xor(v, {mask})": (dtypes.i32, simple("subgroup.shuffle_xor", mask=mask)) for mask in (4, 8, 16)},
    "broadcast(v, 5)": (dtypes.i32, simple("subgroup.broadcast", index=5)),
    "broadcast_first": (dtypes.i32, quad("subgroup.broadcast_first")),
    "shuffle_up(v, 1)": (dtypes.i32, simple("subgroup.shuffle_up", offset=1)),
    "shuffle_down(v, 1)": (dtypes.i32, simple("subgroup.shuffle_down", offset=1)),
    "rotate(v, 1)": (dtypes.i32, simple("subgroup.rotate", delta=1)),
    "quad.swap_horizontal": (dtypes.i32, quad("quad.swap_horizontal")),
    "quad.swap_diagonal": (dtypes.i32, quad("quad.swap_diagonal")),
}


# ---- code -----------------------------------------------------------------------------------------------------------
def program(body: Body, t: DType, subgroup_size: int) -> Program:
    """`for i in range(n): out[i] = body(x[i])`"""
    extent, index = Value(dtypes.i32, "n"), Value(dtypes.i32, "i")
    source, out = (Array(name, t, 1) for name in ("x", "out"))
    block_dim = 2 * subgroup_size
    b, region = Builder(subgroup_size, block_dim=block_dim), Block((index,))
    with b.at(region):
        b.store(out, (index,), body(b, b.load(source, index)))
    b.append(Op("parallel", (extent,), (), {"block_dim": block_dim}, (region,)))
    return Program("k", [extent], [source, out], b.block, subgroup_size, dtypes.i32)


def assembly(target: AmdTarget, body: Body, t: DType) -> str:
    made = prepare(program(body, t, target.subgroup_size), 0, regular=True, natives=target.keeps)
    machine = target_machine(target.triple, target.arch, target.machine_features)
    return machine.emit_assembly(optimised(module_text(target, [(made, 1)], machine), machine, [made]))


_CLASSES = {
    "DPP": re.compile(r"v_\w+_dpp\b|v_\w+ .*row_(mask|share|xmask)"),
    "lane": re.compile(r"v_(perm|read|write)(first)?lane"),
    "LDS": re.compile(r"ds_"),
    "waits": re.compile(r"s_wait(cnt|_\w+cnt)|s_nop"),
    "VALU": re.compile(r"v_"),
}
CLASSES = tuple(_CLASSES)


def instructions(text: str) -> list[str]:
    """The kernel's instructions, without comments; a `v_dual_` pair is two."""
    body = text[text.index("\nk_0_regular:") : text.index("s_endpgm")]
    lines = (line.split(";")[0].strip() for line in body.splitlines()[1:] if line.startswith("\t"))
    return [part for line in lines if line and line[0] != "." for part in line.split(" :: ")]


def class_of(line: str) -> str | None:
    """None for scalar instructions, which run beside the others, and branches."""
    return next((name for name, pattern in _CLASSES.items() if pattern.match(line)), None)


def classes(text: str) -> Counter[str]:
    return Counter(name for line in instructions(text) if (name := class_of(line)))


@cache
def _copy(kind: type[AmdTarget], arch: str, size: int, t: DType) -> Counter[str]:
    return classes(assembly(kind(arch, size), lambda b, x: x, t))


def cost(kind: type[AmdTarget], arch: str, size: int, name: str) -> Counter[str]:
    """The instructions of an operation, by class."""
    t, body = OPERATIONS[name]
    found = classes(assembly(kind(arch, size), body, t))
    found.subtract(_copy(kind, arch, size, t))
    return found


def rows(arch: str, size: int) -> list[tuple[str, Counter[str], Counter[str]]]:
    """Each operation with the cost of the form that is chosen, and of the plain one."""
    return [(name, cost(AmdTarget, arch, size, name), cost(PlainTarget, arch, size, name)) for name in OPERATIONS]


def by_class(target: str) -> None:
    arch, _, size = target.partition("/")
    print(f"\n{arch}, wave{size}: the chosen form, then the plain one\n")
    print(f"| operation | {' | '.join((*CLASSES, 'all') * 2)} |")
    print("|---|" + "--:|" * (2 * len(CLASSES) + 2))
    for operation, *pair in rows(arch, int(size)):
        cells = [str(counts[name]) for counts in pair for name in (*CLASSES, "all")]
        for number, counts in enumerate(pair, start=1):
            cells[number * (len(CLASSES) + 1) - 1] = str(counts.total())
        print(f"| {operation} | {' | '.join(cells)} |")


def summary(targets: Sequence[str]) -> None:
    """All instructions of each operation, of the chosen form and of the plain one."""
    columns = [rows(arch, int(size)) for arch, _, size in (target.partition("/") for target in targets)]
    print(f"| operation | {' | '.join(targets)} |")
    print("|---|" + "--:|" * len(targets))
    for cells in zip(*columns, strict=True):
        totals = (f"{chosen.total()} / {plain.total()}" for _, chosen, plain in cells)
        print(f"| {cells[0][0]} | {' | '.join(totals)} |")


def main(wanted: Sequence[str]) -> None:
    for target in wanted:
        by_class(target)
    if not wanted:
        summary(TARGETS)


if __name__ == "__main__":
    main(sys.argv[1:])
