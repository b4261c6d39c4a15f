"""Kernels that the tests of GPUs share."""

from __future__ import annotations

import lanewise as lw

F32 = lw.types.ndarray(lw.f32, 1)


@lw.kernel
def affine(y: F32, x: F32, a: lw.f32):
    """y = a * x + y"""
    for i in range(y.shape[0]):
        y[i] = a * x[i] + y[i]


@lw.kernel
def plus(y: F32, x: F32):
    for i in range(y.shape[0]):
        y[i] = y[i] + x[i]


@lw.kernel
def told(x: F32):
    for i in range(x.shape[0]):
        print(i, x[i])


@lw.kernel
def lanes(out: lw.types.ndarray(lw.i32, 1)):
    for i in range(out.shape[0]):
        out[i] = lw.simt.subgroup.invocation_id()


@lw.kernel
def copy2(target: lw.types.ndarray(ndim=2), source: lw.types.ndarray(ndim=2)):
    for i, j in lw.ndrange(source.shape[0], source.shape[1]):
        target[i, j] = source[i, j]


@lw.kernel
def first(out: F32, n: lw.i32, value: lw.f32):
    """out[0:n] = value"""
    for i in range(n):
        out[i] = value


@lw.kernel
def reversed_blocks(x: F32):
    """Each block of 256, backwards, by way of 96 KiB of shared memory."""
    lw.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        room = lw.simt.block.SharedArray(24 * 1024, lw.f32)
        t = lw.simt.block.thread_idx()
        room[t * 90] = x[i]
        lw.simt.block.sync()
        x[i] = room[(255 - t) * 90]


@lw.kernel
def sines(x: F32):
    for i in range(x.shape[0]):
        x[i] = lw.sin(x[i])


@lw.kernel
def outside(x: F32, shift: lw.i64):
    for i in range(x.shape[0]):
        x[i + shift] = 1.0
