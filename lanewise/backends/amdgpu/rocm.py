"""Where ROCm is on this machine: its libraries, its tools, its bitcode."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from os import environ
from pathlib import Path


def roots() -> Iterator[Path]:
    """Folders with ROCm's `lib`: what the user names, torch's own copy, the usual place, the wheels of AMD."""
    yield from (Path(environ[name]) for name in ("ROCM_PATH", "HIP_PATH") if environ.get(name))
    yield from _package("torch")
    yield Path("/opt/rocm")
    yield from _package("_rocm_sdk_core")


def _package(name: str) -> Iterator[Path]:
    """The folder of an installed package, which is not imported for it."""
    spec = find_spec(name)
    yield from map(Path, (spec.submodule_search_locations or ()) if spec else ())


def library(stem: str, versions: Sequence[int]) -> ctypes.CDLL | None:
    """A shared library, by its major versions, the newest first; None where there is none.

    One that is loaded comes first: two copies of HIP in one process do not know of each other's memory.
    """
    names = (f"{stem}.so", *(f"{stem}.so.{version}" for version in versions))
    files = (str(root / "lib" / name) for root in roots() for name in names if (root / "lib" / name).is_file())
    opened = (_opened(path) for path in (*_loaded(stem), *files, *names))
    return next((found for found in opened if found is not None), None)


def _opened(path: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(path)
    except OSError:  # of another architecture, or without what it needs: the next one may do
        return None


def _loaded(stem: str) -> Iterator[str]:
    """The files of this library that the process has mapped."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return
    found = (line.split(maxsplit=5)[5] for line in lines if f"/{stem}.so" in line)
    yield from dict.fromkeys(found)


def tool(name: str) -> Path | None:
    """A program of ROCm's LLVM."""
    places = (root / folder / name for root in roots() for folder in ("llvm/bin", "lib/llvm/bin"))
    return next((place for place in places if place.is_file()), None)
