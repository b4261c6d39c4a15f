"""Threads that wait for work go by a clock that nobody sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..amdgpu.stub import compile_c

SET_BACK = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
volatile long back = 0;
int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec -= back;
    return failed;
}
"""

# Whenever a pause looks busy, a longer one that nobody else's work can make look so.
SCRIPT = """
import ctypes, sys, time
import numpy as np
import lanewise as lw

@lw.kernel
def spin(x: lw.types.ndarray(lw.i32, 1)):
    for i in range(x.shape[0]):
        for r in range(20):
            x[i] = x[i] * 3 + r

def busy(seconds):
    start = time.process_time()
    time.sleep(seconds)
    return (time.process_time() - start) / seconds > 0.5

lw.init("cpu", subgroup_size=8, threads=2)
x = np.zeros(300_000, np.int32)
back = ctypes.c_long.in_dll(ctypes.CDLL(sys.argv[1]), "back")
for _ in range(150):
    spin(x)
    back.value += 3600
    assert not (busy(0.005) and busy(0.5)), "a thread without work keeps a core busy"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the clock is set by a library that is loaded first")
def test_a_clock_that_is_set_back(tmp_path: Path) -> None:
    script, source, library = (tmp_path / name for name in ("launches.py", "clock.c", "clock.so"))
    script.write_text(SCRIPT)
    source.write_text(SET_BACK)
    compile_c(source, library)
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    command = [sys.executable, str(script), str(library)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
