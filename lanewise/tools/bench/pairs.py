"""The pairs: a kernel, what it is measured beside, and the data for both.

A `Setup` holds the two calls and what reads their results, so that they are compared before they are timed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lanewise as lw

from ...errors import LanewiseError
from . import kernels

Arr = NDArray[Any]


@dataclass(frozen=True)
class Setup:
    """Both sides, ready to run on the current device."""

    run: Callable[[], object]
    beside: Callable[[], object]
    results: Callable[[], Any]
    wanted: Callable[[], Any]
    nbytes: int
    """What has to be read and written at the least, by either."""
    tolerance: float = 0.0


@dataclass(frozen=True)
class Pair:
    """What is measured, in words, and `setup(n, W)`, which makes it."""

    name: str
    beside: str
    setup: Callable[[int, int], Setup]


def _put(data: Arr) -> Any:
    """On the current device, where its memory is not the host's."""
    return data if lw.current_device().properties.host_memory else lw.from_numpy(data)


def _get(array: Any) -> Arr:
    return array if isinstance(array, np.ndarray) else array.to_numpy()


def _random(n: int, *, highest: int = 1000) -> Arr:
    return np.random.default_rng(0).integers(0, highest, n)


def _two_kernels(first: Any, second: Any, dtype: Any) -> Callable[[int, int], Setup]:
    """Two kernels from x to out that do the same."""

    def setup(n: int, W: int) -> Setup:
        x = _random(max(n // 128, 1) * 128).astype(dtype)  # whole blocks
        source, out, other = _put(x), _put(np.zeros_like(x)), _put(np.zeros_like(x))
        return Setup(
            run=lambda: first(source, out),
            beside=lambda: second(source, other),
            results=lambda: _get(out),
            wanted=lambda: _get(other),
            nbytes=2 * x.nbytes,
        )

    return setup


def _copy(n: int, W: int) -> Setup:
    x = _random(n).astype(np.float32)
    source, out, other = _put(x), _put(np.zeros_like(x)), np.zeros_like(x)
    return Setup(
        run=lambda: kernels.copy(source, out),
        beside=lambda: np.copyto(other, x),
        results=lambda: _get(out),
        wanted=lambda: x,
        nbytes=2 * x.nbytes,
    )


def _sum(n: int, W: int) -> Setup:
    x = _random(n).astype(np.float32)
    source = _put(x)

    def total() -> float:
        out = _put(np.zeros(1, np.float32))
        kernels.sum_all(source, out)
        return float(_get(out)[0])

    scratch = _put(np.zeros(1, np.float32))
    return Setup(
        run=lambda: kernels.sum_all(source, scratch),
        beside=x.sum,
        results=total,
        wanted=lambda: x.sum(dtype=np.float64),
        nbytes=x.nbytes,
        tolerance=1e-4,
    )


def _histogram(n: int, W: int) -> Setup:
    x = _random(n, highest=64).astype(np.int32)
    source, scratch, other = _put(x), _put(np.zeros(64, np.int32)), _put(np.zeros(64, np.int32))

    def counts() -> Arr:
        out = _put(np.zeros(64, np.int32))
        kernels.histogram_by_match(source, out)
        return _get(out)

    return Setup(
        run=lambda: kernels.histogram_by_match(source, scratch),
        beside=lambda: kernels.histogram_by_atomics(source, other),
        results=counts,
        wanted=lambda: np.bincount(x, minlength=64),
        nbytes=x.nbytes,
    )


def _sort(n: int, W: int) -> Setup:
    x = _random(n // W * W, highest=1 << 20).astype(np.float32)
    source, out = _put(x), _put(np.zeros_like(x))
    return Setup(
        run=lambda: kernels.sort_subgroups(source, out),
        beside=lambda: np.sort(x.reshape(-1, W), axis=1),
        results=lambda: _get(out),
        wanted=lambda: np.sort(x.reshape(-1, W), axis=1).ravel(),
        nbytes=2 * x.nbytes,
    )


def _compact(n: int, W: int) -> Setup:
    x = (_random(n) - 500).astype(np.int32)
    kept = x[x > 0]
    source, starts, out = _put(x), _put(np.zeros(-(-n // W), np.int32)), _put(np.zeros_like(x))
    return Setup(
        run=lambda: kernels.compact(source, starts, out),
        beside=lambda: x[x > 0],
        results=lambda: _get(out)[: kept.size],
        wanted=lambda: kept,
        nbytes=x.nbytes + kept.nbytes,
    )


_LIMIT = 50


def _escape(n: int, W: int) -> Setup:
    width = max(int(n**0.5), 1)
    out = _put(np.zeros(width * width, np.int32))
    return Setup(
        run=lambda: kernels.escape_steps(width, _LIMIT, out),
        beside=lambda: _escape_in_numpy(width),
        results=lambda: _get(out),
        wanted=lambda: _escape_in_numpy(width),
        nbytes=width * width * 4,
    )


def _escape_in_numpy(width: int) -> Arr:
    step = np.float32(3) / np.float32(width)
    line = np.arange(width, dtype=np.float32) * step
    cx, cy = np.meshgrid(line - np.float32(2.2), line - np.float32(1.5))
    x, y = np.zeros_like(cx), np.zeros_like(cy)
    steps = np.zeros(cx.shape, np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_LIMIT):
            inside = x * x + y * y <= 4
            steps += inside
            x, y = x * x - y * y + cx, 2 * x * y + cy
    return steps.ravel()


PAIRS = (
    Pair("copy", "NumPy's copy", _copy),
    Pair("sum of everything", "NumPy's sum", _sum),
    Pair(
        "reduce_all_add",
        "shared memory",
        _two_kernels(kernels.share_by_operation, kernels.share_through_memory, np.float32),
    ),
    Pair(
        "inclusive_add",
        "shuffles by hand",
        _two_kernels(kernels.scan_by_operation, kernels.scan_by_shuffles, np.int32),
    ),
    Pair(
        "shuffle_xor",
        "a barrier",
        _two_kernels(kernels.swap_by_shuffle, kernels.swap_through_memory, np.float32),
    ),
    Pair("bitonic_sort", "NumPy's sort", _sort),
    Pair("histogram by match_any", "atomics alone", _histogram),
    Pair("compaction by ballot", "NumPy's x[x > 0]", _compact),
    Pair("divergent loop", "NumPy's arrays", _escape),
)


def chosen(names: Sequence[str]) -> Sequence[Pair]:
    """The pairs whose names begin like these; all of them, where there are none."""
    found: list[Pair] = []
    for name in names:
        named = [pair for pair in PAIRS if pair.name.startswith(name)]
        if not named:
            close = difflib.get_close_matches(name, [pair.name for pair in PAIRS], n=1)
            raise LanewiseError(
                f"there is no benchmark {name!r}",
                why=f"there are: {', '.join(pair.name for pair in PAIRS)}",
                hint=close[0] if close else "",
            )
        found += [pair for pair in named if pair not in found]
    return found or PAIRS
