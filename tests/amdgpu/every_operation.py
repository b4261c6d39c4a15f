"""Compiles every operation between threads for one architecture: `python -m tests.amdgpu.every_operation gfx942 64`.

LLVM ends the process on an instruction that it cannot select, so this is run in a process of its own; what was begun is
printed first.  Types and forms of a call go round from one operation to the next; with `all` each is compiled.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import lanewise as lw
from lanewise import dtypes
from lanewise.dtypes import DType
from lanewise.simt.op import FUNCTIONS, Function, Kind
from lanewise.tools.source import import_file

DTYPES = (dtypes.i8, dtypes.u32, dtypes.i64, dtypes.f16, dtypes.f32, dtypes.f64)
"""Narrow, one word, two words."""

NOTHING = {"subgroup.sync", "subgroup.mem_fence", "block.sync", "block.mem_fence", "grid.mem_fence"}
"""Functions without a result."""
PAIRS = {"subgroup.bitonic_sort_kv", "subgroup.bitonic_sort_kv_tiled"}

HEAD = """import lanewise as lw

@lw.func
def smaller(a, b):
    return a if a < b else b

"""

# The operation stands under a varying condition: it gets a mask.
KERNEL = """
@lw.kernel
def {name}(x: lw.types.ndarray(), out: lw.types.ndarray(lw.f64, 1)):
    for i in range(x.shape[0]):
        v = x[i]
        t = lw.simt.block.thread_idx()
        r = v
        {condition}
            {call}
        out[i] = lw.cast(r, lw.f64)
"""

ARGUMENTS = {
    Kind.VALUE: "v",
    Kind.PREDICATE: "v > v // 2",
    Kind.BITS: "lw.cast(t, lw.u64)",
    Kind.FUNC: "smaller",
}


def calls(function: Function) -> Iterator[str]:
    """The function with constants where it takes them, and with run-time lanes where it takes those."""
    required = [p for p in function.params if not p.optional]
    for index in ("1", "t + 1") if any(p.kind is Kind.INDEX for p in required) else ("",):
        for log2_size in (3, 5) if function.tiled else (0,):
            row = {**ARGUMENTS, Kind.INDEX: index, Kind.CONST: str(log2_size if function.tiled else 1)}
            name = function.qualified_name.removeprefix("simt.")
            yield f"lw.simt.{name}({', '.join(row[p.kind] for p in required)})"


def kernels() -> Iterator[tuple[Function, list[tuple[str, DType]], str]]:
    """Each function with the kernels that call it, each at the types that it takes, and their text."""
    for function in FUNCTIONS.values():
        if function.forwards_to or function.name == "SharedArray":
            continue
        values = [p for p in function.params if p.kind is Kind.VALUE]
        types = [t for t in DTYPES if all(t in p.dtypes for p in values)] if values else [dtypes.f32]
        condition = "if v > v // 3:" if function.op.group in ("subgroup", "quad") else "if lw.static(True):"
        names: list[str] = []
        text = ""
        for number, call in enumerate(calls(function)):
            names.append(f"{function.qualified_name.replace('.', '_')}_{number}")
            if function.qualified_name in NOTHING:
                line = call
            elif function.qualified_name in PAIRS:
                line = f"r, s = {call}"
            else:
                line = f"q = {call}\n            r = lw.cast(q, x.dtype)"
            text += KERNEL.format(name=names[-1], condition=condition, call=line)
        yield function, [(name, t) for t in types for name in names], text


def main(arch: str, size: int, everything: bool) -> None:
    made = [row for row in kernels() if everything or row[0].op.group != "block"]  # which are made of the others
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "every.py"
        file.write_text(HEAD + "".join(text for _, _, text in made))
        module = import_file(file)
    for number, (_, cases, _) in enumerate(made, start=size + len(arch) + int(arch[-1], 16)):
        for name, t in cases if everything else (cases[number % len(cases)],):
            print(name, t, flush=True)
            getattr(module, name).source("amdgpu", x=lw.types.ndarray(t, 1), arch=arch, subgroup_size=size)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), "all" in sys.argv[3:])
