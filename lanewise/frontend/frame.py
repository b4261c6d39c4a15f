"""One function being translated: its names, its place in the control flow, and the dispatch over syntax."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ..ir import EXIT_FLAG
from .context import Context
from .convert import convert_like, typed
from .hints import refuse
from .source import Source
from .values import BUNDLES, NUMBERS, Mem, Poison, Range, Static, Val, describe

# Names in the environment that no user can write: they live through branches and loops as variables do.
BREAK, CONTINUE, RETURN, RESULT = "!break", "!continue", "!return", "!result"
FLAGS = (BREAK, CONTINUE, RETURN)


class LoopKind(Enum):
    """The innermost loop around a statement."""

    NONE = auto()
    SERIAL = auto()
    PARALLEL = auto()


@dataclass(frozen=True, slots=True)
class Fixed:
    """Why a name may not be assigned: what it is, the rule, what to write instead."""

    what: str
    why: str
    hint: str


@dataclass(slots=True, eq=False)
class Frame:
    """`env` holds what each local name stands for now.

    At the start of every statement the flags are false: what would be skipped is put under an `if`.
    """

    ctx: Context
    source: Source
    names: Mapping[str, Any]  # what the function sees from outside
    is_kernel: bool
    env: dict[str, Val | Poison] = field(default_factory=dict)
    loop: LoopKind = LoopKind.NONE
    top_level: bool = True  # no run-time branch or loop around: here a kernel's `for` is parallel
    fixed: dict[str, Fixed] = field(default_factory=dict)  # names that may not be assigned
    first: dict[str, Val] = field(default_factory=dict)  # values that other branches gave to names new in this one
    later_loop: bool = False  # another parallel loop follows

    # ---- dispatch ------------------------------------------------------------------------------------------------
    def eval(self, node: ast.expr) -> Val:
        """The value of an expression."""
        handler = EXPRESSIONS.get(type(node))
        builder = self.ctx.builder
        outer, builder.loc = builder.loc, self.source.loc(node)
        if handler is None:
            raise refuse(self.ctx, node)
        value = handler(self, node)
        builder.loc = outer
        return value

    def exec(self, node: ast.stmt) -> None:
        """Translate a statement."""
        handler = STATEMENTS.get(type(node))
        self.ctx.builder.loc = self.source.loc(node)
        if handler is None:
            raise refuse(self.ctx, node)
        handler(self, node)

    @contextmanager
    def at(self, node: ast.AST) -> Any:
        """Emission and errors are about `node` for a while."""
        builder = self.ctx.builder
        outer, builder.loc = builder.loc, self.source.loc(node)
        yield
        builder.loc = outer

    def hint(self, name: str) -> str:
        """The name of a variable or flag in the printed IR."""
        if self.is_kernel and name == RETURN:
            return EXIT_FLAG
        return name.removeprefix("!")

    # ---- names ---------------------------------------------------------------------------------------------------
    def lookup(self, name: str) -> Val:
        """What a name stands for: a local, or something closed over, global or built in."""
        value = self.env.get(name)
        if isinstance(value, Poison):
            raise self.ctx.compile_error(
                f"{name} may have no value here",
                why=f"it is set {value.why}, at line {value.loc.line}",
                hint=f"a first value for {name} before that",
            )
        if value is not None:
            return value
        if self.source.binds(name):
            raise self.ctx.compile_error(
                f"{name} is used before it is set", why="it is assigned later in this function"
            )
        try:
            return self.ctx.wrap(self.names[name], name)
        except KeyError:
            pass
        known = [*(n for n in self.env if n[0] != "!"), *self.names]
        close = difflib.get_close_matches(name, known, n=1)
        raise self.ctx.compile_error(
            f"the name {name} is not defined", hint=f"did you mean {close[0]}?" if close else ""
        )

    def assign(self, name: str, value: Val) -> None:
        """Give a local name a value, in the type of its first assignment."""
        ctx = self.ctx
        if name in self.fixed:
            fixed = self.fixed[name]
            raise ctx.compile_error(f"{name} is assigned, but it is {fixed.what}", why=fixed.why, hint=fixed.hint)
        old = self.env.get(name)
        if isinstance(old, Poison) or old is None:
            old = self.first.get(name)
        if isinstance(value, Range) or not isinstance(value, (*NUMBERS, *BUNDLES, Mem, Static)):
            raise ctx.error(f"{describe(value)} cannot be kept in a variable")
        if isinstance(old, Mem) and not isinstance(value, Mem):
            raise ctx.error(
                f"{name} is assigned, but it is {describe(old)}",
                why="the name of an array stays that array's",
                hint=f"{name}[...] = value to write an element, or another variable",
            )
        self.env[name] = typed(ctx, value) if old is None else convert_like(ctx, value, old, name)

    def poison(self, names: Iterable[str], why: str, node: ast.AST) -> None:
        """The names have no value from here on."""
        for name in names:
            self.env[name] = Poison(why, self.source.loc(node))


Expression = Callable[[Frame, Any], Val]
Statement = Callable[[Frame, Any], None]
EXPRESSIONS: dict[type[ast.expr], Expression] = {}
STATEMENTS: dict[type[ast.stmt], Statement] = {}


def expression(*kinds: type[ast.expr]) -> Callable[[Expression], Expression]:
    """Register the translation of some kinds of expression."""

    def add(function: Expression) -> Expression:
        EXPRESSIONS.update(dict.fromkeys(kinds, function))
        return function

    return add


def statement(*kinds: type[ast.stmt]) -> Callable[[Statement], Statement]:
    """Register the translation of some kinds of statement."""

    def add(function: Statement) -> Statement:
        STATEMENTS.update(dict.fromkeys(kinds, function))
        return function

    return add
