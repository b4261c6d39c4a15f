"""Reads code objects: ELF headers, symbols, and the kernels' metadata, MessagePack in a note.

(ELF-64 Object File Format; LLVM, "User Guide for AMDGPU Backend": Code Object V5 Metadata; msgpack's specification.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from ctypes import c_uint16, c_uint64, string_at
from dataclasses import dataclass
from functools import cached_property
from typing import Any

RELOCATABLE, SHARED_OBJECT = 1, 3
AMDGPU = 224
HSA = 64
"""ELFOSABI_AMDGPU_HSA."""
LOAD, DYNAMIC = 1, 2
RELOCATIONS = (4, 9)
"""SHT_RELA and SHT_REL."""
_NOTE = 7
_METADATA = 32
"""NT_AMDGPU_METADATA."""


@dataclass(frozen=True)
class Section:
    name: str
    kind: int
    address: int
    data: bytes
    link: int


@dataclass(frozen=True)
class Segment:
    kind: int
    flags: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True)
class Symbol:
    name: str
    info: int
    section: int
    value: int
    size: int


class CodeObject:
    """One ELF file in memory."""

    def __init__(self, data: bytes) -> None:
        assert data[:6] == b"\x7fELF\x02\x01", "a little-endian ELF-64"
        self.data = data
        self.os_abi, self.abi_version = data[7], data[8]
        self.type, self.machine = struct.unpack_from("<HH", data, 16)
        (self.flags,) = struct.unpack_from("<I", data, 48)

    @staticmethod
    def at(address: int) -> CodeObject:
        """The file at an address; its section headers end it, as linkers place them."""
        start, count = (c_uint64.from_address(address + 40).value, c_uint16.from_address(address + 60).value)
        return CodeObject(string_at(address, start + 64 * count))

    @cached_property
    def sections(self) -> list[Section]:
        (start,) = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.data, start + size * n) for n in range(count)]
        strings = raw[names][4]
        return [
            Section(self._string(strings + name), kind, address, self.data[offset : offset + length], link)
            for name, kind, _, address, offset, length, link, *_ in raw
        ]

    @cached_property
    def segments(self) -> list[Segment]:
        (start,) = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        raw = [struct.unpack_from("<IIQQQQ", self.data, start + size * n) for n in range(count)]
        return [Segment(kind, flags, offset, address, length) for kind, flags, offset, address, _, length in raw]

    def section(self, name: str) -> Section:
        return next(section for section in self.sections if section.name == name)

    def symbols(self, table: str) -> dict[str, Symbol]:
        """The symbols of a table that have a name."""
        section = self.section(table)
        strings = self.sections[section.link].data
        found: dict[str, Symbol] = {}
        for offset in range(0, len(section.data), 24):
            name, info, _, place, value, size = struct.unpack_from("<IBBHQQ", section.data, offset)
            text = strings[name : strings.index(b"\0", name)].decode()
            if text:
                found[text] = Symbol(text, info, place, value, size)
        return found

    def _string(self, offset: int) -> str:
        return self.data[offset : self.data.index(b"\0", offset)].decode()

    @cached_property
    def metadata(self) -> dict[str, Any]:
        for section in self.sections:
            if section.kind == _NOTE:
                name_size, size, kind = struct.unpack_from("<III", section.data)
                start = 12 + -(-name_size // 4) * 4
                if kind == _METADATA and section.data[12 : 12 + name_size] == b"AMDGPU\0":
                    return unpack(section.data[start : start + size])
        raise AssertionError("no metadata")

    @property
    def kernels(self) -> dict[str, dict[str, Any]]:
        return {kernel[".name"]: kernel for kernel in self.metadata["amdhsa.kernels"]}


# ---- MessagePack --------------------------------------------------------------------------------------------------
def unpack(data: bytes) -> Any:
    value, end = _value(data, 0)
    assert end == len(data)
    return value


_NUMBERS = {0xCC: "B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: "b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def _text(data: bytes, at: int, count: int) -> tuple[str, int]:
    return data[at : at + count].decode(), at + count


def _array(data: bytes, at: int, count: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    for _ in range(count):
        value, at = _value(data, at)
        found.append(value)
    return found, at


def _map(data: bytes, at: int, count: int) -> tuple[dict[Any, Any], int]:
    flat, at = _array(data, at, 2 * count)
    return dict(zip(flat[::2], flat[1::2], strict=True)), at


_Reader = Callable[[bytes, int, int], tuple[Any, int]]
# A byte that says the count too: (its first value, the mask of the count, what follows).
_SHORT: tuple[tuple[int, int, _Reader], ...] = ((0xA0, 0x1F, _text), (0x90, 0x0F, _array), (0x80, 0x0F, _map))
# A byte after which the count stands.
_LONG: dict[int, tuple[str, _Reader]] = {
    0xD9: ("B", _text), 0xDA: (">H", _text), 0xDC: (">H", _array), 0xDE: (">H", _map),
}  # fmt: skip


def _value(data: bytes, at: int) -> tuple[Any, int]:
    first, at = data[at], at + 1
    if first < 0x80:
        return first, at
    if first in _CONSTANTS:
        return _CONSTANTS[first], at
    if first in _NUMBERS:
        form = _NUMBERS[first]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if first in _LONG:
        form, read = _LONG[first]
        (count,) = struct.unpack_from(form, data, at)
        return read(data, at + struct.calcsize(form), count)
    for start, mask, read in _SHORT:
        if start <= first <= start + mask:
            return read(data, at, first & mask)
    raise AssertionError(f"MessagePack: {first:#x}")
