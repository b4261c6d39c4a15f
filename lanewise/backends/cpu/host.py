"""What this machine's processor has: the width of its vectors and the instructions that the emission asks for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm


@dataclass(frozen=True, slots=True)
class Host:
    """A processor: LLVM's name for it, its features, and what follows from them."""

    cpu: str
    features: str
    vector_bytes: int
    permute: str | None  # the intrinsic that moves 32-bit lanes within one vector by a vector of indices
    masked_bits: frozenset[int]  # widths of elements that a masked vector load or store takes in one instruction
    counts_zeros: bool  # an instruction counts the leading zeros of each lane of a vector
    half: bool  # converts f16; without it the device has no f16, as LLVM would call functions that nobody has

    def strip_lanes(self, subgroup_size: int) -> int:
        """Lanes of one native vector of 32-bit elements, the unit in which a varying value is held."""
        return min(self.vector_bytes // 4, subgroup_size)


_AVX512 = "llvm.x86.avx512.permvar.si.512"
_AVX2 = "llvm.x86.avx2.permd"


@cache
def host() -> Host:
    """The processor this process runs on."""
    found = llvm.get_host_cpu_features()
    cpu, features = llvm.get_host_cpu_name(), found.flatten()
    arm = llvm.get_default_triple().split("-")[0] in ("aarch64", "arm64")
    if found.get("avx512f") and found.get("avx512vl") and found.get("avx512bw"):
        return Host(cpu, features, 64, _AVX512, frozenset({8, 16, 32, 64}), bool(found.get("avx512cd")), True)
    if found.get("avx2"):
        return Host(cpu, features, 32, _AVX2, frozenset({32, 64}), False, bool(found.get("f16c")))
    return Host(cpu, features, 16, None, frozenset(), arm, arm or bool(found.get("f16c")))


def default_threads() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
