"""Runs pairs and gives their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

import lanewise as lw

from ...errors import LanewiseError
from .pairs import Pair, Setup

_LONG_ENOUGH = 1.5
"""Seconds after which a call is timed no more."""


@dataclass(frozen=True)
class Row:
    """One pair at one subgroup size."""

    pair: Pair
    device: str
    W: int
    seconds: float
    beside: float
    nbytes: int

    @property
    def ratio(self) -> float:
        """Above 1 where lanewise is faster."""
        return self.beside / self.seconds


def best_of(call: Callable[[], object], runs: int) -> float:
    """The shortest of several runs after the first, in seconds; a slow one is not repeated for long."""
    call()
    lw.sync()
    times: list[float] = []
    while len(times) < runs and sum(times) < _LONG_ENOUGH:
        start = time.perf_counter()
        call()
        lw.sync()
        times.append(time.perf_counter() - start)
    return min(times)


def check(pair: Pair, setup: Setup, W: int) -> None:
    """Run both and compare: a fast wrong answer is no answer."""
    setup.run()
    setup.beside()
    lw.sync()
    got, wanted = np.asarray(setup.results(), np.float64), np.asarray(setup.wanted(), np.float64)
    if not np.allclose(got, wanted, rtol=setup.tolerance, atol=0):
        raise LanewiseError(
            f"{pair.name}: the results at W = {W} differ from {pair.beside}",
            why="a benchmark compares before it times",
            hint="report it: this is our fault",
        )


def measure(
    pairs: Sequence[Pair], *, arch: str, sizes: Sequence[int], size: int, runs: int, console: Console
) -> list[Row]:
    """Every pair at every subgroup size; with none given, at the device's own."""
    devices = [lw.init(arch, subgroup_size=W) for W in sizes or (None,)]
    rows: list[Row] = []
    columns = TextColumn("{task.description:<40}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(pairs) * len(devices))
        for pair in pairs:
            for device in devices:
                W = device.subgroup_size
                progress.update(task, description=f"{pair.name}, W = {W}")
                with lw.use(device):
                    setup = pair.setup(size, W)
                    check(pair, setup, W)
                    times = best_of(setup.run, runs), best_of(setup.beside, runs)
                rows.append(Row(pair, str(device), W, *times, setup.nbytes))
                progress.advance(task)
    return rows


def table(rows: Sequence[Row], *, size: int, runs: int) -> Table:
    """The rows, a pair's together."""
    devices = ", ".join(dict.fromkeys(row.device for row in rows))
    caption = f"{size:,} elements on {devices}; the best of up to {runs} runs.  Above 1 x, lanewise is faster."
    found = Table(caption=caption, caption_justify="left")
    found.add_column("kernel", style="bold")
    found.add_column("beside")
    for name in ("W", "ms", "GB/s", "beside, ms", "ratio"):
        found.add_column(name, justify="right")
    for number, row in enumerate(rows):
        first = number == 0 or rows[number - 1].pair is not row.pair
        last = number == len(rows) - 1 or rows[number + 1].pair is not row.pair
        found.add_row(
            row.pair.name if first else "",
            escape(row.pair.beside) if first else "",
            str(row.W),
            f"{row.seconds * 1e3:.3f}",
            f"{row.nbytes / row.seconds / 1e9:.1f}",
            f"{row.beside * 1e3:.3f}",
            f"{row.ratio:.2f} x",
            end_section=last,
        )
    return found
