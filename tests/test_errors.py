"""What is refused, and in which words: each row is one line of a kernel, the error's class, and a part of its text."""

from __future__ import annotations

import linecache
import textwrap
from types import FunctionType

import numpy as np
import pytest

import lanewise as lw
from lanewise import dtypes
from lanewise.errors import CompileError, LanewiseError, LanewiseSyntaxError, LanewiseTypeError
from lanewise.frontend.specs import ArraySpec, Options, ScalarSpec, Spec
from lanewise.frontend.translate import translate
from lanewise.passes.convergence import check_places
from lanewise.passes.outline import outline, parallel_loops
from lanewise.simt import block, quad, subgroup
from lanewise.simt.op import _warn_renamed

HOST_ARRAY = np.zeros(3, np.float32)
SPECS: tuple[Spec, ...] = (ArraySpec(dtypes.f32, 1), ArraySpec(dtypes.i32, 2), ScalarSpec(dtypes.i32))
OPTIONS = Options(subgroup_size=8, max_block_dim=256, device="the test device")


@lw.dataclass
class Point:
    x: lw.f32
    y: lw.f32 = 2.0


def python_function(x):
    return x


@lw.func
def recursive(x):
    return recursive(x)


@lw.func  # noqa: RET503  what is refused
def sometimes(x):
    if x > 0:
        return 1


@lw.func
def two_forms(x):
    if x > 0:
        return 1
    return 1, 2


@lw.func
def inner(x):
    return x.missing


@lw.func
def outer(x):
    return inner(x)


@lw.func
def votes(a, b):
    return subgroup.reduce_all_add(a) + b


@lw.func
def pair(a, b):
    return a, b


NAMES = {
    "lw": lw,
    "np": np,
    "block": block,
    "quad": quad,
    "subgroup": subgroup,
    **{f.__name__: f for f in (Point, python_function, recursive, sometimes, two_forms, outer, votes, pair)},
    "HOST_ARRAY": HOST_ARRAY,
}
_count = 0


def kernel_of(source: str) -> FunctionType:
    """The function `k` that a text defines, with its lines where errors look for them."""
    global _count
    _count += 1
    file = f"<kernel {_count}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)
    namespace: dict[str, object] = dict(NAMES)
    exec(compile(source, file, "exec"), namespace)  # noqa: S102
    function = namespace["k"]
    assert isinstance(function, FunctionType)
    return function


def error_of(source: str, specs: tuple[Spec, ...] = SPECS, options: Options = OPTIONS) -> LanewiseError:
    with pytest.raises(LanewiseError) as caught:
        compile_front(source, specs, options)
    return caught.value


def compile_front(source: str, specs: tuple[Spec, ...], options: Options) -> None:
    """As far as what the user may have written wrong is concerned."""
    program = translate(kernel_of(source), specs, options).program
    for number in range(len(parallel_loops(program))):
        check_places(outline(program, number, regular=False))


def in_loop(body: str) -> str:
    return "def k(a, m, n):\n    for i in range(n):\n" + textwrap.indent(textwrap.dedent(body), " " * 8)


NAMES_AND_TYPES = [
    ("x = undefined", CompileError, "the name undefined is not defined"),
    ("indx = 1; a[i] = idx", CompileError, "did you mean indx?"),
    ("a[i] = x; x = 1.0", CompileError, "x is used before it is set"),
    ("if i > 1:\n    x = 1\na[i] = x", CompileError, "x may have no value here"),
    ("for j in range(3):\n    x = 1\na[i] = x", CompileError, "inside the loop only"),
    ("for j in range(3):\n    pass\na[i] = j", CompileError, "by a loop, and ends with it"),
    ("if i > 1:\n    x = 1\nelse:\n    x = 2.5", LanewiseTypeError, "does not convert to x, which is i32"),
    ("x = 1\nx = 2.5", LanewiseTypeError, "lw.cast"),
    ("x = 1\nx += a[i]", LanewiseTypeError, "an f32 does not convert to x, which is i32"),
    ("m[i, i] = a[i]", LanewiseTypeError, "does not convert to m"),
    ("x = i\nx = (1, 2)", LanewiseTypeError, "a tuple of 2 is assigned to x, which is an i32"),
    ("i = 3", CompileError, "i is assigned, but it is the index of a loop"),
    ("for j in range(3):\n    j += 1", CompileError, "the index of a loop"),
    ("n = 3", CompileError, "set outside the parallel loop"),
    ("a = 3", LanewiseTypeError, "the name of an array stays that array's"),
    ("x = a + 1", LanewiseTypeError, "an element of it, such as a[i]"),
    ("x = 3 if a else 4", LanewiseTypeError, "the array a is no condition"),
    ("x = i if i > 1 else (1, 2)", LanewiseTypeError, "a choice between"),
    ("x = ~(i > 2)", LanewiseTypeError, "not x"),
    ("x = a[i] << 1", LanewiseTypeError, "bit operations take integers"),
    ("x = a[i] & 1", LanewiseTypeError, "& of f32"),
    ("x = i << 32", CompileError, "a constant amount is from 0 to 31"),
    ("x = i >> -1", CompileError, "a shift of i32 by -1"),
    ("x = 2 ** 100", LanewiseTypeError, "fits no integer type"),
    ("x = 1 // 0", CompileError, "cannot be computed"),
    ("x = lw.Vector([1, 2]) + lw.Vector([1, 2, 3])", LanewiseTypeError, "differ in length"),
    ("x, y = 1, 2, 3", CompileError, "a tuple of 3 is unpacked into 2 names"),
    ("x = (1, 2)[n]", LanewiseTypeError, "a tuple at a run-time index"),
    ("x = (1, 2)\nx[0] = 3", LanewiseTypeError, "a tuple does not change"),
    ("x = lw.Vector([1, 2])[2]", CompileError, "its indices are 0 to 1"),
    ("x = Point()", LanewiseTypeError, "lacks a value for x"),
    ("x = Point(1, 2, 3)", LanewiseTypeError, "Point takes 2 values"),
    ("x = Point(1, z=3)", LanewiseTypeError, "no field"),
    ("x = Point(1)\nx.z = 3", LanewiseTypeError, "has no field z"),
    ("x = Point(1).z", CompileError, "one of x, y"),
    ("x = a.shpe", CompileError, "did you mean shape?"),
    ("x = HOST_ARRAY[i]", LanewiseTypeError, "pass it as an argument"),
    ("x = np.float32(1.5)\nx = lw.static(n)", CompileError, "not known at compile time"),
    ("lw.static_assert(3 > 4, 'no')", CompileError, "static_assert failed: no"),
]
ARRAYS = [
    ("a[i, i] = 0", LanewiseTypeError, "a has one axis and is given 2 indices"),
    ("m[i] = 0", LanewiseTypeError, "m has 2 axes and is given 1 index"),
    ("a[1.5] = 0", LanewiseTypeError, "an index is an integer"),
    ("a[a[i]] = 0", LanewiseTypeError, "an index is an integer"),
    ("a[-1] = 0", CompileError, "a.shape[0] - 1"),
    ("a[i:2] = 0", LanewiseSyntaxError, "a slice"),
    ("x = block.SharedArray(4, lw.f32)\nx[4] = 0", CompileError, "x at 4, which has 4 elements on axis 0"),
    ("x = block.SharedArray(n, lw.f32)", CompileError, "the shape of a shared array is fixed"),
    ("x = lw.local_array(0, lw.f32)", LanewiseTypeError, "positive integers"),
    ("x = lw.local_array(4, 3)", LanewiseTypeError, "its elements are scalars"),
    ("lw.atomic_add(i, 1)", LanewiseTypeError, "atomic_add(a[i], value)"),
    ("lw.atomic_and(a[i], 1)", LanewiseTypeError, "atomic_and on a, whose elements are f32"),
    ("for x in a:\n    pass", LanewiseTypeError, "for i in range(a.shape[0])"),
]
CALLS = [
    ("x = python_function(i)", CompileError, "decorate it with @lw.func"),
    ("x = recursive(i)", CompileError, "recursive() calls itself"),
    ("x = sometimes(i)", CompileError, "returns a value on some paths only"),
    ("x = two_forms(i)", LanewiseTypeError, "the literal 1 on one path and a tuple of 2 on another"),
    ("x = pair(i)", LanewiseTypeError, "pair(a, b)"),
    ("x = i(3)", LanewiseTypeError, "is called"),
    ("x = lw.sqrt()", LanewiseTypeError, "sqrt(x)"),
    ("x = lw.cast(i)", LanewiseTypeError, "cast(value, dtype)"),
    ("x = lw.cast(i, 3)", LanewiseTypeError, "is given to cast() as a type"),
    ("x = lw.popcnt(a[i])", LanewiseTypeError, "it takes integers"),
    ("x = lw.bit_cast(a[i], lw.i64)", LanewiseTypeError, "one of i32, u32, f32"),
    ("x = min()", LanewiseTypeError, "min(a, b)"),
    ("x = open('file')", CompileError, "cannot be called in a kernel"),
]
SIMT = [
    ("x = subgroup.reduce_addd(i)", CompileError, "did you mean reduce_add?"),
    ("x = subgroup.reduce_add()", LanewiseTypeError, "lacks value"),
    ("x = subgroup.reduce_add(i, 3)", LanewiseTypeError, "takes 1 arguments and is given 2"),
    ("x = subgroup.reduce_and(a[i])", LanewiseTypeError, "value of subgroup.reduce_and() is f32"),
    ("x = subgroup.reduce_add(i > 1)", LanewiseTypeError, "is bool"),
    ("x = subgroup.reduce_add_tiled(i, 4)", CompileError, "is 4, outside [0, 3]"),
    ("x = subgroup.reduce_add_tiled(i, -1)", CompileError, "is -1, outside [0, 3]"),
    ("x = subgroup.reduce_add_tiled(i, n)", CompileError, "not known at compile time"),
    ("x = subgroup.reduce_add_tiled(i, True)", LanewiseTypeError, "compile-time integer"),
    ("x = subgroup.shuffle(i, 8)", CompileError, "index of subgroup.shuffle() is 8, outside [0, 7]"),
    ("x = subgroup.shuffle_up(i, lw.u64(8))", CompileError, "outside [0, 7]"),
    ("x = subgroup.shuffle_tiled(i, 4, 2)", CompileError, "the tile has 4 lanes"),
    ("x = subgroup.shuffle(i, a[i])", LanewiseTypeError, "an integer of any type"),
    ("x = subgroup.ballot_first_n(i, 33)", CompileError, "outside [1, 32]"),
    ("x = subgroup.ballot_first_n(i, n)", CompileError, "not known at compile time"),
    ("x = quad.broadcast(i, 4)", CompileError, "outside [0, 3]"),
    ("x = block.reduce_add(i, 64)", CompileError, "the loop's blocks have 128 threads"),
    ("x = block.reduce_add(i, 128, lw.f32)", LanewiseTypeError, "the value is i32"),
    ("block.mem_fence('some')", CompileError, '"all", "buffer" or "shared"'),
    ("x = subgroup.reduce_add(i) if i > 1 else 0", CompileError, "assign it to a variable first"),
    ("x = i > 1 and subgroup.elect()", CompileError, "assign it to a variable first"),
    ("x = i > 1 or subgroup.elect()", CompileError, "assign it to a variable first"),
    ("x = 0 < i < subgroup.reduce_add(i)", CompileError, "assign it to a variable first"),
    ("x = subgroup.reduce(i, votes, 0)", CompileError, "inside the function of subgroup.reduce()"),
    ("x = subgroup.reduce(i, pair, 0)", LanewiseTypeError, "combines values of one type"),
    ("x = subgroup.reduce(i, 3, 0)", LanewiseTypeError, "a function of two values"),
    ("x = subgroup.reduce_add((i, i))", LanewiseTypeError, "it takes one scalar"),
]
STATEMENTS = [
    ("return 3", LanewiseSyntaxError, "a kernel returns a value"),
    ("break", CompileError, "break in a parallel loop"),
    ("for j in range(0, 3, n):\n    pass", CompileError, "step is a compile-time integer"),
    ("for j in range(0, 3, 0):\n    pass", CompileError, "an integer other than 0"),
    ("for j in range(a[i]):\n    pass", LanewiseTypeError, "a loop counts integers"),
    ("for j, l in range(3):\n    pass", CompileError, "2 indices for 1 axes"),
    ("for j in 3:\n    pass", LanewiseTypeError, "a loop over the literal 3"),
    ("for j in range(3):\n    pass\nelse:\n    pass", LanewiseSyntaxError, "for ... else"),
    ("while n:\n    pass\nelse:\n    pass", LanewiseSyntaxError, "while ... else"),
    ("while True:\n    pass", CompileError, "never ends"),
    ("x: lw.f32", LanewiseSyntaxError, "a first value"),
    ("print(f'{i:3}')", LanewiseSyntaxError, "a format in an f-string"),
    ("assert a, 'no'", LanewiseTypeError, "is no condition"),
    ("lw.loop_config(block_dim=64)", CompileError, "away from a parallel loop"),
]
SYNTAX = [
    ("with a:\n    pass", "with"),
    ("try:\n    pass\nfinally:\n    pass", "try"),
    ("raise ValueError", "raise"),
    ("x = [j for j in range(3)]", "a list comprehension"),
    ("x = {1: 2}", "a dict"),
    ("x = {1, 2}", "a set"),
    ("x = lambda: 3", "lambda"),
    ("def f():\n    pass", "a nested def"),
    ("class C:\n    pass", "class"),
    ("x = (y := 3)", ":="),
    ("del i", "del"),
    ("global n2", "global"),
    ("import math", "import"),
    ("match i:\n    case 1:\n        pass", "match"),
    ("x = i in (1, 2)", "in"),
    ("x = i is n", "is"),
    ("x = i @ n", "@"),
    ("x = (yield i)", "yield"),
    ("x = pair(*i)", "*"),
]


@pytest.mark.parametrize(("body", "kind", "text"), [*NAMES_AND_TYPES, *ARRAYS, *CALLS, *SIMT, *STATEMENTS])
def test_refused(body, kind, text):
    source = in_loop(body)
    error = error_of(source)
    assert type(error) is kind
    assert text in str(error)
    assert error.loc is not None
    assert error.loc.line >= 3
    assert "^" in str(error)


@pytest.mark.parametrize(("body", "what"), SYNTAX)
def test_python_that_the_language_lacks(body, what):
    error = error_of(in_loop(body))
    assert isinstance(error, SyntaxError)
    assert error.what == f"{what} is not part of the kernel language"
    assert error.why
    assert error.hint


HOST = [
    ("x = a[0]", "run on the host"),
    ("x = subgroup.elect()", "where there are no lanes"),
    ("x = block.block_dim()", "each parallel loop has its own"),
    ("x = lw.local_array(3, lw.f32)", "outside a parallel loop"),
    ("lw.loop_config(block_dim=0)\nfor i in range(n):\n    pass", "blocks of 1 to 256 threads"),
    ("lw.loop_config(block_dim=512)\nfor i in range(n):\n    pass", "blocks of 1 to 256 threads"),
    ("lw.loop_config(block_dim=64)", "no parallel loop after it"),
    ("for i in range(n):\n    if i > 3:\n        return\nfor i in range(n):\n    pass", "return before another"),
    ("if n > 3:\n    return\nfor i in range(n):\n    pass", "return before another"),
    ("s = 0.0\nfor i in range(n):\n    s += a[i]", "its items run at the same time"),
    ("for i in range(n):\n    x = 1\ny = x", "inside a parallel loop only"),
    ("return n", "a kernel returns a value"),
]


@pytest.mark.parametrize(("body", "text"), HOST)
def test_refused_on_the_host(body, text):
    assert text in str(error_of("def k(a, m, n):\n" + textwrap.indent(body, "    ")))


def test_an_error_inside_a_function_shows_the_calls():
    error = error_of(in_loop("x = outer(i)"))
    assert [call.function for call in error.calls] == ["outer", "k"]
    assert str(error).count("called from") == 2
    assert "x.missing" in str(error)


def test_the_caret_stands_under_the_expression():
    text = str(error_of(in_loop("x = 1 + (i << 77) * 2")))
    line, caret = text.split("\n")[2:4]
    assert line[caret.index("^") : caret.rindex("^") + 1] == "i << 77"


def test_quads_need_four_lanes():
    error = error_of(in_loop("x = quad.swap_diagonal(i)"), options=Options(subgroup_size=2, device="the test device"))
    assert "needs a subgroup of at least 4 lanes; the test device has W = 2" in str(error)


def test_a_type_that_the_device_lacks():
    options = Options(subgroup_size=8, dtypes=OPTIONS.dtypes - {lw.f64}, device="the test device")
    for body in ("x = lw.f64(1)", "x = lw.cast(a[i], lw.f64)", "x = lw.local_array(3, lw.f64)"):
        assert "the test device has no f64" in str(error_of(in_loop(body), options=options))


def test_a_read_only_array_is_not_written():
    specs = (ArraySpec(dtypes.f32, 1, writable=False), *SPECS[1:])
    for body in ("a[i] = 1", "a[i] += 1", "a[i] *= 2", "lw.atomic_max(a[i], 1)"):
        assert "it is read-only" in str(error_of(in_loop(body), specs))


def test_old_names_warn_once_and_forward():
    function = kernel_of(in_loop("subgroup.barrier()"))
    _warn_renamed.cache_clear()  # another test may have used the name
    with pytest.warns(DeprecationWarning, match=r"subgroup\.barrier\(\) is now called sync"):
        first = translate(function, SPECS, OPTIONS)
    translate(function, SPECS, OPTIONS)  # a second warning would be an error here
    assert any(op.opcode == "subgroup.sync" for op in first.program.body.walk())


def test_the_dead_branch_is_not_checked():
    function = kernel_of(in_loop("if lw.static(3 > 4):\n    a[i] = undefined\nelse:\n    a[i] = 1"))
    assert translate(function, SPECS, OPTIONS)


def test_functions_without_source():
    namespace: dict[str, object] = {}
    exec("def k(a):\n    pass", namespace)  # noqa: S102
    with pytest.raises(CompileError, match="cannot be read"):
        translate(namespace["k"], SPECS[:1], OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(LanewiseSyntaxError, match="lambda"):
        translate(lambda a: a, SPECS[:1], OPTIONS)  # type: ignore[arg-type]


def test_functions_of_the_language_say_where_they_belong():
    for call in (
        lambda: lw.sqrt(2),
        lambda: lw.atomic_add(1, 2),
        lambda: lw.vector(2, lw.f32)(1, 2),
        lambda: pair(1, 2),
    ):
        with pytest.raises(LanewiseError, match="outside a kernel"):
            call()
