"""The scalar types by the names that users write.

An annotation has to be a type to a type checker, and `lw.f32` is an object that describes one.  So a checker is told
that each is the Python type whose values such a parameter takes.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import builtins
    from typing import TypeAlias

    bool: TypeAlias = builtins.bool
    u1: TypeAlias = builtins.bool
    i8: TypeAlias = int
    i16: TypeAlias = int
    i32: TypeAlias = int
    i64: TypeAlias = int
    u8: TypeAlias = int
    u16: TypeAlias = int
    u32: TypeAlias = int
    u64: TypeAlias = int
    f16: TypeAlias = float
    f32: TypeAlias = float
    f64: TypeAlias = float
else:
    from .dtypes import bool_ as bool
    from .dtypes import bool_ as u1
    from .dtypes import f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64

__all__ = ["bool", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64"]
