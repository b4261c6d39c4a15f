"""The arithmetic that the GPU backends emit, run on this machine and compared with each row's meaning.

The emission is the same for every target, so what it computes can be checked without a GPU: each row becomes a loop
over arrays, compiled for the host.  Inputs hold all the values at which such code goes wrong.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from lanewise import dtypes
from lanewise.backends.llvm.arithmetic import ROWS
from lanewise.backends.llvm.text import Writer, memory_type
from lanewise.dtypes import DType
from lanewise.ir import OPCODES, Op, Value

BINARY = "add sub mul floordiv mod min max".split()
FLOAT_BINARY = ["div"]
INT_BINARY = "and or xor shl shr".split()
COMPARISONS = "eq ne lt le gt ge".split()
UNARY = "neg abs".split()
FLOAT_UNARY = "sqrt rsqrt floor ceil trunc round".split()
INT_UNARY = "not popcnt clz ctz bitrev".split()

CASES = [
    *((name, t, 2) for t in dtypes.NUMERIC for name in (*BINARY, *COMPARISONS)),
    *((name, t, 2) for t in dtypes.FLOATS for name in FLOAT_BINARY),
    *((name, t, 2) for t in dtypes.INTEGERS for name in INT_BINARY),
    *((name, t, 1) for t in dtypes.NUMERIC for name in UNARY),
    *((name, t, 1) for t in dtypes.FLOATS for name in FLOAT_UNARY),
    *((name, t, 1) for t in dtypes.INTEGERS for name in INT_UNARY),
    *(("fma", t, 3) for t in (*dtypes.INTEGERS, dtypes.f32, dtypes.f64)),  # the host's f16 fma is a library call
    *((name, dtypes.bool_, 2) for name in ("and", "or", "xor", "eq", "ne")),
    ("not", dtypes.bool_, 1),
]


def edge_values(t: DType) -> np.ndarray[Any, Any]:
    """The values at which arithmetic of a type changes its ways, and some between them."""
    if t.is_bool:
        return np.array([False, True])
    if t.is_int:
        low, high = int(t.lowest), int(t.highest)
        middle = [0, 1, 2, 3, 5, 7, 8, 10, 31, 63, 64, 100]
        found = [low, low + 1, high, high - 1, *middle, *(-x for x in middle if t.is_signed)]
        return np.array(found, t.np)
    facts = np.finfo(t.np)
    plain = [0.0, 0.1, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.1, 7.0, 100.0, 127.5, 255.99, 2049.0, 60000.0]
    limits = [facts.tiny, facts.smallest_subnormal, facts.tiny * 1.5, facts.max, facts.eps, 1 + facts.eps]
    with np.errstate(over="ignore"):
        found = np.array([*plain, *limits, 2.0**31, 2.0**63, np.inf], np.float64).astype(t.np)
    return np.concatenate([found, -found, np.array([np.nan], t.np)])


@cache
def _jit() -> llvm.LLJIT:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    return llvm.create_lljit_compiler(machine)


@cache
def compiled(opcode: str, sources: tuple[DType, ...], result: DType) -> Any:
    """The row as a function over arrays of one length: (sources..., result, length)."""
    w = Writer()
    count = len(sources)
    w.jump("head")
    w.start("head")
    index = w.phi("i64")
    index.add("0", "start")
    w.branch(w.let(f"icmp slt i64 {index.name}, %n"), "body", "done")
    w.start("body")
    args: list[str] = []
    for number, t in enumerate(sources):
        ty = memory_type(t)
        place = w.let(f"getelementptr {ty}, ptr %array{number}, i64 {index.name}")
        value = w.let(f"load {ty}, ptr {place}")
        args.append(w.let(f"icmp ne i8 {value}, 0") if t.is_bool else value)
    op = Op(opcode, tuple(Value(t) for t in sources), (Value(result),), {"dtype": result})
    value = ROWS[opcode](w, op, args)
    value = w.let(f"zext i1 {value} to i8") if result.is_bool else value
    place = w.let(f"getelementptr {memory_type(result)}, ptr %array{count}, i64 {index.name}")
    w.do(f"store {memory_type(result)} {value}, ptr {place}")
    index.add(w.let(f"add i64 {index.name}, 1"), w.label)
    w.jump("head")
    w.start("done")
    w.do("ret void")
    name = "_".join(("row", opcode, *map(str, sources), str(result)))
    pointers = ", ".join(f"ptr %array{number}" for number in range(count + 1))
    text = f"define void @{name}({pointers}, i64 %n) {{\n{w.body()}\n}}\n"
    text = "\n".join([text, *w.library, *w.declarations.values()])
    library = llvm.JITLibraryBuilder().add_ir(text).add_current_process().export_symbol(name).link(_jit(), name)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (count + 1), ctypes.c_int64)(library[name])

    def run(*arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        out = np.zeros(arrays[0].size, result.np)
        inputs = [np.ascontiguousarray(array) for array in arrays]
        function(*(a.ctypes.data for a in (*inputs, out)), out.size)
        assert library is not None  # its memory must outlive the call
        return out

    return run


def assert_same_bits(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], inputs: tuple[Any, ...]) -> None:
    """Bits agree; a NaN is any NaN."""
    assert got.dtype == want.dtype
    words = np.dtype(f"u{got.dtype.itemsize}")
    wrong = got.view(words) != want.view(words)
    if got.dtype.kind == "f":
        wrong &= ~(np.isnan(got) & np.isnan(want))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise AssertionError(f"of {[a[at] for a in inputs]}: got {got[at]!r}, want {want[at]!r} ({wrong.sum()} wrong)")


@pytest.mark.parametrize(("opcode", "t", "count"), CASES, ids=str)
def test_row(opcode: str, t: DType, count: int) -> None:
    row = OPCODES[opcode]
    (result,) = row.infer((t,) * count, {})
    values = edge_values(t)
    rng = np.random.default_rng(7)
    grids = np.meshgrid(*[values if count < 3 else rng.permutation(values)[:24]] * count)
    inputs = tuple(grid.reshape(-1).astype(t.np) for grid in grids)
    with np.errstate(all="ignore"):
        assert row.meaning is not None
        want = np.asarray(row.meaning(*inputs)).astype(result.np)
    assert_same_bits(compiled(opcode, (t,) * count, result)(*inputs), want, inputs)


# The host converts f64 to f16 by a library call; GPUs have an instruction.
CASTS = [(a, b) for a in dtypes.ALL for b in dtypes.ALL if (a, b) != (dtypes.f64, dtypes.f16)]


@pytest.mark.parametrize(("source", "target"), CASTS, ids=str)
def test_cast(source: DType, target: DType) -> None:
    inputs = edge_values(source)
    with np.errstate(all="ignore"):
        assert OPCODES["cast"].meaning is not None
        want = OPCODES["cast"].meaning(inputs, target)
    assert_same_bits(compiled("cast", (source,), target)(inputs), want, (inputs,))


@pytest.mark.parametrize("t", dtypes.FLOATS, ids=str)
@pytest.mark.parametrize("opcode", ["mod", "floordiv"])
def test_float_remainders_of_many_pairs(opcode: str, t: DType) -> None:
    """Any bits at all: quotients up to the ratio of the largest to the smallest number."""
    rng = np.random.default_rng(11)
    a, b = np.frombuffer(rng.bytes(2 * 4000 * t.itemsize), t.np).reshape(2, -1)
    meaning = OPCODES[opcode].meaning
    assert meaning is not None
    with np.errstate(all="ignore"):
        want = meaning(a, b)
    assert_same_bits(compiled(opcode, (t, t), t)(a, b), want, (a, b))
