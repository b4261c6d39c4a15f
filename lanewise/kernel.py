"""Kernels: what `@kernel` makes of a function, and the way from a call to a launch.

A call reads its arguments into a key and looks that up among what it has compiled for the device: a warm launch does no
more.  Otherwise the kernel is translated for the arguments' types, loaded by the device's engine and kept.
"""

from __future__ import annotations

import dis
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, cast, overload

from . import dtypes, profiling
from .again import KEPT, Again, Prepare
from .arguments import Call, Signature
from .arrays import ndarray
from .backends.engine import Engine, Executable, QueuedExecutable, View
from .device import Device, current_device, device_of, target
from .dtypes import DType
from .errors import DeviceError, LanewiseTypeError
from .extents import TooLarge, needs_wide_index, too_large
from .foreign import stream_handle
from .frontend.func import func
from .frontend.source import remember
from .frontend.specs import ArraySpec, Options, Spec
from .frontend.translate import translate
from .views import Layout, are_shifted

__all__ = ["Kernel", "func", "kernel"]

P = ParamSpec("P")
Q = ParamSpec("Q")


_LAYOUTS_KEPT = 1024  # of all the layouts of arrays, and their combinations, that one kernel has met
_WIDE = "i64"  # ends the key of a variant whose indices are i64
_SHIFTED = "shifted"  # stands in the key of a variant whose arrays overlap as the usual one must not


class _Binding(NamedTuple):
    """An array that a kernel closes over, and the name in its globals or closure by which it does."""

    array: ndarray
    current: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """One compiled variant, the arrays it closes over, and the test for launches that need i64 indices instead."""

    executable: Executable
    captured: tuple[View, ...] = ()
    bindings: tuple[_Binding, ...] = ()
    apart: tuple[int, ...] = ()
    too_large: TooLarge | None = None
    queued: QueuedExecutable | None = None
    """The executable, where its launches are queued."""
    prepare: Prepare | None = None
    """What makes a launch with the same arrays, where there is nothing else in a call that may differ."""
    plans: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """What it keeps for arrays of these layouts."""

    def launch(self, arrays: Sequence[View], call: Call) -> None:
        """A launch of any kind: timed, on a stream, of arrays that have to be copied."""
        if self.queued is not None:
            self.queued.launch(arrays, call.scalars, call.stream or 0)
        elif call.stream is None:
            self.executable.launch(arrays, call.scalars)
        else:
            raise DeviceError("expected no stream: launches in host memory end before the call does")


class Kernel(Generic[P]):
    """A function that runs on a device: call it with arrays and scalars."""

    def __init__(self, function: Callable[P, None]) -> None:
        functools.update_wrapper(self, function)
        self._function = cast(FunctionType, function)
        remember(self._function)
        self.__name__ = function.__name__
        self._lock = threading.RLock()
        self._recent: tuple[Device | None, dict[Any, _Loaded]] = (None, {})
        self._again: dict[tuple[int, ...], Again | None] = {}

    @functools.cached_property
    def _signature(self) -> Signature:
        return Signature(self._function)

    @functools.cached_property
    def _outer_arrays(self) -> tuple[Callable[[], Any], ...]:
        """What reads the names from outside that mean arrays in the function's own body, in order."""
        function = self._function
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        read = [i.argval for i in dis.get_instructions(function) if i.opname in ("LOAD_GLOBAL", "LOAD_DEREF")]
        found: list[Callable[[], Any]] = []
        for name in dict.fromkeys(read):
            current = functools.partial(function.__globals__.get, name)
            if name in cells:
                current = functools.partial(getattr, cells[name], "cell_contents", None)
            if isinstance(current(), ndarray):
                found.append(current)
        return tuple(found)

    def _home(self) -> Device | None:
        """The device of the first array that the function's own body closes over."""
        for current in self._outer_arrays:
            if isinstance(value := current(), ndarray):
                return value.device
        return None

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None: ...
    @overload
    def __call__(self, *args: Any, stream: Any, **kwargs: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Run on the device where the arrays are; arrays in host memory run on the current device.

        A GPU's launches are queued on `stream` (a stream of torch, CuPy or another library, or its handle), without it
        on the current stream of the library whose arrays it is given, else on the default stream.
        """
        if self._again and not kwargs and profiling.active is None:
            again = self._again.get(tuple(map(id, args)))
            if again is not None and again.launch(args):
                return
        signature = self._signature
        call = Call()
        if kwargs and "stream" in kwargs and not signature.takes("stream"):
            call.stream = stream_handle(kwargs.pop("stream"))
        values = signature.arrange(args, kwargs) if kwargs or len(args) != signature.plain_count else args
        for reader, value in zip(signature.readers, values, strict=True):
            reader.read(value, call)
        device = call.device or self._home()
        if call.place is not None:
            device = device_of(call.place, device)
        elif device is None:
            device = current_device()
        key = tuple(call.key)
        table = self._table(device)
        loaded = table.get(key) or self._load(device, table, key, values, needs_wide_index(call.views))
        if loaded.bindings and any(b.current() is not b.array for b in loaded.bindings):
            # The names mean other arrays now.
            key = (*key, *(id(b.current()) for b in loaded.bindings))
            loaded = table.get(key) or self._load(device, table, key, values, needs_wide_index(call.views))
        arrays = (*call.views, *loaded.captured) if loaded.captured else call.views
        if loaded.apart and are_shifted([arrays[number] for number in loaded.apart]):
            key = (*key, _SHIFTED)
            loaded = table.get(key) or self._load(device, table, key, values, needs_wide_index(call.views))
        if loaded.too_large is not None and loaded.too_large(call.scalars, arrays):
            key = (*key, _WIDE)
            loaded = table.get(key) or self._load(device, table, key, values, True)
        queued = loaded.queued
        if profiling.active is not None:
            with profiling.active.timed(self.__name__, device, call.stream or 0):
                loaded.launch(arrays, call)
        elif queued is not None and not call.lent:
            queued.queue(arrays, call.scalars, call.stream or 0, loaded.plans)
            if loaded.prepare is not None and not kwargs:
                self._remember(args, call, device, loaded.prepare, on_host=False)
        elif queued is None and call.stream is None:
            loaded.executable.launch(arrays, call.scalars)
            if loaded.prepare is not None and not kwargs:
                self._remember(args, call, device, loaded.prepare, on_host=True)
        else:
            loaded.launch(arrays, call)

    def _remember(self, args: tuple[Any, ...], call: Call, device: Device, prepare: Prepare, *, on_host: bool) -> None:
        """Note the arrays of a launch, so that the third one with the same need not look at them."""
        if Again.can_know(args, on_host=on_host):
            identities = tuple(map(id, args))
            seen = identities in self._again
            if len(self._again) >= KEPT:
                self._again.clear()
            self._again[identities] = Again(args, call, device, prepare) if seen else None

    def _table(self, device: Device) -> dict[Any, _Loaded]:
        """What is compiled for a device, by the key of the arguments."""
        recent, table = self._recent  # one read: another thread may use another device
        if recent is not device:
            with self._lock:
                table = device.compiled.setdefault(self, {})
                self._recent = (device, table)
        return table

    def _load(self, device: Device, table: dict[Any, _Loaded], key: Any, values: Sequence[Any], wide: bool) -> _Loaded:
        """Compile for these arguments, once for all threads that ask."""
        with self._lock:
            loaded = table.get(key)
            if loaded is not None:
                return loaded
            forms = tuple(part.form if isinstance(part, Layout) else part for part in key)
            shared = table.get(forms)
            if shared is None:
                specs = [reader.spec(value) for reader, value in zip(self._signature.readers, values, strict=True)]
                shared = table[forms] = self._compile(
                    device, specs, dtypes.i64 if wide else dtypes.i32, apart=_SHIFTED not in key
                )
            if len(table) >= _LAYOUTS_KEPT:
                for old in [old for old in table if any(isinstance(part, Layout) for part in old)]:
                    del table[old]
            loaded = table[key] = replace(shared, plans={})
            return loaded

    def _compile(self, device: Device, specs: Sequence[Spec], index_type: DType, *, apart: bool) -> _Loaded:
        options = replace(_options(device.engine, index_type, device), apart=apart)
        made = translate(self._function, specs, options)
        self._check_captured(device, made.captured)
        if index_type == dtypes.i32 and (made.beyond or needs_wide_index([array.view for array in made.captured])):
            return self._compile(device, specs, dtypes.i64, apart=apart)
        test = None
        if index_type == dtypes.i32:
            wide = replace(options, index_type=dtypes.i64, debug=False)
            test = too_large(made.program, lambda: translate(self._function, specs, wide))
        program = made.program
        if device.fast_float:
            from .passes import contract

            program = contract(program)
        executable = device.engine.load(program, device.debug)
        captured = tuple(array.view for array in made.captured)
        queued = None if device.properties.host_memory else cast(QueuedExecutable, executable)
        alike = self._signature.only_arrays and not captured and test is None
        prepare = getattr(executable, "prepare", None) if alike else None
        return _Loaded(executable, captured, tuple(self._bindings(made.captured)), made.apart, test, queued, prepare)

    def _bindings(self, captured: Sequence[ndarray]) -> Iterator[_Binding]:
        """Where the function's own body names the arrays; those that it reaches in another way stay what they are."""
        for current in self._outer_arrays:
            if any(array is current() for array in captured):
                yield _Binding(current(), current)

    def _check_captured(self, device: Device, captured: Sequence[ndarray]) -> None:
        name = self._function.__name__
        for array in captured:
            if array.device is not device:
                raise DeviceError(
                    f"{name}(): expected the arrays it closes over on {device}, got one on {array.device}",
                    why="a kernel runs on one device, where all its arrays are",
                    hint="make the array after lw.init(), or pass it as an argument",
                )

    def source(
        self,
        target_name: str = "cpu",
        /,
        *examples: Any,
        subgroup_size: int | None = None,
        arch: str | None = None,
        **named: Any,
    ) -> str:
        """The code generated for a target, which need not be on this machine.

        `examples` and `named` are arguments as for a call, or in place of an array its type
        (`a=lw.types.ndarray(lw.f32, 1)`); a template needs one, a scalar and a fully annotated array do not.  Arrays
        without an example are taken to be contiguous and writable.  `arch` names an architecture where a target has
        several.  The targets are those of `lw.targets()`.
        """
        chosen = target(target_name)
        return chosen.read(self._generate(chosen.make_engine(subgroup_size, arch), examples, named))

    def files(
        self,
        name: str,
        target_name: str = "cpu",
        /,
        *examples: Any,
        subgroup_size: int | None = None,
        arch: str | None = None,
        **named: Any,
    ) -> dict[str, bytes]:
        """The same as files, by their names: one called `name` that holds the text, or what its ending asks for.

        `kernel.spv` for the target vulkan is SPIR-V's modules, with `kernel.json`, which says how another program
        launches them.
        """
        chosen = target(target_name)
        return chosen.files(self._generate(chosen.make_engine(subgroup_size, arch), examples, named), name)

    def _generate(self, engine: Engine, examples: tuple[Any, ...], named: dict[str, Any]) -> Executable:
        """Compile for arguments that are like these examples."""
        specs = self._signature.specs(self._signature.partial(examples, named))
        made = translate(self._function, specs, _options(engine, dtypes.i32))
        if made.beyond:
            made = translate(self._function, specs, _options(engine, dtypes.i64))
        return engine.load(made.program, False)

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Kernel[P]: ...
    @overload
    def __get__(
        self: Kernel[Concatenate[Any, Q]], instance: object, owner: type | None = None
    ) -> Callable[Q, None]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """As a method: the instance becomes the first argument, a compile-time one."""
        return self if instance is None else functools.partial(cast(Callable[..., None], self), instance)

    def __repr__(self) -> str:
        return f"<kernel {self._function.__qualname__}{inspect.signature(cast(Callable[..., None], self._function))}>"


def _options(engine: Engine, index_type: DType, device: Device | None = None) -> Options:
    limits = engine.properties
    choices = {name: getattr(device, name) for name in ("debug", "default_ip", "default_fp")} if device else {}
    return Options(
        subgroup_size=limits.subgroup_size,
        index_type=index_type,
        max_block_dim=limits.max_block_dim,
        max_shared_bytes=limits.max_shared_bytes,
        dtypes=frozenset(limits.dtypes),
        device=limits.name,
        array_spec=_array_spec,
        **choices,
    )


def _array_spec(value: object) -> ArraySpec | None:
    """Recognises the device arrays that a kernel closes over."""
    if not isinstance(value, ndarray):
        return None
    layout = value.layout
    return ArraySpec(layout.dtype, layout.ndim, layout.contiguous, layout.writable, layout.distinct)


@overload
def kernel(function: Callable[P, None], /) -> Kernel[P]: ...
@overload
def kernel() -> Callable[[Callable[P, None]], Kernel[P]]: ...
def kernel(function: Callable[..., None] | None = None, /) -> Any:
    """Make `function` run on devices: each of its top-level loops over `range` or `ndrange` is parallel.

    Every parameter is annotated: `lw.types.ndarray(dtype, ndim)`, a scalar type, or `lw.template()`.  It is compiled at
    its first call, once for each combination of argument types and templates.
    """
    if function is None:
        return kernel
    if isinstance(function, staticmethod):
        function = function.__func__
    if not isinstance(function, FunctionType):
        raise LanewiseTypeError(f"expected @lw.kernel above a function, got {function!r}", hint="@lw.kernel above def")
    return Kernel(function)
