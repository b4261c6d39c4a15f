"""What only a GPU can show: machine code, other libraries' memory and streams, captures, a lost context."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import lanewise as lw
from lanewise.simt import subgroup

from ..ops import reference
from .kernels import affine, copy2, lanes, reversed_blocks, sines


@pytest.fixture
def device(gpu: lw.Device) -> Iterator[lw.Device]:
    with lw.use(gpu):
        yield gpu


@pytest.mark.parametrize("n", [0, 1, 100, 640, 647, 10_000_019])
def test_any_number_of_items(n: int, device: lw.Device) -> None:
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    affine(y, x, 2.0)
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_strided_copies(device: lw.Device) -> None:
    source = np.arange(64 * 70, dtype=np.int16).reshape(64, 70)
    target = np.zeros((140, 64), np.int16).T[:, ::-2]
    copy2(target, source)
    np.testing.assert_array_equal(target, source)


def test_more_shared_memory_than_is_static(nvidia: lw.Device) -> None:
    x = np.arange(1024, dtype=np.float32)
    reversed_blocks(x)
    np.testing.assert_array_equal(x.reshape(4, 256), np.arange(1024).reshape(4, 256)[:, ::-1])


def test_mathematics(device: lw.Device) -> None:
    x = np.linspace(0, 3, 1000, dtype=np.float32)
    y = x.copy()
    sines(y)
    np.testing.assert_allclose(y, np.sin(x), rtol=3e-7)


def test_the_text_of_the_machine_code(nvidia: lw.Device) -> None:
    assert "STG" in affine.source("sass")


def test_device_times(device: lw.Device) -> None:
    x = lw.ndarray(lw.f32, 1 << 22)
    with lw.profile() as times:
        for _ in range(3):
            affine(x, x, 1.0)
    (timing,) = times.timings
    assert timing.launches == 3
    assert 0 < timing.median < 1


# ---- many blocks: a thread carries several --------------------------------------------------------------------------
@lw.kernel
def reductions(x: lw.types.ndarray(), out: lw.types.ndarray(), op: lw.template(), masked: lw.template()):
    for i in range(x.shape[0]):
        v = x[i]
        if v > 1 or lw.static(not masked):
            out[i] = op(v)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("dtype", [lw.i8, lw.u32, lw.i64, lw.f16, lw.f32, lw.f64], ids=str)
def test_reductions_of_many_blocks(dtype: lw.DType, name: str, masked: bool, device: lw.Device) -> None:
    """Every item folds on its own, however many a thread carries."""
    width = device.subgroup_size
    x = np.random.default_rng(1).integers(-3 * dtype.is_signed, 4, 100 * 128).astype(dtype.np)
    if dtype.is_float:
        x *= dtype.np.type(0.7)
        x[::97], x[5::101] = np.nan, -0.0
    active = x > 1 if masked else np.full(x.shape, True)
    with np.errstate(all="ignore"):
        folded = [
            reference.tree([v if here else None for v, here in zip(values, reached, strict=True)], reference.OPS[name])
            for values, reached in zip(x.reshape(-1, width), active.reshape(-1, width), strict=True)
        ]
    expected = [whole if here else 0 for here, whole in zip(active, np.repeat(folded, width), strict=True)]
    for blocks in (*range(1, 18), 100):
        out = lw.ndarray(dtype, blocks * 128)
        reductions(lw.from_numpy(x[: out.size]), out, getattr(subgroup, f"reduce_all_{name}"), masked)
        np.testing.assert_array_equal(out.to_numpy(), np.array(expected[: out.size], dtype.np))


# ---- other libraries ----------------------------------------------------------------------------------------------
def test_torch_tensors_on_their_stream(gpu: lw.Device) -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(100_000, device="cuda", dtype=torch.float32)
    y = torch.ones_like(x)
    affine(y, x, 2.0)  # the current device is the CPU: the device follows the data
    assert (y == 2 * x + 1).all()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        z = torch.ones_like(x)
        torch.cuda._sleep(100_000_000)
        z.mul_(3)  # late: the kernel has to wait for it
        affine(z, x, 1.0)
        seen = z.clone()
    stream.synchronize()
    assert (seen == x + 3).all()


def test_capture_in_a_graph(gpu: lw.Device) -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    affine(y, x, 0.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        affine(y, x, 2.0)
    assert not y.any()
    for _ in range(3):
        graph.replay()
    assert (y == 6).all()


def test_torch_tensors_of_any_layout(gpu: lw.Device) -> None:
    torch = pytest.importorskip("torch")
    source = torch.arange(64, device="cuda", dtype=torch.float32).reshape(8, 8)
    target = torch.zeros(8, 8, device="cuda")
    copy2(target, source.T)
    assert (target == source.T).all()
    for unfit, words in (
        (torch.zeros(4, device="cuda", requires_grad=True), "without gradients"),
        (torch.zeros(4, device="cuda", dtype=torch.bfloat16), "scalar type"),
    ):
        with pytest.raises(lw.LanewiseTypeError, match=rf"argument 'y': .*{words}"):
            affine(unfit, source[0], 1.0)


def test_arrays_of_ours_in_torch(device: lw.Device) -> None:
    torch = pytest.importorskip("torch")
    a = lw.from_numpy(np.full(100, 4, np.float32))
    assert (torch.as_tensor(a, device="cuda") == 4).all()
    torch.from_dlpack(a).fill_(5)
    assert (a.to_numpy() == 5).all()
    wrapped = lw.from_dlpack(torch.full((100,), 6.0, device="cuda"))
    affine(wrapped, a, 1.0)
    assert wrapped[99] == 11


def test_another_stream_sees_what_was_written_before(device: lw.Device) -> None:
    torch = pytest.importorskip("torch")
    a, x = lw.ndarray(lw.f32, 1 << 26), lw.from_numpy(np.ones(1 << 26, np.float32))
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(20):
            affine(a, x, 1.0)
        seen = torch.from_dlpack(a).clone()
    torch.cuda.synchronize()
    assert (seen == 20).all()


def test_cupy(device: lw.Device) -> None:
    cupy = pytest.importorskip("cupy")
    x, y = cupy.arange(1000, dtype=cupy.float32), cupy.ones(1000, cupy.float32)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        affine(y, x, 2.0)
        stream.synchronize()
    assert (y == 2 * x + 1).all()
    a = lw.from_numpy(np.full(100, 3, np.float32))
    assert (cupy.asarray(a) == 3).all()
    assert (cupy.from_dlpack(a) == 3).all()


def test_numba(nvidia: lw.Device) -> None:
    cuda = pytest.importorskip("numba.cuda")
    a = cuda.to_device(np.ones(50, np.float32))
    affine(a, a, 1.0)
    assert (a.copy_to_host() == 2).all()


def test_jax(nvidia: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax")
    x, y = jax.numpy.arange(50, dtype=jax.numpy.float32), lw.ndarray(lw.f32, 50)
    affine(y, x, 1.0)
    assert y.to_numpy().tolist() == list(range(50))
    with pytest.raises(lw.LanewiseTypeError, match="read-only"):
        affine(x, x, 1.0)  # arrays of JAX never change
    assert np.asarray(jax.dlpack.from_dlpack(y)).tolist() == list(range(50))


def test_several_gpus(gpu: lw.Device) -> None:
    try:
        other = lw.init(gpu.arch, device=1)
    except lw.DeviceError as error:
        pytest.skip(f"one GPU only: {error.what}")
    arrays = [lw.ndarray(lw.i32, 100, device=device) for device in (gpu, other)]
    for _ in range(2):
        for array in arrays:
            lanes(array)
            assert array.to_numpy().tolist() == [i % gpu.subgroup_size for i in range(100)]
    a, b = (lw.ndarray(lw.f32, 4, device=device) for device in (gpu, other))
    with pytest.raises(lw.DeviceError, match=f"expected an array on {gpu.arch.value}"):
        affine(a, b, 1.0)


# ---- failures -----------------------------------------------------------------------------------------------------
LOSE = """
import lanewise as lw
from tests.gpu.kernels import outside
lw.init(lw.cuda)
x = lw.ndarray(lw.f32, 1000)
outside(x, 1 << 40)
for attempt in range(2):
    try:
        x.to_numpy()
    except lw.DeviceError as error:
        print(error)
"""


def test_a_lost_context(nvidia: lw.Device) -> None:
    """In a process of its own, which it ruins."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", LOSE]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root, check=True)
    assert done.stdout.count("kernel outside: a launch of 8 blocks of 128 threads, or one before it, failed") == 2
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout


def test_the_command_line_lists_it(gpu: lw.Device) -> None:
    command = [sys.executable, "-m", "lanewise.tools.cli", "devices", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert gpu.name in done.stdout
