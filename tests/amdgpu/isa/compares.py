"""Vector compares ("VOPC"): a bit a lane, 0 in disabled lanes; V_CMPX writes EXEC."""

from __future__ import annotations

import numpy as np

from .integers import Row
from .state import Arr


def _unordered(a: Arr, b: Arr) -> Arr:
    return np.isnan(a) | np.isnan(b)


_ORDERED = {
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_INTEGER = {**_ORDERED, "ne": np.not_equal}
_FLOAT = {
    **_ORDERED,
    "lg": lambda a, b: ~(_unordered(a, b) | (a == b)),
    "o": lambda a, b: ~_unordered(a, b),
    "u": _unordered,
    "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: _unordered(a, b) | (a == b),
    "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b),
    "neq": lambda a, b: ~(a == b),
    "nlt": lambda a, b: ~(a < b),
}

ROWS: dict[str, Row] = {
    f"v_cmp_{name}_{letter}{bits}": Row("m", f"{letter}{bits} {letter}{bits}", function)
    for letters, table in (("iu", _INTEGER), ("f", _FLOAT))
    for letter in letters
    for bits in (16, 32, 64)
    for name, function in table.items()
}
