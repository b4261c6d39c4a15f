"""What a launch costs on a Vulkan device beside a bare loop of the driver's calls, and kernels beside the CPU backend.

    python benchmarks/vulkan.py [--device NAME]

The bare loop records, submits and waits for the same pipeline on the same device through ctypes, and does nothing else.
Both run in turn, many times; the times are the best of all rounds.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import lanewise as lw
from lanewise.backends.vulkan import structures as vk
from lanewise.backends.vulkan.launch import VulkanSend
from lanewise.simt import subgroup

Floats = lw.types.ndarray(dtype=lw.f32, ndim=1)
LAUNCHES = 100
"""In a row, between two looks at the clock."""


@lw.kernel
def add(y: Floats, x: Floats):
    for i in range(y.shape[0]):
        y[i] = y[i] + x[i]


@lw.kernel
def scan(y: Floats, x: Floats):
    for i in range(y.shape[0]):
        y[i] = subgroup.inclusive_add(x[i])


class Bare:
    """The driver's calls for one launch, and no more."""

    def __init__(self, device: lw.Device, send: VulkanSend, arguments: int) -> None:
        card: Any = device.engine.card  # pyright: ignore[reportAttributeAccessIssue]
        self.functions, self.device, self.send = card.functions, card.handle, send
        f = self.functions
        pool = f.create("CommandPool", vk.CommandPoolCreateInfo(flags=2, family=card.facts.family))
        info = vk.CommandBufferAllocateInfo(pool=pool, count=1)
        self.commands = f.made("AllocateCommandBuffers", ctypes.c_void_p, self.device, ctypes.byref(info))
        self.fence = (ctypes.c_uint64 * 1)(f.create("Fence", vk.FenceCreateInfo()))
        queue = ctypes.c_void_p()
        f.GetDeviceQueue(self.device, card.facts.family, 0, ctypes.byref(queue))
        self.queue = queue.value
        self.begin = ctypes.pointer(vk.CommandBufferBeginInfo(flags=1))
        self.list = (ctypes.c_void_p * 1)(self.commands)
        self.submission = ctypes.pointer(vk.SubmitInfo(commandCount=1, commands=vk.address(self.list)))
        self.push = (ctypes.c_int64 * 4)(arguments, 0, send.part.blocks, send.part.end)

    def __call__(self) -> None:
        f, commands, send = self.functions, self.commands, self.send
        f.BeginCommandBuffer(commands, self.begin)
        f.CmdBindPipeline(commands, 1, send.part.function.pipeline)
        f.CmdPushConstants(commands, send.part.function.layout, 0x20, 0, 32, ctypes.addressof(self.push))
        f.CmdDispatch(commands, send.part.grid, 1, 1)
        f.EndCommandBuffer(commands)
        f.QueueSubmit(self.queue, 1, self.submission, self.fence[0])
        f.WaitForFences(self.device, 1, self.fence, 1, 2**64 - 1)
        f.ResetFences(self.device, 1, self.fence)


def in_turn(tasks: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The seconds of each task at its best, run one after the other in every round."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - start)
    return {name: min(found) for name, found in times.items()}


def repeated(task: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(LAUNCHES):
            task()

    return run


def launch_costs(device: lw.Device, n: int) -> dict[str, float]:
    """Microseconds of one launch of `n` elements."""
    y, x = lw.ndarray(lw.f32, n), lw.from_numpy(np.ones(n, np.float32))
    for _ in range(3):
        add(y, x)
    lw.sync()
    (loaded,) = {id(v.executable): v for v in device.compiled[add].values()}.values()
    arrays = [y.view, x.view]
    send = loaded.executable._plan(arrays, (), 0).sends[0]
    room: Any = lw.ndarray(lw.i64, len(send.block))
    room.from_numpy(np.array([y.view.address, *send.block[1:3], x.view.address, *send.block[4:]]))
    lw.sync()
    bare = Bare(device, send, room.view.address)

    def one() -> None:
        add(y, x)
        lw.sync()

    def many() -> None:
        repeated(lambda: add(y, x))()
        lw.sync()

    host_y, host_x = np.zeros(n, np.float32), np.ones(n, np.float32)
    tasks = {
        "bare loop: record, submit, wait": repeated(bare),
        "lanewise: launch, sync": repeated(one),
        "lanewise: launches in a row, one sync": many,
        "lanewise: launch with NumPy arrays": repeated(lambda: add(host_y, host_x)),
    }
    return {name: seconds / LAUNCHES * 1e6 for name, seconds in in_turn(tasks, 30).items()}


def kernel_times(device: lw.Device, n: int) -> dict[str, tuple[float, float]]:
    """Milliseconds of one launch of `n` elements here and on the CPU backend of the same subgroup size."""
    found: dict[str, tuple[float, float]] = {}
    cpu = lw.init(lw.cpu, subgroup_size=device.subgroup_size)
    for kernel in (add, scan):
        tasks: dict[str, Callable[[], object]] = {}
        for where in (device, cpu):
            with lw.use(where):
                y, x = lw.ndarray(lw.f32, n), lw.from_numpy(np.ones(n, np.float32))

            def run(y: lw.ndarray = y, x: lw.ndarray = x, where: lw.Device = where) -> None:
                kernel(y, x)
                where.sync()

            run()
            tasks[where.arch.value] = run
        times = in_turn(tasks, 20)
        found[kernel.__name__] = (times["vulkan"] * 1e3, times["cpu"] * 1e3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None)
    device = lw.init(lw.vulkan, device=parser.parse_args().device)
    console = Console()
    for n in (256, 1 << 16):
        costs = launch_costs(device, n)
        table = Table(title=f"{device.name}, {n} elements", title_justify="left")
        table.add_column("one launch")
        table.add_column("us", justify="right")
        table.add_column("of the bare loop", justify="right")
        base = next(iter(costs.values()))
        for name, cost in costs.items():
            table.add_row(name, f"{cost:.1f}", f"{cost / base:.2f}")
        console.print(table)
    table = Table(title=f"W = {device.subgroup_size}, {1 << 22} elements", title_justify="left")
    for name in ("kernel", "vulkan ms", "cpu ms"):
        table.add_column(name, justify="left" if name == "kernel" else "right")
    for name, (here, there) in kernel_times(device, 1 << 22).items():
        table.add_row(name, f"{here:.2f}", f"{there:.2f}")
    console.print(table)


if __name__ == "__main__":
    main()
