"""Draws the ratios: one group of bars a pair, one bar a subgroup size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .measure import Row

INK, GREY = "#26231f", "#7b756c"
SHADES = ("#b9cfc4", "#8fb3a3", "#5d8f78", "#3d6b57", "#254a3b", "#142b22", "#0a1712")


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write a PNG."""
    pairs = list(dict.fromkeys(row.pair for row in rows))
    sizes = list(dict.fromkeys(row.W for row in rows))
    figure = Figure(figsize=(9, 1.2 + len(pairs) * (0.35 + 0.2 * len(sizes))), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    height = 0.8 / len(sizes)
    for place, W in enumerate(sizes):
        of_size = {row.pair: row for row in rows if row.W == W}
        positions = [pairs.index(pair) + (place - (len(sizes) - 1) / 2) * height for pair in of_size]
        ratios = [row.ratio for row in of_size.values()]
        lengths = [ratio - 1 for ratio in ratios]  # from 1, to either side
        bars = axes.barh(positions, lengths, height * 0.92, left=1, color=SHADES[place % len(SHADES)], label=f"W = {W}")
        axes.bar_label(bars, [f"{ratio:.2f}" for ratio in ratios], padding=3, color=GREY, size=8)
    axes.axvline(1, color=INK, lw=0.8)
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.set_yticks(range(len(pairs)), [f"{pair.name}\nbeside {pair.beside}" for pair in pairs], color=INK, size=9)
    axes.invert_yaxis()
    axes.set_xlabel("times as fast", color=GREY)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path)
