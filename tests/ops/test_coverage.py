"""No operation goes without a test: each function of `simt` is called by a kernel of these files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from lanewise.simt.op import FUNCTIONS

from . import test_block, test_folds, test_generic, test_movement, test_plain

GROUPS = ("subgroup", "quad", "block", "grid", "simt")


def written() -> Iterator[str]:
    """Functions that a kernel names: `subgroup.ballot`, `lw.simt.clock`."""
    for path in Path(__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                group = (
                    owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
                )
                if group in GROUPS:
                    yield f"{group}.{node.func.attr}"


def from_tables() -> Iterator[str]:
    """Functions that a kernel takes as templates."""
    yield from (f"subgroup.{name}_tiled" for name in test_movement.NAMES)
    for family, ops in test_folds.FAMILIES.items():
        yield from (f"subgroup.{family}_{op}_tiled" for op in ops)
    for family in test_block.FAMILIES:
        yield from (f"block.{family}_{op}" for op in test_block.OPS)
    yield from (function.qualified_name for function, *_ in test_generic.TILED.values())
    yield from (function.qualified_name for function in test_plain.TWINS)


def test_every_function_is_exercised() -> None:
    tested = {*written(), *from_tables()}
    assert sorted(set(FUNCTIONS) - tested) == []
