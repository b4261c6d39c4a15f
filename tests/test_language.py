"""The kernel language against NumPy and plain Python: each kernel beside an independent expectation."""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise import dtypes
from lanewise.frontend.specs import ArraySpec, Options, ScalarSpec, Spec
from lanewise.frontend.translate import translate
from lanewise.ir import Op
from lanewise.ir.verifier import verify
from lanewise.simt import block, subgroup

N = 70
pytestmark = pytest.mark.usefixtures("few_devices")
f32s, i32s = lw.types.ndarray(lw.f32, 1), lw.types.ndarray(lw.i32, 1)


def run(kernel: Any, *arrays: Any, dtype: Any = np.int32, n: int = N) -> Any:
    out = np.zeros(n, dtype)
    kernel(*arrays, out)
    return out


def floats(n=N):
    return np.random.default_rng(1).normal(size=n).astype(np.float32)


def ops(function: FunctionType, *specs: Spec, **options: Any) -> list[Op]:
    """The operations that a function is translated to."""
    program = translate(function, specs, Options(subgroup_size=8, **options)).program
    verify(program)
    return list(program.body.walk())


# ---- control flow -------------------------------------------------------------------------------------------------
def test_early_continue_and_the_code_after_it():
    @lw.kernel
    def k(x: f32s, out: i32s):
        for i in range(x.shape[0]):
            if x[i] < 0:
                out[i] = -1
                continue
            out[i] = 1
            if i % 3 == 0:
                return
            out[i] += 1

    x = floats()
    want = [-1 if v < 0 else 1 if i % 3 == 0 else 2 for i, v in enumerate(x)]
    np.testing.assert_array_equal(run(k, x), want)


def test_break_continue_and_carried_variables():
    @lw.kernel
    def k(out: i32s):
        for i in range(out.shape[0]):
            total, last = 0, -1
            for j in range(i):
                if j % 4 == 3:
                    continue
                if total > 50:
                    last = j
                    break
                total += j
            out[i] = total * 100 + last

    def expected(i):
        total, last = 0, -1
        for j in range(i):
            if j % 4 == 3:
                continue
            if total > 50:
                last = j
                break
            total += j
        return total * 100 + last

    np.testing.assert_array_equal(run(k), [expected(i) for i in range(N)])


def test_while_does_not_evaluate_its_condition_after_break():
    @lw.kernel
    def k(x: i32s, out: i32s):
        for i in range(out.shape[0]):
            j = i
            while x[j] >= 0:
                if j + 1 == x.shape[0]:
                    j = 1000
                    break
                j += 1
            out[i] = j

    x = np.ones(N, np.int32)
    x[20] = -1
    np.testing.assert_array_equal(run(k, x), [20 if i <= 20 else 1000 for i in range(N)])


def test_return_inside_a_loop_of_a_func():
    @lw.func
    def first_divisor(n):
        for d in range(2, n):
            if n % d == 0:
                return d
        return n

    @lw.kernel
    def k(out: i32s):
        for i in range(out.shape[0]):
            out[i] = first_divisor(i + 2)

    want = [next((d for d in range(2, n) if n % d == 0), n) for n in range(2, N + 2)]
    np.testing.assert_array_equal(run(k), want)


def test_nested_loops_over_a_grid_break_out_of_all_axes():
    @lw.kernel
    def k(out: i32s):
        for i in range(out.shape[0]):
            count = 0
            for p, q in lw.ndrange(5, (2, 6)):
                if p * q > i:
                    break
                if q == 3:
                    continue
                count += 10 * p + q
            out[i] = count

    def expected(i):
        count = 0
        for p in range(5):
            for q in range(2, 6):
                if p * q > i:
                    return count
                if q != 3:
                    count += 10 * p + q
        return count

    np.testing.assert_array_equal(run(k), [expected(i) for i in range(N)])


def test_unrolled_loop_with_run_time_break_and_continue():
    @lw.kernel
    def k(out: i32s):
        for i in range(out.shape[0]):
            s = 0
            for j in lw.static(range(6)):
                if i == j:
                    continue
                if s > i:
                    break
                s += j * j
            out[i] = s

    def expected(i):
        s = 0
        for j in range(6):
            if i == j:
                continue
            if s > i:
                break
            s += j * j
        return s

    np.testing.assert_array_equal(run(k), [expected(i) for i in range(N)])


@pytest.mark.parametrize("bounds", [(0, 10, 3), (10, 0, -1), (7, -8, -3), (5, 5, 1), (9, 2, 1), (-3, 4, 2)])
def test_range(bounds):
    start, stop, step = bounds

    @lw.kernel
    def k(base: lw.i32, out: i32s):
        for i in range(out.shape[0]):
            s = 0
            for j in range(base + start, base + stop, step):
                s = s * 7 + j
            out[i] = s

    s = 0
    for j in range(start, stop, step):
        s = s * 7 + j
    out = np.zeros(3, np.int32)
    k(0, out)
    np.testing.assert_array_equal(out, np.full(3, s).astype(np.int32))


@pytest.mark.parametrize("bounds", [(0, 10, 3), (10, 0, -1), (7, 1, -3), (5, 5, 1), (9, 2, 1), (3, 40, 2)])
def test_parallel_range(bounds):
    start, stop, step = bounds

    @lw.kernel
    def k(base: lw.i32, out: i32s):
        for i in range(start, base + stop, step):
            out[i] = i + 1

    out, want = np.zeros(N, np.int32), np.zeros(N, np.int32)
    k(0, out)
    for i in range(start, stop, step):
        want[i] = i + 1
    np.testing.assert_array_equal(out, want)


def test_chained_comparisons_and_lazy_operators():
    @lw.kernel
    def k(x: i32s, out: i32s):
        for i in range(out.shape[0]):
            ok = 3 < i <= 40 < x[0]
            guarded = i < x.shape[0] - 1 and x[i + 1] == i + 1
            either = i == 0 or x[i - 1] == i - 1
            out[i] = ok + 2 * guarded + 4 * (either or not ok) + (8 if x[i] > 5 and ok else 16)

    x = np.arange(N, dtype=np.int32)
    x[0] = 100

    def expected(i):
        ok = 3 < i <= 40
        guarded = i < N - 1
        either = i == 0 or x[i - 1] == i - 1
        return ok + 2 * guarded + 4 * (either or not ok) + (8 if x[i] > 5 and ok else 16)

    np.testing.assert_array_equal(run(k, x), [expected(i) for i in range(N)])


# ---- types --------------------------------------------------------------------------------------------------------
def test_division_and_remainder_are_pythons():
    @lw.kernel
    def k(a: i32s, b: i32s, out: i32s):
        for i in range(out.shape[0]):
            q, r = divmod(a[i], b[i])
            out[i] = q * 1000 + r if b[i] != 0 else a[i] // b[i] + a[i] % b[i]

    rng = np.random.default_rng(2)
    a, b = (rng.integers(-50, 50, N).astype(np.int32) for _ in "ab")
    want = [0 if y == 0 else (x // y) * 1000 + x % y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_array_equal(run(k, a, b), want)


def test_powers():
    @lw.kernel
    def k(x: f32s, out: f32s):
        for i in range(out.shape[0]):
            e = i % 7
            out[i] = x[i] ** 5 + x[i] ** -2 + 3**e + (i - 35) ** e

    x = floats() + np.float32(3)
    two, four = x * x, (x * x) * (x * x)
    e = np.arange(N) % 7
    ints = (np.arange(N) - 35).astype(np.int32)
    power = np.array([int(b) ** int(p) for b, p in zip(ints, e, strict=True)], np.int64).astype(np.int32)
    want = ((x * four + np.float32(1) / two) + (3**e).astype(np.float32)) + power.astype(np.float32)
    np.testing.assert_array_equal(run(k, x, dtype=np.float32), want)


def test_literals_take_their_partners_type():
    @lw.kernel
    def k(x: lw.types.ndarray(lw.u8, 1), out: i32s):
        for i in range(out.shape[0]):
            wrapped = x[i] + 200  # a literal that fits: u8
            wide = x[i] + 300  # one that does not: i32
            out[i] = lw.i32(wrapped) * 1000 + wide

    x = np.arange(N, dtype=np.uint8)
    want = (x + np.uint8(200)).astype(np.int32) * 1000 + x.astype(np.int32) + 300
    np.testing.assert_array_equal(run(k, x), want)


def test_types_of_expressions():
    def k(x, y):
        for i in range(3):
            lw.static_assert((x[i] + 1).dtype == lw.i32)
            lw.static_assert((x[i] + 1.5).dtype == lw.f32)
            lw.static_assert((x[i] / 2).dtype == lw.f32)
            lw.static_assert((y[i] * x[i]).dtype == lw.f16)
            lw.static_assert((y[i] + 2.5).dtype == lw.f16)
            lw.static_assert((lw.u32(1) + x[i]).dtype == lw.u32)
            lw.static_assert((lw.i64(1) + lw.cast(x[i], lw.u32)).dtype == lw.i64)
            lw.static_assert(((x[i] > 1) + (x[i] > 2)).dtype == lw.i32)
            lw.static_assert(((x[i] > 1) & (x[i] > 2)).dtype == lw.bool)
            lw.static_assert((lw.u8(x[i]) << x[i]).dtype == lw.u8)
            lw.static_assert(lw.sqrt(x[i]).dtype == lw.f32)
            lw.static_assert(lw.Vector([3_000_000_000]).dtype == lw.i64)
            lw.static_assert((7 // 2 == 3) and (7 / 2 == 3.5) and (-7 % 3 == 2))

    assert ops(k, ArraySpec(dtypes.i32, 1), ArraySpec(dtypes.f16, 1))


def test_math_functions():
    @lw.kernel
    def k(x: f32s, roots: f32s, out: f32s):
        for i in range(out.shape[0]):
            v = abs(x[i])
            roots[i] = math.sqrt(v)
            out[i] = lw.floor(x[i]) + round(x[i]) + max(v, 0.25, min(x[i], 2)) + math.pi

    x, roots = floats(), np.zeros(N, np.float32)
    v = np.abs(x)
    most = np.maximum(np.maximum(v, np.float32(0.25)), np.minimum(x, np.float32(2)))
    want = ((np.floor(x) + np.rint(x)) + most) + np.float32(math.pi)
    np.testing.assert_array_equal(run(k, x, roots, dtype=np.float32), want)
    # How exact a root is depends on the device: test_arithmetic.py
    np.testing.assert_array_max_ulp(roots, np.sqrt(v), 5)


def test_bit_functions():
    @lw.kernel
    def k(x: lw.types.ndarray(lw.u32, 1), out: i32s):
        for i in range(out.shape[0]):
            v = x[i]
            out[i] = lw.popcnt(v) + 100 * lw.clz(v) + 10000 * lw.ctz(v) + 1000000 * lw.ffs(v)

    x = np.random.default_rng(3).integers(0, 2**32, N, dtype=np.uint32)
    x[:4] = [0, 1, 2**31, 2**32 - 1]

    def expected(v):
        ctz = (v & -v).bit_length() - 1 if v else 32
        return v.bit_count() + 100 * (32 - v.bit_length()) + 10000 * ctz + 1000000 * (ctz + 1 if v else 0)

    np.testing.assert_array_equal(run(k, x), [expected(int(v)) for v in x])


# ---- vectors, structs, tuples -------------------------------------------------------------------------------------
def test_vectors():
    @lw.kernel
    def k(x: f32s, out: f32s):
        for i in range(out.shape[0]):
            v = lw.Vector([x[i], 1, 2])
            w = v * 2 + 1
            w[i % 3] = 10
            w.x += v.dot(w)
            if i % 2:
                v, w = w, v
            out[i] = w[i % 3] + v.sum() + v.max()

    x = floats()

    def expected(i):
        f = np.float32
        v = np.array([x[i], 1, 2], f)
        w = v * f(2) + f(1)
        w[i % 3] = 10
        w[0] += (v[0] * w[0] + v[1] * w[1]) + v[2] * w[2]
        if i % 2:
            v, w = w, v
        return (w[i % 3] + ((v[0] + v[1]) + v[2])) + v.max()

    np.testing.assert_array_equal(run(k, x, dtype=np.float32), np.array([expected(i) for i in range(N)]))


@lw.dataclass
class Particle:
    position: lw.vector(2, lw.f32)
    mass: lw.f32 = 2.0
    kind: lw.i32 = 7


@lw.func
def moved(p: Particle, by):
    p.position += by
    p.mass = 1
    return p


def test_structs_have_value_semantics():
    @lw.kernel
    def k(x: f32s, out: f32s):
        for i in range(out.shape[0]):
            p = Particle(lw.Vector([x[i], 1.0]))
            q = moved(p, lw.Vector([i, 2]))
            while q.kind < 9:
                q.kind += 1
                q.position.y *= 2
            out[i] = q.position.x + q.position.y * 100 + p.position.x + p.mass + q.mass * 1000 + q.kind

    x = floats()
    f = np.float32
    i = np.arange(N).astype(f)
    want = (((((x + i) + f(12) * f(100)) + x) + f(2)) + f(1000)) + f(9)
    np.testing.assert_array_equal(run(k, x, dtype=np.float32), want)


def test_structs_travel_between_lanes(few_devices: lw.Device):
    W = few_devices.subgroup_size

    @lw.kernel
    def k(x: f32s, out: f32s):
        for i in range(out.shape[0]):
            p = subgroup.broadcast_first(Particle(lw.Vector([x[i], 3.0]), kind=i))
            out[i] = p.position.x + p.kind

    x = floats(2 * W)
    first = np.arange(2 * W) // W * W
    np.testing.assert_array_equal(run(k, x, dtype=np.float32, n=2 * W), x[first] + first.astype(np.float32))


@lw.func
def complex_product(a, b):
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def test_generic_reduce_of_tuples(few_devices: lw.Device):
    W = few_devices.subgroup_size

    @lw.kernel
    def k(re: i32s, im: i32s, out: i32s):
        for i in range(re.shape[0]):
            a, b = subgroup.reduce_all((re[i], im[i]), complex_product, (1, 0))
            out[i] = a * 31 + b

    rng = np.random.default_rng(4)
    re, im = (rng.integers(-3, 4, W).astype(np.int32) for _ in "ab")
    a, b = np.int32(1), np.int32(0)
    with np.errstate(over="ignore"):
        for x, y in zip(re, im, strict=True):
            a, b = a * x - b * y, a * y + b * x
        want = np.full(W, a * np.int32(31) + b)
    np.testing.assert_array_equal(run(k, re, im, n=W), want)


# ---- memory -------------------------------------------------------------------------------------------------------
def test_updates_of_shared_elements_are_atomic():
    @lw.kernel
    def k(x: i32s, out: i32s):
        for i in range(x.shape[0]):
            out[x[i] % 4] += 1
            out[4] -= x[i]
            lw.atomic_max(out[5], x[i])

    x = np.random.default_rng(5).integers(0, 1000, 500).astype(np.int32)
    want = [*np.bincount(x % 4, minlength=4), -x.sum(), x.max()]
    np.testing.assert_array_equal(run(k, x, n=6), want)


def test_an_update_of_the_items_own_element_is_plain():
    def own(a, b):
        for i, j in lw.ndrange(4, 5):
            a[i, j] += 1
            b[j] += 1.0

    def shifted(a, b):
        for i, j in lw.ndrange(4, 5):
            a[i, j] += 1
            a[i, j + 1] = 3
            b[j] = 2.0

    int2, float1 = ArraySpec(dtypes.i32, 2), ArraySpec(dtypes.f32, 1)
    assert [op.attrs["mem"].name for op in ops(own, int2, float1) if op.opcode == "atomic"] == ["b"]
    assert [op.attrs["mem"].name for op in ops(shifted, int2, float1) if op.opcode == "atomic"] == ["a"]


def test_local_and_shared_arrays(few_devices: lw.Device):
    @lw.kernel
    def k(out: i32s):
        lw.loop_config(block_dim=16)
        for i in range(out.shape[0]):
            tile = block.SharedArray((2, 16), lw.i32)
            fib = lw.local_array(10, lw.i32)
            fib[0] = fib[1] = 1
            for j in range(2, 10):
                fib[j] = fib[j - 1] + fib[j - 2]
            t = block.thread_idx()
            tile[t % 2, t] = fib[i % 10] + t
            block.sync()
            other = 15 - t
            out[i] = tile[other % 2, other]

    fib = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    mirror = [i // 16 * 16 + 15 - i % 16 for i in range(64)]
    np.testing.assert_array_equal(run(k, n=64), [fib[j % 10] + j % 16 for j in mirror])


# ---- compile time -------------------------------------------------------------------------------------------------
def table(n):
    return tuple(k * k for k in range(n))


SCALE = 3
HALF = np.float32(0.5)


def test_constants_from_outside_and_static():
    offset = 2.5

    @lw.kernel
    def k(out: f32s):
        for i in range(out.shape[0]):
            s = 0.0
            for k, square in lw.static(tuple(enumerate(table(4)))):
                if lw.static(k % 2 == 1):
                    s += square * SCALE
                else:
                    s += undefined_name  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
                    lw.static_assert(False)
            out[i] = s

    with pytest.raises(lw.CompileError, match="undefined_name"):
        run(k, dtype=np.float32)

    @lw.kernel
    def good(out: f32s):
        for i in range(out.shape[0]):
            s = 0.0
            for j in lw.static(range(4)):
                s += lw.static(table(4)[j]) * SCALE * HALF
            out[i] = s + offset

    np.testing.assert_array_equal(run(good, dtype=np.float32), np.full(N, 14 * 1.5 + 2.5, np.float32))


def test_templates():
    @lw.func
    def twice(x):
        return 2 * x

    @lw.kernel
    def k(f: lw.template(), dtype: lw.template(), n: lw.template(), out: i32s):
        for i in range(out.shape[0]):
            x = lw.cast(i, dtype)
            for _ in lw.static(range(n)):
                x = f(x)
            out[i] = lw.i32(x)

    out = np.zeros(N, np.int32)
    k(twice, lw.u8, 3, out)
    np.testing.assert_array_equal(out, (np.arange(N) * 8) % 256)


def test_lane_counts_are_compile_time_constants(few_devices: lw.Device):
    W = few_devices.subgroup_size

    @lw.kernel
    def k(out: i32s):
        lw.loop_config(block_dim=100)
        for i in range(out.shape[0]):
            log2 = subgroup.log2_group_size()
            lw.static_assert(block.block_dim() == 100)
            total = subgroup.reduce_all_add_tiled(1, log2)
            out[i] = subgroup.group_size() * 1000 + subgroup.num_subgroups() + 0 * total

    np.testing.assert_array_equal(run(k), np.full(N, W * 1000 + -(-100 // W)))


# ---- functions ----------------------------------------------------------------------------------------------------
@lw.func
def clamp(x, low=0, high: lw.f32 = 1):
    if x < low:
        return low
    if x > high:
        return high
    x *= 1
    return x


def test_funcs_with_defaults_keywords_and_several_returns():
    @lw.kernel
    def k(x: f32s, out: f32s):
        for i in range(out.shape[0]):
            out[i] = clamp(x[i]) + clamp(x[i], high=0.5, low=-0.5) * 10  # pyright: ignore[reportArgumentType]

    x = floats()
    want = np.clip(x, 0, 1) + np.clip(x, np.float32(-0.5), np.float32(0.5)) * np.float32(10)
    np.testing.assert_array_equal(run(k, x, dtype=np.float32), want)


@lw.func
def sort2(a, b):
    if a > b:
        a, b = b, a
    return a, b


def test_funcs_return_tuples_and_reassign_their_parameters():
    @lw.kernel
    def k(x: i32s, out: i32s):
        for i in range(out.shape[0]):
            mine = x[i]
            low, high = sort2(mine, 10)
            out[i] = low * 1000 + high * 10 + (mine == x[i])

    x = np.arange(N, dtype=np.int32)
    want = [min(v, 10) * 1000 + max(v, 10) * 10 + 1 for v in range(N)]
    np.testing.assert_array_equal(run(k, x), want)


class Model:
    def __init__(self, scale: int) -> None:
        self.scale = scale

    @lw.func
    def apply(self, x):
        return x * self.scale


def test_methods_see_their_instance_as_constants():
    model = Model(5)

    @lw.kernel
    def k(out: i32s):
        for i in range(out.shape[0]):
            out[i] = model.apply(i)

    np.testing.assert_array_equal(run(k), np.arange(N) * 5)


def test_fields_are_closed_over():
    field = lw.field(lw.i32, N)

    @lw.kernel
    def fill():
        for i in range(field.shape[0]):
            field[i] = i * i

    fill()
    np.testing.assert_array_equal(field.to_numpy(), np.arange(N) ** 2)


def test_two_loops_and_host_code_between_them():
    @lw.kernel
    def k(x: i32s, out: i32s):
        n = x.shape[0]
        for i in range(n):
            out[i] = x[i] + 1
        half = n // 2
        if half > 10:
            half = 10
        for i in range(half, n):
            out[i] *= 2

    x = np.arange(N, dtype=np.int32)
    want = np.where(np.arange(N) < 10, x + 1, (x + 1) * 2)
    np.testing.assert_array_equal(run(k, x), want)


def test_buffers_of_an_unrolled_loop():
    @lw.kernel
    def k(out: i32s):
        for i in range(out.shape[0]):
            s = 0
            for j in lw.static(range(5)):
                buffer = lw.local_array(2, lw.i32)
                buffer[i % 2] = j
                if s > i:
                    break
                s += buffer[i % 2]
            out[i] = s

    def expected(i):
        s = 0
        for j in range(5):
            if s > i:
                return s
            s += j
        return s

    np.testing.assert_array_equal(run(k, n=10), [expected(i) for i in range(10)])


def test_a_long_unrolled_loop_with_breaks_is_translated():
    def k(x, y):
        for i in range(y):
            for j in lw.static(range(500)):
                if x[i] == j:
                    break
                x[i] = j

    assert sum(op.opcode == "store" for op in ops(k, ArraySpec(dtypes.i32, 1), ScalarSpec(dtypes.i32))) == 500


def test_barriers_after_items_have_ended(few_devices: lw.Device):
    @lw.kernel
    def k(x: i32s, out: i32s):
        lw.loop_config(block_dim=64)
        for i in range(64):
            rounds = 0
            while rounds < 5:
                if x[i] < 0:
                    return
                if rounds == 3:
                    break
                block.sync()
                rounds += 1
            out[i] = block.reduce_all_add(x[i]) + rounds

    x = np.arange(64, dtype=np.int32)
    x[::3] = -1
    np.testing.assert_array_equal(run(k, x, n=64), np.where(x < 0, 0, x[x > 0].sum() + 3))


def test_the_translation_of_a_scalar_argument_is_a_parameter():
    def k(a, n):
        for i in range(n):
            a[i] = n

    program = translate(k, [ArraySpec(dtypes.f32, 1), ScalarSpec(dtypes.i32)], Options(subgroup_size=8)).program
    assert [v.hint for v in program.scalars] == ["n"]
    assert [m.name for m in program.memories] == ["a"]
