"""Which instructions move data between lanes, pinned for each operation and architecture.

One row an operation: its moves in order, without registers and without masks that leave nothing out.  `2:` is a move
that is made for each word of 64 bits.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from lanewise.backends.amdgpu.target import AmdTarget

ROOT = Path(__file__).parents[2]


def _benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_amdgpu", ROOT / "benchmarks/amdgpu.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


benchmark = _benchmark()

IN_ROWS = "quad_perm:[1,0,3,2]|quad_perm:[2,3,0,1]|row_half_mirror|row_mirror".split("|")
SHIFTS = [f"row_shr:{n}" for n in (1, 2, 4, 8)]
BROADCASTS = ["row_bcast:15 row_mask:0xa", "row_bcast:31 row_mask:0xc"]


def each(opcode: str, controls: Sequence[str]) -> str:
    return ", ".join(f"{opcode} {control}" for control in controls)


ODD_ROWS, UPPER_HALF = (f"quad_perm:[0,1,2,3] row_mask:{rows}" for rows in ("0xa", "0xc"))
SWAP_ROWS, LAST_OF_ROW = "permlanex16_b32 0xfedcba98", "permlanex16_b32 -1, -1"
IDENTITY = "quad_perm:[0,1,2,3] row_mask:"


def up(rows: str) -> str:
    """By one lane within halves: what a row's first lane reads, then the shift."""
    return f"permlanex16_b32 15, 0, mov_b32_dpp {IDENTITY}{rows}, mov_b32_dpp row_shr:1"


def down(rows: str) -> str:
    return f"permlanex16_b32 0, 0, mov_b32_dpp {IDENTITY}{rows}, mov_b32_dpp row_shl:1"


LATER_SCAN = f"{each('add_nc_u32_dpp', SHIFTS)}, {LAST_OF_ROW}, add_nc_u32_dpp {ODD_ROWS}"
XOR_4_GFX9 = "mov_b32_dpp row_ror:4, mov_b32_dpp row_shl:4 bank_mask:0x5"
FLOAT_ROW_GFX9 = (
    f"add_f32_dpp row_ror:8, {XOR_4_GFX9}, add_f32_dpp quad_perm:[2,3,0,1], add_f32_dpp quad_perm:[1,0,3,2]"
)
FLOAT_ROW = (
    "add_f32_dpp row_ror:8, add_f32_dpp row_xmask:4, add_f32_dpp quad_perm:[2,3,0,1], add_f32_dpp quad_perm:[1,0,3,2]"
)

GFX9 = {
    "reduce_add i32": f"{each('add_u32_dpp', IN_ROWS + BROADCASTS)}, readlane_b32 63",
    "reduce_all_max f32": f"{each('max_i32_dpp', IN_ROWS + BROADCASTS)}, readlane_b32 63",
    "reduce_all_add i64": f"{each('2:mov_b32_dpp', IN_ROWS + BROADCASTS)}, 2:readlane_b32 63",
    "reduce_all_add_tiled(v, 3) i32": each("add_u32_dpp", IN_ROWS[:3]),
    "inclusive_add i32": each("add_u32_dpp", SHIFTS + BROADCASTS),
    "exclusive_add i32": f"{each('add_u32_dpp', SHIFTS + BROADCASTS)}, mov_b32_dpp wave_shr:1",
    "reduce_all_add f32": f"ds_bpermute_b32, ds_swizzle_b32 offset:swizzle(SWAP,16), {FLOAT_ROW_GFX9}",
    "shuffle_xor(v, 4)": XOR_4_GFX9,
    "shuffle_xor(v, 16)": "ds_swizzle_b32 offset:swizzle(SWAP,16)",
    "shuffle_up(v, 1)": "mov_b32_dpp wave_shr:1",
    "shuffle_down(v, 1)": "mov_b32_dpp wave_shl:1",
    "rotate(v, 1)": "mov_b32_dpp wave_rol:1",
}
LATER = {
    "reduce_all_add_tiled(v, 3) i32": each("add_nc_u32_dpp", IN_ROWS[:3]),
    "shuffle_xor(v, 4)": "mov_b32_dpp row_xmask:4",
    "shuffle_xor(v, 16)": SWAP_ROWS,
}
EVERY = {
    "shuffle_xor(v, 1)": "mov_b32_dpp quad_perm:[1,0,3,2]",
    "shuffle_xor(v, 2)": "mov_b32_dpp quad_perm:[2,3,0,1]",
    "shuffle_xor(v, 3)": "mov_b32_dpp quad_perm:[3,2,1,0]",
    "shuffle_xor(v, 8)": "mov_b32_dpp row_ror:8",
    "broadcast(v, 5)": "readlane_b32 5",
    "broadcast_first": "readlane_b32 0",
    "quad.swap_horizontal": "mov_b32_dpp quad_perm:[1,0,3,2]",
    "quad.swap_diagonal": "mov_b32_dpp quad_perm:[3,2,1,0]",
}
WAVE32 = {
    "reduce_add i32": f"{each('add_nc_u32_dpp', IN_ROWS)}, {SWAP_ROWS}",
    "reduce_all_max f32": f"{each('max_i32_dpp', IN_ROWS)}, {SWAP_ROWS}",
    "reduce_all_add f32": f"{SWAP_ROWS}, {FLOAT_ROW}",
    "inclusive_add i32": LATER_SCAN,
    "exclusive_add i32": f"{LATER_SCAN}, {up('0x2')}",
    "shuffle_up(v, 1)": up("0x2"),
    "shuffle_down(v, 1)": down("0x1"),
}
ACROSS_HALVES = {
    "inclusive_add i32": f"{LATER_SCAN}, readlane_b32 31, add_nc_u32_dpp {UPPER_HALF}",
    "shuffle_up(v, 1)": f"readlane_b32 31, {up('0xa')}, writelane_b32 32",
    "shuffle_down(v, 1)": f"readlane_b32 32, {down('0x5')}, writelane_b32 31",
}
WAVE64 = {
    "reduce_add i32": f"{each('add_nc_u32_dpp', IN_ROWS)}, {SWAP_ROWS}, permlane64_b32",
    "reduce_all_add f32": f"permlane64_b32, {SWAP_ROWS}, {FLOAT_ROW}",
}
GFX10_WAVE64 = {
    "reduce_add i32": f"{each('add_nc_u32_dpp', IN_ROWS)}, {SWAP_ROWS}, readlane_b32 0, readlane_b32 32",
    "reduce_all_add f32": f"ds_write_b32, ds_read_b32, {SWAP_ROWS}, {FLOAT_ROW}",
}
GFX950 = {
    "reduce_all_add f32": f"permlane32_swap_b32, permlane16_swap_b32, {FLOAT_ROW_GFX9}",
}

TABLE: dict[str, dict[str, str]] = {
    "gfx90a/64": EVERY | GFX9,
    "gfx942/64": EVERY | GFX9,
    "gfx950/64": EVERY | GFX9 | GFX950,
    "gfx1030/32": EVERY | LATER | WAVE32,
    "gfx1030/64": EVERY | LATER | ACROSS_HALVES | GFX10_WAVE64,
    "gfx1100/32": EVERY | LATER | WAVE32,
    "gfx1100/64": EVERY | LATER | ACROSS_HALVES | WAVE64,
    "gfx1200/32": EVERY | LATER | WAVE32,
    "gfx1200/64": EVERY | LATER | ACROSS_HALVES | WAVE64,
}


def moves(target: str, operation: str) -> str:
    """The instructions of the classes DPP, lane and LDS, without their registers; the thread's own id apart."""
    arch, _, size = target.partition("/")
    t, body = benchmark.OPERATIONS[operation]
    text = benchmark.assembly(AmdTarget(arch, int(size)), body, t)
    found: list[str] = []
    for line in benchmark.instructions(text):
        if benchmark.class_of(line) in ("DPP", "lane", "LDS") and "v_readfirstlane" not in line:
            line = re.sub(r"\b[vs](\d+|\[\d+:\d+\])(, |$| )|\bvcc(_lo)?, ", "", line).removeprefix("v_").strip()
            line = re.sub(r" (row|bank)_mask:0xf| bound_ctrl:1|_e32|_e64", "", line)
            found.append(re.sub(r"(ds_\w+) offset:\d+$", r"\1", line))
    return ", ".join(found)


@pytest.mark.parametrize("target", TABLE)
def test_pinned(target: str) -> None:
    for operation, row in TABLE[target].items():
        want = [move for part in row.split(", ") for move in ([part[2:]] * 2 if part.startswith("2:") else [part])]
        assert moves(target, operation) == ", ".join(want), operation


@pytest.mark.parametrize("target", benchmark.TARGETS)
def test_at_most_half_of_plain_permutes(target: str) -> None:
    """Integer reductions and scans, xor within a row, and broadcasts of a lane, against ds_bpermute alone.

    A broadcast is as short when LLVM finds the readlane in the plain form by itself, xor 4 is two moves and a wait on
    gfx9; both are no longer than the plain form.
    """
    arch, _, size = target.partition("/")
    for operation in benchmark.OPERATIONS:
        chosen = benchmark.cost(AmdTarget, arch, int(size), operation)
        plain = benchmark.cost(benchmark.PlainTarget, arch, int(size), operation)
        if operation.endswith("i32") or operation.startswith("shuffle_xor"):
            spared = operation == "shuffle_xor(v, 4)" and arch.startswith("gfx9")
            assert chosen.total() <= plain.total() * (0.6 if spared else 0.5), operation
            assert chosen["LDS"] <= (operation == "shuffle_xor(v, 16)"), operation
        elif operation.startswith("broadcast"):
            assert chosen["LDS"] == 0
            assert chosen.total() <= plain.total(), operation


def test_the_benchmark_prints_its_table() -> None:
    command = [sys.executable, str(ROOT / "benchmarks/amdgpu.py"), "gfx1100/32"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "gfx1100, wave32" in done.stdout
    assert all(f"| {operation} |" in done.stdout for operation in benchmark.OPERATIONS)
