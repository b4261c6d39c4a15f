"""The order of everything that runs on a Vulkan device: launches and copies, recorded into batches and submitted.

A batch is a command buffer with a fence, and room for the argument blocks of its launches.  What is recorded sees the
writes of all that was recorded before, in this batch and in earlier ones; the host sees them once the fence is passed.

A launch is submitted at once where the device has nothing to do.  While it is busy, or was given something just before,
launches are collected, and submitted together when a batch is full, when somebody waits, or after a moment: submitting
costs the host more than recording.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from ...errors import DeviceError
from . import descriptors
from . import structures as vk
from .driver import DeviceFunctions, failure
from .heap import Buffer, Buffers, Use
from .probe import Facts

LAUNCHES = 64
"""The most launches of a batch."""
ARGUMENT_BYTES = 64 << 10
"""The room of a batch for argument blocks."""
DESCRIPTORS = 1 << 10
"""The room of a batch for descriptors, on a device that wants them."""
MOMENT = 2e-4
"""Seconds that a launch may wait for others to be submitted with."""
REST = 50
"""Moments without a launch after which the thread that submits late ones sleeps."""
GAP = 5e-5
"""Seconds between two submissions that nobody waits for."""
SPIN = 1e-4
"""Seconds for which a GPU's fence is looked at before the host sleeps, which costs it as much again."""
PATIENCE = 10.0
"""Seconds that a process at its end waits for its launches."""

_COMPUTE, _TRANSFER, _BOTTOM, _HOST = 0x800, 0x1000, 0x2000, 0x4000  # VkPipelineStageFlagBits
_SHADER, _COPY, _HOST_READ = 0x60, 0x1800, 0x2000  # VkAccessFlagBits: reads and writes; of the host reads
_SHADER_WRITE, _COPY_WRITE = 0x40, 0x1000
_NOT_READY, _TIMEOUT = 1, 2  # VkResult
_SLICE = 200_000_000  # ns


class Batch:
    """One command buffer, used again once the device has passed its fence."""

    __slots__ = (
        "address",
        "buffer",
        "commands",
        "fence",
        "host",
        "launches",
        "marked",
        "pipeline",
        "pool",
        "serial",
        "used",
        "waiters",
        "written",
    )

    def __init__(self, commands: int, fence: Any, room: Buffer, pool: int) -> None:
        self.commands = commands
        self.fence = fence
        """An array of the one fence, as the driver's functions take it."""
        self.host, self.address, self.buffer = room.host, room.address, room.handle
        """The room for arguments, as the host and as the device sees it."""
        self.pool = pool
        """Of descriptor sets; 0 where arrays have addresses."""
        self.begin(0)

    def begin(self, serial: int) -> None:
        self.serial = serial
        self.launches = 0
        self.used = 0
        self.pipeline = 0
        """The one that is bound."""
        self.written = False
        """Whether something in it writes to memory."""
        self.marked = False
        """Whether a point in time was recorded, and the launches that it is to measure may still come."""
        self.waiters = 0


class Queue:
    """The queue of one device.  `lock` is held by whoever records, submits, or touches the device's memory."""

    def __init__(self, facts: Facts, functions: DeviceFunctions, buffers: Buffers, waiting: Callable[[], str]) -> None:
        """`waiting` opens the text of an error about what was launched."""
        self.lock = threading.RLock()
        self._functions, self._buffers, self._doing = functions, buffers, waiting
        device = self._device = functions.device
        handle = ctypes.c_void_p()
        functions.GetDeviceQueue(device, facts.family, 0, ctypes.byref(handle))
        self._queue = handle.value
        pool = vk.CommandPoolCreateInfo(flags=2, family=facts.family)  # RESET_COMMAND_BUFFER
        self._pool = functions.create("CommandPool", pool)
        self._open: Batch | None = None
        self._flying: deque[Batch] = deque()
        self._resting: list[Batch] = []
        self.serial = 0
        """The batch of what was recorded last."""
        self._done = 0
        self._binds = not facts.features.buffer_device_address
        self._submitted = 0.0  # when something was, and nobody has waited since
        self._spin = 0.0 if facts.is_cpu else SPIN  # a CPU has better things to do
        self._failure: DeviceError | None = None
        self._later: deque[tuple[int, Callable[[], None]]] = deque()
        self._flusher: threading.Thread | None = None
        self._flushing = threading.Event()
        self._closed = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_forbid, weakref.ref(self)))
        # What every batch passes, made once.
        self._begin = ctypes.pointer(vk.CommandBufferBeginInfo(flags=1))  # ONE_TIME_SUBMIT
        self._commands = (ctypes.c_void_p * 1)()
        self._submission = ctypes.pointer(vk.SubmitInfo(commandCount=1, commands=vk.address(self._commands)))
        self._before = vk.MemoryBarrier(source=_SHADER_WRITE | _COPY_WRITE, target=_SHADER | _COPY)
        self._after = vk.MemoryBarrier(source=_SHADER_WRITE | _COPY_WRITE, target=_HOST_READ)

    # ---- recording: with the lock held -------------------------------------------------------------------------------
    def opened(self, room: int = 0) -> Batch:
        """The batch to record into, with so much room for arguments."""
        batch = self._open
        if batch is not None and batch.used + room > ARGUMENT_BYTES:
            self.submit()
            batch = None
        if batch is None:
            if self._failure is not None:
                raise self._failure
            self.reap()
            batch = self._resting.pop() if self._resting else self._new_batch()
            if batch.pool:
                self._check(self._functions.ResetDescriptorPool(self._device, batch.pool, 0))
            self._check(self._functions.BeginCommandBuffer(batch.commands, self._begin))
            self.serial += 1
            batch.begin(self.serial)
            self._open = batch
        return batch

    def _new_batch(self) -> Batch:
        info = vk.CommandBufferAllocateInfo(pool=self._pool, count=1)
        commands = ctypes.c_void_p()
        self._functions.call("AllocateCommandBuffers", self._device, ctypes.byref(info), ctypes.byref(commands))
        fence = self._functions.create("Fence", vk.FenceCreateInfo())
        room = self._buffers.make(ARGUMENT_BYTES, Use.ARGUMENTS, "the arguments of launches")
        pool = descriptors.pool(self._functions, LAUNCHES, DESCRIPTORS) if self._binds else 0
        return Batch(commands.value or 0, (ctypes.c_uint64 * 1)(fence), room, pool)

    def order(self, batch: Batch) -> None:
        """What is recorded next sees all writes before it.

        Those of batches that the host has waited for are seen as the host's are, by being submitted later.
        """
        if batch.written or self._flying:
            stages, before = _COMPUTE | _TRANSFER, vk.address(self._before)
            self._functions.CmdPipelineBarrier(batch.commands, stages, stages, 0, 1, before, 0, None, 0, None)
        batch.written = True

    def recorded(self, batch: Batch) -> None:
        """A launch was recorded: submit it, or leave it for others to join."""
        batch.launches += 1
        if batch.launches >= LAUNCHES or (not batch.marked and self._wants_more()):
            self.submit()
        elif batch.launches == 1:
            self._submit_later()

    def marked(self, batch: Batch) -> None:
        """A point in time was recorded.  What lies between two is one batch, so that the host has no part in it."""
        batch.marked = not batch.marked
        if batch.launches and not batch.marked:
            if self._wants_more():
                self.submit()
            else:
                self._submit_later()

    def _wants_more(self) -> bool:
        """Whether the device has nothing to do, and has had nothing for a while."""
        if time.perf_counter() - self._submitted < GAP:
            return False
        flying = self._flying
        return not flying or self._functions.GetFenceStatus(self._device, flying[-1].fence[0]) == 0

    def submit(self) -> None:
        """Hand what was recorded to the device."""
        batch = self._open
        if batch is None:
            return
        self._open = None
        functions = self._functions
        functions.CmdPipelineBarrier(
            batch.commands, _COMPUTE | _TRANSFER, _HOST, 0, 1, vk.address(self._after), 0, None, 0, None
        )
        self._commands[0] = batch.commands
        self._check(functions.EndCommandBuffer(batch.commands))
        self._check(functions.QueueSubmit(self._queue, 1, self._submission, batch.fence[0]))
        self._flying.append(batch)
        self._submitted = time.perf_counter()

    def _check(self, code: int) -> None:
        """Raise an error for a call that failed: what was recorded is lost, so nothing after it can be right."""
        if code < 0:
            self._failure = failure(code, self._doing())
            raise self._failure

    def _submit_later(self) -> None:
        if self._flusher is None:
            self._flusher = threading.Thread(target=self._flush, name="lanewise-vulkan", daemon=True)
            self._flusher.start()
        if not self._flushing.is_set():
            self._flushing.set()

    def _flush(self) -> None:
        """Submit now and then what nobody else does; sleep when there was nothing for a while."""
        idle = 0
        while not self._closed:
            self._flushing.wait()
            time.sleep(MOMENT)
            with self.lock, suppress(DeviceError):  # who waits is told
                waiting = self._open is not None and not self._open.marked
                idle = 0 if waiting else idle + 1
                if idle == REST:
                    self._flushing.clear()
                    idle = 0
                if waiting:
                    self.submit()

    def close(self) -> bool:
        """End it: let the device finish, and nobody submit any more.  Whether nothing of it is in use."""
        with self.lock:
            self._closed = True
            self._flushing.set()
            passed = self._failure is None
            if passed:
                with suppress(DeviceError):
                    self.submit()
                if self._flying:
                    fence = self._flying[-1].fence
                    code = self._functions.WaitForFences(self._device, 1, fence, 1, int(PATIENCE * 1e9))
                    passed = code == 0 and not any(batch.waiters for batch in self._flying)
            # Other threads may still launch while the process ends: nothing of the device may be there for them.
            self._failure = self._failure or DeviceError("this Vulkan device was closed", why="the process ends")
        if self._flusher is not None and self._flusher is not threading.current_thread():
            self._flusher.join()
        return passed

    def forbid(self) -> None:
        """In a process that was forked: the driver's threads are not there, so waiting would never end."""
        self.lock = threading.RLock()
        self._open = self._flusher = None
        what = "Vulkan does not work in a process that was forked after its first use"
        self._failure = DeviceError(what, hint="start processes by spawn: multiprocessing.get_context('spawn')")

    # ---- waiting -----------------------------------------------------------------------------------------------------
    def wait(self, serial: int) -> None:
        """Wait until the device has passed a batch; others may launch meanwhile."""
        with self.lock:
            if self._failure is not None:
                raise self._failure
            if serial <= self._done:
                return
            if self._open is not None and serial >= self._open.serial:
                self.submit()
            # A fence is passed when all that was submitted before is.
            batch = next(batch for batch in self._flying if batch.serial >= serial)
            batch.waiters += 1
        try:
            code = self._passed(batch)
        finally:
            with self.lock:
                batch.waiters -= 1
                self._submitted = 0.0
        with self.lock:
            if self._closed and self._failure is not None:
                raise self._failure
            self._check(code)
            self.reap()

    def _passed(self, batch: Batch) -> int:
        """Wait for a batch; the VkResult.  The process takes signals meanwhile: a kernel may never end."""
        code, functions = _NOT_READY, self._functions
        deadline = time.perf_counter() + self._spin
        while code == _NOT_READY and time.perf_counter() < deadline:
            code = functions.GetFenceStatus(self._device, batch.fence[0])
        while code in (_NOT_READY, _TIMEOUT):
            code = functions.WaitForFences(self._device, 1, batch.fence, 1, _SLICE)
        return code

    def reap(self) -> None:
        """Take back the batches that the device has passed, and do what waited for them; with the lock held."""
        flying, functions = self._flying, self._functions
        while flying and functions.GetFenceStatus(self._device, flying[0].fence[0]) == 0:
            self._done = flying[0].serial
            if flying[0].waiters:
                break  # a fence is not reset while somebody looks at it
            batch = flying.popleft()
            self._check(functions.ResetFences(self._device, 1, batch.fence))
            self._resting.append(batch)
        while self._later and self._later[0][0] <= self._done:
            self._later.popleft()[1]()

    def afterwards(self, action: Callable[[], None]) -> None:
        """Do something once all that was recorded has run; with the lock held."""
        if self._done >= self.serial:
            action()
        else:
            self._later.append((self.serial, action))


def _forbid(queue: weakref.ref[Queue]) -> None:
    found = queue()
    if found is not None:
        found.forbid()
