"""Finds a kernel by `FILE:KERNEL`, importing the user's file by its path."""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import LanewiseError, Loc
from ..kernel import Kernel


def load_kernel(place: str) -> Kernel[...]:
    """The kernel that `FILE:KERNEL` names; a LanewiseError says what is missing."""
    path, _, name = place.rpartition(":")
    if not path or not name:
        raise LanewiseError(f"expected FILE:KERNEL, got {place!r}", hint="lanewise source kernels.py:my_kernel")
    module = import_file(Path(path))
    found = getattr(module, name, None)
    if isinstance(found, Kernel):
        return found
    kernels = [key for key, value in vars(module).items() if isinstance(value, Kernel)]
    close = difflib.get_close_matches(name, kernels, n=1)
    raise LanewiseError(
        f"{path} has no kernel {name!r}" if found is None else f"{name!r} in {path} is no kernel",
        why=f"its kernels are: {', '.join(kernels)}" if kernels else "it has no function decorated with @lw.kernel",
        hint=f"{path}:{close[0]}" if close else "",
    )


def import_file(file: Path) -> ModuleType:
    """Run a Python file as a module of its own; modules beside it can be imported, as when Python runs it."""
    if not file.is_file():
        raise LanewiseError(f"there is no file {file}")
    file = file.resolve()
    name = f"lanewise_source_of_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise LanewiseError(f"{file} is not a Python file", hint="a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look their module up
    with _importable(file.parent):
        try:
            spec.loader.exec_module(module)
        except LanewiseError:
            raise
        except Exception as error:  # noqa: BLE001  whatever a user's module may raise
            what = f"{file.name} could not be imported: {type(error).__name__}: {error}"
            raise LanewiseError(what, loc=_place_in(file, error)) from None
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _place_in(file: Path, error: Exception) -> Loc | None:
    """The innermost line of the file that led to the error."""
    if isinstance(error, SyntaxError) and error.filename == str(file) and error.lineno:
        return Loc(str(file), error.lineno)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return Loc(str(file), frames[-1].lineno or 1) if frames else None


def parse_templates(settings: Sequence[str]) -> dict[str, Any]:
    """`["n=4", "flag=True"]` as a dict; values are Python literals."""
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        try:
            values[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            equals = ""
        if not equals or not name.isidentifier():
            raise LanewiseError(f"expected NAME=VALUE with a Python literal, got {setting!r}", hint="--template n=4")
    return values
