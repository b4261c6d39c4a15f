"""The table of operations and backends in the README: `python docs/support.py` writes it anew.

What a backend can do is found out by asking it for the code of a kernel with every operation of a family.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import families
from families import Family

from lanewise import dtypes
from lanewise.errors import LanewiseError
from lanewise.kernel import Kernel
from lanewise.simt.op import Function, Kind, Param
from lanewise.tools.source import import_file

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- operations: made by docs/support.py -->\n", "<!-- operations end -->\n"
TARGETS: Mapping[str, str] = {  # the backend's name: the target that shows its code
    "interpreter": "ir", "cpu": "cpu", "cuda": "ptx", "amdgpu": "amdgpu", "vulkan": "spirv",
}  # fmt: skip

# ---- a kernel with every operation of a family --------------------------------------------------------------------
_HEAD = """
import lanewise as lw
from lanewise import simt
from lanewise.simt import block, grid, quad, subgroup


@lw.func
def larger(a, b):
    return max(a, b)
"""
_KERNEL = """

@lw.kernel
def family_{number}(a: lw.types.NDArray[lw.i32, 1], out: lw.types.NDArray[lw.i32, 1]):
    for i in range(a.shape[0]):
{body}
"""
_GIVEN: Mapping[Kind, str] = {
    Kind.VALUE: "a[i]",
    Kind.PREDICATE: "a[i] > 0",
    Kind.INDEX: "1",
    Kind.CONST: "2",
    Kind.BITS: "lw.cast(a[i], lw.u64)",
    Kind.FUNC: "larger",
}
_NAMED: Mapping[str, str] = {"shape": "8", "dtype": "lw.i32"}


def _argument(param: Param) -> str:
    return _NAMED.get(param.name) or _GIVEN[param.kind]


def _statement(function: Function) -> str:
    call = f"{function.qualified_name}({', '.join(_argument(p) for p in function.params if not p.optional)})"
    if function.name == "SharedArray":
        return f"shared = {call}\n        shared[i % 8] = 1"
    types = (dtypes.i32,) * 2
    results = function.op.infer(types, {"log2_size": 2, "dtype": dtypes.i32})
    if not results:
        return call
    if len(results) == 2:
        return f"out[i], out[i] = {call}"
    return f"out[i] = lw.cast({call}, lw.i32)"


def _program() -> Iterator[str]:
    yield _HEAD
    for number, family in enumerate(families.FAMILIES):
        body = "\n".join(f"        {_statement(f)}" for f in family.functions())
        yield _KERNEL.format(number=number, body=body)


def _emits(kernel: Kernel[...], target: str) -> bool:
    try:
        return bool(kernel.source(target))
    except LanewiseError:
        return False


# ---- the table ----------------------------------------------------------------------------------------------------
_SETS: Mapping[frozenset[dtypes.DType], str] = {
    frozenset(dtypes.ALL): "all",
    frozenset(dtypes.NUMERIC): "numbers",
    frozenset(dtypes.INTEGERS): "integers",
}


def _types(family: Family) -> str:
    found: dict[str, None] = {}
    for function in family.functions():
        for param in function.params:
            if param.kind is Kind.VALUE:
                found[_SETS[frozenset(param.dtypes)]] = None
            elif param.kind is Kind.PREDICATE and param.name == "predicate":
                found["a condition"] = None
    return ", ".join(found)


def _names(family: Family) -> str:
    """The functions, those of one kind and different operations together: `reduce_{add,mul}`."""
    groups: dict[str, list[str]] = {}
    tiled = {f.name for f in family.functions() if f.tiled}
    for function in family.functions():
        if function.tiled:  # every one of them has a plain form
            continue
        prefix, _, last = function.name.rpartition("_")
        together = last in ("add", "mul", "min", "max", "and", "or", "xor", "lt", "le", "eq", "gt", "ge")
        together = together and function.name != "shuffle_xor"
        groups.setdefault(f"{prefix}_" if together else function.name, []).extend([last] if together else [])
    names: list[str] = []
    for name, parts in groups.items():
        written = f"`{name}{{{','.join(parts)}}}`" if parts else f"`{name}`"
        one = name + parts[0] if parts else name
        names.append(written + ("ᵗ" if f"{one}_tiled" in tiled else ""))
    return ", ".join(names)


def _group(family: Family) -> str:
    return "/".join(dict.fromkeys(f.op.group for f in family.functions()))


def table() -> str:
    """The rows, a family each."""
    lines = [
        f"| `simt.` | operations | types | {' | '.join(TARGETS)} |",
        f"|---|---|---|{'---|' * len(TARGETS)}",
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "operations.py"
        file.write_text("".join(_program()), encoding="utf-8")
        program = import_file(file)
        for number, family in enumerate(families.FAMILIES):
            kernel = getattr(program, f"family_{number}")
            marks = ["yes" if _emits(kernel, target) else "no" for target in TARGETS.values()]
            lines.append(f"| {_group(family)} | {_names(family)} | {_types(family)} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def written() -> str:
    """The table as the README has it."""
    text = README.read_text(encoding="utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)]


def main() -> None:
    text = README.read_text(encoding="utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    README.write_text(text[:start] + "\n" + table() + "\n" + text[end:], encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
