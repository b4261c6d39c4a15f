"""The functions of the kernel language.  They work inside kernels; called anywhere else they say so.

Unless a function says otherwise: it takes scalars and, component by component, vectors; operands of different types
meet as in arithmetic; a function of floats converts integers to the default float type (f32).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from .errors import LanewiseError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def outside_a_kernel(name: str) -> LanewiseError:
    """The error of a kernel's function that was called on the host."""
    return LanewiseError(
        f"{name}() was called outside a kernel",
        why="it is part of the language that kernels are written in",
        hint="call it inside a function decorated with @lw.kernel or @lw.func",
    )


def _in_kernels(function: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(function)
    def on_the_host(*args: P.args, **kwargs: P.kwargs) -> R:
        raise outside_a_kernel(function.__name__)

    return on_the_host


# ---- loops and compile time ---------------------------------------------------------------------------------------
@_in_kernels
def ndrange(*axes: int | tuple[int, int]) -> Any:
    """A loop over a grid, the last axis fastest.  An axis is a stop, or (start, stop): `ndrange(n, (2, m))`."""


@_in_kernels
def loop_config(*, block_dim: int = 128, name: str = "") -> None:
    """Set the threads of a block, a compile-time integer, for the next parallel loop; `name` names it in tools."""


@_in_kernels
def static(value: T) -> T:
    """A value that must be known at compile time.

    `for k in static(range(4))` is unrolled; `if static(flag)` keeps one branch only.  Inside, ordinary Python functions
    may be called: `static(table_size(n))`.
    """
    return value


@_in_kernels
def static_assert(condition: Any, message: str = "") -> None:
    """Refuse to compile unless a compile-time condition is true."""


# ---- conversions --------------------------------------------------------------------------------------------------
@_in_kernels
def cast(value: Any, dtype: Any) -> Any:
    """Convert: float to integer truncates and saturates, NaN gives 0; integers wrap; to bool is `!= 0`."""


@_in_kernels
def bit_cast(value: Any, dtype: Any) -> Any:
    """The same bits as another type of the same width."""


@_in_kernels
def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition is true, else `b`; both are evaluated.  Takes vectors, structs and tuples too."""


# ---- arithmetic ---------------------------------------------------------------------------------------------------
@_in_kernels
def abs(x: Any) -> Any:
    """|x|, in the type of x; the smallest integer wraps to itself."""


@_in_kernels
def min(*values: Any) -> Any:
    """The least: NaN is skipped, -0 is below +0."""


@_in_kernels
def max(*values: Any) -> Any:
    """The greatest: NaN is skipped, -0 is below +0."""


@_in_kernels
def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once; on integers it wraps."""


@_in_kernels
def pow(x: Any, y: Any) -> Any:
    """x ** y: a chain of products for a constant integer y, repeated squaring for integers, else the float power."""


def _unary(name: str, formula: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any: ...

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula}, of floats; an integer is converted to the default float type."
    return _in_kernels(function)


sqrt = _unary("sqrt", "The square root, correctly rounded (on Vulkan and Metal: the API's precision)")
rsqrt = _unary("rsqrt", "1 / sqrt(x), as these two operations")
floor = _unary("floor", "The greatest integral float <= x")
ceil = _unary("ceil", "The least integral float >= x")
trunc = _unary("trunc", "x without its fraction")
round = _unary("round", "The nearest integral float, halves to even")
exp = _unary("exp", "e ** x")
exp2 = _unary("exp2", "2 ** x")
expm1 = _unary("expm1", "e ** x - 1, exact near 0")
log = _unary("log", "The natural logarithm")
log2 = _unary("log2", "The logarithm to base 2")
log10 = _unary("log10", "The logarithm to base 10")
log1p = _unary("log1p", "log(1 + x), exact near 0")
sin = _unary("sin", "The sine of x radians")
cos = _unary("cos", "The cosine of x radians")
tan = _unary("tan", "The tangent of x radians")
asin = _unary("asin", "The arc sine, in [-pi/2, pi/2]")
acos = _unary("acos", "The arc cosine, in [0, pi]")
atan = _unary("atan", "The arc tangent, in [-pi/2, pi/2]")
sinh = _unary("sinh", "The hyperbolic sine")
cosh = _unary("cosh", "The hyperbolic cosine")
tanh = _unary("tanh", "The hyperbolic tangent")


@_in_kernels
def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), in [-pi, pi]."""


# ---- bits ---------------------------------------------------------------------------------------------------------
@_in_kernels
def popcnt(x: Any) -> Any:
    """The number of one bits of an integer, i32."""


@_in_kernels
def clz(x: Any) -> Any:
    """The number of zero bits above the highest one, i32; the width for 0."""


@_in_kernels
def ctz(x: Any) -> Any:
    """The number of zero bits below the lowest one, i32; the width for 0."""


@_in_kernels
def ffs(x: Any) -> Any:
    """The place of the lowest one bit, counted from 1, i32; 0 for 0."""


@_in_kernels
def bit_reverse(x: Any) -> Any:
    """The bits in opposite order."""


# ---- memory -------------------------------------------------------------------------------------------------------
@_in_kernels
def local_array(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """An array of constant shape that each thread has for itself; uninitialised."""


@_in_kernels
def Vector(values: Iterable[Any], dtype: Any = None) -> Any:  # noqa: N802
    """A vector of these components, in the type where they meet, or in `dtype`."""


def _atomic(name: str, formula: str) -> Callable[[Any, Any], Any]:
    def function(element: Any, value: Any) -> Any: ...

    function.__name__ = function.__qualname__ = f"atomic_{name}"
    function.__doc__ = f"Atomically `element = {formula}`; gives the old value.  `element` is written `a[i]`."
    return _in_kernels(function)


atomic_add = _atomic("add", "element + value")
atomic_sub = _atomic("sub", "element - value")
atomic_min = _atomic("min", "min(element, value)")
atomic_max = _atomic("max", "max(element, value)")
atomic_and = _atomic("and", "element & value")
atomic_or = _atomic("or", "element | value")
atomic_xor = _atomic("xor", "element ^ value")
atomic_exchange = _atomic("exchange", "value")


@_in_kernels
def atomic_cas(element: Any, expected: Any, value: Any) -> Any:
    """Atomically `if element == expected: element = value` (bits are compared); gives the old value."""
