"""Operations between the threads of a block.

The functions are declared in this package, one family a module; `FUNCTIONS` in `op.py` has them all.
"""

from __future__ import annotations

from .families import member, members
from .op import Function


def __getattr__(name: str) -> Function:
    return member("block", name)


def __dir__() -> list[str]:
    return sorted(members("block"))
