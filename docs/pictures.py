"""Draws what each operation does, lane by lane, by running it: eight lanes, on the interpreter.

Each picture has the operands and the result, once with every lane active and once with some that are not.  A result
that is not defined in a lane is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import lanewise as lw
from lanewise.simt.families import FUNCTIONS
from lanewise.simt.op import Function, Kind, Param
from lanewise.tools.source import import_file

W = 8
INACTIVE = (2, 3, 6)
INK, GREY, HAIR = "#26231f", "#8a847b", "#d9d4cb"
LANES = ("#5d8f78", "#7ba592", "#a3bb87", "#cfd29a", "#e3d9a4", "#dcbb87", "#c9a06c", "#a97b57")
PLAIN, EMPTY = "#efece4", "#ffffff"

# ---- what the operations are given --------------------------------------------------------------------------------
NUMBERS = (3, 1, 4, 1, 5, 9, 2, 6)
PLACES = (0, 1, 2, 3, 4, 5, 6, 7)  # for what moves: a value says where it comes from
BITS = (12, 10, 14, 13, 15, 11, 9, 8)
SPECIAL: Mapping[str, tuple[int, ...]] = {
    "match_any": (5, 7, 5, 5, 7, 1, 5, 1),
    "all_equal": (4,) * 8,
    "key": (2, 1, 2, 1, 2, 0, 1, 0),
    "index": (7, 7, 0, 1, 1, 4, 5, 6),
    "head_flag": (0, 0, 1, 0, 0, 1, 0, 0),
    "predicate": (1, 0, 1, 1, 0, 0, 1, 1),
}
CONSTANTS: Mapping[str, int] = {
    "offset": 1, "delta": 3, "mask": 1, "index": 5, "n": 4, "log2_size": 2, "lane": 3,
}  # fmt: skip
MASK = 0b11010110
MASKS = frozenset({"ballot", "ballot_first_n", "ballot_tiled", "match_any", "match_any_tiled", "active_mask"})


# ---- running them -------------------------------------------------------------------------------------------------
_HEAD = """
import lanewise as lw
from lanewise.simt import quad, subgroup

Ints = lw.types.NDArray[lw.i32, 1]
Results = lw.types.NDArray[lw.i64, 2]


@lw.func
def larger(a, b):
    return max(a, b)
"""
_KERNEL = """

@lw.kernel
def {name}(active: Ints, a: Ints, b: Ints, out: Results):
    for i in range({W}):
        if active[i] != 0:
            {results} = {call}
"""


@dataclass(frozen=True)
class Call:
    """A function and what it is called with."""

    function: Function
    operands: Mapping[str, tuple[int, ...]]
    constants: Mapping[str, int]

    @property
    def moves(self) -> bool:
        return self.function.op.fieldwise

    @property
    def results(self) -> int:
        return 2 if "kv" in self.function.name else 1

    @property
    def kernel_name(self) -> str:
        return self.function.qualified_name.replace(".", "_")

    def text(self, **operands: str) -> str:
        """The call in Python; an operand is called by its own name unless another one is given."""
        given = {p.name: p.name for p in self.function.params} | operands
        given |= {"op": "larger", "identity": "-1"} if "op" in given else {}
        given |= {name: str(value) for name, value in self.constants.items()}
        return f"{self.function.qualified_name}({', '.join(given[p.name] for p in self.function.params)})"

    def source(self) -> str:
        """A kernel that runs it in the lanes that are to be active."""
        call = self.text(**{name: f"{place}[i]" for name, place in zip(self.operands, "ab", strict=False)})
        results = ", ".join(f"out[{number}, i]" for number in range(self.results))
        if self.results == 1:
            call = f"lw.cast({call}, lw.i64)"
        return _KERNEL.format(name=self.kernel_name, W=W, results=results, call=call)

    def run(self, program: ModuleType, active: np.ndarray) -> np.ndarray:
        """The results, a row each."""
        out = np.zeros((self.results, W), np.int64)
        values = [np.array(v, np.int32) for v in self.operands.values()]
        values += [np.zeros(W, np.int32)] * (2 - len(values))
        getattr(program, self.kernel_name)(active.astype(np.int32), *values, out)
        return out

    def defined(self, active: np.ndarray) -> np.ndarray:
        """The lanes in which the result is defined."""
        name = self.function.name
        if not name.startswith("reduce") or name.startswith("reduce_all"):
            return active
        tile = 1 << self.constants.get("log2_size", W.bit_length() - 1)
        first = np.zeros(W, bool)
        for start in range(0, W, tile):
            lanes = np.flatnonzero(active[start : start + tile])
            first[start + lanes[:1]] = True
        return first

    def __str__(self) -> str:
        return self.text(mask=f"0b{MASK:08b}") if "mask" in self.operands else self.text()


def _operand(function: Function, param: Param) -> tuple[int, ...] | None:
    """The values of an operand in the eight lanes; None for what is not one."""
    short = function.name.removesuffix("_tiled")
    if param.kind is Kind.PREDICATE:
        return SPECIAL.get(param.name, SPECIAL["predicate"])
    if param.kind is Kind.BITS:
        return (MASK,) * W
    if param.kind is Kind.INDEX and short == "shuffle":
        return SPECIAL["index"]
    if param.kind is not Kind.VALUE or param.name == "identity":
        return None
    if function.op.fieldwise or (param.name == "value" and "kv" in short):
        return PLACES
    if short.rpartition("_")[2] in ("and", "or", "xor"):
        return BITS
    return SPECIAL.get(short) or SPECIAL.get(param.name) or NUMBERS


def call_of(function: Function) -> Call:
    operands: dict[str, tuple[int, ...]] = {}
    constants: dict[str, int] = {}
    for param in function.params:
        values = _operand(function, param)
        if values is not None:
            operands[param.name] = values
        elif param.kind in (Kind.INDEX, Kind.CONST):
            in_four = param.name == "index" and (function.tiled or function.op.group == "quad")
            constants[param.name] = 2 if in_four else CONSTANTS[param.name]
    return Call(function, operands, constants)


_NOT_DRAWN = ("sync", "mem_fence", "size", "num_subgroups", "subgroup_id", "lanemask64", "find")


def drawn() -> Iterator[Function]:
    """The functions that have a picture: those that give each lane something of its own, or of the others."""
    for function in FUNCTIONS.values():
        if function.op.group in ("subgroup", "quad") and not function.forwards_to:
            if not any(word in function.name for word in _NOT_DRAWN):
                yield function


# ---- drawing ------------------------------------------------------------------------------------------------------
def _text(call: Call, value: int, *, is_result: bool) -> str:
    name = call.function.name
    short = name.removesuffix("_tiled")
    bitwise = short.rpartition("_")[2] in ("and", "or", "xor") and short != "shuffle_xor"
    if is_result and (name in MASKS or name.startswith("lanemask")):
        width = 4 if name.endswith("tiled") or name == "ballot_first_n" else W
        return f"{value:0{width}b}"
    if bitwise and (is_result or value in BITS):
        return f"{value & 15:04b}"
    return str(value)


def _row(axes: Any, y: float, label: str, texts: list[str], colours: list[str], shown: np.ndarray) -> None:
    axes.text(-0.25, y + 0.5, label, ha="right", va="center", color=GREY, size=9)
    for lane in range(W):
        face = colours[lane] if shown[lane] else EMPTY
        axes.add_patch(Rectangle((lane + 0.04, y + 0.06), 0.92, 0.88, facecolor=face, edgecolor=HAIR, lw=0.8))
        if shown[lane]:
            size = 9 if len(texts[lane]) < 5 else 7 if len(texts[lane]) < 8 else 5.6
            axes.text(lane + 0.5, y + 0.5, texts[lane], ha="center", va="center", color=INK, size=size)


def _colours(call: Call, values: np.ndarray, active: np.ndarray) -> list[str]:
    """By the lane that a value comes from, where values move."""
    if call.moves or call.function.name == "invocation_id":
        return [LANES[value % W] for value in values]
    return [PLAIN] * W


def draw(call: Call, program: ModuleType, path: Path) -> None:
    """Run a call and write the picture."""
    function = call.function
    everyone = np.ones(W, bool)
    some = ~np.isin(np.arange(W), INACTIVE)
    results = [("result", call.run(program, everyone), everyone), ("some inactive", call.run(program, some), some)]
    shown = {name: values for name, values in call.operands.items() if name != "mask" or call.moves}
    rows = len(shown) + sum(len(values) for _, values, _ in results)
    figure = Figure(figsize=(6.2, 0.62 + 0.36 * (rows + 0.5)), facecolor="white")
    FigureCanvasSVG(figure)
    axes = figure.add_axes((0.185, 0.02, 0.80, 0.96))
    axes.set_xlim(0, W)
    axes.set_ylim(rows + 1.0, -1.3)
    axes.set_axis_off()
    axes.text(0.04, -0.85, str(call), color=INK, size=10, family="monospace", va="center")
    for lane in range(W):
        axes.text(lane + 0.5, -0.18, str(lane), ha="center", va="center", color=GREY, size=7)
    y = 0.0
    for name, values in shown.items():
        array = np.array(values)
        texts = [_text(call, v, is_result=False) for v in values]
        is_index = name in ("index", "head_flag", "predicate")
        _row(axes, y, name, texts, [PLAIN] * W if is_index else _colours(call, array, everyone), everyone)
        y += 1
    for label, outcome, active in results:
        y += 0.5
        for number, values in enumerate(outcome):
            texts = [_text(call, int(v), is_result=True) for v in values]
            _row(axes, y, label if number == 0 else "", texts, _colours(call, values, active), call.defined(active))
            y += 1
        for lane in np.flatnonzero(~active):
            axes.plot([lane + 0.3, lane + 0.7], [y - 0.5, y - 0.5], color=HAIR, lw=1)
    if function.tiled:
        tile = 1 << call.constants["log2_size"]
        for edge in range(tile, W, tile):
            axes.plot([edge, edge], [0, y], color=INK, lw=0.8, dashes=(3, 2))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "lanewise"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def draw_all(folder: Path) -> dict[str, Path]:
    """Every picture, by the function's qualified name."""
    folder.mkdir(parents=True, exist_ok=True)
    calls = [call_of(function) for function in drawn()]
    file = folder / "calls.py"  # a kernel is compiled from its source, so it has to lie in a file
    file.write_text(_HEAD + "".join(call.source() for call in calls), encoding="utf-8")
    program = import_file(file)
    made: dict[str, Path] = {}
    with lw.use(lw.init(lw.interpreter, subgroup_size=W)):
        for call in calls:
            name = call.function.qualified_name
            made[name] = folder / f"{name}.svg"
            draw(call, program, made[name])
    return made
