"""A function's source as a syntax tree, with its true lines and columns.

Whole files are parsed, once each, and the function is found by its first line and name: no text is cut or dedented, so
every column in an error is the file's own.
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass, field
from types import FunctionType
from weakref import WeakKeyDictionary

from ..errors import CompileError, LanewiseSyntaxError, Loc

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


@dataclass(slots=True, eq=False)
class Source:
    """One function's syntax tree; `stores` remembers which names a node's statements assign."""

    node: ast.FunctionDef
    file: str
    lines: list[str]
    name: str
    _stores: dict[ast.AST, frozenset[str]] = field(default_factory=dict)
    _locs: dict[ast.AST, Loc] = field(default_factory=dict)
    _bound: frozenset[str] | None = None
    _jumps: dict[tuple[ast.AST, type[ast.stmt]], bool] = field(default_factory=dict)

    def loc(self, node: ast.AST) -> Loc:
        """The place of a node; of several lines, its first."""
        found = self._locs.get(node)
        if found is None:
            found = self._locs[node] = self._make_loc(node)
        return found

    def _make_loc(self, node: ast.AST) -> Loc:
        line, col = getattr(node, "lineno", self.node.lineno), getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", None) or col + 1
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if getattr(node, "end_lineno", line) != line:
            end = len(text.rstrip().encode())
        if not text.isascii():  # the tree counts columns in bytes
            raw = text.encode()
            col, end = len(raw[:col].decode(errors="ignore")), len(raw[:end].decode(errors="ignore"))
        return Loc(self.file, line, col, end, self.name)

    def stores(self, node: ast.AST) -> frozenset[str]:
        """The names that `node` assigns, itself or anywhere inside."""
        found = self._stores.get(node)
        if found is None:
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            # `v.x = ...` and `v[0] = ...` assign a component, so they assign the variable.
            targets = [n for n in ast.walk(node) if isinstance(n, (ast.Attribute, ast.Subscript))]
            names |= {name for t in targets if isinstance(t.ctx, ast.Store) and (name := root_name(t))}
            found = self._stores[node] = frozenset(names)
        return found

    def binds(self, name: str) -> bool:
        """Whether the function makes `name` a local; `name[i] = x` alone does not."""
        if self._bound is None:
            names = (n for n in ast.walk(self.node) if isinstance(n, ast.Name))
            self._bound = frozenset(n.id for n in names if isinstance(n.ctx, ast.Store))
        return name in self._bound

    def jumps(self, loop: ast.AST, kind: type[ast.stmt]) -> bool:
        """Whether a loop has a `break`, or a `return`, of its own."""
        found = self._jumps.get((loop, kind))
        if found is None:
            found = self._jumps[loop, kind] = _has_jump(loop, kind)
        return found


def _has_jump(node: ast.AST, kind: type[ast.stmt]) -> bool:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, kind):
            return True
        inner_loop = kind is ast.Break and isinstance(child, (ast.For, ast.While))
        if not inner_loop and isinstance(child, (ast.stmt, ast.excepthandler)) and _has_jump(child, kind):
            return True
    return False


def root_name(node: ast.expr) -> str:
    """`v` of `v.x[0]`; empty where the chain does not start at a name."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@dataclass(slots=True, eq=False)
class _File:
    lines: list[str]
    functions: dict[tuple[int, str], ast.FunctionDef]
    sources: dict[tuple[int, str], Source] = field(default_factory=dict)


_files: dict[str, _File] = {}
_texts: WeakKeyDictionary[FunctionType, list[str]] = WeakKeyDictionary()


def remember(function: FunctionType) -> None:
    """Keep the text of the function's file as Python has just read it: it may change before the first call."""
    filename = function.__code__.co_filename
    linecache.checkcache(filename)  # what it has may be from before a reload
    lines = linecache.getlines(filename, function.__globals__)
    if lines:
        _texts[function] = lines


def _parsed(filename: str, lines: list[str]) -> _File | None:
    known = _files.get(filename)
    if known is not None and (known.lines is lines or known.lines == lines):
        return known
    try:
        tree = ast.parse("".join(lines), filename)
    except SyntaxError:  # a notebook cell with magics, or the file was changed while the program ran
        return None
    functions: dict[tuple[int, str], ast.FunctionDef] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min((d.lineno for d in node.decorator_list), default=node.lineno)
            functions[first, node.name] = node
    _files[filename] = made = _File(lines, functions)
    return made


def get_source(function: FunctionType) -> Source:
    """The syntax tree of `function`; raises where it has no source that can be read."""
    code = function.__code__
    where = Loc(code.co_filename, code.co_firstlineno, function=function.__name__)
    if function.__name__ == "<lambda>":
        raise LanewiseSyntaxError(
            "a lambda cannot be compiled",
            loc=where,
            why="its source cannot be told from the rest of its line",
            hint="a function defined with def",
        )
    lines = _texts.get(function) or linecache.getlines(code.co_filename, function.__globals__)
    file = _parsed(code.co_filename, lines) if lines else None
    if file is None:
        raise CompileError(
            f"the source of {function.__qualname__}() cannot be read",
            loc=where,
            why=f"it was defined in {code.co_filename}, not in a file: a kernel is compiled from its source text",
            hint="put the function in a .py file or a notebook cell",
        )
    key = (code.co_firstlineno, function.__name__)
    source = file.sources.get(key)
    if source is None:
        node = file.functions.get(key)
        if node is None:
            raise CompileError(
                f"the source of {function.__qualname__}() is not where it was",
                loc=where,
                why="no such function starts at that line now: the file was changed, or the function was renamed",
                hint="restart the program",
            )
        source = file.sources[key] = Source(node, code.co_filename, file.lines, function.__name__)
    return source
