"""Operations between the lanes of a subgroup (warp, wave), and as `_tiled` forms within its aligned tiles.

The functions are declared in this package, one family a module; `FUNCTIONS` in `op.py` has them all.
"""

from __future__ import annotations

from .families import member, members
from .op import Function


def __getattr__(name: str) -> Function:
    return member("subgroup", name)


def __dir__() -> list[str]:
    return sorted(members("subgroup"))
