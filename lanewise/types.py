"""What a kernel's author writes as an annotation, and the types that group scalars: vectors and structs."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass as _dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import dtypes
from .dtypes import DType, as_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Annotated, Protocol, TypeAlias

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**options: Any) -> Any:
        """For type checkers only: the class below is a dataclass."""
        return lambda function: function


@_dataclass(frozen=True, slots=True)
class ArrayType:
    """An array parameter.  A `dtype` or `ndim` of None takes any, and the kernel is compiled for each."""

    dtype: DType | None = None
    ndim: int | None = None

    def __repr__(self) -> str:
        return f"ndarray({self.dtype or 'any'}, {'any' if self.ndim is None else self.ndim})"


def ndarray(dtype: Any = None, ndim: int | None = None) -> Any:
    """Annotates an array parameter of `ndim` axes whose elements are `dtype`; None accepts any."""
    scalar = None if dtype is None else as_dtype(dtype)
    if dtype is not None and scalar is None:
        raise TypeError(f"ndarray of {dtype!r}: the elements of an array are one of {', '.join(map(str, dtypes.ALL))}")
    if ndim is not None and ndim < 0:
        raise TypeError(f"ndarray of {ndim!r} axes: ndim is an integer from 0")
    return ArrayType(scalar, ndim)


if TYPE_CHECKING:

    class NDArray(Protocol):
        """What a kernel's array parameter is to a type checker: NumPy's arrays, `lw.ndarray`, torch's tensors ..."""

        def __class_getitem__(cls, item: Any) -> Any: ...
        @property
        def shape(self) -> Any:
            """The extents."""
            ...

        @property
        def dtype(self) -> Any:
            """The type of the elements."""
            ...

        def __getitem__(self, index: Any, /) -> Any: ...
        def __setitem__(self, index: Any, value: Any, /) -> None: ...
else:

    class NDArray:
        """`NDArray[dtype, ndim]`, or `NDArray[dtype]` for any number of axes: `ndarray(dtype, ndim)`.

        Type checkers take it as a type, which no call can be.
        """

        def __class_getitem__(cls, item: Any) -> Any:
            return ndarray(*item) if isinstance(item, tuple) else ndarray(item)


@_dataclass(frozen=True, slots=True)
class TemplateType:
    """A compile-time parameter: any Python value; the kernel is compiled for each."""


def template() -> Any:
    """Annotates a compile-time parameter: a number, dtype, function, array, or any other Python value."""
    return TemplateType()


if TYPE_CHECKING:
    Value = TypeVar("Value")
    Template: TypeAlias = Annotated[Value, "a compile-time parameter"]
else:

    class Template:
        """`Template`, or `Template[int]` for the sake of type checkers: `template()`, which they refuse as a type."""

        def __class_getitem__(cls, item: Any) -> Any:
            return TemplateType()


@_dataclass(frozen=True, slots=True)
class VectorType:
    """`n` scalars of one dtype.  In a kernel it constructs: from n values, from a sequence, or one value for all."""

    n: int
    dtype: DType

    def __repr__(self) -> str:
        return f"vector({self.n}, {self.dtype})"

    def __call__(self, *values: Any) -> Any:
        """In a kernel: `vector(3, f32)(x, y, z)`."""
        from .lang import outside_a_kernel

        raise outside_a_kernel("vector")


def vector(n: int, dtype: Any) -> VectorType:
    """The type of vectors of `n` components: an annotation of functions and struct fields, and a constructor."""
    scalar = as_dtype(dtype)
    if scalar is None or n < 1:
        raise TypeError(f"vector({n!r}, {dtype!r}): a vector has one or more components of a scalar type")
    return VectorType(n, scalar)


Class = TypeVar("Class", bound=type)
_MARK = "__lanewise_struct__"


@dataclass_transform(frozen_default=False)
def dataclass(cls: Class) -> Class:
    """A struct: a Python dataclass whose fields are scalars, vectors or other structs.

    In a kernel its values are copied on assignment, and `value.field = x` changes the variable's own copy.
    """
    setattr(cls, _MARK, True)
    return cast("Class", dataclasses.dataclass(cls))


def is_struct(cls: object) -> bool:
    """Whether `cls` is a class made by `dataclass`."""
    return isinstance(cls, type) and _MARK in vars(cls)


@_dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct.  `default` is `dataclasses.MISSING` where there is none."""

    name: str
    type: DType | VectorType | type
    default: Any


def struct_fields(cls: type) -> Sequence[Field]:
    """The fields of a struct in order."""
    cached = vars(cls).get("__lanewise_fields__")
    if cached is None:
        hints = typing.get_type_hints(cls)
        cached = tuple(
            Field(f.name, _field_type(cls, f.name, hints[f.name]), f.default) for f in dataclasses.fields(cls)
        )
        setattr(cls, "__lanewise_fields__", cached)  # noqa: B010
    return cached


def _field_type(cls: type, name: str, annotation: Any) -> DType | VectorType | type:
    scalar = as_dtype(annotation)
    if scalar is not None:
        return scalar
    if isinstance(annotation, VectorType) or is_struct(annotation):
        return annotation
    raise TypeError(f"{cls.__name__}.{name}: a struct's field is a scalar, a vector or a struct, not {annotation!r}")
