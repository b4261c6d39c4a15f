"""What a name or an expression stands for while a kernel is translated.

The IR knows scalars only.  Vectors, structs and tuples are bundles of them here: every bundle has `items` and can be
rebuilt from other items, so branches, loops and data movement treat all bundles alike, leaf by leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..dtypes import DType
from ..errors import Loc
from ..ir import Array, Memory, Value
from ..types import struct_fields


@dataclass(frozen=True, slots=True)
class Const:
    """A number known at compile time.  Without a dtype it is a weak literal, which takes its partner's type."""

    value: bool | int | float
    dtype: DType | None = None

    @property
    def weak(self) -> bool:
        return self.dtype is None


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value of the IR."""

    value: Value

    @property
    def dtype(self) -> DType:
        return self.value.type


@dataclass(frozen=True, slots=True)
class Vec:
    """A vector: items of one dtype."""

    items: tuple[Number, ...]

    def rebuild(self, items: Iterable[Any]) -> Vec:
        return Vec(tuple(items))


@dataclass(frozen=True, slots=True)
class Struct:
    """A value of a struct class, its items in the order of the fields."""

    cls: type
    items: tuple[Val, ...]

    def rebuild(self, items: Iterable[Val]) -> Struct:
        return Struct(self.cls, tuple(items))

    def index(self, name: str) -> int | None:
        """The place of the field `name`."""
        return next((k for k, f in enumerate(struct_fields(self.cls)) if f.name == name), None)


@dataclass(frozen=True, slots=True)
class Tup:
    """A tuple."""

    items: tuple[Val, ...]

    def rebuild(self, items: Iterable[Val]) -> Tup:
        return Tup(tuple(items))


@dataclass(frozen=True, slots=True)
class Mem:
    """An array: global, shared or local."""

    mem: Memory

    @property
    def ndim(self) -> int:
        return self.mem.ndim if isinstance(self.mem, Array) else len(self.mem.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """Any other Python object: a dtype, module, function, string, class."""

    obj: Any


@dataclass(frozen=True, slots=True)
class Axis:
    """`range(start, stop, step)`."""

    start: Number
    stop: Number
    step: int = 1


@dataclass(frozen=True, slots=True)
class Range:
    """What a `for` runs over; `flat` is a `range`, whose index is a number and no tuple."""

    axes: tuple[Axis, ...]
    flat: bool


@dataclass(frozen=True, slots=True)
class Method:
    """A method read from a value: `v.dot`."""

    owner: Val
    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """An f-string: literal text, and values."""

    parts: tuple[str | Val, ...]


@dataclass(frozen=True, slots=True)
class Poison:
    """A name that has no value here; its use is an error with this reason."""

    why: str
    loc: Loc


Number: TypeAlias = Const | Scalar
Bundle: TypeAlias = Vec | Struct | Tup
Val: TypeAlias = Number | Bundle | Mem | Static | Range | Method | Text

NUMBERS = (Const, Scalar)
BUNDLES = (Vec, Struct, Tup)
FALSE, TRUE = Const(False), Const(True)
NONE = Static(None)


def leaves(val: Val) -> Iterator[Val]:
    """What is left when every bundle is taken apart, in order."""
    if isinstance(val, BUNDLES):
        for item in val.items:
            yield from leaves(item)
    else:
        yield val


def rebuild(val: Val, new: Iterator[Val]) -> Val:
    """The same bundle of other leaves."""
    if isinstance(val, BUNDLES):
        return val.rebuild([rebuild(item, new) for item in val.items])
    return next(new)


def same(a: Val, b: Val) -> bool:
    """Whether two leaves are one value."""
    if isinstance(a, Const) and isinstance(b, Const):
        return a.dtype == b.dtype and type(a.value) is type(b.value) and repr(a.value) == repr(b.value)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.value is b.value
    if isinstance(a, Static) and isinstance(b, Static):
        return a.obj is b.obj
    if isinstance(a, Mem) and isinstance(b, Mem):
        return a.mem is b.mem
    return a is b


def shape(val: Val) -> Any:
    """How a value is built up, without its leaves: two values of one shape can be merged."""
    if isinstance(val, Struct):
        return (val.cls, *map(shape, val.items))
    if isinstance(val, BUNDLES):
        return (type(val), *map(shape, val.items))
    return Scalar if isinstance(val, NUMBERS) else type(val)


def describe(val: Val) -> str:
    """The value in the words of an error."""
    match val:
        case Const(value, None):
            return f"the literal {value!r}"
        case Const(value, dtype):
            return f"the {dtype} {value!r}"
        case Scalar():
            return article(str(val.dtype))
        case Vec():
            first = val.items[0]
            return f"a vector of {len(val.items)} {first.dtype or 'literals'}"
        case Struct():
            return f"a {val.cls.__name__}"
        case Tup():
            return f"a tuple of {len(val.items)}"
        case Mem():
            return f"the array {val.mem.name}"
        case Range():
            return "a range"
        case Method():
            return f"the method {val.name}"
        case Text():
            return "an f-string"
        case Static(None):
            return "None"
        case Static(obj):
            name = getattr(obj, "__name__", None)
            if isinstance(obj, type):
                return f"the class {name}"
            return f"{name}" if isinstance(name, str) else f"{obj!r}"
    return type(val).__name__


def article(noun: str) -> str:
    """`an i32`, `a u8`, `an f32`."""
    return f"{'an' if noun[:1] in 'aeiof' else 'a'} {noun}"
