"""The benchmarks of `lanewise bench`; `pairs` says what is measured beside what."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from ...errors import LanewiseError


def run(
    names: Sequence[str],
    *,
    arch: str,
    sizes: Sequence[int],
    size: int,
    runs: int,
    out: Path | None,
    console: Console,
) -> None:
    """Measure the pairs of these names (all, where there are none), print a table, and draw it where asked to."""
    if out is not None and find_spec("matplotlib") is None:
        raise LanewiseError("the plot needs matplotlib", hint="pip install 'lanewise[demo]', or leave out --out")
    from .measure import measure, table
    from .pairs import chosen

    pairs = chosen(names)
    rows = measure(pairs, arch=arch, sizes=sizes, size=size, runs=runs, console=console)
    console.print(table(rows, size=size, runs=runs))
    if out is not None:
        from .plot import draw

        draw(rows, out)
        console.print(f"Drawn: {out}")
