"""Whole arrays: reduce, scan, select, sort; written in lanewise itself, so they run on every device.

They take one-dimensional arrays of any kind that kernels take, and run where those are.  What they make is an array of
the same kind: a NumPy array for one in host memory, an `lw.ndarray` on the device otherwise.  The same input and
subgroup size give the same bits on every device, floats included.
"""

from .reduction import reduce
from .scan import exclusive_scan, inclusive_scan
from .selection import select
from .sorting import sort

__all__ = ["exclusive_scan", "inclusive_scan", "reduce", "select", "sort"]
