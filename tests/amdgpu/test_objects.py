"""Code objects: what LLVM makes, what the linker makes of it, and what HIP's loader reads there.

(LLVM, "User Guide for AMDGPU Backend": Code Object, Kernel Descriptor, Code Object V5 Metadata.)
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from lanewise.backends.amdgpu import link, rocm
from lanewise.backends.amdgpu.arch import ARCHITECTURES, subgroup_sizes
from lanewise.backends.amdgpu.codegen import emit_object
from lanewise.backends.amdgpu.target import AmdTarget
from lanewise.backends.llvm.arguments import ArgumentBlock
from lanewise.backends.llvm.target import entry_name
from lanewise.errors import DeviceError
from lanewise.ir import Kernel

from ..golden.programs import SKELETONS, Body, barrier_loop, kernel, scan_after_break
from .elf import AMDGPU, DYNAMIC, HSA, LOAD, RELOCATABLE, RELOCATIONS, SHARED_OBJECT, CodeObject

TARGETS = [(arch, size) for names in ARCHITECTURES.values() for arch in names for size in subgroup_sizes(arch)]
GENERATIONS = [(names[-1], size) for names in ARCHITECTURES.values() for size in subgroup_sizes(names[0])]

# EF_AMDGPU_MACH of each processor, and the features whose setting the code leaves open.
MACHINES = {
    "gfx900": 0x2C, "gfx906": 0x2F, "gfx908": 0x30, "gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F,
    "gfx1030": 0x36, "gfx1031": 0x37, "gfx1032": 0x38, "gfx1100": 0x41, "gfx1101": 0x46, "gfx1102": 0x47,
    "gfx1103": 0x44, "gfx1150": 0x43, "gfx1151": 0x4A, "gfx1200": 0x48, "gfx1201": 0x4E,
}  # fmt: skip
XNACK_ANY, SRAMECC_ANY = 0x100, 0x400
OPEN = {"gfx900": XNACK_ANY} | dict.fromkeys(
    ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"), XNACK_ANY | SRAMECC_ANY
)
VERSION_5 = 3
"""ELFABIVERSION_AMDGPU_HSA_V5."""

each_generation = pytest.mark.parametrize(("arch", "size"), GENERATIONS, ids=str)


def made(arch: str, size: int, body: Body = barrier_loop) -> Kernel:
    return kernel(AmdTarget(arch, size), body, SKELETONS[body], regular=False)


class Descriptor(NamedTuple):
    """The 64 bytes that the hardware's dispatcher reads."""

    shared: int
    private: int
    arguments: int
    entry: int
    """From the descriptor to the first instruction."""
    wave32: bool


def descriptor(data: bytes) -> Descriptor:
    shared, private, arguments, entry = struct.unpack_from("<III4xq", data)
    (properties,) = struct.unpack_from("<H", data, 56)
    return Descriptor(shared, private, arguments, entry, bool(properties & 1 << 10))


@pytest.mark.parametrize(("arch", "size"), TARGETS, ids=str)
def test_relocatable_objects(arch: str, size: int) -> None:
    """The machine, any setting of XNACK and ECC, version 5; metadata that says what a launch must know."""
    one = made(arch, size)
    code = CodeObject(emit_object([one], arch, size))
    assert (code.type, code.machine, code.os_abi, code.abi_version) == (RELOCATABLE, AMDGPU, HSA, VERSION_5)
    assert code.flags == MACHINES[arch] | OPEN.get(arch, 0)
    assert code.metadata["amdhsa.version"] == [1, 2]  # of code object version 5
    assert code.metadata["amdhsa.target"] == f"amdgcn-amd-amdhsa--{arch}"
    (facts,) = code.kernels.values()
    size_of_block = ArgumentBlock.of(one).size
    assert facts[".name"] == entry_name(one)
    assert facts[".symbol"] == f"{entry_name(one)}.kd"
    assert facts[".args"] == [{".name": "args", ".offset": 0, ".size": size_of_block, ".value_kind": "by_value"}]
    assert (facts[".kernarg_segment_size"], facts[".kernarg_segment_align"]) == (size_of_block, 8)
    assert facts[".group_segment_fixed_size"] == one.shared_bytes == 512
    assert facts[".private_segment_fixed_size"] == 0
    assert facts[".max_flat_workgroup_size"] == 128
    assert facts[".wavefront_size"] == size
    assert facts[".uniform_work_group_size"] == 1
    assert facts[".uses_dynamic_stack"] is False


@pytest.mark.parametrize(("arch", "size"), [("gfx950", 64), ("gfx1151", 32)])
def test_every_operation_compiles(arch: str, size: int) -> None:
    """In a process of its own, which LLVM ends on an instruction that the architecture lacks."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.amdgpu.every_operation", arch, str(size)]
    environment = {**os.environ, "PYTHONPATH": str(root), "LANEWISE_CACHE_DIR": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=root)
    assert done.returncode == 0, f"after {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    assert len(done.stdout.splitlines()) > 100


def check_linked(linked: bytes, relocatable: bytes, kernels: list[Kernel], size: int) -> None:
    """What the loader needs is there, and the instructions are those that LLVM wrote."""
    code, source = CodeObject(linked), CodeObject(relocatable)
    assert (code.type, code.machine, code.os_abi, code.abi_version) == (SHARED_OBJECT, AMDGPU, HSA, VERSION_5)
    assert code.flags == source.flags
    assert code.metadata == source.metadata
    assert code.section(".text").data == source.section(".text").data
    assert {segment.kind for segment in code.segments} >= {LOAD, DYNAMIC}
    symbols = code.symbols(".dynsym")
    assert set(symbols) == {name for k in kernels for name in (entry_name(k), f"{entry_name(k)}.kd")}
    assert not [section.name for section in code.sections if section.kind in RELOCATIONS]
    text, constants = code.section(".text"), code.section(".rodata")
    for one in kernels:
        start, described = symbols[entry_name(one)], symbols[f"{entry_name(one)}.kd"]
        assert text.address <= start.value < text.address + len(text.data)
        assert start.value % 256 == 0
        offset = described.value - constants.address
        found = descriptor(constants.data[offset : offset + described.size])
        shared = code.kernels[entry_name(one)][".group_segment_fixed_size"]
        distance = start.value - described.value
        assert found == Descriptor(shared, 0, ArgumentBlock.of(one).size, distance, size == 32)
        # The loader maps the segments: the descriptor and the code are in one that is loaded, and code is executable.
        for symbol, flags in ((described, 4), (start, 5)):
            (home,) = [s for s in code.segments if s.kind == LOAD and s.address <= symbol.value < s.address + s.size]
            assert home.flags == flags


@each_generation
def test_linked_by_lld(arch: str, size: int, linker: link.Command) -> None:
    kernels = [made(arch, size), made(arch, size, scan_after_break)]
    relocatable = emit_object(kernels, arch, size)
    check_linked(link.link_by_lld(linker, relocatable), relocatable, kernels, size)


@pytest.mark.parametrize(("arch", "size"), [("gfx908", 64), ("gfx90a", 64), ("gfx1030", 32)])
def test_linked_by_comgr(arch: str, size: int) -> None:
    """ROCm's own library; the oldest one that Debian has knows these three."""
    library = link.comgr()
    if library is None:
        pytest.skip("no libamd_comgr: apt-get install libamd-comgr2")
    kernels = [made(arch, size), made(arch, size, scan_after_break)]
    relocatable = emit_object(kernels, arch, size)
    check_linked(link.link_by_comgr(library, relocatable, arch), relocatable, kernels, size)
    with pytest.raises(DeviceError, match=r"libamd_comgr: amd_comgr_.* failed with status"):
        link.link_by_comgr(library, b"no object", arch)
    with pytest.raises(DeviceError, match="amd_comgr_action_info_set_isa_name failed"):
        link.link_by_comgr(library, relocatable, "gfx9999")


def test_an_object_that_is_none(linker: link.Command) -> None:
    with pytest.raises(DeviceError, match=r"ld\.lld failed") as caught:
        link.link_by_lld(linker, b"no object")
    assert "kernel.o" in caught.value.why


# ---- which linker ---------------------------------------------------------------------------------------------------
def test_without_a_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "comgr", lambda: None)
    monkeypatch.setattr(link, "lld", lambda: None)
    with pytest.raises(DeviceError, match="no linker for AMD's code objects was found") as caught:
        link.link(b"", "gfx942")
    assert "libamd_comgr" in caught.value.why
    assert "install ROCm" in caught.value.hint


def test_a_library_older_than_the_gpu_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> bytes:
        raise DeviceError("libamd_comgr: amd_comgr_action_info_set_isa_name failed with status 2")

    monkeypatch.setattr(link, "comgr", object)
    monkeypatch.setattr(link, "link_by_comgr", refuse)
    monkeypatch.setattr(link, "lld", lambda: ("ld.lld",))
    monkeypatch.setattr(link, "link_by_lld", lambda program, relocatable: f"linked by {program[0]}".encode())
    assert link.link(b"", "gfx942") == b"linked by ld.lld"
    monkeypatch.setattr(link, "lld", lambda: None)
    with pytest.raises(DeviceError, match="set_isa_name"):
        link.link(b"", "gfx942")


@pytest.mark.parametrize(("version", "taken"), [("14.0.6", False), ("17.0.1", True), ("22.1.8", True), ("none", False)])
def test_versions_of_lld(version: str, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one that knows version 5 of the code object."""
    program = tmp_path / "ld.lld"
    program.write_text(f"#!/bin/sh\necho 'Debian LLD {version} (compatible with GNU linkers)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(rocm, "tool", lambda name: None)
    link.lld.cache_clear()
    assert (link.lld() == (str(program),)) == taken
    link.lld.cache_clear()


def test_where_rocm_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user names comes first; its tools are in one of two places."""
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    monkeypatch.delenv("HIP_PATH", raising=False)
    assert next(rocm.roots()) == tmp_path
    assert Path("/opt/rocm") in rocm.roots()
    for folder in ("lib/llvm/bin", "llvm/bin"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "ld.lld").touch()
        assert rocm.tool("ld.lld") == tmp_path / folder / "ld.lld"
    (tmp_path / "lib" / "libamd_comgr.so").write_bytes(b"of another architecture")
    monkeypatch.setattr(rocm, "_loaded", lambda stem: iter(()))
    found = rocm.library("libamd_comgr", ())
    assert found is None or str(tmp_path) not in found._name
