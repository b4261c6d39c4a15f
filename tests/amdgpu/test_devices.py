"""AMD GPUs as devices: what each architecture offers, several of them, their code, other libraries' arrays."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lanewise as lw
from lanewise import foreign
from lanewise.backends.amdgpu.link import Command
from lanewise.simt import block, subgroup

from ..gpu.kernels import affine, lanes, plus
from . import stub
from .stub import StubHip


# ---- devices --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("gfx", "arch", "sizes"),
    [
        ("gfx908", "gfx908", (64,)),
        ("gfx90a:sramecc+:xnack-", "gfx90a", (64,)),
        ("gfx942:sramecc+:xnack-", "gfx942", (64,)),
        ("gfx950:sramecc+:xnack-", "gfx950", (64,)),
        ("gfx1100", "gfx1100", (32, 64)),
        ("gfx1200", "gfx1200", (32, 64)),
    ],
)
def test_each_architecture(gfx: str, arch: str, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Wave64 by default, wave32 where the hardware has it."""
    with stub.installed(monkeypatch, 64, gfx):
        device = lw.init(lw.amdgpu)
        facts = device.properties
        assert (device.subgroup_size, facts.subgroup_sizes, facts.arch) == (64, sizes, "amdgpu")
        assert facts.details["architecture"] == arch
        assert facts.details["HIP"] == "6.4.43483"
        assert (facts.name, facts.max_block_dim, facts.max_shared_bytes) == ("Stub Instinct", 1024, 65536)
        card: Any = device.engine
        assert card.card.arch == arch
        assert card.card.limits.max_grid * 1024 < 2**32  # the hardware counts threads in 32 bits
        if 32 in sizes:
            assert lw.init(lw.amdgpu, subgroup_size=32).subgroup_size == 32
        else:
            with pytest.raises(lw.DeviceError, match="expected a subgroup_size of 64, got 32") as caught:
                lw.init(lw.amdgpu, subgroup_size=32)
            assert f"is a {arch}" in str(caught.value)


def test_an_architecture_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        stub.installed(monkeypatch, 64, "gfx803"),
        pytest.raises(lw.LanewiseError, match="'gfx803' is no architecture of the amdgpu backend"),
    ):
        lw.init(lw.amdgpu)


def test_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory, code and launches are each GPU's own; the thread's current GPU stays what it was."""
    with stub.installed(monkeypatch, 64, devices=2) as hip:
        devices = [lw.init(lw.amdgpu, device=number) for number in (0, 1)]
        hip.forget()
        arrays = [lw.ndarray(lw.i32, 100, device=device) for device in devices]
        for number in (0, 1) * 3:
            lanes(arrays[number])
        assert [array.to_numpy().tolist() for array in arrays] == [[i % 64 for i in range(100)]] * 2
        assert [call.device for call in hip.calls("hipMalloc")] == [0, 1]
        assert [call.device for call in hip.calls("hipModuleLaunchKernel")] == [0, 1] * 3
        assert hip.calls("hipModuleLaunchKernel")[0].device == 0
        hip.forget()
        devices[1].sync()
        names = [(call.name, call.device) for call in hip.calls("hipDeviceSynchronize", "hipSetDevice")]
        assert names == [("hipSetDevice", 0), ("hipDeviceSynchronize", 1), ("hipSetDevice", 1)]
        a, b = (lw.ndarray(lw.f32, 4, device=device) for device in devices)
        with pytest.raises(lw.DeviceError, match="expected an array on amdgpu"):
            affine(a, b, 1.0)
        assert list(lw.device.every_device())[-3:].count("amdgpu:1") == 1
        del a, b, arrays


def test_both_sizes_in_one_process(hip: StubHip) -> None:
    """They share no code."""
    for _ in range(2):
        for size in (64, 32):
            out = lw.ndarray(lw.i32, 200, device=lw.init(lw.amdgpu, subgroup_size=size))
            lanes(out)
            assert out.to_numpy().tolist() == [i % size for i in range(200)]


def test_the_kind_gpu_finds_it(hip: StubHip) -> None:
    if isinstance(lw.devices()[lw.cuda], lw.Device):
        pytest.skip("this machine has an NVIDIA GPU, which comes first")
    assert lw.init(lw.gpu).arch is lw.amdgpu


# ---- code ---------------------------------------------------------------------------------------------------------
def test_code_is_kept_on_disk(hip: StubHip, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By architecture and wavefront size."""
    monkeypatch.setenv("LANEWISE_CACHE_DIR", str(tmp_path))
    for size, compiled in ((64, 2), (64, 2), (32, 4), (64, 4)):  # init compiles the kernel that counts lanes
        monkeypatch.setattr("lanewise.device._checked", set())
        x = lw.ndarray(lw.f32, 10, device=lw.init(lw.amdgpu, subgroup_size=size))
        plus(x, x)
        assert len(hip.kernels) == compiled


@lw.kernel
def block_totals(x: lw.types.ndarray(lw.i32, 1), out: lw.types.ndarray(lw.i32, 1)):
    for i in range(x.shape[0]):
        out[i] = block.reduce_all_add(x[i]) + subgroup.inclusive_add(x[i])


@pytest.mark.parametrize(("gfx", "size"), [("gfx90a:xnack-", 64), ("gfx942", 64), ("gfx1100", 32), ("gfx1200", 64)])
def test_real_code_is_what_the_launches_expect(
    gfx: str, size: int, monkeypatch: pytest.MonkeyPatch, linker: Command
) -> None:
    """Compiled, linked and loaded; the metadata's sizes are those of each launch (the library compares them)."""
    with stub.installed(monkeypatch, size, gfx, real=True) as hip, lw.use(lw.init(lw.amdgpu, subgroup_size=size)):
        x = np.random.default_rng(2).integers(0, 99, 128 * 6 + 5).astype(np.int32)
        out = np.zeros_like(x)
        block_totals(x, out)
        rows = [x[start : start + 128] for start in range(0, x.size, 128)]
        scans = [np.cumsum(x[start : start + size]) for start in range(0, x.size, size)]
        expected = np.concatenate([np.full(row.size, row.sum()) for row in rows]) + np.concatenate(scans)
        np.testing.assert_array_equal(out, expected)
        assert len(hip.metadata) == len(hip.kernels) >= 2


# ---- other libraries ------------------------------------------------------------------------------------------------
class Tensor:
    """As torch's are, for ROCm: what is asked of one."""

    requires_grad = False
    layout = "strided"

    def __init__(self, array: lw.ndarray) -> None:
        self.array = array
        self.shape = array.shape
        self.dtype = "float32"

    is_neg = staticmethod(lambda: False)

    def get_device(self) -> int:
        return self.array.device.properties.number

    def data_ptr(self) -> int:
        return self.array.view.address

    def stride(self) -> tuple[int, ...]:
        return self.array.view.strides


def test_torch_for_rocm(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = SimpleNamespace(
        Tensor=Tensor,
        version=SimpleNamespace(hip="6.4"),
        cuda=SimpleNamespace(device_count=lambda: 2),
        _C=SimpleNamespace(_cuda_getCurrentRawStream=lambda number: 40 + number),
        strided="strided",
        float32="float32",
    )
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    monkeypatch.setattr(foreign, "readers", {})
    monkeypatch.setattr(foreign, "facts", {})
    with stub.installed(monkeypatch, 64, devices=2) as hip:
        array = lw.ndarray(lw.f32, 40, device=lw.init(lw.amdgpu, device=1))
        lw.reset()  # the current device is the CPU: the device follows the data
        affine(Tensor(array), Tensor(array), 1.0)
        assert (hip.launches[-1].stream, hip.calls("hipModuleLaunchKernel")[-1].device) == (41, 1)
        del array


class Exported:
    """A tensor of ROCm by DLPack, which is asked for with a stream."""

    def __init__(self, array: lw.ndarray) -> None:
        self.array = array
        self.streams: list[int] = []

    def __dlpack__(self, stream: int, max_version: tuple[int, int]) -> Any:
        self.streams.append(stream)
        return self.array.__dlpack__(max_version=max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_the_default_stream_of_dlpack_is_0(hip: StubHip) -> None:
    lent = Exported(lw.from_numpy(np.ones(6, np.float32), device=lw.init(lw.amdgpu)))
    assert lw.from_dlpack(lent).device.arch is lw.amdgpu
    assert lent.streams == [0]  # 1 and 2 are CUDA's


def test_the_interface_promises_no_pending_work(hip: StubHip) -> None:
    a = lw.ndarray(lw.f32, 6, device=lw.init(lw.amdgpu))
    hip.forget()
    assert a.__cuda_array_interface__["stream"] is None
    assert hip.calls("hipDeviceSynchronize")
