"""What each architecture has between lanes.

LLVM aborts the process on an instruction that its target lacks, so nothing is emitted that is not in this table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...errors import CompileError

MAX_THREADS = 1024
"""Of a block."""


@dataclass(frozen=True, slots=True)
class Features:
    """One generation at one wavefront size."""

    wave_shifts: bool
    """DPP wave_shl:1, wave_shr:1 and their rotations; row_bcast:15 and row_bcast:31."""
    row_masks: bool
    """DPP row_share and row_xmask; permlane16 and permlanex16."""
    permlane64: bool
    """Exchange of a wave64's halves."""
    wide_bpermute: bool
    """ds_bpermute reaches all lanes; else only those of the reader's 32-lane half."""
    lane_swaps: bool = False
    """permlane16_swap and permlane32_swap, which exchange rows and halves of two registers."""

    @property
    def shared_exchange(self) -> bool:
        """Nothing reaches a lane of the other half that is known only at run time: it is read through shared memory."""
        return not (self.wide_bpermute or self.permlane64)

    @property
    def exchange_bytes(self) -> int:
        """Shared memory that this takes: a word for each thread of a block."""
        return 4 * MAX_THREADS if self.shared_exchange else 0


_GFX9 = Features(wave_shifts=True, row_masks=False, permlane64=False, wide_bpermute=True)
_GFX950 = replace(_GFX9, lane_swaps=True)
_WAVE32 = Features(wave_shifts=False, row_masks=True, permlane64=False, wide_bpermute=True)
_GFX10_WAVE64 = Features(wave_shifts=False, row_masks=True, permlane64=False, wide_bpermute=False)
_GFX11_WAVE64 = Features(wave_shifts=False, row_masks=True, permlane64=True, wide_bpermute=False)
_GFX12_WAVE64 = Features(wave_shifts=False, row_masks=True, permlane64=True, wide_bpermute=True)

# By generation and wavefront size, the native one first.
_FEATURES = {
    ("gfx9", 64): _GFX9,
    ("gfx950", 64): _GFX950,
    ("gfx10", 32): _WAVE32,
    ("gfx10", 64): _GFX10_WAVE64,
    ("gfx11", 32): _WAVE32,
    ("gfx11", 64): _GFX11_WAVE64,
    ("gfx12", 32): _WAVE32,
    ("gfx12", 64): _GFX12_WAVE64,
}

ARCHITECTURES = {
    "gfx9": ("gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"),
    "gfx950": ("gfx950",),
    "gfx10": ("gfx1030", "gfx1031", "gfx1032"),
    "gfx11": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151"),
    "gfx12": ("gfx1200", "gfx1201"),
}
_GENERATION = {name: generation for generation, names in ARCHITECTURES.items() for name in names}


def subgroup_sizes(arch: str) -> tuple[int, ...]:
    """The sizes that an architecture offers, its native one first."""
    return tuple(size for generation, size in _FEATURES if generation == _generation(arch))


def default_subgroup_size(arch: str) -> int:
    """The widest, 64: the one that every generation has."""
    return max(subgroup_sizes(arch))


def features(arch: str, subgroup_size: int) -> Features:
    """The row of the table; an error where there is none."""
    found = _FEATURES.get((_generation(arch), subgroup_size))
    if found is None:
        sizes = " or ".join(map(str, subgroup_sizes(arch)))
        raise CompileError(f"expected a subgroup size of {sizes} on {arch}, got {subgroup_size}")
    return found


def _generation(arch: str) -> str:
    if arch not in _GENERATION:
        raise CompileError(
            f"{arch!r} is no architecture of the amdgpu backend",
            why=f"it knows {', '.join(sorted(_GENERATION))}",
            hint='arch="gfx942"',
        )
    return _GENERATION[arch]
