"""Compiled code in a process whose memory is nearly full: what an object needs may not lie near other objects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import ctypes
import numpy as np
import lanewise as lw
from lanewise.simt import subgroup

@lw.kernel
def early(x: lw.types.ndarray(lw.f32, 1)):
    for i in range(x.shape[0]):
        x[i] = lw.sin(x[i]) * 2.75

@lw.kernel
def late(x: lw.types.ndarray(lw.f32, 1)):
    for i in range(x.shape[0]):
        x[i] = subgroup.bitonic_sort(lw.exp(x[i] * 0.0) + 4.75)

c = ctypes.CDLL(None)
c.mmap.restype = ctypes.c_void_p
c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
c.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def take(size):  # address space alone
    where = c.mmap(None, size, 0, 0x4022, -1, 0)  # MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    assert where not in (None, 2**64 - 1)
    return where

lw.init("cpu", subgroup_size=8)
early(np.zeros(3, np.float32))

lowest, size = take(4096), 1 << 34
while size >= 4096:  # fill the gaps between what there is
    while (where := take(size)) > lowest:
        pass
    lowest, size = where, size // 2
gaps = []
for pages in (1, 2, 4, 8, 16, 32) * 10:
    take(3 << 30)
    gaps.append((take(4096 * pages), 4096 * pages))
take(3 << 30)
for where, size in gaps:
    c.munmap(where, size)

for n in (32, 33):
    x = np.zeros(n, np.float32)
    late(x)
    assert (x == 5.75).all()
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mmap as Linux has it")
def test_code_and_constants_lie_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_CACHE_DIR", "")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
