"""What a kernel's author calls: `subgroup`, `quad`, `block`, `grid`, and the clock."""

from . import block, grid, quad, subgroup
from .families import member

clock = member("simt", "clock")

__all__ = ["block", "clock", "grid", "quad", "subgroup"]
