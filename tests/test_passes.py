"""The passes, seen from outside: what they promise about the IR they give."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

import lanewise as lw
from lanewise import dtypes
from lanewise.frontend.specs import ArraySpec, Options, ScalarSpec
from lanewise.frontend.translate import translate
from lanewise.ir import OPCODES, Block, Effect, Kernel, Level, Op, Program, to_text
from lanewise.ir.verifier import verify
from lanewise.passes import prepare
from lanewise.passes.host import compile_host
from lanewise.passes.uniformity import analyse
from lanewise.simt import block, subgroup

Floats = lw.types.ndarray(dtype=lw.f32, ndim=1)
F32 = ArraySpec(dtypes.f32, 1)


def program(function: Any, *specs: Any, size: int = 32) -> Program:
    made = translate(function, specs, Options(subgroup_size=size, max_block_dim=1024)).program
    verify(made)
    return made


def prepared(function: Any, *specs: Any, size: int = 32, regular: bool = False) -> Kernel:
    kernel = prepare(program(function, *specs, size=size), 0, regular=regular)
    verify(kernel)
    return kernel


# ---- the three kernels that show what a GPU needs -------------------------------------------------------------------
def scan_after_break(x: Floats, out: Floats):
    for i in range(x.shape[0]):
        total = x[i]
        for k in range(9):
            if total > 4.0:
                break
            total = subgroup.inclusive_add(total) + k
        out[i] = subgroup.inclusive_add(total)


def shared_in_a_loop(x: Floats, out: Floats):
    lw.loop_config(block_dim=128)
    for i in range(x.shape[0]):
        tile = block.SharedArray((128,), lw.f32)
        value = x[i]
        for step in range(4):
            tile[block.thread_idx()] = value
            block.sync()
            value += tile[(block.thread_idx() + step) % 128]
            block.sync()
        out[i] = value


def ballot_and_match(x: Floats, out: Floats):
    for i in range(x.shape[0]):
        bits = subgroup.ballot(x[i] > 0.0) ^ subgroup.match_any(x[i])
        out[i] = lw.popcnt(bits)


SKELETON = [scan_after_break, shared_in_a_loop, ballot_and_match]


def convergent(kernel: Kernel) -> None:
    """Every cross-lane operation stands where the subgroup goes together, every barrier where the block does."""
    strict = analyse(kernel.body, kernel.scalars, kernel.subgroup_size, strict=True).level

    def visit(code: Block, worst: Level) -> None:
        for op in code.ops:
            effect = OPCODES[op.opcode].effect
            if effect & Effect.BARRIER:
                assert worst <= Level.BLOCK, op
            elif effect & Effect.CROSS_LANE:
                assert worst <= Level.SUBGROUP, op
            for region in op.regions:
                visit(region, max(worst, strict[condition(op)]))

    def condition(op: Op) -> Any:
        return op.operands[0] if op.opcode == "if" else op.regions[0].yields[0]

    visit(kernel.body, Level.BLOCK)


@pytest.mark.parametrize("regular", [False, True], ids=["general", "regular"])
@pytest.mark.parametrize("size", [4, 32, 64])
@pytest.mark.parametrize("function", SKELETON, ids=lambda f: f.__name__)
def test_control_flow_is_convergent(function: Any, size: int, regular: bool) -> None:
    convergent(prepared(function, F32, F32, size=size, regular=regular))


def test_full_subgroups_pay_nothing() -> None:
    def sums(x: Floats, out: Floats):
        for i in range(x.shape[0]):
            out[i] = subgroup.reduce_add(x[i])

    code = prepared(sums, F32, F32, regular=True)
    opcodes = [op.opcode for op in code.body.walk()]
    assert opcodes.count("subgroup.permute") == 5
    assert "select" not in opcodes
    assert "if" not in opcodes
    assert "select" in [op.opcode for op in prepared(sums, F32, F32).body.walk()]


def test_uniform_branches_stay_branches() -> None:
    def pick(x: Floats, n: lw.i32):
        for i in range(x.shape[0]):
            if n > 3:
                x[i] = subgroup.reduce_all_add(x[i])

    code = prepared(pick, F32, ScalarSpec(dtypes.i32), regular=True)
    (branch,) = [op for op in code.body.ops if op.opcode == "if"]
    assert any(op.opcode == "subgroup.permute" for op in branch.regions[0].walk())
    assert not any(op.opcode == "subgroup.any" for op in code.body.walk())


def test_the_index_of_a_serial_loop_stays_uniform() -> None:
    def walk(x: Floats, out: Floats):
        for i in range(x.shape[0]):
            total = 0.0
            for k in range(10):
                if x[i] < k:
                    break
                total += out[k]
            out[i] = total

    code = prepared(walk, F32, F32, regular=True)
    levels = analyse(code.body, code.scalars, 32).level
    (loop,) = [op for op in code.body.walk() if op.opcode == "loop"]
    counters = [a for a in loop.regions[0].args if a.type == lw.i32]
    assert counters
    assert all(levels[a] <= Level.SUBGROUP for a in counters)


def test_a_lane_map_known_at_compile_time_is_a_permute() -> None:
    def swap(x: Floats):
        for i in range(x.shape[0]):
            x[i] = subgroup.shuffle(x[i], subgroup.invocation_id() ^ 5)

    code = prepared(swap, F32, regular=True)
    (op,) = [op for op in code.body.walk() if OPCODES[op.opcode].effect & Effect.CROSS_LANE]
    assert (op.opcode, op.attrs["kind"], op.attrs["amount"]) == ("subgroup.permute", "xor", 5)


def test_host_code_wraps_and_floors_as_the_device_does() -> None:
    def launch(x: Floats, n: lw.i32, m: lw.i32):
        k = n * m
        if k < 0:
            k = k // m + 5
        while k > 100:
            k = k % 97 + 1
        for i in range(k):
            x[i] = k

    scalar = ScalarSpec(dtypes.i32)
    host = compile_host(program(launch, F32, scalar, scalar))

    def expected(n: int, m: int) -> int:
        k = (n * m + 2**31) % 2**32 - 2**31
        if k < 0:
            k = k // m + 5
        while k > 100:
            k = k % 97 + 1
        return max(k, 0)

    for n, m in [(3, 4), (-7, 3), (7, -3), (50_000, 50_000), (2**31 - 1, 2), (12, 9)]:
        assert host([n, m], [(8,)])[0][0] == expected(n, m)


def test_text_is_the_same_for_the_same_source_and_differs_with_a_constant() -> None:
    texts = []
    for constant in (3, 3, 4):

        def scale(x: Floats):
            for i in range(x.shape[0]):
                x[i] = x[i] * constant

        texts.append(to_text(program(scale, F32)))
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("place", "fits"), [("if x[i] > 0.0:", False), ("if block.block_idx() > 0:", True), ("for k in range(3):", True)]
)
def test_where_a_barrier_may_stand(place: str, fits: bool, tmp_path: Any) -> None:
    source = (
        "import lanewise as lw\nfrom lanewise.simt import block\n"
        "def kernel(x: lw.types.ndarray(dtype=lw.f32, ndim=1)):\n"
        "    for i in range(x.shape[0]):\n"
        f"        {place}\n            block.sync()\n        x[i] = 1.0\n"
    )
    path = tmp_path / "barrier.py"
    path.write_text(source)
    function = runpy.run_path(str(path))["kernel"]
    if fits:
        convergent(prepared(function, F32))
    else:
        with pytest.raises(lw.CompileError, match="not block-uniform"):
            prepared(function, F32)
