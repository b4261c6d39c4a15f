"""A CUDA driver for machines without one: memory of this process, kernels run by the interpreter.

It has the functions that the run time calls, with the results that cuda-bindings gives, so that everything but the
machine code is tested: allocation, copies, argument blocks, the split of a launch, errors.
"""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

import lanewise as lw
from lanewise.backends.llvm.arguments import ArgumentBlock
from lanewise.backends.llvm.target import entry_name
from lanewise.ir import Kernel

from .emulate import MULTIPROCESSORS, Fake, Launch, run

MEMORY = 1 << 30
CONTEXT = 77
ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": MULTIPROCESSORS,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
}


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


OK = CUresult.CUDA_SUCCESS


class _Names(type):
    """An enumeration of which only the names are used."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name


class _Enum(metaclass=_Names):
    pass


@dataclass
class FakeDriver(Fake):
    """Stands for the module `cuda.bindings.driver`."""

    arch = lw.cuda
    subgroup_size = 32
    other_size = 64
    default_stream = 1
    device_type = 2
    launches: list[Launch] = field(default_factory=list)
    failing: dict[str, CUresult] = field(default_factory=dict)
    """Functions that fail, and how."""
    memory: dict[int, Any] = field(default_factory=dict)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    contexts: list[int] = field(default_factory=list)
    current: int = 0

    CUresult = CUresult
    CUstream = int
    CUdevice_attribute = CUpointer_attribute = CUjit_option = CUjitInputType = CUfunction_attribute = _Enum

    @property
    def live(self) -> int:
        return len(self.memory)

    def fail(self, step: str, how: str) -> str:
        code = CUresult["CUDA_ERROR_" + how.upper().replace(" ", "_")]
        self.failing[{"launch": "cuLaunchKernel", "wait": "cuCtxSynchronize"}[step]] = code
        return code.name

    def learn(self, kernel: Kernel) -> str:
        """In place of a kernel's PTX: its name, under which it is found again."""
        self.kernels[entry_name(kernel)] = kernel
        return entry_name(kernel)

    # ---- functions with something to do --------------------------------------------------------------------------
    def cuCtxPushCurrent(self, context: int) -> tuple[CUresult]:
        self.contexts.append(context)
        return (OK,)

    def cuCtxPopCurrent(self) -> tuple[CUresult, int]:
        return OK, self.contexts.pop()

    def cuCtxGetCurrent(self) -> tuple[CUresult, int]:
        return OK, self.contexts[-1] if self.contexts else self.current

    def cuCtxSetCurrent(self, context: int) -> tuple[CUresult]:
        self.current = context
        return (OK,)

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> tuple[CUresult, int]:
        return OK, ATTRIBUTES[attribute.removeprefix("CU_DEVICE_ATTRIBUTE_")]

    def cuMemAlloc(self, size: int) -> tuple[CUresult, int]:
        if size > MEMORY:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        room = np.full(size + 256, 0xAA, np.uint8)
        address = room.ctypes.data + -room.ctypes.data % 256
        self.memory[address] = room
        return OK, address

    def cuMemHostAlloc(self, size: int, flags: int) -> tuple[CUresult, int]:
        return self.cuMemAlloc(size)

    def cuMemFree(self, address: int) -> tuple[CUresult]:
        del self.memory[address]
        return (OK,)

    def cuMemsetD8(self, address: int, value: int, size: int) -> tuple[CUresult]:
        ctypes.memset(address, value, size)
        return (OK,)

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[CUresult]:
        ctypes.memmove(target, source, size)
        return (OK,)

    cuMemcpyDtoHAsync = cuMemcpyHtoDAsync

    def cuEventCreate(self, flags: int) -> tuple[CUresult, list[float]]:
        return OK, [0.0]

    def cuEventRecord(self, event: list[float], stream: int) -> tuple[CUresult]:
        event[0] = time.perf_counter()
        return (OK,)

    def cuEventElapsedTime(self, first: list[float], last: list[float]) -> tuple[CUresult, float]:
        return OK, (last[0] - first[0]) * 1e3

    def cuLinkCreate(self, *options: Any) -> tuple[CUresult, list[Any]]:
        return OK, []

    def cuLinkAddData(self, state: list[Any], kind: str, text: bytes, *rest: Any) -> tuple[CUresult]:
        state.append(ctypes.create_string_buffer(text))
        return (OK,)

    def cuLinkComplete(self, state: list[Any]) -> tuple[CUresult, int, int]:
        return OK, ctypes.addressof(state[0]), len(state[0])

    def cuModuleGetFunction(self, module: bytes, name: bytes) -> tuple[CUresult, Kernel]:
        return OK, self.kernels[name.decode()]

    def cuLaunchKernel(self, kernel: Kernel, grid: int, *rest: Any) -> tuple[CUresult]:
        if "cuLaunchKernel" in self.failing:
            return (self.failing["cuLaunchKernel"],)
        _, _, threads, _, _, _, stream, parameters, _ = rest
        size = ArgumentBlock.of(kernel).size
        data = ctypes.string_at(ctypes.c_uint64.from_address(parameters).value, size)
        self.launches.append(run(kernel, data, grid, threads, stream))
        return (OK,)

    # ---- the rest ------------------------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        results = {
            "cuDeviceGetCount": 1,
            "cuDeviceGet": 0,
            "cuDevicePrimaryCtxRetain": CONTEXT,
            "cuDeviceGetName": b"Fake GPU\0",
            "cuDriverGetVersion": 13000,
            "cuModuleLoadData": b"",
            "cuPointerGetAttribute": 0,
        }
        if not name.startswith("cu"):
            raise AttributeError(name)
        found = (OK, results[name]) if name in results else (OK,)
        return lambda *args: (self.failing[name],) if name in self.failing else found
