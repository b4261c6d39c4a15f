"""Draws a survey: the shaded relief, the histogram, the cumulative departure and the tile medians, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .kernels import TILE_COLUMNS
from .survey import Survey

INK, GREY, HAIR = "#26231f", "#7b756c", "#d9d4cb"
PAPER = "#fbfaf7"
TINTS = LinearSegmentedColormap.from_list(
    "hypsometric",
    [(0.0, "#5d8f78"), (0.2, "#a3bb87"), (0.4, "#e3d9a4"), (0.62, "#c9a06c"), (0.82, "#96694d"), (1.0, "#ece7e1")],
)
RANGES = LinearSegmentedColormap.from_list("ruggedness", ["#f3efe6", "#d8b48a", "#a5603f", "#4f2a24"])


def draw(survey: Survey, path: Path) -> None:
    """Write the page as a PNG; the survey has been run."""
    figure = Figure(figsize=(13.5, 8.8), dpi=150, facecolor=PAPER)
    FigureCanvasAgg(figure)
    left, top, bottom = 0.037, 0.885, 0.045
    figure.text(left, 0.947, "The Jacksboro fault, Tennessee", color=INK, size=21, weight="bold")
    lanes = f"{survey.z.size:,} elevations (SRTM), surveyed by subgroups of {survey.W} lanes"
    figure.text(left, 0.911, lanes, color=GREY, size=11)

    tint = Normalize(survey.lowest[0], survey.highest[0])
    page = figure.add_gridspec(1, 1, left=left, right=0.56, top=top, bottom=bottom)
    side = figure.add_gridspec(
        3, 2, height_ratios=(1, 1, 1.45),
        left=0.605, right=0.963, top=top - 0.045, bottom=bottom, hspace=0.58, wspace=0.08,
    )  # fmt: skip
    _relief(figure.add_subplot(page[0]), survey, tint)
    _histogram(figure.add_subplot(side[0, :]), survey, tint)
    _departure(figure.add_subplot(side[1, :]), survey)
    medians, ranges = figure.add_subplot(side[2, 0]), figure.add_subplot(side[2, 1])
    sorting = f"bitonic sort of {TILE_COLUMNS} × {survey.tile_rows} pixels"
    _tile_map(medians, survey, survey.medians, "Median of each tile", sorting, TINTS, tint)
    _tile_map(ranges, survey, _tile_ranges(survey), "Highest less lowest", "of the same tiles", RANGES)
    figure.savefig(path)


def _relief(axes: Axes, survey: Survey, tint: Normalize) -> None:
    """Tints by elevation, darkened and lightened by the light that the slopes receive."""
    flat = np.sqrt(0.5)  # what level ground receives
    light = survey.light[..., None] / flat
    colours = TINTS(tint(survey.terrain.elevation))[..., :3]
    dark = colours * (0.25 + 0.75 * np.minimum(light, 1)) * np.array([0.97, 0.98, 1.0])
    shaded = dark + (1 - dark) * np.clip(light - 1, 0, 1) * 0.9
    axes.imshow(np.clip(shaded, 0, 1), interpolation="lanczos", aspect=survey.terrain.dy / survey.terrain.dx)
    axes.set_anchor("NW")
    axes.set_axis_off()
    _scale_bar(axes, survey, kilometres=5)


def _scale_bar(axes: Axes, survey: Survey, *, kilometres: int) -> None:
    rows, columns = survey.terrain.elevation.shape
    length = kilometres * 1000 / survey.terrain.dx
    x, y = columns - 12 - length, rows - 12
    axes.plot([x, x + length], [y, y], color=PAPER, lw=3.5, solid_capstyle="butt")
    axes.text(x + length / 2, y - 5, f"{kilometres} km", color=PAPER, size=10, ha="center", weight="bold")


def _titles(axes: Axes, title: str, note: str) -> None:
    axes.annotate(title, (0, 1), (0, 21), "axes fraction", "offset points", color=INK, size=11.5, weight="bold")
    axes.annotate(note, (0, 1), (0, 8), "axes fraction", "offset points", color=GREY, size=8.5)


def _panel(axes: Axes, title: str, note: str) -> None:
    """A bare frame: a title, a note under it, hairline ticks."""
    _titles(axes, title, note)
    axes.set_facecolor(PAPER)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(HAIR)
    axes.tick_params(colors=GREY, labelsize=8.5, length=3, color=HAIR)


def _histogram(axes: Axes, survey: Survey, tint: Normalize) -> None:
    edges = np.linspace(survey.low, survey.high, survey.counts.size + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    share = survey.counts / survey.counts.sum() * 100
    axes.bar(middles, share, width=np.diff(edges) * 0.88, color=TINTS(tint(middles)))
    mean = float(survey.mean[0])
    axes.axvline(mean, color=INK, lw=0.9, ymax=0.94)
    axes.text(mean + 9, share.max(), f"mean {mean:.0f} m", color=INK, size=8.5, va="top")
    _panel(axes, "Elevation", f"share of the map in each of {survey.counts.size} bins, %; match_any and ballots")
    ticks = [survey.low, *range(400, 1000, 200), survey.high]
    axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks[:-1]] + [f"{ticks[-1]:.0f} m"])
    axes.set_xlim(survey.low - 8, survey.high + 8)
    axes.set_yticks([0, 2, 4])


def _departure(axes: Axes, survey: Survey) -> None:
    """The prefix sum at the end of each row of pixels, as a volume, against the way south."""
    columns = survey.terrain.elevation.shape[1]
    pixel = survey.terrain.dx * survey.terrain.dy
    volume = survey.departure[columns - 1 :: columns] * pixel / 1e9
    south = np.arange(1, volume.size + 1) * survey.terrain.dy / 1000
    axes.fill_between(south, volume, 0, where=volume >= 0, color="#c9a06c", alpha=0.45, lw=0, interpolate=True)
    axes.fill_between(south, volume, 0, where=volume <= 0, color="#5d8f78", alpha=0.45, lw=0, interpolate=True)
    axes.plot(south, volume, color=INK, lw=1.3)
    axes.axhline(0, color=HAIR, lw=0.9, zorder=0)
    _panel(axes, "Rock above the mean level", "summed from the north edge southwards, km³; prefix sum by inclusive_add")
    axes.set_xlim(0, south[-1])
    axes.set_xticks([0, 10, 20, 30], ["0", "10", "20", "30 km"])
    axes.locator_params(axis="y", nbins=4)


def _tile_ranges(survey: Survey) -> NDArray[np.float32]:
    """The last of each sorted tile less the first."""
    high, wide = survey.tile_rows, TILE_COLUMNS
    return survey.ordered[high - 1 :: high, wide - 1 :: wide] - survey.ordered[::high, ::wide]


def _tile_map(
    axes: Axes,
    survey: Survey,
    values: NDArray[np.float32],
    title: str,
    note: str,
    colours: Colormap,
    norm: Normalize | None = None,
) -> None:
    aspect: Any = survey.tile_rows * survey.terrain.dy / (TILE_COLUMNS * survey.terrain.dx)
    axes.imshow(values, cmap=colours, norm=norm, interpolation="nearest", aspect=aspect)
    _titles(axes, title, note)
    axes.set_anchor("NW")
    axes.set_axis_off()
