"""Subgroup operations on the CPU beside PoCL's, in one run: the same arrays, in turn.

    python benchmarks/pocl.py

Needs pyopencl and PoCL 5 or later (Debian 13: pocl-opencl-icd, python3-pyopencl): earlier ones have no subgroups.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyopencl as cl
from pairs import Row, compare, show

import lanewise as lw
from lanewise.simt import subgroup

W = 32
F32 = lw.types.ndarray(lw.f32, 1)
SIZE = 1 << 22

SOURCE = """
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define KERNEL(name, expression) \\
    kernel __attribute__((intel_reqd_sub_group_size(32))) __attribute__((reqd_work_group_size(128, 1, 1))) \\
    void k_##name(global const float *x, global float *out) { \\
        size_t i = get_global_id(0); float v = x[i]; out[i] = expression; }
KERNEL(copy, v)
KERNEL(reduce_add, sub_group_reduce_add(v))
KERNEL(reduce_max, sub_group_reduce_max(v))
KERNEL(inclusive_add, sub_group_scan_inclusive_add(v))
KERNEL(exclusive_add, sub_group_scan_exclusive_add(v))
KERNEL(broadcast, sub_group_broadcast(v, 5))
KERNEL(shuffle_xor, sub_group_shuffle_xor(v, 1))
KERNEL(shuffle, sub_group_shuffle(v, (int)v & 31))
KERNEL(any_true, (float)sub_group_any(v > 60.0f))
KERNEL(ballot, (float)popcount(sub_group_ballot(v > 32.0f).x))
"""


@lw.kernel
def apply(operation: lw.template(), x: F32, out: F32):
    for i in range(x.shape[0]):
        out[i] = operation(x[i])


@lw.func
def copy(v):
    return v


@lw.func
def broadcast(v):
    return subgroup.broadcast(v, 5)


@lw.func
def shuffle_xor(v):
    return subgroup.shuffle_xor(v, 1)


@lw.func
def shuffle(v):
    return subgroup.shuffle(v, lw.cast(v, lw.i32) & 31)


@lw.func
def any_true(v):
    return lw.cast(subgroup.any_true(v > 60.0), lw.f32)


@lw.func
def ballot(v):
    return lw.cast(subgroup.ballot_bit_count(subgroup.ballot(v > 32.0)), lw.f32)


OURS: dict[str, Callable[..., object]] = {
    "copy": copy,
    "reduce_add": subgroup.reduce_all_add,
    "reduce_max": subgroup.reduce_all_max,
    "inclusive_add": subgroup.inclusive_add,
    "exclusive_add": subgroup.exclusive_add,
    "broadcast": broadcast,
    "shuffle_xor": shuffle_xor,
    "shuffle": shuffle,
    "any_true": any_true,
    "ballot": ballot,
}


def rows() -> list[Row]:
    (device,) = [d for p in cl.get_platforms() if "Portable" in p.name for d in p.get_devices()]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, SOURCE).build()
    x = np.random.default_rng(0).integers(0, 64, SIZE).astype(np.float32)
    out, other = np.empty_like(x), np.empty_like(x)
    flags = cl.mem_flags
    given = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x)
    made = cl.Buffer(context, flags.WRITE_ONLY, x.nbytes)
    found: list[Row] = []
    for name, operation in OURS.items():
        kernel = cl.Kernel(program, f"k_{name}")

        def theirs(kernel=kernel) -> None:
            kernel(queue, (SIZE,), (128,), given, made)
            queue.finish()

        found.append(
            compare(
                name,
                lambda operation=operation: apply(operation, x, out),
                {"PoCL": theirs},
                items=SIZE,
                wanted={} if name == "copy" else {"PoCL": 1.5},
            )
        )
        cl.enqueue_copy(queue, other, made)
        np.testing.assert_allclose(out, other, rtol=1e-5, err_msg=name)
    return found


if __name__ == "__main__":
    lw.init(lw.cpu, subgroup_size=W)
    show(f"{lw.current_device().name}, W = {W}, 16 MiB of f32", rows())
