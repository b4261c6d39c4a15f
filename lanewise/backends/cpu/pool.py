"""Threads that run blocks: parked in native code, so that neither a launch nor its end waits for the interpreter.

The launching thread starts at once, alone; only when work is left after a while does it call the others, so small
launches never pay for them.  It comes back to Python every so often, so that Ctrl-C is heard: then no new chunk of
blocks is handed out.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from functools import cache

from ...cache import Entry, fetch
from .jit import Linked, jit
from .parked import BLOCKS, NEXT, POOL_BYTES, TEXT


@cache
def _native() -> Linked:
    compiler = jit()
    entry = fetch((TEXT, *compiler.target), lambda: Entry(compiler.compile(TEXT)))
    return compiler.link(entry.code, ("prepare", "stop", "worker", "launch"))


_WITH_POOL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class Pool:
    """`threads` threads, the launching one among them."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.launch = _LAUNCH(_native()["launch"])
        self._buffer = ctypes.create_string_buffer(POOL_BYTES + 64)
        self._workers: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.address: int | None = None  # None: nobody helps
        if threads > 1:
            self.address = (ctypes.addressof(self._buffer) + 63) & ~63
            _WITH_POOL(_native()["prepare"])(self.address)

    def _start(self) -> None:
        """Start the workers, at the first launch rather than with the engine."""
        with self._lock:
            if self._workers or self.address is None:
                return
            enter = _WITH_POOL(_native()["worker"])
            for number in range(self.threads - 1):
                worker = threading.Thread(target=enter, args=(self.address,), name=f"lanewise-{number}", daemon=True)
                worker.start()
                self._workers.append(worker)

    def run(self, job: ctypes.Array[ctypes.c_int64], address: int) -> None:
        """Run a job to its end; on an exception (Ctrl-C) hand out no more of it, wait for what runs, and raise."""
        if not self._workers and self.address is not None:
            self._start()
        try:
            while self.launch(self.address, address):
                pass
        except BaseException:
            job[NEXT] = job[BLOCKS]
            while self.launch(self.address, address):
                pass
            raise

    def close(self) -> None:
        """Send the workers home."""
        if self._workers:
            _WITH_POOL(_native()["stop"])(self.address)
            for worker in self._workers:
                worker.join(timeout=1.0)
            self._workers.clear()


_pools: dict[int, Pool] = {}
_pools_lock = threading.Lock()


def pool(threads: int) -> Pool:
    """The process's pool of so many threads."""
    found = _pools.get(threads)
    if found is None:
        with _pools_lock:
            found = _pools.setdefault(threads, Pool(threads))
    return found


def _close_all() -> None:
    for each in _pools.values():
        each.close()


def _after_fork() -> None:
    """A child has none of its parent's threads, and perhaps a lock that one of them held."""
    global _pools_lock
    _pools_lock = threading.Lock()
    _pools.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
