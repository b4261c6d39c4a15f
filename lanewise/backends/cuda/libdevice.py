"""Where NVIDIA's mathematics is, as LLVM bitcode."""

from __future__ import annotations

from pathlib import Path

USUAL = Path("/usr/local/cuda/nvvm/libdevice/libdevice.10.bc")


def libdevice() -> Path | None:
    """libdevice.10.bc: where cuda-pathfinder finds it (PyPI's nvidia-nvvm, conda, CUDA_HOME), or in CUDA's folder."""
    return _found() or (USUAL if USUAL.is_file() else None)


def _found() -> Path | None:
    try:
        from cuda import pathfinder  # pyright: ignore[reportMissingImports, reportAttributeAccessIssue]

        return Path(pathfinder.find_bitcode_lib("device"))
    except (ImportError, AttributeError, RuntimeError):  # it is missing, too old to know of it, or finds nothing
        return None
