"""Runs the demonstration's kernels at several subgroup sizes, checks and times them, and prints what came out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import lanewise as lw

from .survey import Job, Survey, Terrain, jobs


@dataclass(frozen=True)
class Row:
    """What one kernel did at one subgroup size."""

    job: Job
    W: int
    seconds: float
    numpy_seconds: float
    difference: float  # the largest, relative to the largest result

    @property
    def ok(self) -> bool:
        return self.difference <= self.job.tolerance


def best_time(call: Callable[[], object], *, runs: int) -> float:
    """The shortest of several runs, in seconds."""
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def largest_difference(results: Sequence[NDArray[Any]], expected: Sequence[Any]) -> float:
    """max |result - expected| / max |expected| over all results; a NaN counts as infinite."""
    worst = 0.0
    for got, want in zip(results, expected, strict=True):
        exact = np.asarray(want, np.float64).reshape(got.shape)
        error = np.abs(got.astype(np.float64) - exact).max() / max(np.abs(exact).max(), 1e-300)
        worst = max(worst, float("inf") if np.isnan(error) else float(error))
    return worst


def measure(terrain: Terrain, W: int, *, runs: int) -> Iterator[Row]:
    """Run, check and time every kernel on the current device, whose subgroups have W lanes."""
    for job in jobs(Survey(terrain, W)):
        job.run()  # compiles
        lw.sync()
        expected = job.numpy()
        difference = largest_difference(job.results, expected)

        def launch(run: Callable[[], None] = job.run) -> None:
            run()
            lw.sync()

        yield Row(job, W, best_time(launch, runs=runs), best_time(job.numpy, runs=max(runs // 2, 1)), difference)


def table(caption: str) -> Table:
    """The empty table, one row a kernel and subgroup size."""
    columns = Table(caption=caption, caption_justify="left", title_justify="left")
    columns.add_column("kernel", style="bold")
    columns.add_column("operations")
    for name in ("W", "ms", "GB/s", "NumPy ms", "speed-up", "largest difference"):
        columns.add_column(name, justify="right")
    columns.add_column("ok", justify="center")
    return columns


def add_rows(columns: Table, rows: Sequence[Row]) -> None:
    """One kernel's rows, with its name on the first of them."""
    for number, row in enumerate(rows):
        columns.add_row(
            row.job.name if number == 0 else "",
            row.job.operations if number == 0 else "",
            str(row.W),
            f"{row.seconds * 1e3:.2f}",
            f"{row.job.traffic / row.seconds / 1e9:.1f}",
            f"{row.numpy_seconds * 1e3:.2f}",
            f"{row.numpy_seconds / row.seconds:.1f} x",
            "0" if row.difference == 0 else f"{row.difference:.1e}",
            "[green]yes[/]" if row.ok else "[bold red]NO[/]",
            end_section=number == len(rows) - 1,
        )


def caption(terrain: Terrain, large: Terrain, runs: int) -> str:
    """What was measured, and how."""
    rows, columns = terrain.elevation.shape
    count = large.elevation.shape[0] // rows
    lines = [
        f"Input: {rows} x {columns} elevations, repeated {count} x {count} times to {large.elevation.size / 1e6:.1f} M "
        f"values ({large.elevation.nbytes / 1e6:.0f} MB).",
        f"Times: the best of {runs} runs after one that compiles; NumPy's by one thread, the best of {max(runs // 2, 1)}.",
        "GB/s counts each input once and each output once. Differences are relative to the largest value.",
    ]
    slowed = [name for name in ("NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE") if os.environ.get(name)]
    if slowed:
        lines.append(f"NumPy may be slower than it could be: {' and '.join(slowed)} are set here.")
    return "\n".join(lines)


def report(terrain: Terrain, sizes: Sequence[int], *, arch: Any, repeat: int, runs: int, console: Console) -> bool:
    """Measure at each subgroup size and print the table; whether every result was right."""
    large = terrain.repeated(repeat)
    rows: list[Row] = []
    with console.status("compiling and measuring"):
        for W in sizes:
            with lw.use(lw.init(arch=arch, subgroup_size=W)):
                rows += measure(large, W, runs=runs)
    printed = table(caption(terrain, large, runs))
    for name in dict.fromkeys(row.job.name for row in rows):
        add_rows(printed, [row for row in rows if row.job.name == name])
    console.print(printed)
    return all(row.ok for row in rows)
