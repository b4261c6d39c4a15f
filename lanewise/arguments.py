"""From a call's arguments to what a launch needs: the key of its compiled code, the arrays' views, the scalars.

A kernel has one *reader* a parameter, chosen by its annotation.  `read` is on the path of every launch: it notes the
argument in a `Call` and looks no closer than the key demands.  `spec` runs once a compiled variant: it checks the
argument against the annotation and says what the front end is to compile for.
"""

from __future__ import annotations

import inspect
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np

from .arrays import ndarray
from .backends.engine import View
from .device import Arch, Device
from .dtypes import DType, f16, f32, f64, i32, i64, u64
from .errors import DeviceError, LanewiseError, LanewiseTypeError
from .foreign import lend, reader_of, readers
from .frontend.signature import Parameter, parameters
from .frontend.specs import ArraySpec, ScalarSpec, Spec, TemplateSpec
from .types import ArrayType, TemplateType
from .views import Layout, as_numpy, describe, layout_of, view_of


class Call:
    """One call, as its arguments are read."""

    __slots__ = ("current_stream", "device", "key", "lent", "place", "scalars", "stream", "views")

    def __init__(self) -> None:
        self.key: list[Any] = []
        self.views: list[View] = []
        self.scalars: list[int | float] = []
        self.device: Device | None = None  # that of the device arrays seen so far
        self.lent = False  # whether there are arrays in host memory that have no device
        self.place: tuple[Arch, int] | None = None  # where other libraries' GPU arrays are
        self.current_stream: Callable[[int], int | None]  # how to ask the first such library for its stream
        self.stream: int | None = None  # the stream that the call names, or that the first such library works on


@dataclass(frozen=True, slots=True)
class Reader(ABC):
    """How one parameter takes its argument."""

    kernel: str
    name: str

    @abstractmethod
    def read(self, arg: Any, call: Call) -> None:
        """Note the argument of one launch."""

    @abstractmethod
    def spec(self, arg: Any) -> Spec:
        """Check an argument against the annotation; what to compile for."""

    @abstractmethod
    def declared(self) -> Spec:
        """What the annotation alone says to compile for."""

    def error(self, expected: str, got: str, why: str = "", hint: str = "") -> LanewiseTypeError:
        """An error about this argument, to raise."""
        what = f"{self.kernel}(), argument {self.name!r}: expected {expected}, got {got}"
        return LanewiseTypeError(what, why=why, hint=hint)


@dataclass(frozen=True, slots=True)
class ArrayReader(Reader):
    """Arrays: the key gets their layout, the device that of the device arrays."""

    type: ArrayType

    def read(self, arg: Any, call: Call) -> None:
        if type(arg) is ndarray:
            if arg.device is not call.device:
                self._join(arg, call)
            call.key.append(arg.layout)
            call.views.append(arg.view)
            return
        try:
            if type(arg) is np.ndarray:
                layout, view = view_of(arg)
                call.lent = True
            else:
                layout, view = self._borrow(arg, call)
        except LanewiseError as error:
            raise self._named(error) from None
        call.key.append(layout)
        call.views.append(view)

    def _borrow(self, arg: Any, call: Call) -> tuple[Layout, View]:
        """Memory of another library; on a GPU it decides where the kernel runs, and on which stream."""
        lent = (readers.get(type(arg)) or reader_of(arg))(arg)
        if lent is None:
            call.lent = True
            return view_of(as_numpy(arg))
        layout, view, place, stream = lent
        if call.place is not place:
            if call.place not in (None, place):
                home = _words(call.place or place)
                raise DeviceError(
                    f"expected an array in the memory of {home}, got one in that of {_words(place)}",
                    why="a kernel runs on one device, where all its arrays are",
                )
            call.place = place
        if call.stream is None:
            call.current_stream = stream
            call.stream = stream(place[1])
        return layout, view

    def _join(self, arg: ndarray, call: Call) -> None:
        if call.device is not None:
            raise DeviceError(
                f"{self.kernel}(), argument {self.name!r}: expected an array on {call.device}, got one on {arg.device}",
                why="a kernel runs on one device, where all its arrays are",
                hint="make the arrays under one device: with lw.use(device): ...",
            )
        call.device = arg.device

    def _named(self, error: LanewiseError) -> LanewiseError:
        """The same error, saying whose argument it is."""
        what = f"{self.kernel}(), argument {self.name!r}: {error.what}"
        return type(error)(what, loc=error.loc, why=error.why, hint=error.hint)

    def spec(self, arg: Any) -> ArraySpec:
        if isinstance(arg, ArrayType):
            return self._typed(self.type.dtype or arg.dtype, arg.ndim if self.type.ndim is None else self.type.ndim)
        layout = _layout(arg)
        if self.type.ndim not in (None, layout.ndim) or self.type.dtype not in (None, layout.dtype):
            raise self.error(
                f"{self.type}", f"an array of {layout.dtype}, ndim {layout.ndim}", hint=self._conversion(layout)
            )
        return ArraySpec(layout.dtype, layout.ndim, layout.contiguous, layout.writable, layout.distinct)

    def declared(self) -> ArraySpec:
        return self._typed(self.type.dtype, self.type.ndim)

    def _typed(self, dtype: DType | None, ndim: int | None) -> ArraySpec:
        if dtype is None or ndim is None:
            raise self.error(
                "a dtype and a number of axes",
                f"{self.type}",
                why="code is written for arrays of one type",
                hint=f"source(target, {self.name}=lw.types.ndarray(lw.f32, 1))",
            )
        return ArraySpec(dtype, ndim)

    def _conversion(self, layout: Layout) -> str:
        if self.type.dtype not in (None, layout.dtype):
            assert self.type.dtype is not None
            return f"{self.name}.astype(np.{self.type.dtype.np.name})"
        return f"{self.name}.reshape(...) with {self.type.ndim} axes"


def _words(place: tuple[Arch, int]) -> str:
    arch, number = place
    return f"{arch.value} device {number}"


def _layout(arg: Any) -> Layout:
    if isinstance(arg, ndarray):
        return arg.layout
    lent = lend(arg)
    return layout_of(as_numpy(arg)) if lent is None else lent.layout


@dataclass(frozen=True, slots=True)
class ScalarReader(Reader):
    """Scalars: the annotation alone decides what to compile."""

    dtype: DType

    def spec(self, arg: Any) -> ScalarSpec:
        return ScalarSpec(self.dtype)

    def declared(self) -> ScalarSpec:
        return ScalarSpec(self.dtype)


@dataclass(frozen=True, slots=True)
class IntReader(ScalarReader):
    """Integers and bools: every number that the type holds, from any integer type or bool; never a float."""

    low: int
    high: int

    def read(self, arg: Any, call: Call) -> None:
        if type(arg) is not int or not self.low <= arg <= self.high:
            arg = self._convert(arg)
        call.scalars.append(arg)

    def _convert(self, arg: Any) -> int:
        value = _unboxed(arg)
        if isinstance(value, (bool, np.bool_)):
            return int(value)
        if not isinstance(value, numbers.Integral):
            hint = f"int({self.name}), or annotate it with lw.f32" if isinstance(value, numbers.Real) else ""
            raise self.error(f"{self.dtype}", describe(arg), hint=hint)
        number = int(value)
        if not self.low <= number <= self.high:
            raise self.error(f"{self.dtype}, {self.low} to {self.high}", f"{number}", hint=self._wider(number))
        return number

    def _wider(self, value: int) -> str:
        if self.dtype.is_bool:
            return f"{self.name} != 0"
        return next((f"annotate it with lw.{t}" for t in (i32, i64, u64) if t.holds(value)), "")


@dataclass(frozen=True, slots=True)
class FloatReader(ScalarReader):
    """Floats: every real number that does not round to infinity, and infinities and NaN."""

    limit: float

    def read(self, arg: Any, call: Call) -> None:
        if type(arg) is not float or not -self.limit < arg < self.limit:
            arg = self._convert(arg)
        call.scalars.append(arg)

    def _convert(self, arg: Any) -> float:
        value = _unboxed(arg)
        if not isinstance(value, (numbers.Real, np.bool_)):
            raise self.error(f"{self.dtype}", describe(arg))
        try:
            number = float(value)
        except OverflowError:  # an integer beyond every float
            number = None
        if number is None or (math.isfinite(number) and abs(number) >= self.limit):
            largest = f"{np.finfo(self.dtype.np).max:.7g}"
            raise self.error(f"{self.dtype}, up to {largest}", f"{value}", hint="scale it, or annotate it with lw.f64")
        return number


# The smallest numbers that round to infinity: half a step above the largest finite one.
_ROUNDS_TO_INF = {f16: 65520.0, f32: 2.0**128 - 2.0**103, f64: math.inf}


def _unboxed(arg: Any) -> Any:
    """The number in an array without axes."""
    return arg[()] if isinstance(arg, (np.ndarray, ndarray)) and arg.ndim == 0 else arg


@dataclass(frozen=True, slots=True)
class TemplateReader(Reader):
    """Compile-time values: the key gets the value itself."""

    def read(self, arg: Any, call: Call) -> None:
        key = template_key(arg)
        try:
            hash(key)
        except TypeError:
            raise self.error(
                "a compile-time value that is hashable",
                describe(arg),
                why="compiled code is looked up by its templates' values",
                hint="a tuple in place of a list; lw.types.ndarray(...) as the annotation of an array",
            ) from None
        call.key.append(key)

    def spec(self, arg: Any) -> TemplateSpec:
        return TemplateSpec(arg)

    def declared(self) -> TemplateSpec:
        hint = f"source(target, {self.name}=...)"
        raise self.error("a value", "none", why="a template is part of the code", hint=hint)


def template_key(value: Any) -> Any:
    """A key that tells apart what `==` does not: 1, 1.0 and True; 0.0 and -0.0; also in tuples and dataclasses."""
    if isinstance(value, tuple):
        return (type(value), *map(template_key, value))
    if isinstance(value, float):
        return type(value), value.hex()
    if isinstance(value, np.floating):
        return type(value), value.tobytes()
    compares = type(value).__eq__ is not object.__eq__ and type(value).__hash__ is not None
    if is_dataclass(value) and not isinstance(value, type) and compares:
        return (type(value), value, *(template_key(getattr(value, each.name)) for each in fields(value)))
    return type(value), value


# ---- the whole list of parameters ---------------------------------------------------------------------------------
class Signature:
    """A kernel's parameters: `arrange` puts a call's arguments in order, `readers` take them one by one."""

    def __init__(self, function: FunctionType) -> None:
        self.kernel = function.__name__
        self.parameters = parameters(function)
        self.readers = tuple(_reader(self.kernel, p) for p in self.parameters)
        self.only_arrays = all(isinstance(reader, ArrayReader) for reader in self.readers)
        self._position = {p.name: number for number, p in enumerate(self.parameters)}
        kinds = [p.kind for p in inspect.signature(function).parameters.values()]
        self._positional = len(kinds) - kinds.count(inspect.Parameter.KEYWORD_ONLY)
        self.plain_count = len(kinds) if self._positional == len(kinds) else -1  # this many are in order already

    def takes(self, name: str) -> bool:
        """Whether a parameter has this name."""
        return name in self._position

    def arrange(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, defaults filled in."""
        values = self.partial(args, kwargs)
        missing = [p.name for p in self.parameters if p.name not in values and p.required]
        if missing:
            raise self._wrong_count(args, kwargs, f"{', '.join(map(repr, missing))} missing")
        return tuple(values.get(p.name, p.default) for p in self.parameters)

    def partial(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments given, by name."""
        if len(args) > self._positional:
            raise self._wrong_count(args, kwargs, "too many")
        values = {p.name: arg for p, arg in zip(self.parameters, args, strict=False)}
        for name, arg in kwargs.items():
            if name not in self._position:
                raise self._wrong_count(args, kwargs, f"no parameter is named {name!r}")
            if name in values:
                raise self._wrong_count(args, kwargs, f"{name!r} twice")
            values[name] = arg
        return values

    def _wrong_count(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], problem: str) -> LanewiseTypeError:
        count, got = len(self.parameters), len(args) + len(kwargs)
        expected = f"{count} argument{'s' * (count != 1)} ({', '.join(p.name for p in self.parameters)})"
        return LanewiseTypeError(f"{self.kernel}(): expected {expected}, got {got}: {problem}")

    def specs(self, args: Mapping[str, Any]) -> list[Spec]:
        """What to compile for, where only some arguments are given."""
        found: list[Spec] = []
        for parameter, reader in zip(self.parameters, self.readers, strict=True):
            if parameter.name in args:
                found.append(reader.spec(args[parameter.name]))
            else:
                found.append(reader.declared() if parameter.required else reader.spec(parameter.default))
        return found


def _reader(kernel: str, parameter: Parameter) -> Reader:
    name, kind = parameter.name, parameter.type
    if isinstance(kind, ArrayType):
        return ArrayReader(kernel, name, kind)
    if isinstance(kind, TemplateType) or (kind is None and name == "self"):  # of a method: the instance is compiled in
        return TemplateReader(kernel, name)
    if isinstance(kind, DType):
        if kind.is_float:
            return FloatReader(kernel, name, kind, _ROUNDS_TO_INF[kind])
        low, high = (0, 1) if kind.is_bool else (int(kind.lowest), int(kind.highest))
        return IntReader(kernel, name, kind, low, high)
    raise LanewiseTypeError(
        f"{kernel}(), parameter {name!r}: expected an annotation of an array, a scalar or a template, "
        f"got {'none' if kind is None else repr(kind)}",
        loc=parameter.loc,
        why="a kernel is compiled for the types of its parameters",
        hint=f"{name}: lw.types.ndarray(dtype=lw.f32, ndim=1), {name}: lw.i32, or {name}: lw.template()",
    )
