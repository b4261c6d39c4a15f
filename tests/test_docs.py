"""The documentation: every snippet runs and prints what the page says, tables are current, the site builds.

(The README's first kernel is run by test_readme.py.)
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import lanewise as lw
from lanewise.dtypes import ALL
from lanewise.simt.families import FUNCTIONS
from lanewise.tools.source import import_file

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(page.stem for page in DOCS.glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END_OF_BLOCK = "-- end of a block --"


# ---- snippets -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Snippet:
    """A Python block, what its comments say that it prints, and the block of text below it, if there is one."""

    code: str
    promised: list[str]
    below: str


def snippets(page: str) -> list[Snippet]:
    blocks = BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    found: list[Snippet] = []
    for (language, code), (following, text) in zip(blocks, [*blocks[1:], ("", "")], strict=False):
        if language == "python":
            promised = re.findall(r"^print\(.*?\)  # (.*)$", code, re.MULTILINE)
            found.append(Snippet(code, promised, text if following == "text" else ""))
    return found


def without_places(text: str) -> str:
    return re.sub(r'File "[^"]*", line \d+', 'File "..."', text).strip()


WITH_CODE = [page for page in PAGES if snippets(page)]


def test_pages_have_snippets() -> None:
    assert {"start", "execution", "language", "subgroup_size", "arrays", "errors", "cache"} <= set(WITH_CODE)


@pytest.mark.parametrize("page", WITH_CODE)
def test_snippets_run(page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page's blocks are one program."""
    parts = snippets(page)
    file = tmp_path / "example.py"
    file.write_text("".join(f"{part.code}\nprint({END_OF_BLOCK!r})\n" for part in parts), encoding="utf-8")
    runpy.run_path(str(file), run_name="__main__")
    printed = capsys.readouterr().out.split(f"{END_OF_BLOCK}\n")[:-1]
    assert len(printed) == len(parts)
    for part, out in zip(parts, printed, strict=True):
        if part.promised:
            assert out.splitlines() == part.promised
        if part.below:
            assert without_places(out) == without_places(part.below)


USES_IT = """
import lanewise as lw
from lanewise.simt import subgroup


@lw.kernel
def count(x: lw.types.NDArray[lw.i32, 1], out: lw.types.NDArray[lw.i32, 1]):
    for i in range(x.shape[0]):
        if x[i] != 3:
            out[i] = subgroup.count_true(x[i] > 1)


for arch in (lw.interpreter, lw.cpu):
    lw.init(arch, subgroup_size=4)
    out = np.full(8, -1, np.int32)
    count(np.array([0, 1, 2, 3, 4, 5, 6, 3], np.int32), out)
    print(out.tolist())
print("popc" in count.source("ptx"), "OpGroupNonUniformBallot" in count.source("spirv"))
"""


def test_an_operation_is_added_by_a_declaration(tmp_path: Path) -> None:
    """In a process of its own: an operation is declared for good."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "added.py").write_text(code + USES_IT, encoding="utf-8")
    ran = subprocess.run([sys.executable, "added.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == [*["[1, 1, 1, -1, 3, 3, 3, -1]"] * 2, "True True"], ran.stderr


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *(f"docs/{page}.md" for page in PAGES)])
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https?://|#", target):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_the_list_of_examples_is_complete() -> None:
    listed = set(re.findall(r"^\| `(\w+)\.py` \|", (DOCS / "examples.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {path.stem for path in (ROOT / "examples").glob("*.py")} - {"options"}


# ---- what is made -------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def support() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield import_file(DOCS / "support.py")


def test_every_operation_is_in_one_family(support: ModuleType) -> None:
    for function, found in support.families.placed():
        assert len(found) == 1, function.qualified_name


def test_the_table_in_the_readme_is_current(support: ModuleType) -> None:
    assert support.written().strip() == support.table().strip(), "python docs/support.py writes it anew"


def build(folder: Path) -> Path:
    """The site, with every warning an error; built from a copy, as it writes pages of its own."""
    ignored = shutil.ignore_patterns("reference", "_build", "__pycache__")
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "site"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder / "site"


def test_the_site(tmp_path: Path) -> None:
    site = build(tmp_path)
    assert all((site / f"{page}.html").exists() for page in PAGES)
    known = names_in(site / "objects.inv")
    not_functions = {"DType", "bool", "simt", "types", "u1", *map(str, ALL), *(arch.value for arch in lw.Arch)}
    assert {f"lanewise.{name}" for name in lw.__all__ if name not in not_functions} <= known
    assert {f"lanewise.simt.{name}" for name, function in FUNCTIONS.items() if not function.forwards_to} <= {
        name.replace("lanewise.simt.clock", "lanewise.simt.simt.clock") for name in known
    }
    check_pictures(tmp_path / "docs" / "reference" / "pictures")


def names_in(inventory: Path) -> set[str]:
    """The Python names that the site defines: after four lines of text, compressed lines `name domain:role ...`."""
    lines = zlib.decompress(inventory.read_bytes().split(b"\n", 4)[4]).decode().splitlines()
    return {name for name, role, *_ in map(str.split, lines) if role.startswith("py:")}


def check_pictures(folder: Path) -> None:
    """They show what the operations give."""
    drawn = {path.stem for path in folder.glob("*.svg")}
    assert {"subgroup.shuffle_xor", "subgroup.reduce_all_add_tiled", "quad.swap_diagonal"} <= drawn
    picture = (folder / "subgroup.exclusive_add.svg").read_text(encoding="utf-8")
    cells = re.findall(r"<text[^>]*>([^<]+)</text>", picture)
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    start = cells.index("result") + 1
    assert cells[start : start + 8] == [str(sum(values[:lane])) for lane in range(8)]
    left_out = cells.index("some inactive") + 1
    assert cells[left_out : left_out + 5] == ["0", "3", "4", "9", "18"]  # lanes 0, 1, 4, 5 and 7
