"""Mathematics through ROCm's device library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from lanewise.backends.amdgpu import target
from lanewise.backends.amdgpu.ocml import device_library, switches
from lanewise.ir.arith import MATH

from ..gpu.kernels import sines

COMPILE = """
import sys
import lanewise as lw
from tests.golden.programs import kernel
from lanewise.backends.amdgpu.codegen import emit_amdgpu
from lanewise.backends.amdgpu.target import AmdTarget
arch, size = sys.argv[1], int(sys.argv[2])
for name in sys.argv[3:]:
    def body(b, i, arrays):
        x = b.load(arrays[0], i)
        b.store(arrays[0], (i,), b(name, *(x,) * (1 + (name in ("atan2", "pow")))))
    for t in (lw.f16, lw.f32, lw.f64):
        print(name, t, flush=True)
        text = emit_amdgpu([kernel(AmdTarget(arch, size), body, (t,))], arch, size)
        assert "s_swappc" not in text, "a call"
        assert "__ocml" not in text
"""


@pytest.mark.parametrize(("arch", "size"), [("gfx942", 64), ("gfx1100", 32), ("gfx1030", 64)])
def test_every_function_compiles(arch: str, size: int) -> None:
    """In a process of its own, which LLVM ends on what it cannot select: inlined, for each float type."""
    if device_library() is None:
        pytest.skip("no ocml.bc: apt-get install rocm-device-libs")
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", COMPILE, arch, str(size), *sorted(MATH)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"after {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    assert len(done.stdout.splitlines()) == 3 * len(MATH)


def test_switches_name_the_architecture() -> None:
    """The numbers of gfx90a: its last two characters are hexadecimal digits."""
    assert "@__oclc_ISA_version = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 9010" in switches(
        "gfx90a", 64
    )
    assert "@__oclc_wavefrontsize64 = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i8 0" in switches(
        "gfx1100", 32
    )


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "device_library", lambda: None)
    with pytest.raises(lw.CompileError, match=r"sin\(f32\) is not available on amdgpu") as caught:
        sines.source("amdgpu", np.zeros(1, np.float32))
    assert "rocm" in str(caught.value).lower()
    assert "ROCM_PATH" in caught.value.hint
