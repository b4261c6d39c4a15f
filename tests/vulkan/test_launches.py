"""Launches: their order, batches and dispatches, threads, time, and what is said when one fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise.backends.vulkan import queue
from lanewise.backends.vulkan.pipelines import SpirvCompiler
from lanewise.simt import block, subgroup

from .cards import another, card_of

F32 = lw.types.ndarray(lw.f32, 1)
I32 = lw.types.ndarray(lw.i32, 1)
DISCRETE = 2


@lw.kernel
def add(y: F32, x: F32):
    for i in range(y.shape[0]):
        y[i] = y[i] + x[i]


@lw.kernel
def places(blocks: I32, counts: I32):
    lw.loop_config(block_dim=16)
    for i in range(blocks.shape[0]):
        blocks[i] = block.block_idx()
        counts[i] = lw.simt.grid.num_blocks()


# ---- blocks and dispatches -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [None, DISCRETE], ids=["as it is", "several blocks a thread"])
@pytest.mark.parametrize("n", [16, 16 * 7, 16 * 40, 16 * 1000 + 5])
def test_a_grid_beyond_the_limit(vulkan: lw.Device, n: int, kind: int | None) -> None:
    device = another(vulkan, kind=kind)
    card = card_of(device)
    vars(card)["limits"] = replace(card.limits, max_grid=7)
    with lw.use(device):
        blocks, counts = lw.ndarray(lw.i32, n), lw.ndarray(lw.i32, n)
        for _ in range(2):
            places(blocks, counts)
    np.testing.assert_array_equal(blocks.to_numpy(), np.arange(n) // 16)
    np.testing.assert_array_equal(counts.to_numpy(), np.full(n, -(-n // 16)))


def test_a_grid_beyond_the_devices_own_limit(vulkan: lw.Device) -> None:
    @lw.kernel
    def numbers(out: I32):
        lw.loop_config(block_dim=4)
        for i in range(out.shape[0]):
            out[i] = i

    n = 4 * 70_000 + 3
    out = lw.ndarray(lw.i32, n)
    numbers(out)
    np.testing.assert_array_equal(out.to_numpy(), np.arange(n))


@pytest.mark.parametrize("extra", [0, 1, 3])
def test_barriers_in_blocks_with_absent_lanes(vulkan: lw.Device, extra: int) -> None:
    size = 2 * vulkan.subgroup_size + extra

    @lw.kernel
    def reverse(out: I32, size: lw.template()):
        lw.loop_config(block_dim=size)
        for i in range(out.shape[0]):
            room = block.SharedArray(size, lw.i32)
            k = block.thread_idx()
            room[k] = i
            block.sync()
            here = min(size, out.shape[0] - i + k)
            out[i] = room[here - 1 - k]

    for n in (size, 5 * size, 5 * size + 1, 20 * size - 1):
        out = np.zeros(n, np.int32)
        reverse(out, size)
        expected = np.concatenate([np.arange(s, min(s + size, n))[::-1] for s in range(0, n, size)])
        np.testing.assert_array_equal(out, expected)


# ---- order -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("busy", [False, True], ids=["as it comes", "in full batches"])
def test_launches_see_what_was_written_before(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    if busy:
        monkeypatch.setattr(queue.Queue, "_wants_more", lambda self: False)
    n = 5000
    a, b, c = (lw.ndarray(lw.f32, n) for _ in range(3))
    a.fill(1)
    for _ in range(30):  # Fibonacci's numbers
        add(b, a)
        add(c, b)
        add(a, c)
    x, y, z = 1, 0, 0
    for _ in range(30):
        y = np.float32(y + x)
        z = np.float32(z + y)
        x = np.float32(x + z)
    for array, value in ((a, x), (b, y), (c, z)):
        np.testing.assert_array_equal(array.to_numpy(), np.full(n, value, np.float32))


def test_launches_share_submissions_while_others_run(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    card = card_of(vulkan)
    monkeypatch.setattr(queue.Queue, "_wants_more", lambda self: False)
    monkeypatch.setattr(queue, "MOMENT", 0.5)
    y, x = lw.ndarray(lw.f32, 100), lw.from_numpy(np.ones(100, np.float32))
    lw.sync()
    before = card.queue.serial
    for _ in range(200):
        add(y, x)
    assert y[3] == 200
    assert card.queue.serial - before <= -(-200 // queue.LAUNCHES) + 2


def test_a_launch_that_waits_for_others_does_not_wait_long(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    card = card_of(vulkan)
    monkeypatch.setattr(queue.Queue, "_wants_more", lambda self: False)
    y, x = lw.ndarray(lw.f32, 100), lw.ndarray(lw.f32, 100)
    lw.sync()
    add(y, x)
    assert card.queue._open is not None
    deadline = time.monotonic() + 10
    while card.queue._open is not None:
        assert time.monotonic() < deadline
        time.sleep(1e-3)


def test_many_threads_launch(vulkan: lw.Device) -> None:
    @lw.kernel
    def count(total: I32, mine: I32):
        for i in range(mine.shape[0]):
            mine[i] = mine[i] + 1
            lw.atomic_add(total[0], 1)

    total = lw.ndarray(lw.i32, 1)

    def work(number: int) -> bool:
        with lw.use(vulkan):
            mine = lw.ndarray(lw.i32, 100 + number)
            host = np.zeros(50_000 + number, np.int32)
            for k in range(60):
                count(total, mine)
                if k % 20 == 0:
                    count(total, host)
                    lw.sync()
            return bool((mine.to_numpy() == 60).all() and (host == 3).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert total[0] == sum(60 * (100 + k) + 3 * (50_000 + k) for k in range(8))


def test_one_of_several_streams_is_an_error(vulkan: lw.Device) -> None:
    y, x = lw.ndarray(lw.f32, 8), lw.ndarray(lw.f32, 8)
    add(y, x, stream=0)
    with pytest.raises(lw.DeviceError, match="kernel add: expected no stream, got 0x7"):
        add(y, x, stream=7)


# ---- time ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bits", [None, 0], ids=["timestamps", "the host's clock"])
def test_profile(vulkan: lw.Device, bits: int | None) -> None:
    device = vulkan if bits is None else another(vulkan, timestamp_bits=bits)
    with lw.use(device):
        y, x = lw.ndarray(lw.f32, 1 << 20), lw.ndarray(lw.f32, 1 << 20)
        add(y, x)
        start = time.perf_counter()
        with lw.profile() as times:
            for _ in range(5):
                add(y, x)
        passed = time.perf_counter() - start
    (timing,) = times.timings
    assert timing.launches == 5
    assert all(second > 0 for second in timing.seconds)
    assert timing.total <= passed * 1.1


def test_timestamps_are_used_again(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device = another(vulkan)
    clock = card_of(device).clock
    monkeypatch.setattr(clock, "ROOM", 16)
    with lw.use(device):
        y, x = lw.ndarray(lw.f32, 64), lw.ndarray(lw.f32, 64)
        for _ in range(3):
            with lw.profile() as times:
                for _ in range(20):
                    add(y, x)
            assert times.timings[0].launches == 20
    assert len(clock._free) == 48


# ---- failures --------------------------------------------------------------------------------------------------------
def test_a_lost_device_names_the_kernel(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device = another(vulkan)
    card = card_of(device)
    with lw.use(device):
        y, x = lw.ndarray(lw.f32, 1000), lw.ndarray(lw.f32, 1000)
        add(y, x)
        lw.sync()
        with monkeypatch.context() as patch:
            for name in ("WaitForFences", "GetFenceStatus"):
                patch.setattr(card.functions, name, lambda *args: -4)
            add(y, x)
            with pytest.raises(lw.DeviceError, match=r"kernel add: a launch of \d blocks of 128 threads, or one b"):
                lw.sync()
        for use in (lambda: y[0], lambda: add(y, x), lw.sync):
            with pytest.raises(lw.DeviceError, match="VK_ERROR_DEVICE_LOST"):
                use()


def test_a_submission_that_fails_is_told_to_everyone(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device = another(vulkan)
    card = card_of(device)
    with lw.use(device):
        y, x = lw.ndarray(lw.f32, 1000), lw.ndarray(lw.f32, 1000)
        add(y, x)
        lw.sync()
        with monkeypatch.context() as patch:
            patch.setattr(card.functions, "QueueSubmit", lambda *args: -1)
            with pytest.raises(lw.DeviceError, match=r"kernel add.*VK_ERROR_OUT_OF_HOST_MEMORY"):
                add(y, x)
        with pytest.raises(lw.DeviceError, match="VK_ERROR_OUT_OF_HOST_MEMORY"):
            y.to_numpy()


def test_a_kernel_that_the_driver_cannot_compile(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device = another(vulkan)

    @lw.kernel
    def unlucky(x: F32):
        for i in range(x.shape[0]):
            x[i] = 3.25

    monkeypatch.setattr(card_of(device).functions, "CreateComputePipelines", lambda *args: -13)
    text = "kernel unlucky: the driver cannot compile it for blocks of 128 threads: VK_ERROR_UNKNOWN"
    with lw.use(device), pytest.raises(lw.DeviceError, match=text):
        unlucky(np.zeros(4, np.float32))


ENDLESS = """
import signal
import lanewise as lw
from lanewise.backends.vulkan import queue

@lw.kernel
def forever(x: lw.types.ndarray(lw.i32, 1)):
    for i in range(x.shape[0]):
        while x[0] == 0:
            x[1] = x[1] + 1

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
queue.PATIENCE = 0.1
lw.init(lw.vulkan)
x = lw.ndarray(lw.i32, 4)
forever(x)
print("launched", flush=True)
try:
    lw.sync()
    print("ended", flush=True)  # llvmpipe of Mesa 22 leaves a loop after 65,535 rounds
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_endless_kernel_can_be_interrupted(vulkan: lw.Device, tmp_path: Path) -> None:
    if not card_of(vulkan).facts.is_cpu or sys.platform == "win32":
        pytest.skip(f"{vulkan.name} would be held up, or cannot be interrupted so")
    program = tmp_path / "program.py"
    program.write_text(ENDLESS)
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "launched\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60)[0] in ("interrupted\n", "ended\n")
        finally:
            process.kill()


FORKED = """
import os
import numpy as np
import lanewise as lw

@lw.kernel
def triple(x: lw.types.ndarray(lw.f32, 1)):
    for i in range(x.shape[0]):
        x[i] = 3.0 * x[i]

lw.init(lw.vulkan)
x = np.ones(1000, np.float32)
triple(x)
if os.fork():
    _, status = os.wait()
    triple(x)
    assert x[0] == 9
    print(os.waitstatus_to_exitcode(status))
else:
    try:
        triple(x)
    except lw.DeviceError as error:
        print(error, flush=True)
    os._exit(0)  # as multiprocessing does: some driver's exit handlers would take the device from the parent
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_is_told(vulkan: lw.Device, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FORKED)
    command = [sys.executable, "-W", "ignore", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "Vulkan does not work in a process that was forked after its first use" in done.stdout
    assert done.stdout.endswith("0\n")


BUSY = """
import threading, time
import lanewise as lw

@lw.kernel
def add(x: lw.types.ndarray(lw.f32, 1)):
    for i in range(x.shape[0]):
        x[i] += 1.0

lw.init(lw.vulkan)
x = lw.ndarray(lw.f32, 10_000)
add(x)

def launches(wait):
    while True:
        add(x)
        if wait:
            x.to_numpy()

for wait in (False, True):
    threading.Thread(target=launches, args=(wait,), daemon=True).start()
time.sleep(0.3)
"""


def test_threads_that_launch_while_the_process_ends(vulkan: lw.Device, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(BUSY)
    for _ in range(3):
        done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr


# ---- kept on disk ----------------------------------------------------------------------------------------------------
PROGRAM = """
import sys
import numpy as np
import lanewise as lw

@lw.kernel
def triple(x: lw.types.ndarray(lw.f32, 1)):
    for i in range(x.shape[0]):
        x[i] = 3.0 * x[i]

lw.init(lw.vulkan)
x = np.arange(1000, dtype=np.float32)
triple(x)
assert (x == 3 * np.arange(1000)).all()
print(lw.cache_info().misses, "lanewise.backends.vulkan.emit" in sys.modules)
"""


def test_a_warm_process_compiles_nothing(vulkan: lw.Device, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = tmp_path / "cache"

    def run() -> list[str]:
        environment = {**os.environ, "LANEWISE_CACHE_DIR": str(folder)}
        command = [sys.executable, str(program)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    misses, emitted = run()
    assert int(misses) > 0
    assert emitted == "True"
    assert run() == ["0", "False"]
    entries = [path for path in folder.rglob("*") if path.is_file()]
    for number, path in enumerate(entries):  # damaged in every way
        data = bytearray(path.read_bytes())
        data[len(data) * number // len(entries)] ^= 0x55
        path.write_bytes(data[: None if number % 2 else len(data) // 2])
    assert run() == [misses, "True"]


@pytest.mark.parametrize("spoil", [lambda data: b"", lambda data: b"x" * 100, lambda data: data[:40] + b"\xff" * 40])
def test_what_the_driver_kept_may_be_bad(vulkan: lw.Device, spoil: Any) -> None:
    card = card_of(vulkan)
    compiler = SpirvCompiler(card, vulkan.subgroup_size)
    made = compiler._cache(spoil(card.facts.header + bytes(100)))
    assert made
    card.functions.destroy("PipelineCache", made)


@pytest.mark.parametrize("changed", [{}, {"buffer_device_address": False}], ids=["as it is", "descriptors"])
def test_long_loops(vulkan: lw.Device, request: pytest.FixtureRequest, changed: dict[str, bool]) -> None:
    facts = card_of(vulkan).facts
    if "Mesa 22" in facts.driver:
        why = "Mesa 22 leaves all loops of a subgroup after 65,535 rounds in total"
        request.applymarker(pytest.mark.xfail(reason=why, strict=True))

    @lw.kernel
    def rounds(out: I32, most: lw.i32):
        for i in range(out.shape[0]):
            total = 0
            for _ in range(3):
                count = 0
                while count < most + i:
                    count += 1
                total += count
            out[i] = total

    with lw.use(another(vulkan, features=replace(facts.features, **changed))):
        out = np.zeros(100, np.int32)
        rounds(out, 200_000)
        np.testing.assert_array_equal(out, 3 * (200_000 + np.arange(100)))


def test_subgroups_are_those_of_the_pipeline(vulkan: lw.Device) -> None:
    @lw.kernel
    def lanes(out: I32):
        for i in range(out.shape[0]):
            out[i] = lw.cast(subgroup.ballot(True), lw.i32)

    out = np.zeros(256, np.int32)
    lanes(out)
    full = np.uint32((1 << vulkan.subgroup_size) - 1)
    assert (out.view(np.uint32) == full).all()
