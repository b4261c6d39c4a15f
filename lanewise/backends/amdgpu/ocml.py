"""ROCm's mathematics as LLVM bitcode: where it is, and the switches that it reads."""

from __future__ import annotations

from pathlib import Path

from . import rocm

# IEEE arithmetic, denormals kept, roots rounded correctly.
_SWITCHES = {
    "finite_only_opt": "i8 0",
    "unsafe_math_opt": "i8 0",
    "daz_opt": "i8 0",
    "correctly_rounded_sqrt32": "i8 1",
    "wavefrontsize64": "i8 {wave64}",
    "ISA_version": "i32 {isa}",
    "ABI_version": "i32 500",
}


def device_library() -> Path | None:
    """ocml.bc: of ROCm, or of Debian's package."""
    folders = ("amdgcn/bitcode", "lib/llvm/amdgcn/bitcode")
    places = [root / folder for root in rocm.roots() for folder in folders]
    files = (place / "ocml.bc" for place in (*places, Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")))
    return next((file for file in files if file.is_file()), None)


def switches(arch: str, subgroup_size: int) -> str:
    """The definitions of the constants that the library leaves to its user."""
    # gfx90a is version 9.0, stepping 10: the last two characters are hexadecimal digits.
    major, minor, stepping = int(arch[3:-2]), int(arch[-2], 16), int(arch[-1], 16)
    facts = {"wave64": int(subgroup_size == 64), "isa": major * 1000 + minor * 100 + stepping}
    kind = "linkonce_odr hidden local_unnamed_addr addrspace(4) constant"
    return "".join(f"@__oclc_{name} = {kind} {value.format(**facts)}\n" for name, value in _SWITCHES.items())
