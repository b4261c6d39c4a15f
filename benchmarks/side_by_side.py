"""The same kernels by two backends on one GPU, in one run.

    python benchmarks/side_by_side.py cuda vulkan

A reduction and a scan of each subgroup over 1 GiB of f32, a sort of 64 Mi pairs: medians of 15 launches in which the
backends take turns.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from first_calls import scan, sort_rows
from rich.console import Console
from rich.table import Table

import lanewise as lw
from lanewise.backends.engine import MemoryEngine
from lanewise.simt import subgroup

F32 = lw.types.ndarray(lw.f32, 1)
SIZE, PAIRS = 1 << 28, 1 << 26


@lw.kernel
def totals(x: F32, out: F32):
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        total = subgroup.reduce_add(x[i])
        if subgroup.invocation_id() == 0:
            out[i // subgroup.group_size()] = total


@dataclass(frozen=True)
class Side:
    """One backend's device and its arrays."""

    device: lw.Device
    floats: list[Any]
    ints: list[Any]

    @classmethod
    def of(cls, arch: str) -> Side:
        device = lw.init(arch)
        with lw.use(device):
            return cls(
                device, [lw.ndarray(lw.f32, SIZE) for _ in range(2)], [lw.ndarray(lw.i32, PAIRS) for _ in range(2)]
            )

    @property
    def works(self) -> dict[str, Callable[[], None]]:
        x, out = self.floats
        keys = [lw.from_numpy(a.to_numpy()[:PAIRS]) for a in (x, out)]
        return {
            "reduce_add": lambda: totals(x, out),
            "inclusive_add": lambda: scan(x, out),
            "bitonic_sort_kv": lambda: sort_rows(keys[0], self.ints[0], keys[1], self.ints[1]),
        }

    def seconds(self, work: Callable[[], None]) -> float:
        engine = cast(MemoryEngine, self.device.engine)
        with lw.use(self.device):
            first = engine.mark()
            work()
            last = engine.mark()
            engine.sync()
        return engine.seconds(first, last)


def main() -> None:
    sides = {arch: Side.of(arch) for arch in sys.argv[1:] or ("cuda", "vulkan")}
    works: dict[str, dict[str, Callable[[], None]]] = {}
    for arch, side in sides.items():
        with lw.use(side.device):
            works[arch] = side.works
    table = Table("work", *(f"{arch}, ms" for arch in sides), "times as fast as the first", title=str(list(sides)))
    for name in next(iter(works.values())):
        times: dict[str, list[float]] = {arch: [] for arch in sides}
        for turn in range(18):
            for arch, side in sides.items():
                took = side.seconds(works[arch][name])
                if turn >= 3:
                    times[arch].append(took)
        medians = [statistics.median(found) * 1e3 for found in times.values()]
        table.add_row(name, *(f"{m:.4f}" for m in medians), " ".join(f"{medians[0] / m:.3f}" for m in medians[1:]))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
