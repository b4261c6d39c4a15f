"""Runs the demonstration's kernels at several subgroup sizes, checks and times them, and prints what came out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import lanewise as lw

from ...errors import LanewiseError
from .figure import draw
from .kernels import TILE_COLUMNS
from .survey import Job, Survey, Terrain, jobs, load_terrain


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


def numpy_runs(runs: int) -> int:
    """NumPy is timed fewer times: it takes most of the demonstration."""
    return max(runs // 3, 1)


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

        yield Row(job, W, best_time(launch, runs=runs), best_time(job.numpy, runs=numpy_runs(runs)), difference)


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


def caption(terrain: Terrain, repeat: int, runs: int) -> str:
    """What was measured, and how."""
    rows, columns = terrain.elevation.shape
    size, nbytes = (n * repeat**2 / 1e6 for n in (terrain.elevation.size, terrain.elevation.nbytes))
    lines = [
        f"Input: {rows} x {columns} elevations, {repeat} x {repeat} times: {size:.1f} M values, {nbytes:.0f} MB.",
        f"Times: the best of {runs} runs after the first; NumPy's (one thread) the best of {numpy_runs(runs)}.",
        "GB/s counts each input once and each output once. Differences are relative to the largest value.",
    ]
    slowed = [name for name in ("NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE") if os.environ.get(name)]
    if slowed:
        lines.append(f"NumPy may be slower than it could be: {' and '.join(slowed)} are set here.")
    return "\n".join(lines)


def report(*, arch: str, sizes: Sequence[int], repeat: int, runs: int, out: Path, console: Console) -> bool:
    """Measure at each subgroup size, print the table, draw the survey at the last size; whether all was right."""
    terrain = load_terrain()
    large = terrain.repeated(repeat)
    rows: list[Row] = []
    with console.status("compiling and measuring"):
        for W in sizes:
            with use_subgroups(arch, W):
                rows += measure(large, W, runs=runs)
    printed = table(caption(terrain, repeat, runs))
    for name in dict.fromkeys(row.job.name for row in rows):
        add_rows(printed, [row for row in rows if row.job.name == name])
    console.print(printed)

    survey = Survey(terrain, sizes[-1])
    with use_subgroups(arch, sizes[-1]):
        survey.run()
    draw(survey, out)
    console.print(f"Drawn from the results at W = {sizes[-1]}: {out}")
    return all(row.ok for row in rows)


def use_subgroups(arch: str, W: int) -> AbstractContextManager[Any]:
    """The device for the kernels launched meanwhile, with subgroups of W lanes."""
    if W < TILE_COLUMNS:
        raise LanewiseError(
            f"a subgroup of {W} lanes is too small for the demonstration",
            why=f"its lanes are a tile of pixels, {TILE_COLUMNS} of them in a row",
            hint=f"--subgroup-size {TILE_COLUMNS}",
        )
    return lw.use(lw.init(arch=arch, subgroup_size=W))
