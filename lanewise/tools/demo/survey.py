"""The demonstration's data: a map of elevations, the kernels' arrays over it, and the same results from NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels

BINS = 64
ALIGN = 8  # the map is cut to a multiple of this in both directions, so that tiles and quads are whole
EXAGGERATION = 2.5
METRES_PER_DEGREE = 111_320.0

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Terrain:
    """Elevations in metres, rows from north to south, and the size of a pixel in metres."""

    elevation: Floats
    dx: float
    dy: float

    def repeated(self, times: int) -> Terrain:
        """The same map side by side, `times` in each direction."""
        return Terrain(np.tile(self.elevation, (times, times)), self.dx, self.dy)


def load_terrain() -> Terrain:
    """The elevations round the Jacksboro fault, Tennessee, that come with matplotlib (SRTM, 3 arc seconds)."""
    from matplotlib import cbook

    with np.load(cbook.get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as data:
        elevation = data["elevation"].astype(np.float32)
        latitude = np.radians((data["ymin"] + data["ymax"]) / 2)
        dx = float(data["dx"] * METRES_PER_DEGREE * np.cos(latitude))
        dy = float(data["dy"] * METRES_PER_DEGREE)
    rows, columns = (extent // ALIGN * ALIGN for extent in elevation.shape)
    return Terrain(np.ascontiguousarray(elevation[:rows, :columns]), dx, dy)


@dataclass
class Survey:
    """The kernels' inputs and outputs over one map, for subgroups of W lanes."""

    terrain: Terrain
    W: int
    lowest: Floats = field(init=False)
    highest: Floats = field(init=False)
    mean: Floats = field(init=False)
    counts: Ints = field(init=False)
    departure: Ints = field(init=False)
    ordered: Floats = field(init=False)
    medians: Floats = field(init=False)
    light: Floats = field(init=False)

    def __post_init__(self) -> None:
        z = self.terrain.elevation
        rows, columns = z.shape
        self.z = z.reshape(-1)
        self.z_int = self.z.astype(np.int32)
        # What the bins and the departures refer to is fixed beforehand, so that every kernel can run by itself.
        self.low, self.high = float(z.min()), float(z.max())
        self.normal = round(float(z.mean(dtype=np.float64)))
        runs = -(-z.size // (kernels.STEPS * self.W))
        self.float_sums = np.zeros(runs, np.float32)
        self.int_sums = np.zeros(runs, np.int32)
        self.lowest, self.highest, self.mean = (np.zeros(1, np.float32) for _ in range(3))
        self.counts = np.zeros(BINS, np.int32)
        self.departure = np.zeros(z.size, np.int32)
        self.ordered = np.zeros_like(z)
        self.medians = np.zeros((rows // self.tile_rows, columns // kernels.TILE_COLUMNS), np.float32)
        self.light = np.zeros_like(z)

    @property
    def tile_rows(self) -> int:
        return self.W // kernels.TILE_COLUMNS

    @property
    def steepness(self) -> tuple[float, float]:
        """Vertical exaggeration over the size of a pixel, in x and y."""
        return EXAGGERATION / self.terrain.dx, EXAGGERATION / self.terrain.dy

    def run(self) -> None:
        """Every kernel, once."""
        for job in jobs(self):
            job.run()

    # ---- the launches ------------------------------------------------------------------------------------------
    def run_range(self) -> None:
        kernels.value_range(self.z, self.lowest, self.highest)

    def run_mean(self) -> None:
        kernels.mean(self.z, self.float_sums, self.mean)

    def run_histogram(self) -> None:
        self.counts[:] = 0
        kernels.histogram(self.z, self.low, self.high, self.counts)

    def run_departure(self) -> None:
        kernels.cumulative_departure(self.z_int, self.normal, self.int_sums, self.departure)

    def run_order(self) -> None:
        kernels.tile_order(self.terrain.elevation, self.ordered, self.medians)

    def run_relief(self) -> None:
        kernels.shaded_relief(self.terrain.elevation, *self.steepness, self.light)

    # ---- the same in NumPy, written independently -----------------------------------------------------------------
    def numpy_range(self) -> tuple[Any, ...]:
        return self.z.min(), self.z.max()

    def numpy_mean(self) -> tuple[Any, ...]:
        return (self.z.mean(dtype=np.float64),)

    def numpy_histogram(self) -> tuple[Any, ...]:
        scale = np.float32(BINS) / np.float32(self.high - self.low)
        bins = ((self.z - np.float32(self.low)) * scale).astype(np.int32)
        return (np.bincount(np.minimum(bins, BINS - 1), minlength=BINS),)

    def numpy_departure(self) -> tuple[Any, ...]:
        return (np.cumsum(self.z_int - self.normal, dtype=np.int32),)

    def numpy_order(self) -> tuple[Any, ...]:
        z, high, wide = self.terrain.elevation, self.tile_rows, kernels.TILE_COLUMNS
        down, across = self.medians.shape
        tiles = z.reshape(down, high, across, wide).swapaxes(1, 2).reshape(down, across, high * wide)
        tiles = np.sort(tiles, axis=-1)
        medians = (tiles[..., self.W // 2 - 1] + tiles[..., self.W // 2]) / 2
        return tiles.reshape(down, across, high, wide).swapaxes(1, 2).reshape(z.shape), medians

    def numpy_relief(self) -> tuple[Any, ...]:
        z = self.terrain.elevation
        x, y = (np.float32(s) for s in self.steepness)
        east = np.repeat(z[:, 1::2] - z[:, ::2], 2, axis=1) * x
        south = np.repeat(z[1::2] - z[::2], 2, axis=0) * y
        facing = (east + south) * np.float32(0.5) + np.float32(np.sqrt(0.5))
        return (np.maximum(facing / np.sqrt(1 + east * east + south * south), 0),)


@dataclass(frozen=True)
class Job:
    """One kernel: how to run it, what it gave, what NumPy gives, and the bytes that it cannot do without."""

    name: str
    operations: str
    run: Callable[[], None]
    results: Sequence[NDArray[Any]]
    numpy: Callable[[], tuple[Any, ...]]
    traffic: int  # each input element read once, each output element written once
    tolerance: float = 0.0  # relative to the largest result


def jobs(s: Survey) -> list[Job]:
    """The six kernels over this survey's map."""
    once = s.z.nbytes
    return [
        Job("range", "reduce min, max", s.run_range, [s.lowest, s.highest], s.numpy_range, once),
        Job("mean", "reduce add", s.run_mean, [s.mean], s.numpy_mean, once, tolerance=1e-5),
        Job("histogram", "match any, ballots", s.run_histogram, [s.counts], s.numpy_histogram, once),
        Job("prefix sum", "inclusive add", s.run_departure, [s.departure], s.numpy_departure, 2 * once),
        Job("sort, median", "bitonic sort", s.run_order, [s.ordered, s.medians], s.numpy_order, 2 * once),
        Job("shaded relief", "quad swaps", s.run_relief, [s.light], s.numpy_relief, 2 * once, tolerance=1e-6),
    ]
