"""Compiled code on disk: an object's bytes under the hash of everything that shaped them.

A backend asks `fetch(parts, make)`.  The key is the SHA-256 of the parts (the printed IR, the target, the flags) and of
the versions of lanewise and llvmlite.  An entry is a magic line, the SHA-256 of its key and of the rest, a JSON header
and the object.  It is written under a temporary name and renamed, so readers in other processes see a whole entry or
none; one that does not match its checksum is made again.  Within a process, threads that want the same key wait for
the first one.  What was used longest ago goes when the folder grows beyond its limit.

`LANEWISE_CACHE_DIR` names the folder; empty, it switches the cache off.  `LANEWISE_CACHE_SIZE` is the limit (`500M`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_MAGIC = b"lanewise object 2\n"
_DIGEST = 32  # bytes of a SHA-256


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept: the object file, and what its engine needs to run it (anything JSON can say)."""

    code: bytes
    header: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def pack(self, key: str) -> bytes:
        """The bytes of the file."""
        head = json.dumps(dict(self.header), sort_keys=True).encode()
        body = len(head).to_bytes(8, "little") + head + self.code
        return _MAGIC + _checksum(key, body) + body

    @staticmethod
    def unpack(data: bytes, key: str) -> Entry | None:
        """The entry, or None where the bytes are not this key's, whole and unharmed."""
        start = len(_MAGIC) + _DIGEST
        body = data[start:]
        if data[: len(_MAGIC)] != _MAGIC or _checksum(key, body) != data[len(_MAGIC) : start]:
            return None
        size = int.from_bytes(body[:8], "little")
        return Entry(body[8 + size :], json.loads(body[8 : 8 + size]))


def _checksum(key: str, body: bytes) -> bytes:
    return hashlib.sha256(key.encode() + body).digest()


# ---- where, and how much ------------------------------------------------------------------------------------------
def directory() -> Path | None:
    """`LANEWISE_CACHE_DIR`, else the user's cache folder.

    None, so no disk cache, where that variable is empty, the limit is 0, or the user has no home folder.
    """
    if size_limit() == 0:
        return None
    chosen = os.environ.get("LANEWISE_CACHE_DIR")
    if chosen is None:
        import platformdirs

        found = platformdirs.user_cache_path("lanewise", appauthor=False)
        return found if found.is_absolute() else None  # `~/.cache` as it stands: nobody's home
    return Path(chosen).expanduser() if chosen else None


DEFAULT_LIMIT = 1 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size_limit() -> int:
    """The most bytes that the folder is to hold: `LANEWISE_CACHE_SIZE`, as 123456, 512K, 500M or 2G, else 1 GiB."""
    return _as_size(os.environ.get("LANEWISE_CACHE_SIZE", ""))


@cache
def _as_size(text: str) -> int:
    if not text:
        return DEFAULT_LIMIT
    found = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        message = f"LANEWISE_CACHE_SIZE={text!r} is not a size: write bytes, or a number with K, M or G; 1G is used"
        warnings.warn(message, RuntimeWarning, stacklevel=4)
        return DEFAULT_LIMIT
    return int(found[1]) * _UNITS[found[2].upper()]


# ---- keys ---------------------------------------------------------------------------------------------------------
@cache
def _versions() -> str:
    import llvmlite

    from . import __version__

    return "\n".join((f"lanewise {__version__}", f"llvmlite {llvmlite.__version__}", _sources()))


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


# ---- entries ------------------------------------------------------------------------------------------------------
@dataclass
class _Use:
    """What this process has done with the cache."""

    hits: int = 0
    misses: int = 0
    unswept: int | None = None  # bytes written since the folder was last measured; None: it never was
    warned: set[str] = field(default_factory=set[str])  # folders that could not be written
    lock: threading.Lock = field(default_factory=threading.Lock)


_use = _Use()


def fetch(parts: Sequence[str], make: Callable[[], Entry]) -> Entry:
    """The entry for `parts`, from disk or from `make()`, which then runs once for all threads of this process."""
    key = key_of(parts)
    with _only_one(key):
        folder = directory()
        path = folder / key[:2] / key if folder else None
        entry = _read(path) if path else None
        with _use.lock:
            _use.hits += entry is not None
            _use.misses += entry is None
        if entry is None:
            entry = make()
            if folder and path:
                _write(folder, path, entry)
        return entry


def _read(path: Path) -> Entry | None:
    try:
        entry = Entry.unpack(path.read_bytes(), path.name)
    except OSError:
        return None
    if entry is not None:
        with suppress(OSError):  # a folder that is only read
            os.utime(path)  # when it was last used
    return entry


def _write(folder: Path, path: Path, entry: Entry) -> None:
    data = entry.pack(path.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        _warn_once(str(folder), error.strerror or str(error))
    else:
        _sweep_if_due(folder, len(data))


def _warn_once(folder: str, reason: str) -> None:
    with _use.lock:
        known = folder in _use.warned
        _use.warned.add(folder)
    if not known:
        text = f"compiled kernels cannot be kept in {folder} ({reason}): set LANEWISE_CACHE_DIR to a folder for them"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


# ---- the folder as a whole ----------------------------------------------------------------------------------------
_TEMPORARY = ".new-"
_ENTRY = re.compile(r"[0-9a-f]{64}")
_FOLDER = re.compile(r"[0-9a-f]{2}")
_ABANDONED = 3600.0  # seconds after which a temporary file's writer is thought to have died
_MEASURED_EVERY = 16  # the folder is measured when a process has written this part of the limit
_KEPT = 0.8  # of the limit, when entries are removed


class _File(NamedTuple):
    used: float
    size: int
    path: str


def _files(folder: Path) -> Iterator[_File]:
    """The files that this module wrote; whatever else lies there is nobody's business."""
    with suppress(OSError), os.scandir(folder) as below:
        for shelf in below:
            if not _FOLDER.fullmatch(shelf.name):
                continue
            with suppress(OSError), os.scandir(shelf.path) as found:
                for item in found:
                    if _ENTRY.fullmatch(item.name) or item.name.startswith(_TEMPORARY):
                        with suppress(OSError):  # another process may have removed it
                            facts = item.stat(follow_symlinks=False)
                            yield _File(facts.st_mtime, facts.st_size, item.path)


def _is_temporary(file: _File) -> bool:
    return os.path.basename(file.path).startswith(_TEMPORARY)  # noqa: PTH119  thousands of them: no Path for each


def _sweep_if_due(folder: Path, written: int) -> None:
    """Measure the folder after the first entry that this process writes, and now and then."""
    limit = size_limit()
    with _use.lock:
        due = _use.unswept is None or _use.unswept + written > limit // _MEASURED_EVERY
        _use.unswept = 0 if due else (_use.unswept or 0) + written
    if due:
        _sweep(folder, limit)


def _sweep(folder: Path, limit: int) -> None:
    """Remove what was used longest ago, where all together is over the limit, and what dead writers left."""
    files = sorted(_files(folder))
    total = sum(file.size for file in files)
    goal = int(limit * _KEPT) if total > limit else total
    abandoned = time.time() - _ABANDONED
    for file in files:
        if _is_temporary(file):
            unwanted = file.used < abandoned
        else:
            unwanted = total > goal
        if unwanted and _remove(file):
            total -= file.size


def _remove(file: _File) -> bool:
    try:
        os.unlink(file.path)  # noqa: PTH108
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The disk cache of compiled kernels, and how this process has used it."""

    folder: Path | None
    """None: there is no disk cache."""
    entries: int
    bytes: int
    limit: int
    """What was used longest ago is removed where all together grows beyond this."""
    hits: int
    """Programs of this process that were found compiled."""
    misses: int
    """Programs that it compiled."""


def cache_info() -> CacheInfo:
    """Where compiled kernels are kept, how many there are, and how often this process found what it wanted."""
    folder = directory()
    files = [file for file in _files(folder) if not _is_temporary(file)] if folder else []
    return CacheInfo(folder, len(files), sum(file.size for file in files), size_limit(), _use.hits, _use.misses)


def clear_cache() -> int:
    """Remove every compiled kernel from the disk; gives their number.  What this process has loaded stays in use."""
    folder = directory()
    removed = 0
    for file in list(_files(folder)) if folder else []:
        removed += _remove(file) and not _is_temporary(file)
        with suppress(OSError):  # its shelf, when it was the last one there
            Path(file.path).parent.rmdir()
    return removed


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
