"""Two ways to do the same work, timed in turn: what is compared is the ratio, as a shared machine's times drift.

A turn is calls in a row, as programs make them, and its time that of the median call: the first one finds the caches
full of the other's data.  Before each there is a pause, in which the other's threads, which wait for more work, go to
sleep.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

Work = Callable[[], object]

PAUSE_SECONDS = 0.015
TURN_SECONDS = 0.1
LEAST_CALLS, MOST_CALLS = 3, 200


@dataclass(frozen=True)
class Row:
    """One piece of work: our median time in seconds, and how many times as long each of the others took."""

    work: str
    seconds: float
    items: int
    """Elements (or calls) of one run, for the time of each."""
    ratios: Mapping[str, float]
    wanted: Mapping[str, float]


def compare(
    work: str, ours: Work, others: Mapping[str, Work], *, items: int = 1, wanted: Mapping[str, float], rounds: int = 15
) -> Row:
    """Let all take turns; a ratio is the median over the rounds of their time divided by ours."""
    runs = {"": ours, **others}
    for run in runs.values():  # compile, and touch the memory
        run()
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(_turn(run))
    ratios = {
        name: statistics.median(other / our for other, our in zip(times[name], times[""], strict=True))
        for name in others
    }
    return Row(work, statistics.median(times[""]), items, ratios, wanted)


def _turn(run: Work) -> float:
    """The median time of a call, in seconds."""
    time.sleep(PAUSE_SECONDS)
    times: list[float] = []
    while len(times) < LEAST_CALLS or (sum(times) < TURN_SECONDS and len(times) < MOST_CALLS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def table(title: str, rows: list[Row]) -> Table:
    """The rows as a table: a ratio above 1 says that lanewise is faster."""
    found = Table("work", "lanewise", "an element", "beside: times as fast (wanted)", title=title)
    for row in rows:
        beside = ", ".join(
            f"{name} {ratio:.2f}" + (f" ({row.wanted[name]:g})" if name in row.wanted else "")
            for name, ratio in row.ratios.items()
        )
        one = f"{row.seconds / row.items * 1e9:.3f} ns" if row.items > 1 else ""
        found.add_row(row.work, f"{row.seconds * 1e3:.4g} ms", one, beside)
    return found


def show(title: str, rows: list[Row]) -> None:
    Console(width=140).print(table(title, rows))
