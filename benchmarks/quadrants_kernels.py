"""The kernels of gpu.py in Quadrants, which takes torch tensors: imported only where both are installed."""

import quadrants as qd
from quadrants.lang.simt import subgroup

qd.init(arch=qd.cuda, log_level=qd.WARN)

Floats = qd.types.ndarray(dtype=qd.f32, ndim=1)
Ints = qd.types.ndarray(dtype=qd.i32, ndim=1)


@qd.kernel
def reduce_add(x: Floats, out: Floats):
    qd.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        total = subgroup.reduce_add_tiled(x[i], 5)
        if i % 32 == 0:
            out[i // 32] = total


@qd.kernel
def inclusive_add(x: Floats, out: Floats):
    qd.loop_config(block_dim=256)
    for i in range(x.shape[0]):
        out[i] = subgroup.inclusive_add_tiled(x[i], 5)


@qd.kernel
def bitonic_sort_kv(keys: Floats, values: Ints, keys_out: Floats, values_out: Ints):
    qd.loop_config(block_dim=256)
    for i in range(keys.shape[0]):
        key, value = subgroup.bitonic_sort_kv_tiled(keys[i], values[i], 5)
        keys_out[i] = key
        values_out[i] = value


@qd.kernel
def add(c: Floats, a: Floats, b: Floats):
    for i in range(c.shape[0]):
        c[i] = a[i] + b[i]
