"""AMDGPU code: facts of whole kernels' assembly.  What it computes is tested in tests/amdgpu/test_isa_*.py."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence

import pytest

from lanewise import dtypes
from lanewise.backends.amdgpu.arch import ARCHITECTURES, subgroup_sizes
from lanewise.backends.amdgpu.codegen import emit_amdgpu, emit_object
from lanewise.backends.amdgpu.target import AmdTarget
from lanewise.dtypes import DType
from lanewise.errors import CompileError
from lanewise.ir import Array, Builder, Value

from .programs import SKELETONS, Body, ballot_and_match, barrier_loop, kernel, log2_size, scan_after_break

TARGETS = [(arch, size) for names in ARCHITECTURES.values() for arch in names for size in subgroup_sizes(arch)]
GENERATIONS = [(names[-1], size) for names in ARCHITECTURES.values() for size in subgroup_sizes(names[0])]

each_generation = pytest.mark.parametrize(("arch", "size"), GENERATIONS, ids=str)


# ---- whole kernels ------------------------------------------------------------------------------------------------
def assembly(body: Body, arch: str, size: int, *arrays: DType) -> str:
    made = kernel(AmdTarget(arch, size), body, arrays or SKELETONS[body])
    return emit_amdgpu([made], arch, size, items=1)


def test_every_target_compiles_in_a_process_of_its_own() -> None:
    """LLVM aborts the process on an instruction that a target lacks: all skeletons, all targets."""
    code = (
        "from tests.golden.test_amdgpu import TARGETS, SKELETONS, AmdTarget, kernel, emit_object\n"
        "for arch, size in TARGETS:\n"
        "    for body, arrays in SKELETONS.items():\n"
        "        print(arch, size, body.__name__, flush=True)\n"
        "        made = kernel(AmdTarget(arch, size), body, arrays, regular=False)\n"
        "        assert emit_object([made], arch, size)[:4] == b'\\x7fELF'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"after {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    assert len(done.stdout.splitlines()) == len(TARGETS) * len(SKELETONS)


@each_generation
@pytest.mark.parametrize("body", SKELETONS, ids=lambda body: body.__name__)
def test_registers_and_sizes(arch: str, size: int, body: Body) -> None:
    text = assembly(body, arch, size)
    assert f".wavefront_size: {size}" in text
    assert ".max_flat_workgroup_size: 128" in text
    for fact in ("private_segment_fixed_size", "sgpr_spill_count", "vgpr_spill_count"):
        assert re.search(rf"\.{fact}: +0$", text, re.MULTILINE), fact
    assert "s_swappc" not in text  # no calls


def test_contract_of_floats() -> None:
    """Denormals are kept, and nothing is contracted."""

    def multiply_add(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        x = b.load(arrays[0], i)
        b.store(arrays[0], (i,), b.add(b("mul", x, x), x))

    text = assembly(multiply_add, "gfx942", 64, dtypes.f32)
    assert ".amdhsa_float_denorm_mode_32 3" in text
    assert "v_fma" not in text
    assert "v_mac" not in text


def test_lane_moves_of_gfx9() -> None:
    text = assembly(scan_after_break, "gfx942", 64)
    assert "wave_shr:1" in text


def test_integer_reduction_of_gfx9() -> None:
    """Six additions with the moves folded in, and one readlane."""

    def total(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        x = b.load(arrays[0], i)
        b.store(arrays[0], (i,), b("subgroup.reduce_all_add", x, log2_size=log2_size(b)))

    text = assembly(total, "gfx90a", 64, dtypes.i32)
    assert text.count("v_add_u32_dpp") == 6
    assert "row_bcast:15 row_mask:0xa" in text
    assert "row_bcast:31 row_mask:0xc" in text
    assert text.count("v_readlane_b32") == 1
    assert "ds_" not in text
    text = assembly(total, "gfx1100", 32, dtypes.i32)
    assert text.count("v_add_nc_u32_dpp") == 4
    assert text.count("v_permlanex16_b32") == 1


def test_uniform_gather_is_a_readlane() -> None:
    def read(b: Builder, i: Value, arrays: Sequence[Array]) -> None:
        index = b("subgroup_id")
        b.store(arrays[0], (i,), b("subgroup.gather", b.load(arrays[0], i), index))

    text = assembly(read, "gfx942", 64, dtypes.f64)
    assert text.count("v_readlane_b32") == 2  # the two halves of 64 bits
    assert "bpermute" not in text


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_barriers(arch: str) -> None:
    """Several subgroups a block: real barriers, and the shared array's bytes."""
    text = assembly(barrier_loop, arch, subgroup_sizes(arch)[0])
    assert text.count("s_barrier") >= 3  # two in the loop, one before the next logical block
    assert ".group_segment_fixed_size: 512" in text


@pytest.mark.parametrize(("arch", "size"), [("gfx942", 64), ("gfx1100", 32)])
def test_ballot_has_the_width_of_the_wave(arch: str, size: int) -> None:
    text = assembly(ballot_and_match, arch, size)
    assert ("v_cmp_lt_i32_e64 s[" in text or "v_cmp_lt_i32_e32 vcc," in text) == (size == 64)


def test_object() -> None:
    made = kernel(AmdTarget("gfx942", 64), ballot_and_match, SKELETONS[ballot_and_match])
    assert emit_object([made], "gfx942", 64)[:4] == b"\x7fELF"


# ---- what is refused ----------------------------------------------------------------------------------------------
def test_unknown_architectures_and_sizes() -> None:
    with pytest.raises(CompileError, match="'gfx803' is no architecture"):
        AmdTarget("gfx803", 64)
    with pytest.raises(CompileError, match="expected a subgroup size of 64 on gfx942, got 32"):
        AmdTarget("gfx942", 32)
