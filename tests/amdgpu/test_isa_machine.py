"""The interpreter of assembly itself: rules of the ISA documents that kernels of lanewise seldom meet."""

from __future__ import annotations

import numpy as np
import pytest

from tests.amdgpu.isa import lanes, rows, scalar
from tests.amdgpu.isa.machine import Program
from tests.amdgpu.isa.space import Global
from tests.amdgpu.isa.state import EXEC, Arr, Fault, Model, Waves
from tests.amdgpu.isa.text import KernelText, parse_instruction, parse_module

GFX9, GFX10 = Model("gfx90a", 64), Model("gfx1030", 64)
FACTS = {
    "float_denorm_mode_32": 3,
    "float_denorm_mode_16_64": 3,
    "float_round_mode_32": 0,
    "float_round_mode_16_64": 0,
    "group_segment_fixed_size": 64,
    "private_segment_fixed_size": 0,
    "user_sgpr_kernarg_segment_ptr": 1,
    "user_sgpr_count": 2,
    "system_sgpr_workgroup_id_x": 1,
}


def waves(model: Model, count: int = 1, enabled: Arr | None = None) -> Waves:
    made = Waves.fresh(model, np.zeros(count, np.int64), None)
    lane = np.arange(model.size, dtype=np.uint32)
    made.v[0] = np.broadcast_to(lane, (count, model.size))
    made.v[1] = np.broadcast_to(lane + np.uint32(100), (count, model.size))
    if enabled is not None:
        made.set_exec(np.broadcast_to(enabled, (count, model.size)))
    return made


def run(w: Waves, *lines: str) -> Waves:
    """Straight-line code."""
    facts = FACTS | {"wavefront_size32": int(w.model.size == 32)}
    program = Program.of(KernelText("test", [*lines, "s_endpgm"], {}, facts), w.model)
    w.pc = 0
    program.run(w)
    return w


def even(model: Model) -> Arr:
    return np.arange(model.size) % 2 == 0


# ---- disabled lanes -------------------------------------------------------------------------------------------------
def test_disabled_lanes_keep_their_registers() -> None:
    w = run(waves(GFX9, enabled=even(GFX9)), "v_mov_b32_e32 v1, 7")
    np.testing.assert_array_equal(w.v[1][0], np.where(even(GFX9), 7, np.arange(64) + 100))


def test_dpp_does_not_fetch_from_a_disabled_lane() -> None:
    """Without bound_ctrl the reader is not written; with it, it reads 0; fi:1 fetches all the same."""
    lane, mask = np.arange(64), even(GFX10)
    move = "v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    for modifiers, want in (("", lane + 100), (" bound_ctrl:1", 0 * lane), (" fi:1", lane ^ 1)):
        w = run(waves(GFX10, enabled=mask), move + modifiers)
        np.testing.assert_array_equal(w.v[1][0], np.where(mask, want, lane + 100), err_msg=modifiers)


def test_dpp_masks_and_missing_sources() -> None:
    lane = np.arange(64)
    w = run(waves(GFX9), "v_mov_b32_dpp v1, v0 row_shr:3 row_mask:0x5 bank_mask:0x6")
    written = (lane // 16 % 2 == 0) & np.isin(lane // 4 % 4, (1, 2)) & (lane % 16 >= 3)
    np.testing.assert_array_equal(w.v[1][0], np.where(written, lane - 3, lane + 100))


def test_readlane_ignores_exec_and_readfirstlane_does_not() -> None:
    w = run(waves(GFX9, enabled=~even(GFX9)), "v_readlane_b32 s0, v1, 4", "v_readfirstlane_b32 s1, v1")
    assert (w.s[0].item(), w.s[1].item()) == (104, 101)
    w = run(waves(GFX9, enabled=np.zeros(64, bool)), "v_readfirstlane_b32 s1, v1", "v_writelane_b32 v1, 9, 5")
    assert (w.s[1].item(), w.v[1][0, 5]) == (100, 9)


def test_bpermute_of_a_disabled_lane_is_zero() -> None:
    w = waves(GFX9, enabled=even(GFX9))
    w.v[2] = np.broadcast_to((np.arange(64, dtype=np.uint32) + 1) * 4, (1, 64))
    run(w, "ds_bpermute_b32 v1, v2, v0")
    np.testing.assert_array_equal(w.v[1][0, ::2], np.zeros(32))


@pytest.mark.parametrize(("arch", "reach"), [("gfx942", 64), ("gfx1030", 32), ("gfx1100", 32), ("gfx1200", 64)])
def test_how_far_bpermute_reaches(arch: str, reach: int) -> None:
    w, lane = waves(Model(arch, 64)), np.arange(64)
    w.v[2] = np.broadcast_to((lane ^ 33).astype(np.uint32) * 4, (1, 64))
    run(w, "ds_bpermute_b32 v1, v2, v0")
    np.testing.assert_array_equal(w.v[1][0], lane // reach * reach + (lane ^ 33) % reach)


def test_compares_clear_the_bits_of_disabled_lanes() -> None:
    w = run(waves(GFX9, enabled=even(GFX9)), "s_mov_b64 vcc, -1", "v_cmp_gt_u32_e32 vcc, 8, v0")
    assert w.s[106].item() == 0b01010101
    assert w.s[107].item() == 0


def test_saveexec() -> None:
    w = run(waves(GFX9), "v_cmp_gt_u32_e32 vcc, 3, v0", "s_and_saveexec_b64 s[0:1], vcc")
    assert w.exec.sum() == 3
    assert w.scc.all()
    assert [w.s[k].item() for k in (0, 1, EXEC, EXEC + 1)] == [0xFFFFFFFF, 0xFFFFFFFF, 7, 0]


def test_lanes_that_meet_must_be_enabled_in_convergent_code() -> None:
    model = Model("gfx1100", 64, convergent=True)
    with pytest.raises(Fault, match=r"v_permlane64_b32 v1, v0': lanes meet while some are disabled"):
        run(waves(model, enabled=even(model)), "v_permlane64_b32 v1, v0")


# ---- halves, pairs, signs -------------------------------------------------------------------------------------------
def test_sixteen_bit_results_clear_the_high_half_on_gfx9_alone() -> None:
    for model, want in ((GFX9, 0x0003), (Model("gfx1030", 32), 0x7FFF0003)):
        w = waves(model)
        w.v[2] = np.full((1, model.size), 0x7FFF0001, np.uint32)
        run(w, f"v_add_{'u16_e32' if model is GFX9 else 'nc_u16'} v2, 2, v2")
        assert w.v[2][0, 0] == want


def test_dual_instructions_read_before_they_write() -> None:
    w = run(waves(Model("gfx1100", 32)), "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0")
    assert (w.v[0][0, 5], w.v[1][0, 5]) == (105, 5)


def test_constants_take_the_type_of_the_operand() -> None:
    w = waves(GFX9)
    run(w, "v_mov_b32_e32 v2, 1.0", "v_add_f64 v[4:5], 1.0, 0x40080000", "v_add_f16_e32 v6, 1.0, v7")
    assert w.v[2][0, 0] == 0x3F800000
    assert w.v[5].view(np.uint32)[0, 0] == 0x40100000  # 1.0 + 3.0
    run(w, "v_lshl_add_u32 v2, -1, 4, v0", "s_mov_b64 s[0:1], -2")
    assert (w.v[2][0, 1], w.s[0].item(), w.s[1].item()) == (0xFFFFFFF1, 0xFFFFFFFE, 0xFFFFFFFF)


def test_sign_modifiers_of_a_select() -> None:
    w = waves(GFX10, enabled=None)
    w.v[2] = np.full((1, 64), -1.5, np.float32).view(np.uint32)
    run(w, "v_cndmask_b32_e64 v3, |v2|, -|v2|, s[0:1]", "v_max_f32_e64 v4, -v2, -v2")
    assert set(np.abs(w.v[3].view(np.float32)).flat) == {1.5}
    assert w.v[4].view(np.float32)[0, 0] == 1.5


def test_null_takes_nothing() -> None:
    w = run(waves(Model("gfx1100", 64)), "v_add_co_u32 v2, null, -1, v0")
    assert w.full
    assert w.v[2][0, 1] == 0


def test_fused_multiply_add_is_rounded_once() -> None:
    a = np.float32(1 + 2.0**-12)
    w = waves(GFX9)
    for register, value in ((2, a), (3, a), (4, -(a * a))):
        w.v[register] = np.full((1, 64), value, np.float32).view(np.uint32)
    run(w, "v_fma_f32 v5, v2, v3, v4")
    assert w.v[5].view(np.float32)[0, 0] == np.float32(2.0**-24)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_division_sequence(dtype: type) -> None:
    """LLVM's: scale, reciprocal, Newton's steps, fmas, fixup; correctly rounded for every kind of operand."""
    from tests.amdgpu.isa.floats import div_fixup, div_fmas, div_scale, fma

    info, rng = np.finfo(dtype), np.random.default_rng(8)
    special = [0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal, 1, -3, info.eps]
    a, b = (np.array(x, dtype) for x in zip(*((p, q) for p in special for q in special), strict=True))
    scale = dtype(2.0) ** rng.integers(-60, 60, 500).astype(dtype)
    a = np.concatenate([a, (rng.standard_normal(500) * scale).astype(dtype)])[None]
    b = np.concatenate([b, rng.standard_normal(500).astype(dtype)])[None]
    with np.errstate(all="ignore"):
        d, _ = div_scale(b, b, a)
        n, flag = div_scale(a, b, a)
        r, one = 1 / d, dtype(1)
        for _ in range(2):
            r = fma(fma(-d, r, np.full_like(d, one)), r, r)
        q = n * r
        q = fma(fma(-d, q, n), r, q)
        got = div_fixup(div_fmas(fma(-d, q, n), r, q, flag), b, a)
        want = a / b
    np.testing.assert_array_equal(np.nan_to_num(got, nan=7), np.nan_to_num(want, nan=7))
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])


# ---- control and memory ---------------------------------------------------------------------------------------------
LOOP = """
	.amdhsa_kernel k
		{facts}
	.end_amdhsa_kernel
k:
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_readfirstlane_b32 s3, v0
	s_lshr_b32 s3, s3, 6
	s_add_u32 s3, s3, 1
	v_mov_b32_e32 v1, 0
.LBB0_1:
	v_add_u32_e32 v1, 5, v1
	s_sub_u32 s3, s3, 1
	s_cmp_lg_u32 s3, 0
	s_cbranch_scc1 .LBB0_1
	v_lshlrev_b32_e32 v2, 2, v0
	ds_write_b32 v2, v1{past}
	s_barrier
	v_xor_b32_e32 v2, 0x100, v2
	ds_read_b32 v1, v2
	v_lshlrev_b32_e32 v2, 2, v0
	global_store_dword v2, v1, s[4:5]{far}
	s_endpgm
.Lfunc_end0:
"""


def launch(past: str = "", far: str = "") -> Arr:
    facts = "\n".join(
        f"\t\t.amdhsa_{name} {value}" for name, value in (FACTS | {"group_segment_fixed_size": 512}).items()
    )
    program = Program.of(parse_module(LOOP.format(facts=facts, past=past, far=far))["k"], GFX9)
    out = np.zeros(128, np.uint32)
    place = out.ctypes.data
    program.launch(1, 128, place.to_bytes(8, "little"), [(place, place + out.nbytes)])
    return out


def test_waves_part_and_meet_at_a_barrier() -> None:
    np.testing.assert_array_equal(launch(), np.repeat([10, 5], 64))


def test_wild_accesses_are_errors() -> None:
    with pytest.raises(Fault, match=r"global_store_dword.*where no array is"):
        launch(far=" offset:4")
    with pytest.raises(Fault, match=r"ds_write_b32.*of 512 bytes of the block's LDS"):
        launch(past=" offset:260")


def test_what_it_does_not_know_is_an_error() -> None:
    for line, told in {
        "v_dot4_i32_i8 v0, v1, v2, v3": "v_dot4_i32_i8",
        "s_sethalt 1": "s_sethalt",
        "v_add_f32_e64 v0, v1, v2 mul:2": r"modifiers \{'mul'\} of 'v_add_f32_e64",
        "v_mov_b32_e32 v0, src_shared_base": "operand 'src_shared_base'",
        "v_mov_b32_dpp v1, v0 row_share:1 row_mask:0xf bank_mask:0xf": r"on gfx90a, the DPP control of .*row_share",
    }.items():
        with pytest.raises(NotImplementedError, match=told):
            run(waves(GFX9), line)


def test_a_loop_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.amdgpu.isa.machine.LIMIT", 1000)
    program = Program.of(KernelText("test", ["s_branch .LBB0_0"], {".LBB0_0": 0}, FACTS), GFX9)
    with pytest.raises(Fault, match="runs for ever"):
        program.run(waves(GFX9))


def test_regions_of_views_of_one_array_are_one() -> None:
    data = np.arange(64, dtype=np.uint8)
    start = data.ctypes.data
    memory = Global.of([(start, start + 40), (start + 20, start + 64)])
    ((chosen, places, region),) = memory.places(np.array([start + 38], np.uint64), 4, "load")
    assert chosen.all()
    assert region.cells(4)[places[0]] == int.from_bytes(bytes([38, 39, 40, 41]), "little")


def test_every_row_has_a_name_of_its_own() -> None:
    """An alias that hides a row, or leads nowhere, would be a mistake."""
    for table, aliases in ((rows.ROWS, rows.ALIASES), (scalar.ROWS | scalar.BUILDERS, scalar.ALIASES)):
        assert not set(table) & set(aliases)
        assert set(aliases.values()) <= set(table)
    assert not set(rows.ROWS) & set(lanes.BUILDERS)
    assert parse_instruction("v_add_u32_e32 v0, s1, v2").operands == ("v0", "s1", "v2")
