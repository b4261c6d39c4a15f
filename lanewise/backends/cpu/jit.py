"""LLVM: text to object code, object code to addresses.

The object's bytes are what a disk cache keeps.  They are linked by LLJIT against a listed table of symbols, so that a
name which is missing is an error to be caught, never a crash.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
from collections.abc import Mapping, Sequence

import llvmlite
import llvmlite.binding as llvm

from ...errors import CompileError
from . import libm
from .host import host

SPEED_LEVEL = 2
ONE_PIECE = sys.platform != "win32"
"""JITLink gives an object's code and constants one piece of memory.  LLVM's older linker takes one for each, and aborts
the process where large arrays have left no room for them within 2 GiB of one another; JITLink does not know all of
Windows's objects."""
TOOLCHAIN = f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"

_lock = threading.RLock()


class Jit:
    """One target machine and one linker, used by one thread at a time."""

    def __init__(self, symbols: Mapping[str, int]) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._symbols = dict(symbols)
        self._machine = _target_machine()
        self._linker = llvm.create_lljit_compiler(_target_machine(), use_jit_link=ONE_PIECE)
        self._numbers = itertools.count()
        options = llvm.create_pipeline_tuning_options(speed_level=SPEED_LEVEL)
        options.loop_vectorization = options.slp_vectorization = False
        self._options = options

    def _optimised(self, text: str) -> llvm.ModuleRef:
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise CompileError(
                "the CPU backend emitted code that LLVM refuses", why=str(error), hint="report it: this is our fault"
            ) from error
        module.triple = self._machine.triple
        module.data_layout = str(self._machine.target_data)
        passes = llvm.create_pass_builder(self._machine, self._options)
        passes.getModulePassManager().run(module, passes)
        return module

    def compile(self, text: str) -> bytes:
        """LLVM IR to an object file for this machine."""
        with _lock:
            return self._machine.emit_object(self._optimised(text))

    @property
    def target(self) -> tuple[str, ...]:
        """What else than the text shapes the object: a part of every key of the disk cache."""
        return TOOLCHAIN, self._machine.triple, host().cpu, host().features, f"speed {SPEED_LEVEL}"

    def assembly(self, text: str) -> str:
        """What `compile` makes of it, to be read."""
        with _lock:
            return self._machine.emit_assembly(self._optimised(text))

    def link(self, code: bytes, exports: Sequence[str]) -> Linked:
        """Load an object file; the addresses of its exports."""
        with _lock:
            builder = llvm.JITLibraryBuilder().add_object_img(code)
            for name, address in self._symbols.items():
                builder.import_symbol(name, address)
            for name in exports:
                builder.export_symbol(name)
            try:
                tracker = builder.link(self._linker, f"lanewise{next(self._numbers)}")
            except RuntimeError as error:
                raise CompileError("compiled code does not link on this machine", why=str(error)) from error
            return Linked(tracker, {name: tracker[name] for name in exports})


class Linked:
    """Loaded code: it stays as long as this object."""

    def __init__(self, tracker: llvm.ResourceTracker, addresses: Mapping[str, int]) -> None:
        self._tracker = tracker
        self._addresses = addresses

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]


def _target_machine() -> llvm.TargetMachine:
    target = llvm.Target.from_default_triple()
    found = host()
    return target.create_target_machine(
        cpu=found.cpu, features=found.features, opt=SPEED_LEVEL, reloc="pic", codemodel="default", jit=True
    )


def _c_symbols(names: Sequence[str]) -> dict[str, int]:
    library = ctypes.CDLL(None)
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


C_SYMBOLS = ("malloc", "free", "memcpy", "memmove", "memset")
"""What LLVM itself puts calls to, and what the coroutines' frames need."""

_jit: Jit | None = None


def jit() -> Jit:
    """The process's compiler."""
    global _jit
    with _lock:
        if _jit is None:
            _jit = Jit(libm.symbols() | _c_symbols(C_SYMBOLS) | _c_symbols(THREAD_SYMBOLS))
        return _jit


THREAD_SYMBOLS = (
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_cond_init",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_broadcast",
    "clock_gettime",
)
"""What the pool of threads is made of."""
