"""Compiled code on disk: an object's bytes under the hash of everything that shaped them.

A backend asks `fetch(parts, make)`.  The key is the SHA-256 of the parts (the printed IR, the target, the flags) and of
the versions of lanewise and llvmlite.  An entry is a magic line, the SHA-256 of the rest, a JSON header and the object.
It is written under a temporary name and renamed, so readers in other processes see a whole entry or none; one that
does not match its checksum is made again.  Within a process, threads that want the same key wait for the first one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_MAGIC = b"lanewise object 1\n"
_DIGEST = 32  # bytes of a SHA-256


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept: the object file, and what its engine needs to run it (anything JSON can say)."""

    code: bytes
    header: Mapping[str, Any] = field(default_factory=dict)

    def pack(self) -> bytes:
        """The bytes of the file."""
        head = json.dumps(dict(self.header), sort_keys=True).encode()
        body = len(head).to_bytes(8, "little") + head + self.code
        return _MAGIC + hashlib.sha256(body).digest() + body

    @staticmethod
    def unpack(data: bytes) -> Entry | None:
        """The entry, or None where the bytes are not one, whole and unharmed."""
        start = len(_MAGIC) + _DIGEST
        body = data[start:]
        if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
            return None
        size = int.from_bytes(body[:8], "little")
        return Entry(body[8 + size :], json.loads(body[8 : 8 + size]))


def directory() -> Path | None:
    """`LANEWISE_CACHE_DIR`, else the user's cache folder; None where that variable is empty: no disk cache."""
    chosen = os.environ.get("LANEWISE_CACHE_DIR")
    if chosen is None:
        import platformdirs

        return platformdirs.user_cache_path("lanewise", appauthor=False)
    return Path(chosen) if chosen else None


@cache
def _versions() -> str:
    def of(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:  # used from a source tree
            return f"{package} ?"

    return "\n".join((of("lanewise"), of("llvmlite"), _sources()))


def _sources() -> str:
    """A digest of our own source files' sizes and times, so that a changed compiler does not find its old output."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        facts = path.stat()
        digest.update(f"{path.name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def key_of(parts: Sequence[str]) -> str:
    """The key of these parts: no two different lists share one."""
    digest = hashlib.sha256()
    for part in (*parts, _versions()):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def fetch(parts: Sequence[str], make: Callable[[], Entry]) -> Entry:
    """The entry for `parts`, from disk or from `make()`, which then runs once for all threads of this process."""
    key = key_of(parts)
    with _only_one(key):
        folder = directory()
        if folder is None:
            return make()
        path = folder / key[:2] / key
        entry = _read(path)
        if entry is None:
            entry = make()
            _write(path, entry)
        return entry


def _read(path: Path) -> Entry | None:
    try:
        return Entry.unpack(path.read_bytes())
    except OSError:
        return None


def _write(path: Path, entry: Entry) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(entry.pack())
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        _warn_once(str(path.parent.parent), error.strerror or str(error))


@cache
def _warn_once(folder: str, reason: str) -> None:
    text = f"compiled kernels cannot be kept in {folder} ({reason}): set LANEWISE_CACHE_DIR to a folder for them"
    warnings.warn(text, RuntimeWarning, stacklevel=2)


# ---- one thread a key ---------------------------------------------------------------------------------------------
_guard = threading.Lock()
_working: dict[str, tuple[threading.Lock, int]] = {}  # key -> its lock and how many threads hold or want it


@contextmanager
def _only_one(key: str) -> Generator[None]:
    with _guard:
        lock, users = _working.get(key, (threading.Lock(), 0))
        _working[key] = (lock, users + 1)
    try:
        with lock:
            yield
    finally:
        with _guard:
            lock, users = _working[key]
            if users == 1:
                del _working[key]
            else:
                _working[key] = (lock, users - 1)
