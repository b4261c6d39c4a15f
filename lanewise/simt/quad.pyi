# Made by `python -m lanewise.tools.stubs`; tests/test_editor.py checks that it is current.
"""Operations between the four lanes of a quad."""

from typing import Any, TypeVar

_T = TypeVar("_T")

def all(predicate: Any) -> int:
    """Whether the predicate is not 0 in all four lanes of the quad.

    An i32, 0 or 1, in every active lane.  A lane that is not active reads as false.

    A subgroup of fewer than four lanes is a compile-time error.  SPV_KHR_quad_control."""

def any(predicate: Any) -> int:
    """Whether the predicate is not 0 in any lane of the quad.

    An i32, 0 or 1, in every active lane.  A lane that is not active reads as false.

    A subgroup of fewer than four lanes is a compile-time error.  SPV_KHR_quad_control."""

def broadcast(value: _T, index: int) -> _T:
    """The value of the quad's lane `index`, a constant 0 ... 3; any other is a compile-time error.

    SPIR-V OpGroupNonUniformQuadBroadcast.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    A subgroup of fewer than four lanes is a compile-time error."""

def swap_diagonal(value: _T) -> _T:
    """r[l] = v[l ^ 3]

    SPIR-V OpGroupNonUniformQuadSwap, direction 2.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    A subgroup of fewer than four lanes is a compile-time error."""

def swap_horizontal(value: _T) -> _T:
    """r[l] = v[l ^ 1]

    SPIR-V OpGroupNonUniformQuadSwap, direction 0.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    A subgroup of fewer than four lanes is a compile-time error."""

def swap_vertical(value: _T) -> _T:
    """r[l] = v[l ^ 2]

    SPIR-V OpGroupNonUniformQuadSwap, direction 1.

    Takes every scalar type, and vectors and structs field by field; 64-bit values travel whole. Reading a lane that
    is not active gives the reader its own value.

    A subgroup of fewer than four lanes is a compile-time error."""
