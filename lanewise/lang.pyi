# Made by `python -m lanewise.tools.stubs`; tests/test_editor.py checks that it is current.
"""The functions of the kernel language.  They work inside kernels; called anywhere else they say so.

Unless a function says otherwise: it takes scalars and, component by component, vectors; operands of different types
meet as in arithmetic; a function of floats converts integers to the default float type (f32).
"""

from collections.abc import Iterable
from typing import Any, TypeVar
from .errors import LanewiseError

T = TypeVar("T")

def outside_a_kernel(name: str) -> LanewiseError:
    """The error of a kernel's function that was called on the host."""

def ndrange(*axes: int | tuple[int, int]) -> Any:
    """A loop over a grid, the last axis fastest.  An axis is a stop, or (start, stop): `ndrange(n, (2, m))`."""

def loop_config(*, block_dim: int = 128, name: str = '') -> None:
    """Set the threads of a block, a compile-time integer, for the next parallel loop; `name` names it in tools."""

def static(value: T) -> T:
    """A value that must be known at compile time.

    `for k in static(range(4))` is unrolled; `if static(flag)` keeps one branch only.  Inside, ordinary Python
    functions
    may be called: `static(table_size(n))`."""

def static_assert(condition: Any, message: str = '') -> None:
    """Refuse to compile unless a compile-time condition is true."""

def cast(value: Any, dtype: Any) -> Any:
    """Convert: float to integer truncates and saturates, NaN gives 0; integers wrap; to bool is `!= 0`."""

def bit_cast(value: Any, dtype: Any) -> Any:
    """The same bits as another type of the same width."""

def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition is true, else `b`; both are evaluated.  Takes vectors, structs and tuples too."""

def abs(x: Any) -> Any:
    """|x|, in the type of x; the smallest integer wraps to itself."""

def min(*values: Any) -> Any:
    """The least: NaN is skipped, -0 is below +0."""

def max(*values: Any) -> Any:
    """The greatest: NaN is skipped, -0 is below +0."""

def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once; on integers it wraps."""

def pow(x: Any, y: Any) -> Any:
    """x ** y: a chain of products for a constant integer y, repeated squaring for integers, else the float power."""

def sqrt(x: Any) -> Any:
    """The square root, correctly rounded (on Vulkan and Metal: the API's precision), of floats; an integer is
    converted to the default float type."""

def rsqrt(x: Any) -> Any:
    """1 / sqrt(x), as these two operations, of floats; an integer is converted to the default float type."""

def floor(x: Any) -> Any:
    """The greatest integral float <= x, of floats; an integer is converted to the default float type."""

def ceil(x: Any) -> Any:
    """The least integral float >= x, of floats; an integer is converted to the default float type."""

def trunc(x: Any) -> Any:
    """x without its fraction, of floats; an integer is converted to the default float type."""

def round(x: Any) -> Any:
    """The nearest integral float, halves to even, of floats; an integer is converted to the default float type."""

def exp(x: Any) -> Any:
    """e ** x, of floats; an integer is converted to the default float type."""

def exp2(x: Any) -> Any:
    """2 ** x, of floats; an integer is converted to the default float type."""

def expm1(x: Any) -> Any:
    """e ** x - 1, exact near 0, of floats; an integer is converted to the default float type."""

def log(x: Any) -> Any:
    """The natural logarithm, of floats; an integer is converted to the default float type."""

def log2(x: Any) -> Any:
    """The logarithm to base 2, of floats; an integer is converted to the default float type."""

def log10(x: Any) -> Any:
    """The logarithm to base 10, of floats; an integer is converted to the default float type."""

def log1p(x: Any) -> Any:
    """log(1 + x), exact near 0, of floats; an integer is converted to the default float type."""

def sin(x: Any) -> Any:
    """The sine of x radians, of floats; an integer is converted to the default float type."""

def cos(x: Any) -> Any:
    """The cosine of x radians, of floats; an integer is converted to the default float type."""

def tan(x: Any) -> Any:
    """The tangent of x radians, of floats; an integer is converted to the default float type."""

def asin(x: Any) -> Any:
    """The arc sine, in [-pi/2, pi/2], of floats; an integer is converted to the default float type."""

def acos(x: Any) -> Any:
    """The arc cosine, in [0, pi], of floats; an integer is converted to the default float type."""

def atan(x: Any) -> Any:
    """The arc tangent, in [-pi/2, pi/2], of floats; an integer is converted to the default float type."""

def sinh(x: Any) -> Any:
    """The hyperbolic sine, of floats; an integer is converted to the default float type."""

def cosh(x: Any) -> Any:
    """The hyperbolic cosine, of floats; an integer is converted to the default float type."""

def tanh(x: Any) -> Any:
    """The hyperbolic tangent, of floats; an integer is converted to the default float type."""

def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), in [-pi, pi]."""

def popcnt(x: Any) -> Any:
    """The number of one bits of an integer, i32."""

def clz(x: Any) -> Any:
    """The number of zero bits above the highest one, i32; the width for 0."""

def ctz(x: Any) -> Any:
    """The number of zero bits below the lowest one, i32; the width for 0."""

def ffs(x: Any) -> Any:
    """The place of the lowest one bit, counted from 1, i32; 0 for 0."""

def bit_reverse(x: Any) -> Any:
    """The bits in opposite order."""

def local_array(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """An array of constant shape that each thread has for itself; uninitialised."""

def Vector(values: Iterable[Any], dtype: Any = None) -> Any:
    """A vector of these components, in the type where they meet, or in `dtype`."""

def atomic_add(element: Any, value: Any) -> Any:
    """Atomically `element = element + value`; gives the old value.  `element` is written `a[i]`."""

def atomic_sub(element: Any, value: Any) -> Any:
    """Atomically `element = element - value`; gives the old value.  `element` is written `a[i]`."""

def atomic_min(element: Any, value: Any) -> Any:
    """Atomically `element = min(element, value)`; gives the old value.  `element` is written `a[i]`."""

def atomic_max(element: Any, value: Any) -> Any:
    """Atomically `element = max(element, value)`; gives the old value.  `element` is written `a[i]`."""

def atomic_and(element: Any, value: Any) -> Any:
    """Atomically `element = element & value`; gives the old value.  `element` is written `a[i]`."""

def atomic_or(element: Any, value: Any) -> Any:
    """Atomically `element = element | value`; gives the old value.  `element` is written `a[i]`."""

def atomic_xor(element: Any, value: Any) -> Any:
    """Atomically `element = element ^ value`; gives the old value.  `element` is written `a[i]`."""

def atomic_exchange(element: Any, value: Any) -> Any:
    """Atomically `element = value`; gives the old value.  `element` is written `a[i]`."""

def atomic_cas(element: Any, expected: Any, value: Any) -> Any:
    """Atomically `if element == expected: element = value` (bits are compared); gives the old value."""
