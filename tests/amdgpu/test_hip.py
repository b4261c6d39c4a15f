"""The calls of HIP and its errors, with a library that is made up."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from lanewise.backends.amdgpu import rocm
from lanewise.backends.amdgpu.hip import FAILURES, DeviceProperties

from ..gpu.kernels import affine, plus
from . import stub
from .stub import StubHip

ROOT = Path(__file__).parents[2]


# ---- what HIP is told -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [32, 64])
def test_a_launch_is_told_in_blocks(hip: StubHip, size: int) -> None:
    """Blocks, not threads, are the grid; a block is whole subgroups; the arguments go as one packed buffer."""

    @lw.kernel
    def odd(x: lw.types.ndarray(lw.f32, 1)):
        lw.loop_config(block_dim=72)
        for i in range(x.shape[0]):
            x[i] = 1.0

    with lw.use(lw.init(lw.amdgpu, subgroup_size=size)):
        x = lw.ndarray(lw.f32, 1000)
        hip.forget()
        odd(x, stream=9)  # type: ignore[call-arg]
    (launch,) = hip.calls("hipModuleLaunchKernel")
    function, *sizes, shared, stream, parameters, extra = launch.arguments
    threads = -(-72 // size) * size
    assert sizes == [14, 1, 1, threads, 1, 1]
    assert (shared, stream, parameters) == (0, 9, 0)
    assert function
    assert extra


def test_copies_and_events(hip: StubHip) -> None:
    """Two pinned buffers in turn; each copy's event before the buffer is used again."""
    data = np.arange((8 << 20) + 3, dtype=np.uint8)
    with lw.use(lw.init(lw.amdgpu)):
        a = lw.from_numpy(np.zeros(3, np.uint8))  # makes the buffers
        hip.forget()
        a = lw.from_numpy(data)
    address = a.view.address
    copies = hip.calls("hipMemcpyHtoDAsync")
    chunk = 4 << 20
    assert [call.arguments[0] - address for call in copies] == [0, chunk, 2 * chunk]
    assert [call.arguments[2] for call in copies] == [chunk, chunk, 3]
    assert copies[0].arguments[1] == copies[2].arguments[1] != copies[1].arguments[1]
    names = [call.name for call in hip.calls("hipEventSynchronize", "hipMemcpyHtoDAsync", "hipEventRecord")]
    assert names == ["hipEventSynchronize", "hipMemcpyHtoDAsync", "hipEventRecord"] * 3
    assert np.array_equal(a.to_numpy(), data)


def test_events_without_times_say_so(hip: StubHip) -> None:
    with lw.use(lw.init(lw.amdgpu)):
        x = lw.ndarray(lw.f32, 5)
        with lw.profile() as times:
            affine(x, x, 1.0)
        assert times.timings[0].launches == 1
    flags = [call.arguments[1] for call in hip.calls("hipEventCreateWithFlags")]
    assert sorted(flags) == [0, 0, 2, 2]
    assert len(hip.calls("hipEventDestroy")) == 2


def test_properties_are_where_hip_has_them() -> None:
    """hip_runtime_api.h: hipDeviceProp_tR0600; there is room for a later, longer one."""
    for name, offset in {
        "shared_mem_per_block": 296,
        "warp_size": 308,
        "max_threads_per_block": 320,
        "max_grid_size": 336,
        "multi_processor_count": 388,
        "gcn_arch_name": 1160,
    }.items():
        assert getattr(DeviceProperties, name).offset == offset, name
    assert ctypes.sizeof(DeviceProperties) > 1472


# ---- failures -------------------------------------------------------------------------------------------------------
def test_a_failure_is_ours_alone(hip: StubHip) -> None:
    """HIP forgets it: torch asks for the last error after its own launches."""
    with lw.use(lw.init(lw.amdgpu)), pytest.raises(lw.DeviceError, match="hipErrorOutOfMemory") as caught:
        lw.ndarray(lw.f64, 1 << 28)
    assert "GPU 0 (Stub Instinct): 2147483648 bytes for an array of f64" in caught.value.what
    assert "free arrays" in str(caught.value)
    assert hip.library.hipGetLastError() == 0


def test_code_for_another_gpu(hip: StubHip) -> None:
    device = lw.init(lw.amdgpu)
    hip.script("hipModuleLoadData", 209)
    with lw.use(device), pytest.raises(lw.DeviceError, match=r"loading affine_0.*: hipErrorNoBinaryForGpu") as caught:
        affine(np.zeros(3, np.float32), np.zeros(3, np.float32), 1.0)
    assert "another subgroup_size, or a newer ROCm" in str(caught.value)


def test_a_failure_without_a_row(hip: StubHip) -> None:
    with lw.use(lw.init(lw.amdgpu)) as device:
        hip.script("hipDeviceSynchronize", 7777)
        with pytest.raises(lw.DeviceError, match="failed: hipErrorUnknown"):
            device.sync()


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        stub.installed(monkeypatch, 64, devices=0),
        pytest.raises(lw.DeviceError, match="looking for AMD GPUs: hipErrorNoDevice") as caught,
    ):
        lw.init(lw.amdgpu)
    assert "render and video" in str(caught.value)


def test_hip_that_does_not_start(hip: StubHip) -> None:
    hip.script("hipInit", 719)
    with pytest.raises(lw.DeviceError, match="HIP does not start: hipErrorLaunchFailure"):
        lw.init(lw.amdgpu)


def test_a_forked_process(hip: StubHip, monkeypatch: pytest.MonkeyPatch) -> None:
    """HIP would hang there."""
    words = "does not work in a process forked after its first use"
    with lw.use(lw.init(lw.amdgpu)) as device:
        x = lw.ndarray(lw.f32, 5)
        plus(x, x)
        with monkeypatch.context() as patch:
            patch.setattr("lanewise.backends.amdgpu.hip.getpid", lambda: -1)
            for attempt in (lambda: plus(x, x), device.sync, x.to_numpy, lambda: lw.ndarray(lw.f32, 5)):
                hip.forget()
                with pytest.raises(lw.DeviceError, match=words):
                    attempt()
                assert not hip.calls()
        plus(x, x)


def test_every_row_says_what_to_do() -> None:
    for name, (why, hint) in FAILURES.items():
        assert why, name
        assert hint, name
        assert not name.startswith("hip")


WITHOUT = """
import lanewise as lw
from lanewise.backends.amdgpu import rocm
if {hide}:
    rocm.library = lambda stem, versions: None
try:
    lw.init(lw.amdgpu)
except lw.DeviceError as error:
    print(error)
"""


def test_without_rocm() -> None:
    done = _python(WITHOUT.format(hide=True), {})
    assert "the amdgpu backend needs ROCm's libamdhip64, which was not found" in done
    assert "install ROCm 6 or later" in done


def test_another_library_of_that_name(tmp_path: Path) -> None:
    """As of ROCm 5, whose functions are not all there."""
    if rocm.library("libamdhip64", (7, 6)) is not None:
        pytest.skip("this process has ROCm's own, which comes first")
    (tmp_path / "lib").mkdir()
    source = tmp_path / "old.c"
    source.write_text("int hipInit(unsigned flags) { return (int)flags; }\n")
    stub.compile_c(source, tmp_path / "lib" / "libamdhip64.so")
    done = _python(WITHOUT.format(hide=False), {"ROCM_PATH": str(tmp_path)})
    assert "libamdhip64.so is of another ROCm than 6 or 7" in done


def test_the_library_that_is_loaded_comes_first(tmp_path: Path) -> None:
    """Two copies of HIP in one process do not know of each other's memory."""
    source = tmp_path / "old.c"
    source.write_text("int which = 0;\n")
    (tmp_path / "named" / "lib").mkdir(parents=True)
    loaded, named = tmp_path / "libamdhip64.so.6", tmp_path / "named/lib/libamdhip64.so"
    for path in (loaded, named):
        stub.compile_c(source, path)
    code = (
        "import ctypes, sys\n"
        "from lanewise.backends.amdgpu import rocm\n"
        "print(rocm.library('libamdhip64', (7, 6))._name)\n"
        f"ctypes.CDLL({str(loaded)!r})\n"
        "print(rocm.library('libamdhip64', (7, 6))._name)\n"
    )
    assert _python(code, {"ROCM_PATH": str(tmp_path / "named")}).split() == [str(named), str(loaded)]


def _python(code: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
