"""What this machine's processor has: the width of its vectors and the instructions that the emission asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from ...errors import DeviceError


@dataclass(frozen=True, slots=True)
class Host:
    """A processor: LLVM's name for it, its features, and what follows from them."""

    cpu: str
    features: str
    vector_bytes: int
    permute: str | None  # the intrinsic that moves 32-bit lanes within one vector by a vector of indices
    masked_bits: frozenset[int]  # widths of elements that a masked vector load or store takes in one instruction
    counts_zeros: bool  # an instruction counts the leading zeros of each lane of a vector
    wide_order: bool  # an instruction takes the lesser of 64-bit integers
    half: bool  # converts f16; without it the device has no f16, as LLVM would call functions that nobody has

    def strip_lanes(self, subgroup_size: int) -> int:
        """Lanes of one native vector of 32-bit elements, the unit in which a varying value is held."""
        return min(self.vector_bytes // 4, subgroup_size)


_AVX512 = "llvm.x86.avx512.permvar.si.512"
_AVX2 = "llvm.x86.avx2.permd"

# The levels of the x86-64 ABI: code for one runs on every processor that has its features.
_LEVELS: dict[str, tuple[Host, str]] = {
    "x86-64-v2": (
        Host("x86-64-v2", "", 16, None, frozenset(), False, False, False),
        "cx16 popcnt sse3 sse4.1 sse4.2 ssse3",
    ),
    "x86-64-v3": (
        Host("x86-64-v3", "", 32, _AVX2, frozenset({32, 64}), False, False, True),
        "avx avx2 bmi bmi2 f16c fma lzcnt movbe",
    ),
    "x86-64-v4": (
        Host("x86-64-v4", "", 64, _AVX512, frozenset({8, 16, 32, 64}), True, True, True),
        "avx512bw avx512cd avx512dq avx512f avx512vl",
    ),
}


@cache
def host() -> Host:
    """The processor this process runs on, or the level of the ABI that `LANEWISE_CPU` names."""
    found = llvm.get_host_cpu_features()
    level = os.environ.get("LANEWISE_CPU", "")
    if level:
        return _level(level, found)
    cpu, features = llvm.get_host_cpu_name(), found.flatten()
    arm = llvm.get_default_triple().split("-")[0] in ("aarch64", "arm64")
    if found.get("avx512f") and found.get("avx512vl") and found.get("avx512bw"):
        return Host(cpu, features, 64, _AVX512, frozenset({8, 16, 32, 64}), bool(found.get("avx512cd")), True, True)
    if found.get("avx2"):
        return Host(cpu, features, 32, _AVX2, frozenset({32, 64}), False, False, bool(found.get("f16c")))
    return Host(cpu, features, 16, None, frozenset(), arm, False, arm or bool(found.get("f16c")))


def _level(name: str, found: Mapping[str, bool]) -> Host:
    if name not in _LEVELS:
        raise DeviceError(
            f"expected LANEWISE_CPU to be empty or among {', '.join(_LEVELS)}, got {name!r}",
            hint="leave it out to use all that the processor has",
        )
    host, needed = _LEVELS[name]
    missing = [feature for feature in needed.split() if not found.get(feature)]
    if missing:
        raise DeviceError(
            f"LANEWISE_CPU={name}: this processor does not have {', '.join(missing)}", hint="a lower level, or none"
        )
    return host


def default_threads() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
