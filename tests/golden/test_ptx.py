"""PTX: facts of the generated code, and that NVIDIA's assembler accepts all of it without spilling."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from lanewise import dtypes
from lanewise.backends.cuda.codegen import emit_ptx
from lanewise.backends.cuda.libdevice import libdevice
from lanewise.backends.cuda.target import CudaTarget
from lanewise.backends.gpu.schedule import can_interleave
from lanewise.backends.llvm.arithmetic import ROWS
from lanewise.dtypes import DType
from lanewise.errors import CompileError
from lanewise.ir import Array, Builder, Kernel, Local, Value
from lanewise.ir.arith import MATH

from .programs import SKELETONS, Body, ballot_and_match, barrier_loop, kernel, log2_size, scan_after_break

Assemble = Callable[[str], str]


@pytest.fixture(scope="session")
def ptxas(tmp_path_factory: pytest.TempPathFactory) -> Assemble:
    """Assembles PTX; the report of registers and spills, which must be none."""
    path = _find_ptxas()
    if path is None:
        pytest.skip("ptxas is missing: pip install nvidia-cuda-nvcc")
    folder = tmp_path_factory.mktemp("ptx")

    def assemble(text: str, arch: str = "sm_90") -> str:
        source = folder / "kernel.ptx"
        source.write_text(text)
        command = [path, f"-arch={arch}", "-v", str(source), "-o", str(folder / "kernel.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", done.stderr)
        assert spills
        assert set(spills) == {"0"}, done.stderr
        return done.stderr

    return assemble


def _find_ptxas() -> str | None:
    spec = find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for found in Path(place).glob("*/bin/ptxas"):
            return str(found)
    return shutil.which("ptxas")


def made(body: Body, *arrays: DType, arch: str = "sm_90", regular: bool = True, block_dim: int = 128) -> Kernel:
    return kernel(CudaTarget(arch), body, arrays or SKELETONS[body], regular=regular, block_dim=block_dim)


def ptx(body: Body, *arrays: DType, arch: str = "sm_90", regular: bool = True) -> str:
    return emit_ptx([made(body, *arrays, arch=arch, regular=regular)], arch, items=1)


# ---- the skeletons ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("body", SKELETONS, ids=lambda body: body.__name__)
def test_assembles_without_spills(ptxas: Assemble, body: Body, regular: bool) -> None:
    ptxas(ptx(body, regular=regular))


@pytest.mark.parametrize("body", SKELETONS, ids=lambda body: body.__name__)
def test_every_warp_operation_has_the_full_mask(body: Body) -> None:
    text = ptx(body, regular=False)
    operations = re.findall(r"(?:shfl|vote|match)\.\S+.*", text)
    assert operations or body is barrier_loop
    assert all(line.endswith("-1;") for line in operations)
    assert "activemask" not in text


def test_scan() -> None:
    """Five steps inside the loop and five after it; the vote keeps the warp in the loop together."""
    text = ptx(scan_after_break)
    assert len(re.findall(r"shfl\.sync\.up\.b32 .* 0, -1;", text)) == 10
    assert "vote.sync.any.pred" in text
    assert "fma" not in text
    assert text.count("add.rn.f32") == 11


def test_barriers_and_shared_memory(ptxas: Assemble) -> None:
    text = ptx(barrier_loop)
    assert text.count("bar.sync") >= 3  # two in the loop, one before the next logical block
    assert "st.shared" in text
    assert "ld.shared" in text
    assert "512 bytes smem" in ptxas(text)


def test_ballot_and_match() -> None:
    text = ptx(ballot_and_match)
    assert "vote.sync.ballot.b32" in text
    assert "match.any.sync.b32" in text
    assert "shfl" not in text


def test_block_size_is_whole_subgroups() -> None:
    assert ".reqntid 128" in emit_ptx([made(ballot_and_match, regular=False, block_dim=100)])


def test_arguments_are_one_block_by_value() -> None:
    """Two arrays of three slots, the extent, and the launch's range of blocks in three: ten slots of 8 bytes."""
    text = ptx(ballot_and_match)
    assert len(re.findall(r"\.param", text.split("{")[0])) == 1
    assert ".param .align 8 .b8 ballot_and_match_0_regular_param_0[80]" in text


# ---- natives ------------------------------------------------------------------------------------------------------
def total(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
    x = b.load(arrays[0], i)
    b.store(arrays[0], (i,), b("subgroup.reduce_all_add", x, log2_size=log2_size(b)))


@pytest.mark.parametrize(("t", "count"), [(dtypes.i32, 1), (dtypes.u8, 1), (dtypes.i64, 0), (dtypes.f32, 0)], ids=str)
def test_redux_serves_integers_up_to_32_bits(t: DType, count: int) -> None:
    text = ptx(total, t)
    assert text.count("redux.sync.add") == count
    assert ("shfl.sync.bfly" in text) == (count == 0)


def test_inactive_lanes_are_neutral() -> None:
    """The general kernel's last warp may have lanes without an item."""
    assert re.search(r"redux\.sync\.add\.s32", ptx(total, dtypes.i32, regular=False))


def test_older_cards_have_no_redux() -> None:
    text = ptx(total, dtypes.i32, arch="sm_75")
    assert "redux" not in text
    assert text.count("shfl.sync.bfly.b32") == 5


@pytest.mark.parametrize(("t", "words"), [(dtypes.f64, 2), (dtypes.u64, 2), (dtypes.f16, 1), (dtypes.bool_, 1)])
def test_values_travel_whole(t: DType, words: int) -> None:
    def shift(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        moved = b("subgroup.permute", b.load(arrays[0], i), kind="up", amount=1, log2_size=2)
        b.store(arrays[0], (i,), moved)

    text = ptx(shift, t)
    # Tiles of four lanes: c = (32 - 4) << 8.
    assert len(re.findall(r"shfl\.sync\.up\.b32 .*, 1, 7168, -1;", text)) == words


# ---- every row of the table ---------------------------------------------------------------------------------------
def operands_of(opcode: str, t: DType) -> tuple[DType, ...] | None:
    """The operands of a row on one type; None where it does not take it."""
    floats_only = {"div", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round"} | MATH
    bits_only = {"and", "or", "xor", "not", "shl", "shr", "popcnt", "clz", "ctz", "bitrev"}
    for_bool = {"and", "or", "xor", "not", "eq", "ne", "select"}
    if (opcode in floats_only and not t.is_float) or (opcode in bits_only and t.is_float):
        return None
    if t.is_bool and opcode not in for_bool:
        return None
    if opcode == "select":
        return (dtypes.bool_, t, t)
    unary = "neg abs not sqrt rsqrt floor ceil trunc round popcnt clz ctz bitrev".split()
    return (t,) * (3 if opcode == "fma" else 1 if opcode in unary else 2)


@pytest.mark.parametrize("t", dtypes.ALL, ids=str)
def test_all_arithmetic(ptxas: Assemble, t: DType) -> None:
    """Every row that takes the type, and the casts from it to all others."""

    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        values = [b.load(array, i) for array in arrays[:3]]
        condition = b("eq", values[0], values[1])
        for opcode in sorted(ROWS.keys() - {"cast", "bitcast"}):
            types = operands_of(opcode, t)
            if types is not None:
                result = b(opcode, *(condition if u != t else v for u, v in zip(types, values, strict=False)))
                b.store(next(a for a in arrays[3:] if a.dtype == result.type), (i,), result)
        for array in arrays[3:]:
            b.store(array, (i,), b.cast(values[0], array.dtype))

    ptxas(ptx(body, t, t, t, *dtypes.ALL))


def test_nothing_is_contracted_or_approximate() -> None:
    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        x, y = (b.load(array, i) for array in arrays)
        b.store(arrays[0], (i,), b("sqrt", b("div", b.add(b("mul", x, y), x), y)))

    text = ptx(body, dtypes.f32, dtypes.f32)
    for instruction in ("mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32"):
        assert instruction in text
    assert "fma" not in text
    assert ".approx" not in text
    assert ".ftz" not in text


KINDS = ["add", "sub", "min", "max"]
MOVES = ["exchange", "cas"]
BIT_KINDS = ["and", "or", "xor"]


@pytest.mark.parametrize("t", dtypes.ALL, ids=str)
def test_atomics(ptxas: Assemble, t: DType) -> None:
    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        x = b.load(arrays[0], i)
        own = Local("own", t, (4,))
        for mem in (arrays[1], own):
            for kind in [*(KINDS if t.is_numeric else []), *MOVES, *([] if t.is_float else BIT_KINDS)]:
                values = (x, x) if kind == "cas" else (x,)
                old = b("atomic", b.i32(2), *values, mem=mem, kind=kind)
                b.store(arrays[0], (i,), old)

    text = ptx(body, t, t)
    ptxas(text)
    if t in (dtypes.i32, dtypes.u32):
        for name in ("add", "min", "max", "and", "or", "xor", "exch", "cas"):
            assert re.search(rf"atom\.\S*{name}", text), name


def test_math_comes_from_libdevice() -> None:
    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        for array in arrays:
            x = b.load(array, i)
            for opcode in sorted(MATH):
                both = (x, x) if opcode in ("pow", "atan2") else (x,)
                x = b(opcode, *both)
            b.store(array, (i,), x)

    if libdevice() is None:
        pytest.skip("libdevice.10.bc is missing: pip install nvidia-nvvm")
    text = ptx(body, *dtypes.FLOATS)
    assert ".extern" not in text  # every function it calls is there
    assert "ex2.approx" in text  # libdevice's own way to exp


# ---- several logical blocks a thread ------------------------------------------------------------------------------
def test_interleaved_loads_come_before_the_first_shuffle(ptxas: Assemble) -> None:
    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b.store(arrays[1], (i,), b("subgroup.inclusive_add", b.load(arrays[0], i), log2_size=log2_size(b)))

    one = made(body, dtypes.f32, dtypes.f32)
    assert can_interleave(one)
    text = emit_ptx([one], items=4)
    ptxas(text)
    first_part = text[: text.index("shfl.sync")]
    assert first_part.count("ld.global.b32") == 4
    assert text.count("shfl.sync") == 5 * (4 + 1)  # four at a time, then one at a time


@pytest.mark.parametrize(
    ("opcode", "dtype", "words"), [("add", dtypes.f32, 1), ("mul", dtypes.f64, 2), ("max", dtypes.f64, 2)], ids=str
)
def test_interleaved_reductions_share_their_shuffles(
    opcode: str, dtype: dtypes.DType, words: int, ptxas: Assemble
) -> None:
    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b.store(arrays[1], (i,), b(f"subgroup.reduce_{opcode}", b.load(arrays[0], i), log2_size=log2_size(b)))

    text = emit_ptx([made(body, dtype, dtype)], items=8)
    ptxas(text)
    assert text.count("shfl.sync") == words * (4 + 2 + 1 + 1 + 1 + 8 + 5)  # eight at a time, then one at a time


@pytest.mark.parametrize("dtype", [dtypes.f16, dtypes.f32], ids=str)
def test_floats_are_compared_as_integers(dtype: dtypes.DType, ptxas: Assemble) -> None:
    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b.store(arrays[1], (i,), b("subgroup.reduce_all_min", b.load(arrays[0], i), log2_size=log2_size(b)))

    text = ptx(body, dtype, dtype)
    ptxas(text)
    assert text.count("redux.sync.min.s32") == 1
    assert "shfl" not in text


@pytest.mark.parametrize(("body", "can"), [(barrier_loop, False), (scan_after_break, True)], ids=["barriers", "none"])
def test_what_can_be_interleaved(body: Body, can: bool) -> None:
    assert can_interleave(made(body)) == can


# ---- what is refused ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("arch", ["sm_60", "gfx942", "sm_x"])
def test_unknown_architectures(arch: str) -> None:
    with pytest.raises(CompileError, match="is no architecture of the cuda backend"):
        CudaTarget(arch)
