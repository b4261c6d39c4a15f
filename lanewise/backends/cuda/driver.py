"""The CUDA driver, through cuda-bindings: loaded when first asked for, and every failure a DeviceError in our words."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...errors import DeviceError

_LOST = "the memory of this process on the GPU is lost with it"
_DEBUG = "start the process anew; on the CPU, lw.init(arch=lw.cpu, debug=True) reports the index that went wrong"

# The driver's name of a failure: (what happened, what to do).
FAILURES: dict[str, tuple[str, str]] = {
    "OUT_OF_MEMORY": ("the GPU has not so much memory left", "free arrays, or use smaller ones"),
    "NO_DEVICE": (
        "this machine has no NVIDIA GPU that the process may use",
        "look at nvidia-smi, CUDA_VISIBLE_DEVICES",
    ),
    "INVALID_DEVICE": ("there is no GPU of this number", "lw.init(arch=lw.cuda, device=0)"),
    "NOT_INITIALIZED": ("the driver does not work in a process forked after its first use", "start processes by spawn"),
    "SYSTEM_DRIVER_MISMATCH": ("the driver's library and its kernel module differ in version", "restart the machine"),
    "UNSUPPORTED_PTX_VERSION": ("the driver is older than the code", "a newer NVIDIA driver"),
    "INVALID_PTX": ("the driver rejects the code", "report it, with kernel.source('ptx')"),
    "LAUNCH_OUT_OF_RESOURCES": (
        "a block of this many threads needs more registers than there are",
        "a smaller block_dim",
    ),
    "INVALID_VALUE": ("the driver rejects the sizes", "a smaller launch or block_dim"),
    "ILLEGAL_ADDRESS": (f"a kernel read or wrote outside its arrays; {_LOST}", _DEBUG),
    "MISALIGNED_ADDRESS": (f"a kernel used an address that is no multiple of its type; {_LOST}", _DEBUG),
    "ILLEGAL_INSTRUCTION": (f"a kernel ran into an illegal instruction; {_LOST}", "start the process anew"),
    "LAUNCH_FAILED": (f"a kernel failed while it ran; {_LOST}", _DEBUG),
    "LAUNCH_TIMEOUT": (f"a kernel ran longer than the display allows; {_LOST}", "less work in one launch"),
    "CONTEXT_IS_DESTROYED": (f"the GPU was reset; {_LOST}", "start the process anew"),
    "STREAM_CAPTURE_UNSUPPORTED": (
        "a stream that is captured can take no copies, no allocations and no compilation",
        "use arrays on the GPU, and call the kernel once before the capture",
    ),
    "STREAM_CAPTURE_IMPLICIT": (
        "the default stream cannot be used while another one is captured",
        "kernel(..., stream=...), or tensors whose current stream is the captured one",
    ),
}


@cache
def driver() -> Any:
    """The module `cuda.bindings.driver`, initialised."""
    try:
        from cuda.bindings import driver as module  # pyright: ignore[reportMissingImports, reportAttributeAccessIssue]
    except ImportError as error:
        what = "the cuda backend needs cuda-bindings, which is not installed"
        raise DeviceError(what, hint="pip install 'lanewise[cuda]'") from error
    try:
        (code,) = module.cuInit(0)
    except (RuntimeError, OSError) as error:  # cuda-bindings looks for libcuda at the first call
        what = "no NVIDIA driver was found on this machine"
        raise DeviceError(what, why=str(error), hint="install the GPU's driver, or lw.init(arch=lw.cpu)") from error
    if code:
        raise failure(module, code, "the NVIDIA driver does not start")
    return module


def call(name: str, *args: Any, doing: str = "") -> Any:
    """Call a function of the driver: its one result, the tuple of several, or None; `doing` opens an error's text."""
    module = driver()
    code, *results = getattr(module, name)(*args)
    if code:
        raise failure(module, code, doing or f"{name} failed")
    return results[0] if len(results) == 1 else tuple(results) or None


def failure(module: Any, code: Any, what: str) -> DeviceError:
    """The error for a failed call."""
    name = module.CUresult(int(code)).name.removeprefix("CUDA_ERROR_")
    why, hint = FAILURES.get(name, ("", ""))
    return DeviceError(f"{what}: CUDA_ERROR_{name}", why=why, hint=hint)
