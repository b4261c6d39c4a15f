"""Branches, and the flags that `break`, `continue` and early `return` become.

A jump sets its flag; the statements after it stand under `if not flag`.  Where a branch surely jumps, what follows the
`if` becomes its other branch, and no flag is left at all.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from .. import dtypes
from ..ir import Block, Value
from .context import Context
from .convert import merge_types
from .frame import BREAK, CONTINUE, FLAGS, RESULT, RETURN, Frame, LoopKind
from .values import FALSE, NUMBERS, TRUE, Const, Number, Poison, Scalar, Val, describe, leaves, rebuild, same, shape

Branch = Callable[[], None]


# ---- jumps --------------------------------------------------------------------------------------------------------
def pending(frame: Frame) -> list[str]:
    """The flags that may be set now."""
    return [flag for flag in FLAGS if frame.env.get(flag, FALSE) != FALSE]


def has_ended(frame: Frame) -> bool:
    """Whether nothing after this point runs."""
    return any(frame.env[flag] == TRUE for flag in pending(frame))


def jump(frame: Frame, flag: str) -> None:
    """Set a flag; `continue` of the parallel loop ends the item, as `return` does."""
    frame.env[RETURN if flag == CONTINUE and frame.loop is LoopKind.PARALLEL else flag] = TRUE


def ends_item(frame: Frame, statements: Sequence[ast.stmt]) -> bool:
    """Whether some jump in the statements ends the item of a parallel loop."""
    if not frame.is_kernel:
        return False
    kinds = (ast.Return, ast.Continue) if frame.loop is LoopKind.PARALLEL else (ast.Return,)
    return any(isinstance(node, kinds) for s in statements for node in ast.walk(s))


def surely_jumps(statements: Sequence[ast.stmt]) -> bool:
    """Whether control never reaches the end of the statements."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return surely_jumps(last.body) and surely_jumps(last.orelse)
    return isinstance(last, (ast.Return, ast.Break, ast.Continue))


def run_body(frame: Frame, statements: Sequence[ast.stmt], then: Branch | None = None) -> None:
    """The statements in order, then `then`, each under the flags that those before it may have set."""
    for k, node in enumerate(statements):
        rest = statements[k + 1 :]
        if isinstance(node, ast.If) and (rest or node.orelse):
            node, rest = _absorb(frame, node, rest)
        frame.exec(node)
        if guarded(frame, lambda rest=rest: run_body(frame, rest, then), bool(rest) or then is not None):
            return
        if rest is not statements[k + 1 :] and len(rest) != len(statements) - k - 1:
            run_body(frame, rest, then)
            return
    if then is not None:
        then()


def _absorb(frame: Frame, node: ast.If, rest: Sequence[ast.stmt]) -> tuple[ast.If, Sequence[ast.stmt]]:
    """Move what follows an `if` into the branch that reaches it, or out of the branch that does not jump."""
    body, orelse = surely_jumps(node.body), surely_jumps(node.orelse)
    if body == orelse:
        return node, rest
    if ends_item(frame, node.body if body else node.orelse):
        return node, rest
    return node, rest


def guarded(frame: Frame, rest: Branch, needed: bool = True) -> bool:
    """Whether flags may be set; if so, `rest` has been translated under them."""
    flags = pending(frame)
    if not flags:
        return False
    if not needed or has_ended(frame):
        return True
    return True
