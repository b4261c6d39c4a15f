"""IR to IR: from a program to kernels that a backend can emit."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import Kernel, Program
from .contraction import contract
from .convergence import converge
from .expansion import Expansion, Natives, expand
from .folding import fold
from .layout import layout
from .outline import outline, parallel_loops
from .recording import record

__all__ = ["Expansion", "contract", "parallel_loops", "prepare", "record"]


def prepare(
    program: Program,
    number: int,
    *,
    regular: bool,
    aligned: bool = True,
    natives: Natives = (),
    expansions: Mapping[str, Expansion] | None = None,
    max_shared_bytes: int = 1 << 16,
) -> Kernel:
    """The `number`-th parallel loop of a program, in convergent form and in primitives (and the backend's natives)."""
    kernel = outline(program, number, regular=regular, aligned=aligned)
    return layout(fold(expand(converge(kernel), natives, expansions)), max_shared_bytes)
