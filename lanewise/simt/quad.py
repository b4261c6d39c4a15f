"""Operations between the four lanes of a quad, those with the same lane // 4.

The functions are declared in this package, one family a module; `FUNCTIONS` in `op.py` has them all.
"""

from __future__ import annotations

from .families import member, members
from .op import Function


def __getattr__(name: str) -> Function:
    return member("quad", name)


def __dir__() -> list[str]:
    return sorted(members("quad"))
