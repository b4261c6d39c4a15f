"""The Python that kernels do not have: what each piece is called, and what to write instead."""

from __future__ import annotations

import ast

from ..errors import CompileError
from .context import Context

_FIXED_SIZE = "a kernel has no heap: its values are scalars, vectors, structs, tuples and arrays of fixed size"
_NO_EXCEPTIONS = "a running kernel raises no exceptions"

UNSUPPORTED: dict[str, tuple[str, str, str]] = {  # syntax: what, why, write instead
    "Try": ("try", _NO_EXCEPTIONS, "a test before the operation"),
    "TryStar": ("try", _NO_EXCEPTIONS, "a test before the operation"),
    "Raise": ("raise", _NO_EXCEPTIONS, "assert condition, message (checked with debug=True)"),
    "With": ("with", "there are no context managers in a kernel", "its steps one by one"),
    "AsyncWith": ("async with", "a kernel does not await", "plain statements"),
    "AsyncFor": ("async for", "a kernel does not await", "for over range"),
    "AsyncFunctionDef": ("async def", "a kernel does not await", "an @lw.func outside the kernel"),
    "Await": ("await", "a kernel does not await", "plain calls"),
    "ClassDef": ("class", "types are made on the host", "an @lw.dataclass outside the kernel"),
    "FunctionDef": ("a nested def", "functions are inlined by name", "an @lw.func outside the kernel"),
    "Lambda": ("lambda", "its source cannot be told from its line's", "an @lw.func outside the kernel"),
    "ListComp": ("a list comprehension", _FIXED_SIZE, "lw.local_array(n, dtype) and a for loop"),
    "SetComp": ("a set comprehension", _FIXED_SIZE, "lw.local_array(n, dtype) and a for loop"),
    "DictComp": ("a dict comprehension", _FIXED_SIZE, "lw.local_array(n, dtype) and a for loop"),
    "GeneratorExp": ("a generator expression", _FIXED_SIZE, "a for loop that accumulates"),
    "Dict": ("a dict", _FIXED_SIZE, "an @lw.dataclass, or an array"),
    "Set": ("a set", _FIXED_SIZE, "an integer used as bits, or an array"),
    "Yield": ("yield", "a kernel runs to its end", "a store to an array"),
    "YieldFrom": ("yield from", "a kernel runs to its end", "a store to an array"),
    "Global": ("global", "a kernel does not rebind the host's names", "an array parameter to write to"),
    "Nonlocal": ("nonlocal", "a kernel does not rebind the host's names", "an array parameter to write to"),
    "Delete": ("del", "a variable ends with its function", "nothing: leave the line out"),
    "Import": ("import", "modules are loaded on the host", "the import at the top of the file"),
    "ImportFrom": ("import", "modules are loaded on the host", "the import at the top of the file"),
    "Match": ("match", "patterns test Python objects", "if and elif"),
    "NamedExpr": (":=", "an expression assigns nothing", "the assignment on a line before"),
    "Starred": ("*", "a compiled call has a fixed list of arguments", "each value by itself"),
    "Slice": ("a slice", "an element is read at a time", "a loop over the indices"),
    "TypeAlias": ("type", "types are made on the host", "the alias outside the kernel"),
    "Is": ("is", "numbers have no identity", "=="),
    "IsNot": ("is not", "numbers have no identity", "!="),
    "In": ("in", "there are no containers to search", "comparisons joined by or, or a loop"),
    "NotIn": ("not in", "there are no containers to search", "comparisons joined by and, or a loop"),
    "MatMult": ("@", "there are no matrices", "a.dot(b) for vectors, loops for arrays"),
    "For.orelse": ("for ... else", "it is easily misread", "a bool variable that the loop sets"),
    "While.orelse": ("while ... else", "it is easily misread", "a bool variable that the loop sets"),
}


def refuse(ctx: Context, node: ast.AST | str) -> CompileError:
    """The error for syntax that the language lacks."""
    name = node if isinstance(node, str) else type(node).__name__
    what, why, hint = UNSUPPORTED.get(name, (f"this syntax ({name})", "", ""))
    return ctx.syntax_error(f"{what} is not part of the kernel language", why=why, hint=hint)
