"""What the front end is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .. import dtypes
from ..dtypes import DType
from ..ir import Program, Value


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array argument, as far as it shapes the code; `distinct`: no two indices are one place in memory."""

    dtype: DType
    ndim: int
    contiguous: bool = True
    writable: bool = True
    distinct: bool = True


@dataclass(frozen=True, slots=True)
class ScalarSpec:
    """A scalar argument."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class TemplateSpec:
    """A compile-time argument."""

    value: Any


Spec: TypeAlias = ArraySpec | ScalarSpec | TemplateSpec


def no_arrays(value: object) -> ArraySpec | None:
    """Nothing is a device array."""
    return None


@dataclass(frozen=True, slots=True)
class Options:
    """The facts of the device and the user's choices that shape the code.

    `array_spec` recognises the device arrays that a kernel closes over.  `apart`: arrays may be taken to be the same or
    to have no place in common, where the translation says so.
    """

    subgroup_size: int
    index_type: DType = dtypes.i32
    default_ip: DType = dtypes.i32
    default_fp: DType = dtypes.f32
    debug: bool = False
    max_block_dim: int = 1024
    max_shared_bytes: int = 48 * 1024
    dtypes: frozenset[DType] = frozenset(dtypes.ALL)
    device: str = "this device"
    apart: bool = True
    array_spec: Callable[[object], ArraySpec | None] = field(default=no_arrays, compare=False)

    @property
    def log2_subgroup_size(self) -> int:
        return self.subgroup_size.bit_length() - 1


@dataclass(frozen=True, slots=True)
class Translation:
    """A program, and the device arrays it closes over: they belong to its last memories, in order.

    `bounds` are those of each parallel loop that an i32 may not hold; `beyond` says that it surely does not hold one.
    `apart` are the numbers of the memories that must each be the same as another or have no place in common with it.
    """

    program: Program
    captured: tuple[Any, ...]
    bounds: tuple[tuple[Value, ...], ...] = ()
    beyond: bool = False
    apart: tuple[int, ...] = ()
