"""Mathematical functions: C's library, called lane by lane.

Accuracy is that of the system's library: within 1 ulp in f32 and f64 for glibc, except that `tan`, the hyperbolic and
the inverse functions may reach 2.  f16 is computed in f32 and rounded.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from functools import cache

from ...ir import Op
from ...ir.arith import MATH
from .width import Width

_LIBRARY = {"darwin": "libSystem.dylib", "win32": "ucrtbase.dll"}.get(sys.platform, "libm.so.6")


def c_name(opcode: str, element: str) -> str:
    """The C function of an opcode of MATH for `float` or `double`."""
    return opcode + ("f" if element == "float" else "")


@cache
def symbols() -> dict[str, int]:
    """Every function that compiled code may call for mathematics, `fmod` (of `frem`) and `fma` among them."""
    library = ctypes.CDLL(_LIBRARY)
    names = [c_name(opcode, element) for opcode in (*sorted(MATH), "fmod", "fma") for element in ("float", "double")]
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


def declarations(text: str) -> str:
    """Of the functions that a module's text calls.

    `nobuiltin` keeps LLVM from turning a call into another function's, which might not be listed.
    """
    lines: list[str] = []
    for opcode in sorted(MATH):
        for element in ("float", "double"):
            name = c_name(opcode, element)
            if f"@{name}(" in text:
                lines.append(f"declare {element} @{name}({', '.join([element] * (2 if opcode in _BINARY else 1))}) #0")
    if not lines:
        return ""
    return "\n".join([*lines, "attributes #0 = { nounwind willreturn nobuiltin memory(none) }", ""])


_BINARY = frozenset({"atan2", "pow"})


def emit(w: Width, op: Op, ops: Sequence[str]) -> str:
    """The row of every opcode of MATH."""
    call = _call_lanes if w.lanes else _call
    return w.in_single(op.result.type, lambda element, xs: call(w, c_name(op.opcode, element), element, xs), ops)


def _call(w: Width, name: str, element: str, ops: Sequence[str]) -> str:
    return w.do(f"call {element} @{name}({', '.join(f'{element} {a}' for a in ops)}) #0")


def _call_lanes(w: Width, name: str, element: str, ops: Sequence[str]) -> str:
    vector = w.of(element)
    result = "poison"
    for lane in range(w.lanes):
        parts = [w.do(f"extractelement {vector} {a}, i64 {lane}") for a in ops]
        result = w.do(f"insertelement {vector} {result}, {element} {_call(w, name, element, parts)}, i64 {lane}")
    return result
