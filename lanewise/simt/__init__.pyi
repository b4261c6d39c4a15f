# Made by `python -m lanewise.tools.stubs`; tests/test_editor.py checks that it is current.
"""What a kernel's author calls: `subgroup`, `quad`, `block`, `grid`, and the clock."""

from . import subgroup as subgroup
from . import quad as quad
from . import block as block
from . import grid as grid

def clock() -> int:
    """The device's cycle counter, a u64: nanoseconds where a device has none.  Its values are outside the
    promise of equal results.

    PTX %clock64, SPIR-V OpReadClockKHR, AMD s_memtime."""
