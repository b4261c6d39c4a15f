"""Where NVIDIA's mathematics is, as LLVM bitcode."""

from __future__ import annotations

from importlib.util import find_spec
from os import environ
from pathlib import Path


def libdevice() -> Path | None:
    """libdevice.10.bc: of CUDA_HOME, of the PyPI package nvidia-nvvm, or of /usr/local/cuda."""
    roots = [Path(environ["CUDA_HOME"]) / "nvvm"] if "CUDA_HOME" in environ else []
    spec = find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        roots += sorted(Path(place).glob("*/nvvm"), reverse=True)
    roots.append(Path("/usr/local/cuda/nvvm"))
    files = (root / "libdevice/libdevice.10.bc" for root in roots)
    return next((file for file in files if file.is_file()), None)
