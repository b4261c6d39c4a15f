"""One family of errors, each drawn the same way: what, the user's line with a caret, why, what to write instead."""

from __future__ import annotations

import linecache
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in the user's source: one-based line, zero-based columns (end exclusive)."""

    file: str
    line: int
    col: int = 0
    end: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def draw(self) -> str:
        """The source line with a caret under the place, or the bare position where the source cannot be read."""
        head = f'  File "{self.file}", line {self.line}' + (f", in {self.function}" if self.function else "")
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return head
        body = text.lstrip()
        cut = len(text) - len(body)
        start = max(self.col - cut, 0)
        width = max(min(self.end, len(text)) - self.col, 1)
        return f"{head}\n    {body}\n    {' ' * start}{'^' * width}"


class LanewiseError(Exception):
    """Above every error that lanewise raises.

    `what` is one line; `loc` the user's place; `why` the rule that was broken; `hint` what to write instead;
    `calls` the places of the inlined calls that led there, innermost first.
    """

    def __init__(self, what: str, *, loc: Loc | None = None, why: str = "", hint: str = "") -> None:
        self.what = what
        self.loc = loc
        self.why = why
        self.hint = hint
        self.calls: list[Loc] = []
        super().__init__(what)

    def __str__(self) -> str:
        parts = [self.what]
        if self.loc is not None:
            parts.append(self.loc.draw())
        parts += [f"  called from\n{call.draw()}" for call in self.calls]
        if self.why:
            parts.append(f"  why: {self.why}")
        if self.hint:
            parts.append(f"  write instead: {self.hint}")
        return "\n".join(parts)


class CompileError(LanewiseError):
    """The kernel cannot be compiled as it stands."""


class LanewiseTypeError(CompileError, TypeError):
    """A value, argument or array has the wrong type for its place."""


class LanewiseSyntaxError(CompileError, SyntaxError):
    """The kernel uses Python that the kernel language does not have."""

    def __str__(self) -> str:  # SyntaxError's own would print only its message
        return LanewiseError.__str__(self)


class DeviceError(LanewiseError, RuntimeError):
    """A device is missing, or cannot do what was asked of it."""


class KernelAssertionError(LanewiseError, AssertionError):
    """An `assert` in a kernel, or with `debug=True` an array index, failed while it ran."""
