"""What every operation owes its users: documentation, a signature, an error outside kernels, old names that warn."""

from __future__ import annotations

import inspect
import warnings

import pytest

from lanewise import simt
from lanewise.errors import LanewiseError
from lanewise.ir import OPCODES
from lanewise.simt.op import FUNCTIONS, Function, Kind, SimtOp

MODULES = {"subgroup": simt.subgroup, "quad": simt.quad, "block": simt.block, "grid": simt.grid}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_every_function_is_described(function: Function) -> None:
    assert function.__doc__
    assert max(map(len, function.__doc__.splitlines())) <= 320
    assert list(inspect.signature(function).parameters) == [p.name for p in function.params]
    if function.op.group in MODULES:
        module = MODULES[function.op.group]
        assert getattr(module, function.name) is function
        assert function.name in dir(module)


def test_every_operation_has_a_meaning_and_an_expansion() -> None:
    for row in OPCODES.values():
        if isinstance(row, SimtOp):
            assert row.meaning is not None, row.name
            assert row.expand is not None, row.name


def test_tiled_functions_take_log2_size_last() -> None:
    for function in FUNCTIONS.values():
        assert function.tiled == function.name.endswith("_tiled") == (function.params[-1:] == _LOG2_SIZE)
        assert not function.tiled or function.op.uses_log2_size


_LOG2_SIZE = FUNCTIONS["subgroup.ballot_tiled"].params[-1:]


def test_what_a_module_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"lanewise\.simt\.quad.*reduce_add"):
        getattr(simt.quad, "reduce_add")  # noqa: B009


def test_a_call_outside_a_kernel_says_so() -> None:
    with pytest.raises(LanewiseError, match=r"subgroup\.reduce_add\(\) was called outside a kernel"):
        simt.subgroup.reduce_add(1)


@pytest.mark.parametrize(
    ("old", "new"), [("barrier", "sync"), ("memory_barrier", "mem_fence"), ("ballot_full_subgroup", "ballot")]
)
def test_old_names_warn_once(old: str, new: str) -> None:
    from lanewise.simt import op

    op._warn_renamed.cache_clear()
    function = getattr(simt.subgroup, old)
    with pytest.warns(DeprecationWarning, match=rf"subgroup\.{old}\(\) is now called {new}\(\)"):
        assert function.current() is getattr(simt.subgroup, new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function.current() is getattr(simt.subgroup, new)


def test_constants_and_functions_have_no_default_by_accident() -> None:
    for function in FUNCTIONS.values():
        for param in function.params:
            assert param.optional == (param.kind in (Kind.CHECKED, Kind.SCOPE)), function.qualified_name
