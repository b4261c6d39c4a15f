"""HIP, through ctypes: loaded when first asked for, and every failure a DeviceError in our words.

The functions are those of hip_runtime_api.h since ROCm 6, which changed the layout of a device's properties.
"""

from __future__ import annotations

from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_void_p
from functools import cache
from os import getpid
from typing import Any

from ...errors import DeviceError
from . import rocm

VERSIONS = (7, 6)
"""Major versions of the library that have these functions."""

_LOST = "the memory of this process on the GPU is lost with it"
_DEBUG = "start the process anew; on the CPU, lw.init(arch=lw.cpu, debug=True) reports the index that went wrong"

# HIP's name of a failure, less `hipError`: (what happened, what to do).
FAILURES: dict[str, tuple[str, str]] = {
    "OutOfMemory": ("the GPU has not so much memory left", "free arrays, or use smaller ones"),
    "NoDevice": (
        "this machine has no AMD GPU that the process may use",
        "look at rocminfo, HIP_VISIBLE_DEVICES and whether the user is in the groups render and video",
    ),
    "InvalidDevice": ("there is no GPU of this number", "lw.init(arch=lw.amdgpu, device=0)"),
    "NotInitialized": ("HIP does not work in a process forked after its first use", "start processes by spawn"),
    "Deinitialized": ("the process is ending", "finish GPU work before it ends"),
    "InsufficientDriver": ("the kernel's amdgpu driver is older than ROCm", "a newer driver, or an older ROCm"),
    "InvalidImage": ("HIP rejects the code", "report it, with kernel.source('amdgpu')"),
    "InvalidKernelFile": ("HIP rejects the code", "report it, with kernel.source('amdgpu')"),
    "NoBinaryForGpu": (
        "the code is for another architecture or wavefront size",
        "another subgroup_size, or a newer ROCm",
    ),
    "SharedObjectInitFailed": ("HIP cannot load the code", "a newer ROCm"),
    "NotFound": ("the code has no kernel of this name", "report it, with kernel.source('amdgpu')"),
    "LaunchOutOfResources": (
        "a block of this many threads needs more registers than there are",
        "a smaller block_dim",
    ),
    "InvalidConfiguration": ("HIP rejects the sizes", "a smaller launch or block_dim"),
    "InvalidValue": ("HIP rejects the sizes", "a smaller launch or block_dim"),
    "InvalidDevicePointer": ("an address is not the GPU's", "arrays of this GPU"),
    "InvalidHandle": ("a stream or an event is not of this GPU", "a stream of the GPU that the arrays are on"),
    "ContextIsDestroyed": (f"the GPU was reset; {_LOST}", "start the process anew"),
    "ECCNotCorrectable": (f"the GPU's memory has failed; {_LOST}", "look at rocm-smi"),
    "IllegalAddress": (f"a kernel read or wrote outside its arrays; {_LOST}", _DEBUG),
    "LaunchFailure": (f"a kernel failed while it ran; {_LOST}", _DEBUG),
    "LaunchTimeOut": (f"a kernel ran longer than the display allows; {_LOST}", "less work in one launch"),
    "Assert": (f"a kernel of another library has asserted; {_LOST}", "start the process anew"),
    "StreamCaptureUnsupported": (
        "a stream that is captured can take no copies, no allocations and no compilation",
        "use arrays on the GPU, and call the kernel once before the capture",
    ),
    "StreamCaptureImplicit": (
        "the default stream cannot be used while another one is captured",
        "kernel(..., stream=...), or tensors whose current stream is the captured one",
    ),
}


class DeviceProperties(Structure):
    """hipDeviceProp_tR0600, as far as we read it."""

    _fields_ = (
        ("name", c_char * 256),
        ("uuid", c_ubyte * 16),
        ("luid", c_ubyte * 8),
        ("luid_device_node_mask", c_uint),
        ("total_global_mem", c_size_t),
        ("shared_mem_per_block", c_size_t),
        ("regs_per_block", c_int),
        ("warp_size", c_int),
        ("mem_pitch", c_size_t),
        ("max_threads_per_block", c_int),
        ("max_threads_dim", c_int * 3),
        ("max_grid_size", c_int * 3),
        ("clock_rate", c_int),
        ("total_const_mem", c_size_t),
        ("major", c_int),
        ("minor", c_int),
        ("texture_alignment", c_size_t),
        ("texture_pitch_alignment", c_size_t),
        ("device_overlap", c_int),
        ("multi_processor_count", c_int),
        ("textures_and_capabilities", c_ubyte * 768),
        ("gcn_arch_name", c_char * 256),
        ("rest", c_ubyte * (4096 - 1416)),  # 1472 bytes in ROCm 6 and 7; room for what a later one may add
    )


_ADDRESS = POINTER(c_void_p)
_NUMBER = POINTER(c_int)

FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "hipInit": (c_uint,),
    "hipGetDeviceCount": (_NUMBER,),
    "hipRuntimeGetVersion": (_NUMBER,),
    "hipGetDevicePropertiesR0600": (POINTER(DeviceProperties), c_int),
    "hipGetDevice": (_NUMBER,),
    "hipSetDevice": (c_int,),
    "hipDeviceSynchronize": (),
    "hipMalloc": (_ADDRESS, c_size_t),
    "hipFree": (c_void_p,),
    "hipHostMalloc": (_ADDRESS, c_size_t, c_uint),
    "hipMemset": (c_void_p, c_int, c_size_t),
    "hipMemcpyHtoDAsync": (c_void_p, c_void_p, c_size_t, c_void_p),
    "hipMemcpyDtoHAsync": (c_void_p, c_void_p, c_size_t, c_void_p),
    "hipPointerGetAttribute": (c_void_p, c_int, c_void_p),
    "hipEventCreateWithFlags": (_ADDRESS, c_uint),
    "hipEventRecord": (c_void_p, c_void_p),
    "hipEventSynchronize": (c_void_p,),
    "hipEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "hipEventDestroy": (c_void_p,),
    "hipStreamSynchronize": (c_void_p,),
    "hipModuleLoadData": (_ADDRESS, c_char_p),
    "hipModuleGetFunction": (_ADDRESS, c_void_p, c_char_p),
    "hipModuleLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, c_void_p, c_void_p),
    "hipGetLastError": (),
}
"""What we call, with the types of its arguments; all of it returns a hipError_t."""


@cache
def hip() -> Any:
    """The library, initialised."""
    library: Any = rocm.library("libamdhip64", VERSIONS)
    if library is None:
        raise DeviceError(
            "the amdgpu backend needs ROCm's libamdhip64, which was not found",
            why="it is looked for in ROCM_PATH, in torch, in /opt/rocm and where the system's linker looks",
            hint="install ROCm 6 or later, or lw.init(arch=lw.cpu)",
        )
    try:
        for name, arguments in FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, c_int
        library.hipGetErrorName.argtypes, library.hipGetErrorName.restype = (c_int,), c_char_p
    except AttributeError as error:
        what = f"{library._name} is of another ROCm than 6 or 7"
        raise DeviceError(what, why=str(error), hint="install ROCm 6 or later, or set ROCM_PATH to it") from None
    library.process = getpid()
    code = library.hipInit(0)
    if code:
        raise failure(library, code, "HIP does not start")
    return library


def check_process() -> None:
    """Raise a DeviceError in a process forked from the one that HIP was started in, where its calls hang."""
    if hip().process != getpid():
        what, hint = FAILURES["NotInitialized"]
        raise DeviceError(what, why="HIP's threads and its connection to the GPU stay with the first one", hint=hint)


def call(name: str, *args: Any, doing: str = "") -> None:
    """Call a function of HIP; `doing` opens an error's text."""
    check_process()
    library = hip()
    code = getattr(library, name)(*args)
    if code:
        raise failure(library, code, doing or f"{name} failed")


def ask(name: str, kind: Any, *args: Any, doing: str = "") -> Any:
    """The same of a function that returns through its first argument, a pointer to `kind`; an address is an int."""
    result = kind()
    call(name, byref(result), *args, doing=doing)
    return result if isinstance(result, Structure) else result.value or 0


def failure(library: Any, code: int, what: str) -> DeviceError:
    """The error for a failed call, which HIP then forgets: torch would raise it again at its next launch."""
    library.hipGetLastError()
    name = (library.hipGetErrorName(code) or b"").decode(errors="replace") or f"error {code}"
    why, hint = FAILURES.get(name.removeprefix("hipError"), ("", ""))
    return DeviceError(f"{what}: {name}", why=why, hint=hint)


def version() -> str:
    """That of the library: `6.4.43483`."""
    number = ask("hipRuntimeGetVersion", c_int)
    return f"{number // 10_000_000}.{number // 100_000 % 100}.{number % 100_000}"
