"""A pytest plugin for runs on a Vulkan device: `pytest -p tests.vulkan.checks`.

Every module that is emitted is valid, by the library of the SPIR-V tools.  Where VK_INSTANCE_LAYERS asks for the
Khronos validation layer, a test during which it finds an error fails.  A test of what the device lacks ends as an
expected failure, if the error names a type or feature that the device says it has not.
"""

from __future__ import annotations

import ctypes
import os
import re
import sysconfig
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import lanewise as lw
from lanewise import dtypes
from lanewise.backends.vulkan import emit

ENVIRONMENTS = ("vulkan1.2", "vulkan1.3")
LAYER = "VK_LAYER_KHRONOS_validation"


# ---- modules ---------------------------------------------------------------------------------------------------------
class Diagnostic(ctypes.Structure):
    """spv_diagnostic_t of libspirv.h"""

    _fields_ = [
        ("line", ctypes.c_size_t),
        ("column", ctypes.c_size_t),
        ("index", ctypes.c_size_t),
        ("error", ctypes.c_char_p),
        ("is_text", ctypes.c_bool),
    ]


@cache
def _tools() -> Any:
    library = Path(sysconfig.get_path("purelib")) / "cmeel.prefix" / "lib" / "libSPIRV-Tools-shared.so"
    tools = ctypes.CDLL(str(library))
    tools.spvContextCreate.restype = ctypes.c_void_p
    return tools


@cache
def _context(environment: str) -> ctypes.c_void_p:
    number = ctypes.c_int()
    assert _tools().spvParseTargetEnv(environment.encode(), ctypes.byref(number))
    return ctypes.c_void_p(_tools().spvContextCreate(number))


def invalid(code: bytes) -> str:
    """What is wrong with a module; nothing is."""
    found = ctypes.POINTER(Diagnostic)()
    for environment in ENVIRONMENTS:
        words = ctypes.c_size_t(len(code) // 4)
        if _tools().spvValidateBinary(_context(environment), code, words, ctypes.byref(found)):
            text = f"{environment}: {found.contents.error.decode()}"
            _tools().spvDiagnosticDestroy(found)
            return text
    return ""


@pytest.fixture(scope="session", autouse=True)
def _valid_modules() -> Iterator[None]:
    def validated(run: Callable[[Any], emit.SpirvModule]) -> Callable[[Any], emit.SpirvModule]:
        def checked(self: Any) -> emit.SpirvModule:
            module = run(self)
            problem = invalid(module.bytes)
            assert not problem, f"{problem}\n{module.text}"
            return module

        return checked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emit._Emitter, "run", validated(emit._Emitter.run))
        yield


# ---- the validation layer --------------------------------------------------------------------------------------------
class Log:
    """What the layer writes, to a file of this process, from the last look on."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="lanewise-validation-")
        self._path = Path(self._folder.name, "messages.txt")
        self._read = 0
        settings = {"debug_action": "VK_DBG_LAYER_ACTION_LOG_MSG", "report_flags": "error", "log_filename": self._path}
        Path(self._folder.name, "vk_layer_settings.txt").write_text(
            "".join(f"khronos_validation.{name} = {value}\n" for name, value in settings.items()), encoding="utf-8"
        )
        os.environ["VK_LAYER_SETTINGS_PATH"] = self._folder.name

    def errors(self) -> str:
        if not self._path.exists():
            return ""
        with self._path.open(encoding="utf-8", errors="replace") as file:
            file.seek(self._read)
            text = file.read()
            self._read = file.tell()
        return text.strip()


# Made here, as conftest.py may load Vulkan before any hook is called.
_log = Log() if LAYER in os.environ.get("VK_INSTANCE_LAYERS", "") else None


@pytest.fixture(autouse=True)
def _nothing_to_say() -> Iterator[None]:
    yield
    errors = _log.errors() if _log else ""
    assert not errors, errors


# ---- what the device lacks -------------------------------------------------------------------------------------------
@cache
def _lacking() -> frozenset[str]:
    """The types and features that the device of this process has not."""
    properties = lw.init(lw.vulkan).properties
    lw.reset()
    features = properties.details["features"]
    assert isinstance(features, Mapping)
    types = {t.name for t in dtypes.ALL if t not in properties.dtypes}
    return frozenset(types | {name for name, has in features.items() if not has})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    try:
        return (yield)
    except lw.CompileError as error:
        named = re.findall(r"has no (\w+)", str(error))
        if named and set(named) <= _lacking():
            pytest.xfail(f"the device has no {', '.join(named)}")
        raise
