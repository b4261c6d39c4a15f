"""Relocatable objects to code objects, which HIP loads: by the linker that ROCm has.

Every ROCm has it in libamd_comgr, which HIP itself needs: no process is started, nothing else need be installed.
Without ROCm, `ld.lld` of LLVM 17 or later does the same; older ones do not know version 5 of the code object.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from ...errors import DeviceError
from . import rocm

Command: TypeAlias = tuple[str, ...]
"""A program and its first arguments."""

OLDEST_LLD = 17
_HINT = "install ROCm, or LLVM's linker (apt-get install lld)"


def link(relocatable: bytes, arch: str) -> bytes:
    """The code object of one relocatable object."""
    library = comgr()
    if library is not None:
        try:
            return link_by_comgr(library, relocatable, arch)
        except DeviceError:  # it may be older than the architecture
            if lld() is None:
                raise
    command = lld()
    if command is None:
        raise DeviceError(
            "no linker for AMD's code objects was found",
            why=f"it is in ROCm's libamd_comgr, or is an ld.lld of LLVM {OLDEST_LLD} or later",
            hint=_HINT,
        )
    return link_by_lld(command, relocatable)


# ---- ld.lld -------------------------------------------------------------------------------------------------------
@cache
def lld() -> Command | None:
    """An `ld.lld` that is new enough."""
    return next((command for command in _candidates() if _version(command) >= OLDEST_LLD), None)


def _candidates() -> Iterator[Command]:
    """On the PATH, of ROCm, in the folders of Debian's versions, in the package ziglang."""
    debian = sorted(Path("/usr/lib").glob("llvm-*/bin/ld.lld"), key=_number_in, reverse=True)
    yield from ((str(path),) for path in (shutil.which("ld.lld"), rocm.tool("ld.lld"), *debian) if path)
    if find_spec("ziglang") is not None:
        yield sys.executable, "-m", "ziglang", "ld.lld"


def _number_in(path: Path) -> int:
    return int(re.sub(r"\D", "", path.parts[3]) or 0)


def _version(command: Command) -> int:
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    found = re.search(r"LLD (\d+)", done.stdout)
    return int(found[1]) if found else 0


def link_by_lld(command: Command, relocatable: bytes) -> bytes:
    """The same by a program."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernel.o", Path(folder) / "kernel.so"
        source.write_bytes(relocatable)
        arguments = [*command, "-shared", "-o", target, source]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DeviceError(f"{' '.join(command)} failed", why=done.stderr.strip(), hint=_HINT)
        return target.read_bytes()


# ---- libamd_comgr -------------------------------------------------------------------------------------------------
COMGR_VERSIONS = (3, 2)
# The number of AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE, by the major version of the library.
_LINK_ACTIONS = {2: 9, 3: 7}
_RELOCATABLE, _EXECUTABLE, _LOG = 7, 8, 5  # kinds of data

_OUT = POINTER(c_uint64)  # a handle is a struct of one 64-bit integer
_FUNCTIONS = {
    "get_version": (POINTER(c_size_t), POINTER(c_size_t)),
    "create_data": (c_int, _OUT),
    "release_data": (c_uint64,),
    "set_data": (c_uint64, c_size_t, c_char_p),
    "set_data_name": (c_uint64, c_char_p),
    "get_data": (c_uint64, POINTER(c_size_t), c_void_p),
    "create_data_set": (_OUT,),
    "destroy_data_set": (c_uint64,),
    "data_set_add": (c_uint64, c_uint64),
    "create_action_info": (_OUT,),
    "destroy_action_info": (c_uint64,),
    "action_info_set_isa_name": (c_uint64, c_char_p),
    "do_action": (c_int, c_uint64, c_uint64, c_uint64),
    "action_data_count": (c_uint64, c_int, POINTER(c_size_t)),
    "action_data_get_data": (c_uint64, c_int, c_size_t, _OUT),
}


class Comgr:
    """The functions of libamd_comgr; a call that fails raises a DeviceError."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, arguments in _FUNCTIONS.items():
            function = getattr(library, f"amd_comgr_{name}")
            function.argtypes, function.restype = arguments, c_int
        major, minor = c_size_t(), c_size_t()
        library.amd_comgr_get_version(byref(major), byref(minor))
        self.version = major.value

    def call(self, name: str, *args: object) -> None:
        status = getattr(self._library, f"amd_comgr_{name}")(*args)
        if status:
            raise DeviceError(f"libamd_comgr: amd_comgr_{name} failed with status {status}", hint="a newer ROCm")

    def new(self, name: str, *args: object) -> c_uint64:
        handle = c_uint64()
        self.call(name, *args, byref(handle))
        return handle

    @contextmanager
    def made(self, create: str, destroy: str, *args: object) -> Generator[c_uint64]:
        """A handle for a while."""
        handle = self.new(create, *args)
        try:
            yield handle
        finally:
            self.call(destroy, handle)

    def first(self, data_set: c_uint64, kind: int) -> bytes:
        """The first data of a kind in a set; no bytes where there is none."""
        count, size = c_size_t(), c_size_t()
        self.call("action_data_count", data_set, kind, byref(count))
        if not count.value:
            return b""
        with self.made("action_data_get_data", "release_data", data_set, kind, 0) as data:
            self.call("get_data", data, byref(size), None)
            room = ctypes.create_string_buffer(size.value)
            self.call("get_data", data, byref(size), room)
        return room.raw


@cache
def comgr() -> Comgr | None:
    """The library, where it is here and of a version that we know."""
    library = rocm.library("libamd_comgr", COMGR_VERSIONS)
    if library is None:
        return None
    found = Comgr(library)
    return found if found.version in _LINK_ACTIONS else None


def link_by_comgr(library: Comgr, relocatable: bytes, arch: str) -> bytes:
    with (
        library.made("create_data_set", "destroy_data_set") as given,
        library.made("create_data_set", "destroy_data_set") as made,
        library.made("create_action_info", "destroy_action_info") as action,
        library.made("create_data", "release_data", _RELOCATABLE) as data,
    ):
        library.call("set_data", data, len(relocatable), relocatable)
        library.call("set_data_name", data, b"kernel.o")
        library.call("data_set_add", given, data)
        library.call("action_info_set_isa_name", action, f"amdgcn-amd-amdhsa--{arch}".encode())
        try:
            library.call("do_action", _LINK_ACTIONS[library.version], action, given, made)
        except DeviceError as error:
            error.why = library.first(made, _LOG).rstrip(b"\0").decode(errors="replace").strip()
            raise
        return library.first(made, _EXECUTABLE)
