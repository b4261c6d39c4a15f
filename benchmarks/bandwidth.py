"""What a thread that carries several logical blocks gains on a GPU: three kernels bound by memory, by schedule.

    python benchmarks/bandwidth.py --arch vulkan

For each schedule (blocks a thread carries, hardware blocks for each multiprocessor) the best of five launches, in GB/s
of bytes read and written; "chosen" is what lanewise takes by itself.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any, cast

import lanewise as lw
from lanewise.backends.engine import MemoryEngine
from lanewise.backends.gpu import schedule
from lanewise.backends.gpu.schedule import UNLIMITED, Schedule
from lanewise.simt import subgroup

LINE = lw.types.ndarray(dtype=lw.f32, ndim=1)


def copy(x: LINE, out: LINE):
    for i in range(x.shape[0]):
        out[i] = x[i]


def scan(x: LINE, out: LINE):
    for i in range(x.shape[0]):
        out[i] = subgroup.inclusive_add(x[i])


def totals(x: LINE, out: LINE):
    for i in range(x.shape[0]):
        total = subgroup.reduce_add(x[i])
        if subgroup.invocation_id() == 0:
            out[i // subgroup.group_size()] = total


SCHEDULES = [Schedule(items, UNLIMITED) for items in (1, 2, 4, 8)]
SCHEDULES += [Schedule(items, waves) for items, waves in ((8, 128), (8, 32), (8, 16), (4, 16))]


def fixed(chosen: Schedule) -> Callable[[Any], Schedule]:
    """This schedule for what can have it: regular blocks, as they are nearly all."""
    return lambda kernel: chosen if kernel.regular and schedule.can_interleave(kernel) else schedule.ONE_BY_ONE


def seconds(kernel: Any, x: Any, out: Any) -> float:
    engine = cast(MemoryEngine, lw.current_device().engine)
    kernel(x, out)
    times: list[float] = []
    for _ in range(5):
        first = engine.mark()
        kernel(x, out)
        last = engine.mark()
        engine.sync()
        times.append(engine.seconds(first, last))
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="vulkan")
    parser.add_argument("--elements", type=int, default=1 << 28, help="of each array")
    options = parser.parse_args()
    os.environ["LANEWISE_CACHE_DIR"] = ""  # schedules are no part of a key
    device, n = lw.init(options.arch), options.elements
    x, out = lw.ndarray(lw.f32, n), lw.ndarray(lw.f32, n)
    traffic = {copy: 8 * n, scan: 8 * n, totals: 4 * n + 4 * n // device.subgroup_size}
    print(f"{device.name}, {n} elements of f32")
    print(f"{'blocks a thread':>16} {'hardware blocks':>18}" + "".join(f"{f.__name__:>9}" for f in traffic))
    chosen_by_itself = schedule.schedule
    for chosen in (*SCHEDULES, None):
        schedule.schedule = chosen_by_itself if chosen is None else fixed(chosen)
        lw.init(options.arch)  # a new device has compiled nothing
        rates = [traffic[f] / seconds(lw.kernel(f), x, out) * 1e-9 for f in traffic]
        waves = "" if chosen is None else "as many as needed" if chosen.waves == UNLIMITED else f"{chosen.waves} a unit"
        print(f"{chosen.items if chosen else 'chosen':>16} {waves:>18}" + "".join(f"{rate:9.0f}" for rate in rates))


if __name__ == "__main__":
    main()
