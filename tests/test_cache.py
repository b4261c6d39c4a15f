"""The disk cache: what recompiles and what does not, many threads and processes, its limit, folders that fail."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import pytest
from typer.testing import CliRunner

import lanewise as lw
from lanewise import cache
from lanewise.tools.cli import app
from lanewise.tools.source import load_kernel

SOURCE = """
import lanewise as lw
from lanewise.simt import subgroup

STEP = 3

@lw.func
def inner(v):
    return v * 2

@lw.func
def callee(v):
    return inner(v) + 1

@lw.kernel
def work(a: lw.types.ndarray(lw.i32, 1), extra: lw.template()):
    lw.loop_config(block_dim=64)
    for i in range(a.shape[0]):
        a[i] = callee(a[i]) + STEP + extra + subgroup.reduce_all_add(1) + lw.cast(a[i] / 7 * 0.5 + 0.75, lw.i32)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lw.init(threads=1)
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "_use", cache._Use())  # pyright: ignore[reportPrivateUsage]
    return tmp_path / "kept"


# ---- keys ---------------------------------------------------------------------------------------------------------
@dataclass
class Program:
    """The source, how it is run, and the value that a[i] = 10 becomes."""

    expected: int
    edit: tuple[str, str] = ("", "")
    W: int = 8
    extra: int = 0
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    step: int = 1

    def run(self, file: Path) -> int:
        """How many programs had to be compiled."""
        file.write_text(SOURCE.replace(*self.edit), encoding="utf-8")
        before = lw.cache_info().misses
        a = np.full(64 * self.step, 10, np.int32)[:: self.step]
        with lw.use(lw.init(lw.cpu, subgroup_size=self.W, threads=1, **self.options)):
            load_kernel(f"{file}:work")(a, self.extra)
        assert (a == self.expected).all()
        return lw.cache_info().misses - before


BASE = Program(10 * 2 + 1 + 3 + 8 + 1)
CHANGED = {
    "a constant": Program(34, edit=("STEP = 3", "STEP = 4")),
    "a callee": Program(34, edit=("inner(v) + 1", "inner(v) + 2")),
    "a callee's callee": Program(43, edit=("v * 2", "v * 3")),
    "the kernel": Program(32, edit=("subgroup.reduce_all_add(1)", "7")),
    "block_dim": Program(33, edit=("block_dim=64", "block_dim=32")),
    "the element type": Program(33, edit=("lw.types.ndarray(lw.i32, 1)", "lw.types.ndarray(None, 1)"), step=2),
    "a template": Program(34, extra=1),
    "W": Program(41, W=16),
    "default_fp": Program(33, options={"default_fp": lw.f64}),
    "fast_float": Program(33, options={"fast_float": True}),
    "debug": Program(33, options={"debug": True}),
}


@pytest.mark.parametrize("name", CHANGED)
def test_what_changed_is_compiled_again(name: str, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    assert BASE.run(file) > 0
    assert BASE.run(file) == 0
    assert CHANGED[name].run(file) > 0
    assert CHANGED[name].run(file) == 0
    assert BASE.run(file) == 0


def test_neither_the_file_nor_its_comments_are_in_the_key(folder: Path, tmp_path: Path) -> None:
    assert BASE.run(tmp_path / "program.py") > 0
    moved = Program(BASE.expected, edit=("STEP = 3", "# a comment\n\nSTEP = 3"))
    assert moved.run(tmp_path / "moved.py") == 0


@pytest.mark.parametrize("package", ["lanewise", "llvmlite"])
def test_another_version_compiles_again(
    package: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions: Callable[[], str] = cache._versions.__wrapped__  # pyright: ignore[reportPrivateUsage]
    assert BASE.run(tmp_path / "program.py") > 0
    monkeypatch.setattr(f"{package}.__version__", "99.0")
    monkeypatch.setattr(cache, "_versions", versions)
    assert BASE.run(tmp_path / "program.py") > 0
    assert BASE.run(tmp_path / "program.py") == 0


def test_a_changed_compiler_compiles_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout's sources change without its version."""
    package = tmp_path / "copy"
    package.mkdir()
    (package / "cache.py").write_text("x = 1", encoding="utf-8")
    monkeypatch.setattr(cache, "__file__", str(package / "cache.py"))
    sources = cache._sources  # pyright: ignore[reportPrivateUsage]
    first = sources()
    assert sources() == first
    (package / "cache.py").write_text("x = 12", encoding="utf-8")
    assert sources() != first


def test_an_entry_under_another_key_is_not_taken(folder: Path) -> None:
    cache.fetch(["a"], lambda: cache.Entry(b"code of a"))
    (path,) = (p for p in folder.rglob("*") if p.is_file())
    other = folder / cache.key_of(["b"])[:2] / cache.key_of(["b"])
    other.parent.mkdir(exist_ok=True)
    other.write_bytes(path.read_bytes())
    assert cache.fetch(["b"], lambda: cache.Entry(b"code of b")).code == b"code of b"


# ---- threads and processes ----------------------------------------------------------------------------------------
def run_in_threads(count: int, work: Callable[[int], None]) -> None:
    started = threading.Barrier(count)

    def wait_and_work(number: int) -> None:
        started.wait()
        work(number)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(wait_and_work, range(count)))


@pytest.mark.parametrize("own_device", [False, True], ids=["one device", "a device each"])
def test_threads_compile_a_kernel_once(own_device: bool, folder: Path, tmp_path: Path) -> None:
    alone = BASE.run(tmp_path / "alone.py")
    lw.clear_cache()
    kernel = load_kernel(f"{tmp_path / 'alone.py'}:work")
    devices = [lw.init(lw.cpu, subgroup_size=8, threads=1) for _ in range(16 if own_device else 1)] * 16
    arrays = [np.full(64, 10, np.int32) for _ in range(16)]

    def work(number: int) -> None:
        with lw.use(devices[number]):
            kernel(arrays[number], 0)

    before = lw.cache_info()
    run_in_threads(16, work)
    after = lw.cache_info()
    assert after.misses - before.misses == alone
    assert after.hits - before.hits == (15 * alone if own_device else 0)
    assert all((a == BASE.expected).all() for a in arrays)


SCRIPT = """
import numpy as np
import lanewise as lw
from program import work

lw.init(lw.cpu, subgroup_size=8, threads=1)
for _ in range(2):
    a = np.full(64, 10, np.int32)
    work(a, 0)
    assert (a == 33).all()
info = lw.cache_info()
print(info.hits, info.misses)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    return tmp_path / "script.py"


def start(script: Path, *, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, str(script)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before)  # noqa: PLW1509


def finished(process: subprocess.Popen[str]) -> tuple[int, int, str]:
    """Hits, misses, and what was said on standard error."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    hits, misses = map(int, out.split())
    return hits, misses, err


def test_processes_start_on_one_cold_cache(folder: Path, script: Path) -> None:
    first = [finished(process) for process in [start(script) for _ in range(8)]]
    asked = {hits + misses for hits, misses, _ in first}
    assert len(asked) == 1
    assert any(misses for _, misses, _ in first)
    assert not any(err for _, _, err in first)
    assert lw.cache_info().entries == asked.pop()
    assert not list(folder.rglob(".new-*"))
    hits, misses, _ = finished(start(script))
    assert (hits, misses) == (lw.cache_info().entries, 0)


# ---- folders that fail --------------------------------------------------------------------------------------------
def no_large_files() -> None:
    """A disk that takes 64 bytes a file: what it takes is cut off, as by a full one."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


def test_a_full_disk_is_warned_of_once(folder: Path, script: Path) -> None:
    _, misses, err = finished(start(script, before=no_large_files))
    assert misses > 1
    assert err.count("compiled kernels cannot be kept") == 1
    assert "LANEWISE_CACHE_DIR" in err
    assert [p for p in folder.rglob("*") if p.is_file()] == []


def test_a_folder_that_cannot_be_made_is_warned_of_once(
    tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path / "file" / "below"))
    _, misses, err = finished(start(script))
    assert misses > 1
    assert err.count("compiled kernels cannot be kept") == 1


def test_without_a_home_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWISE_CACHE_DIR")
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **__: Path("~/.cache/lanewise"))
    assert cache.directory() is None
    assert lw.cache_info().folder is None


@pytest.mark.parametrize(("variable", "value"), [("LANEWISE_CACHE_DIR", ""), ("LANEWISE_CACHE_SIZE", "0")])
def test_it_can_be_switched_off(variable: str, value: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    for _ in range(2):
        cache.fetch(["a"], lambda: cache.Entry(b"code"))
    info = lw.cache_info()
    assert (info.folder, info.entries, info.hits, info.misses) == (None, 0, 0, 2)
    assert not folder.exists()
    assert lw.clear_cache() == 0


# ---- its size -----------------------------------------------------------------------------------------------------
def fill(names: Sequence[str], size: int = 1000) -> None:
    for name in names:
        cache.fetch([name], lambda: cache.Entry(b"x" * size))


def path_of(folder: Path, name: str) -> Path:
    key = cache.key_of([name])
    return folder / key[:2] / key


def is_kept(folder: Path, name: str) -> bool:
    return path_of(folder, name).exists()


def test_what_was_used_longest_ago_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_SIZE", "10K")
    fill("abcdefgh")
    for age, name in enumerate("abcdefgh"):
        os.utime(path_of(folder, name), (1000 + age, 1000 + age))
    fill("a")  # found: now it is the one used last
    assert lw.cache_info().hits == 1
    fill("ij")
    assert lw.cache_info().bytes <= 10 << 10
    fill("klm")
    assert lw.cache_info().bytes <= 10 << 10
    assert is_kept(folder, "a")
    assert not is_kept(folder, "b")
    assert not is_kept(folder, "c")
    assert is_kept(folder, "m")


def test_an_entry_above_the_limit_is_used_all_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_SIZE", "1K")
    made: list[int] = []

    def make() -> cache.Entry:
        made.append(1)
        return cache.Entry(b"x" * 5000)

    assert cache.fetch(["large"], make) == cache.fetch(["large"], make)
    assert len(made) == 2
    assert lw.cache_info().bytes <= 1 << 10


@pytest.mark.parametrize(
    ("text", "size"), [("123", 123), ("2K", 2048), ("1.5G", 1 << 30), ("500 MB", 500 << 20), ("3gib", 3 << 30)]
)
def test_the_limit_is_read(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_SIZE", text)
    if "." in text:
        with pytest.warns(RuntimeWarning, match=r"LANEWISE_CACHE_SIZE='1.5G' is not a size"):
            assert cache.size_limit() == size
    assert cache.size_limit() == size


def test_what_a_dead_writer_left_goes(folder: Path) -> None:
    shelf = folder / "ab"
    shelf.mkdir(parents=True)
    old, new = shelf / ".new-old", shelf / ".new-new"
    old.write_text("half", encoding="utf-8")
    new.write_text("half", encoding="utf-8")
    os.utime(old, (0, 0))
    fill("a")
    assert not old.exists()
    assert new.exists()
    assert lw.cache_info().entries == 1


def test_clearing_leaves_what_is_not_ours(folder: Path) -> None:
    fill("abc")
    others = [folder / "notes.txt", folder / "ab" / "notes.txt", folder / "photos" / ("f" * 64)]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_text("mine", encoding="utf-8")
    assert lw.clear_cache() == 3
    assert lw.cache_info().entries == 0
    assert all(other.exists() for other in others)
    assert lw.clear_cache() == 0


# ---- the command --------------------------------------------------------------------------------------------------
def command(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["cache", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill("abc")
    assert [line.split()[0] for line in command().splitlines()] == ["folder", "entries", "size"]
    assert str(folder) in command("info")
    assert "entries  3" in command("info")
    assert command("clear") == "removed 3 compiled kernels\n"
    assert "entries  0" in command("info")
    monkeypatch.setenv("LANEWISE_CACHE_DIR", "")
    assert "no compiled kernels are kept" in command()
