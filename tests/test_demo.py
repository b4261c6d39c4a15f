"""The demonstration on a small map of its own: every kernel at every size, the checks themselves, and the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import lanewise as lw

pytest.importorskip("matplotlib")

from matplotlib.image import imread

from lanewise.errors import LanewiseError
from lanewise.tools.demo import report
from lanewise.tools.demo.survey import BINS, Survey, Terrain, jobs, load_terrain

ROWS, COLUMNS = 24, 200  # no whole number of runs at any size


@pytest.fixture(scope="module")
def terrain() -> Terrain:
    rng = np.random.default_rng(7)
    return Terrain(rng.integers(-40, 900, (ROWS, COLUMNS)).astype(np.float32), dx=75.0, dy=93.0)


@pytest.fixture(scope="module", params=[8, 16, 32, 64], ids=lambda size: f"W{size}")
def survey(request: pytest.FixtureRequest, terrain: Terrain) -> Iterator[Survey]:
    made = Survey(terrain, request.param)
    with lw.use(lw.init(arch=lw.cpu, subgroup_size=request.param)):
        made.run()
        yield made


def test_every_kernel_agrees_with_numpy(survey: Survey) -> None:
    for job in jobs(survey):
        assert report.largest_difference(job.results, job.numpy()) <= job.tolerance, job.name


def test_range_and_mean(survey: Survey) -> None:
    values = survey.z.tolist()
    assert (survey.lowest[0], survey.highest[0]) == (min(values), max(values))
    assert survey.mean[0] == pytest.approx(sum(values) / len(values), rel=1e-6)


def test_each_value_is_counted_once(survey: Survey) -> None:
    assert survey.counts.sum() == ROWS * COLUMNS
    width = (survey.high - survey.low) / BINS
    below = sum(value < survey.low + BINS // 2 * width for value in survey.z.tolist())
    assert abs(int(survey.counts[: BINS // 2].sum()) - below) <= 1  # one value may lie on the edge itself


def test_departure_is_a_running_sum(survey: Survey) -> None:
    total = 0
    for value, got in zip(survey.z_int.tolist(), survey.departure.tolist(), strict=True):
        total += value - survey.normal
        assert got == total


def test_tiles_are_sorted(survey: Survey) -> None:
    high = survey.tile_rows
    for (down, across), median in np.ndenumerate(survey.medians):
        tile = np.s_[down * high : (down + 1) * high, across * 8 : (across + 1) * 8]
        pixels = sorted(survey.terrain.elevation[tile].ravel().tolist())
        assert survey.ordered[tile].ravel().tolist() == pixels
        assert median == (pixels[len(pixels) // 2 - 1] + pixels[len(pixels) // 2]) / 2


def test_level_ground_and_slopes_in_the_sun(survey: Survey) -> None:
    x, y = np.meshgrid(np.arange(16.0), np.arange(16.0))

    def light(elevation: np.ndarray) -> np.ndarray:
        z = elevation.astype(np.float32)
        flat = Survey(Terrain(z, dx=1.0, dy=1.0), survey.W)
        flat.run_relief()
        return flat.light

    assert light(0 * x) == pytest.approx(np.sqrt(0.5))
    assert (light(x + y) > light(0 * x)).all()  # rises to the south-east: faces the sun
    assert (light(-x - y) < light(0 * x)).all()


def test_a_wrong_result_is_reported(terrain: Terrain) -> None:
    survey = Survey(terrain, 8)
    job = replace(jobs(survey)[0], run=lambda: None, results=[np.ones(1), np.ones(1)])
    difference = report.largest_difference(job.results, job.numpy())
    assert not report.Row(job, 8, 1.0, 1.0, difference).ok


@pytest.mark.parametrize(
    ("got", "want", "difference"),
    [
        ([1.0, 4.0], [1.0, 4.0], 0.0),
        ([1.0, 4.0], [2.0, 4.0], 0.25),
        ([1.0, np.nan], [1.0, 4.0], np.inf),
    ],
)
def test_largest_difference(got: list[float], want: list[float], difference: float) -> None:
    assert report.largest_difference([np.array(got)], [np.array(want)]) == difference


def test_the_map_is_the_real_one() -> None:
    terrain = load_terrain()
    assert terrain.elevation.shape == (344, 400)
    assert 200 < terrain.elevation.min() < terrain.elevation.max() < 1200  # metres in the Cumberland mountains
    assert 70 < terrain.dx < terrain.dy < 95


def test_report_and_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terrain: Terrain) -> None:
    monkeypatch.setattr(report, "load_terrain", lambda: terrain)
    console = Console(record=True, width=140)
    page = tmp_path / "page.png"
    assert report.report(arch="cpu", sizes=[8, 64], repeat=2, runs=1, out=page, console=console)
    text = console.export_text()
    for job in jobs(Survey(terrain, 8)):
        assert job.name in text
    assert text.count("yes") == 2 * len(jobs(Survey(terrain, 8)))
    assert "NO" not in text.split()
    pixels = imread(page)
    assert pixels.shape[0] > 1000
    assert len(np.unique(pixels[::8, ::8].reshape(-1, pixels.shape[2]), axis=0)) > 1000  # tints, not an empty page


def test_a_subgroup_of_four_is_refused() -> None:
    with pytest.raises(LanewiseError, match="too small"):
        report.use_subgroups("cpu", 4)
