"""Math functions on the device, against NumPy in a wider type: bounds in units of the last place."""

from typing import Any

import numpy as np
import pytest

import lanewise as lw

Arr = np.ndarray[Any, Any]

UNARY = {
    "exp": (lw.exp, -760, 720),
    "exp2": (lw.exp2, -1080, 1030),
    "expm1": (lw.expm1, -40, 720),
    "log": (lw.log, 0, np.inf),
    "log2": (lw.log2, 0, np.inf),
    "log10": (lw.log10, 0, np.inf),
    "log1p": (lw.log1p, -1, np.inf),
    "sin": (lw.sin, -np.inf, np.inf),
    "cos": (lw.cos, -np.inf, np.inf),
    "tan": (lw.tan, -np.inf, np.inf),
    "asin": (lw.asin, -1, 1),
    "acos": (lw.acos, -1, 1),
    "atan": (lw.atan, -np.inf, np.inf),
    "sinh": (lw.sinh, -720, 720),
    "cosh": (lw.cosh, -720, 720),
    "tanh": (lw.tanh, -25, 25),
}
"""The function, and where arguments are taken from; the special ones come from everywhere."""
BELOW_ONE = frozenset({"exp", "exp2", "log", "log2", "sin", "cos"})
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
SPECIAL = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, -0.5, 2, -3, 2.0**-1074, -(2.0**-1074), 2.0**-1022])
LARGE = np.array([np.finfo(np.float64).max, 6381956970095103.0 * 2.0**797, 1e22, np.pi / 2, np.pi, 720.0, -760.0])
"""The second is the float next to a multiple of pi/2 that is closest of all."""
EXTENDED = np.finfo(np.longdouble).nmant > 52


def arguments(low: float, high: float, rng: np.random.Generator, n: int = 3000) -> Arr:
    """All magnitudes, ordinary ones, and special ones."""
    magnitudes = rng.choice([-1, 1], n) * 2.0 ** rng.uniform(-1074, 1023, n)
    found = np.concatenate([magnitudes, rng.uniform(max(low, -4), min(high, 4), n), rng.uniform(-1, 1, n)])
    if np.isfinite(low) and np.isfinite(high):
        found = np.concatenate([found, rng.uniform(low, high, n)])
    return np.concatenate([SPECIAL, LARGE, found[(found >= low) & (found <= high)]])


def errors(got: Arr, want: Arr) -> Arr:
    """In units of the last place; infinite where a NaN, an infinity or a zero's sign is wrong."""
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(got.dtype).tiny)).astype(want.dtype)
        distance = np.abs(got - want) / unit
    same = (np.isnan(got) & np.isnan(rounded)) | ((got == rounded) & (np.signbit(got) == np.signbit(rounded)))
    comparable = np.isfinite(got) & np.isfinite(rounded) & (rounded != 0)
    return np.where(comparable, distance, np.where(same, 0, np.inf)).astype(float)


def check(got: Arr, want: Arr, bound: float, *args: Arr) -> None:
    wrong = errors(got, want)
    worst = int(np.argmax(wrong))
    where = f"at {[float(a[worst]).hex() for a in args]}: got {got[worst]!r}, want {want[worst]!r}"
    assert wrong[worst] <= bound, f"{wrong[worst]:.2f} units {where}"


@pytest.mark.skipif(not EXTENDED, reason="NumPy has no type wider than f64 here")
@pytest.mark.parametrize("name", UNARY)
def test_f64(vulkan: lw.Device, name: str) -> None:
    function, low, high = UNARY[name]
    x = arguments(low, high, np.random.default_rng(len(name)))

    @lw.kernel
    def kernel(x: lw.types.ndarray(dtype=lw.f64, ndim=1), out: lw.types.ndarray(dtype=lw.f64, ndim=1)):
        for i in range(x.shape[0]):
            out[i] = function(x[i])

    out = np.zeros_like(x)
    if lw.f64 not in vulkan.properties.dtypes:
        with pytest.raises(lw.CompileError, match="has no f64"):
            kernel(x, out)
        return
    kernel(x, out)
    with np.errstate(all="ignore"):
        want = getattr(np, NUMPY.get(name, name))(x.astype(np.longdouble))
    check(out, want, 1 if name in BELOW_ONE else 3, x)


@pytest.mark.skipif(not EXTENDED, reason="NumPy has no type wider than f64 here")
@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_f64_of_two(vulkan: lw.Device, name: str) -> None:
    rng = np.random.default_rng(2)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(SPECIAL, SPECIAL))
    x = arguments(0, np.inf, rng)
    exponents = rng.uniform(-1080, 1030, len(x))
    with np.errstate(all="ignore"):
        y = exponents / np.log2(x)  # so that powers have every exponent
    whole = rng.integers(-40, 40, 500).astype(float)
    a, b = np.concatenate([a, x, -np.exp2(rng.uniform(-8, 8, 500))]), np.concatenate([b, y, whole])
    function = {"pow": lw.pow, "atan2": lw.atan2}[name]

    @lw.kernel
    def kernel(
        a: lw.types.ndarray(dtype=lw.f64, ndim=1),
        b: lw.types.ndarray(dtype=lw.f64, ndim=1),
        out: lw.types.ndarray(dtype=lw.f64, ndim=1),
    ):
        for i in range(a.shape[0]):
            out[i] = function(a[i], b[i])

    out = np.zeros_like(a)
    if lw.f64 not in vulkan.properties.dtypes:
        with pytest.raises(lw.CompileError, match="has no f64"):
            kernel(a, b, out)
        return
    kernel(a, b, out)
    with np.errstate(all="ignore"):
        want = {"pow": np.power, "atan2": np.arctan2}[name](a.astype(np.longdouble), b.astype(np.longdouble))
    check(out, want, 3, a, b)


# Of f32, what Vulkan promises ("Precision of GLSL.std.450 instructions") or our own series keep: units, and where the
# result may be small next to its argument an absolute error instead.
F32: dict[str, tuple[float, float]] = {
    "exp": (3 + 2 * 88, 0),
    "exp2": (3 + 2 * 127, 0),
    "expm1": (3 + 2 * 88, 0),
    "log": (3, 2.0**-21),
    "log2": (3, 2.0**-21),
    "log10": (4, 2.0**-21),
    "log1p": (4, 2.0**-21),
    "sin": (0, 2.0**-11),
    "cos": (0, 2.0**-11),
    "asin": (8, 0),
    "acos": (8, 2.0**-22),
    "atan": (8, 0),
    "sinh": (3 + 2 * 88, 0),
    "cosh": (3 + 2 * 88, 0),
    "tanh": (8, 0),
}


@pytest.mark.parametrize("name", F32)
def test_f32(vulkan: lw.Device, name: str) -> None:
    function, low, high = UNARY[name]
    low, high = {"sin": (-np.pi, np.pi), "cos": (-np.pi, np.pi)}.get(name, (max(low, -87), high))
    x = arguments(low, min(high, 2.0**60), np.random.default_rng(len(name)))
    x = x[len(SPECIAL) + len(LARGE) :].astype(np.float32)
    x = x[(np.abs(x) >= 2.0**-100) & (np.abs(x) <= 2.0**60)]
    if name in ("exp", "sinh", "cosh", "expm1", "exp2"):
        x = x[np.abs(x) <= 87]

    @lw.kernel
    def kernel(x: lw.types.ndarray(dtype=lw.f32, ndim=1), out: lw.types.ndarray(dtype=lw.f32, ndim=1)):
        for i in range(x.shape[0]):
            out[i] = function(x[i])

    out = np.zeros_like(x)
    kernel(x, out)
    want = getattr(np, NUMPY.get(name, name))(x.astype(np.float64))
    units, absolute = F32[name]
    wrong = errors(out, want)
    wrong[np.abs(out - want) <= absolute] = 0
    worst = int(np.argmax(wrong))
    assert wrong[worst] <= units, f"{wrong[worst]:.2f} units at {x[worst]!r}: got {out[worst]!r}, want {want[worst]!r}"
