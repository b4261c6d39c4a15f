"""The demonstration of `lanewise demo`; `kernels` is the file to read first."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from ...errors import LanewiseError


def run(*, arch: str, sizes: Sequence[int], repeat: int, runs: int, out: Path, console: Console) -> bool:
    """Measure at each subgroup size, print the table, draw the survey at the last size; whether all was right."""
    if find_spec("matplotlib") is None:
        raise LanewiseError(
            "the demonstration needs matplotlib",
            why="it brings the map and draws the page",
            hint="pip install 'lanewise[demo]'",
        )
    from .report import report

    return report(arch=arch, sizes=sizes, repeat=repeat, runs=runs, out=out, console=console)
