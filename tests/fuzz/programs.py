"""Random kernels: nested control flow, mixed types and operations, as source text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

VARIABLES = {"i32": ("a", "b"), "u8": ("c",), "f32": ("p", "q"), "u64": ("m",), "i64": ("w",)}
TYPES = tuple(VARIABLES)
INTEGERS = ("i32", "u8", "u64", "i64")

HEADER = """\
import lanewise as lw
from lanewise.simt import subgroup, block

@lw.func
def twist(x, y):
    if x > y:
        return x - y
    return x + y

@lw.kernel
def kernel(
    ints: lw.types.ndarray(dtype=lw.i32, ndim=1),
    floats: lw.types.ndarray(dtype=lw.f32, ndim=1),
    out_i32: lw.types.ndarray(dtype=lw.i32, ndim=1),
    out_u8: lw.types.ndarray(dtype=lw.u8, ndim=1),
    out_f32: lw.types.ndarray(dtype=lw.f32, ndim=1),
    out_u64: lw.types.ndarray(dtype=lw.u64, ndim=1),
    out_i64: lw.types.ndarray(dtype=lw.i64, ndim=1),
    n: lw.i32,
):
    row = lw.min(n, {row})
    lw.loop_config(block_dim={block_dim})
    {loop}
        lane = subgroup.invocation_id()
        a = ints[i]
        b = ints[n - 1 - i]
        c = lw.u8(a)
        p = floats[i]
        q = floats[n - 1 - i]
        m = lw.u64(b)
        w = lw.i64(a) * 65537
"""
LOOPS = {
    "one axis": "for i in range(n):\n        j = i // 4",
    "rows": "for r, j in lw.ndrange(n // row, row):\n        i = r * row + j",
}
FOOTER = """\
        out_i32[i] = a ^ b
        out_u8[i] = c
        out_f32[i] = lw.select(lane % 2 == 0, p, q)
        out_u64[i] = m
        out_i64[i] = w
"""


@dataclass
class Writer:
    draw: Any
    lines: list[str] = field(default_factory=list)
    budget: int = 26
    loops: int = 0

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    # ---- expressions ---------------------------------------------------------------------------------------------
    def value(self, dtype: str, depth: int = 2) -> str:
        if depth == 0:
            return self.leaf(dtype)
        kind = self.pick("leaf", "arith", "arith", "other", "select", "convert")
        if kind == "leaf":
            return self.leaf(dtype)
        x = self.value(dtype, depth - 1)
        if kind == "select":
            return f"lw.select({self.condition(depth - 1)}, {x}, {self.value(dtype, depth - 1)})"
        if kind == "convert":
            return f"lw.cast({self.value(self.pick(*TYPES), depth - 1)}, lw.{dtype})"
        y = self.value(dtype, depth - 1)
        if kind == "other":
            if dtype == "f32":
                return self.pick(f"abs({x})", f"lw.sqrt({x})", f"lw.floor({x})", f"lw.fma({x}, {y}, {x})", f"-({x})")
            return self.pick(
                f"lw.cast(lw.popcnt({x}), lw.{dtype})",
                f"lw.cast(lw.clz({x}), lw.{dtype})",
                f"lw.bit_reverse({x})",
                f"({x} << (lane & 7))",
                f"({x} >> 3)",
                f"({x} & {y})",
                f"({x} ^ {y})",
                f"(~({x}))",
                f"twist({x}, {y})",
            )
        operator = self.pick("+", "-", "*", "//", "%", "min", "max")
        if operator in ("min", "max"):
            return f"{operator}({x}, {y})"
        return f"({x} {operator} {y})"

    def leaf(self, dtype: str) -> str:
        names = [*VARIABLES[dtype]]
        if dtype == "f32":
            names += ["lw.f32(1.5)", "lw.f32(0.0)", "lw.f32(-2.0)"]
        else:
            names += ["1", "3", "7", "100", "i", "j", "i // 8", "j // 4", "j % 16"]
            chosen = self.pick(*names)
            return chosen if chosen in VARIABLES[dtype] else f"lw.{dtype}({chosen})"
        return self.pick(*names)

    def condition(self, depth: int = 1) -> str:
        if self.pick(True, False, False, False):
            return self.pick("lane < 5", "lane % 2 == 0", "lane & 4 != 0", "lane == 3", "n > 40", "i > 10")
        dtype = self.pick(*TYPES)
        compare = self.pick("<", "<=", ">", ">=", "==", "!=")
        return f"{self.value(dtype, depth)} {compare} {self.value(dtype, depth)}"

    def operation(self) -> tuple[str, str]:
        """The type and text of a cross-lane operation whose result is defined in every active lane."""
        dtype = self.pick(*TYPES)
        v = self.value(dtype, 1)
        integer = dtype in INTEGERS
        folds = ["add", "mul", "min", "max"] + ["and", "or", "xor"] * integer
        fold = self.pick(*folds)
        tile = self.pick("", "", "0", "min(2, subgroup.log2_group_size())", "subgroup.log2_group_size()")
        suffix, last = ("_tiled", f", {tile}") if tile else ("", "")
        family = self.pick("move", "fold", "scan", "vote", "match", "segment", "sort")
        if family == "move":
            name = self.pick("shuffle", "shuffle_up", "shuffle_down", "shuffle_xor", "rotate", "broadcast")
            # With the lane in it, as a constant out of range would be an error.
            index = self.pick("lane ^ 1", "a ^ lane", "c + lane", "w - lane", "(b ^ lane) & 3", "(c + lane) % 2")
            return dtype, f"subgroup.{name}{suffix}({v}, {index}{last})"
        if family == "fold":
            return dtype, f"subgroup.reduce_all_{fold}{suffix}({v}{last})"
        if family == "scan":
            return dtype, f"subgroup.{self.pick('inclusive', 'exclusive')}_{fold}{suffix}({v}{last})"
        if family == "vote":
            name = self.pick("all_true", "any_true", "all_equal")
            return "i32", f"subgroup.{name}{suffix}({v}{last})"
        if family == "match":
            return "u64", f"subgroup.{self.pick('match_any', 'ballot')}({v})"
        if family == "segment":
            fold = self.pick("add", "min", "max")
            name = self.pick("segmented_reduce", "segmented_reduce_all")
            return dtype, f"subgroup.{name}_{fold}{suffix}({v}, {self.value('i32', 1)}{last})"
        dtype = self.pick(*INTEGERS)
        return dtype, f"subgroup.bitonic_sort{suffix}({self.value(dtype, 1)}{last})"

    # ---- statements ----------------------------------------------------------------------------------------------
    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def body(self, indent: int, depth: int, in_loop: bool) -> None:
        count = self.draw(st.integers(1, 3))
        for _ in range(count):
            self.statement(indent, depth, in_loop)

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        self.budget -= 1
        kinds = ["assign", "operation", "operation"]
        if depth > 0 and self.budget > 0:
            kinds += ["if", "if", "for", "while"]
        if in_loop:
            kinds += ["break", "continue"]
        kinds += ["leave"] if self.budget < 18 else []
        kind = self.pick(*kinds)
        if kind == "assign":
            dtype = self.pick(*TYPES)
            self.put(indent, f"{self.pick(*VARIABLES[dtype])} = {self.value(dtype)}")
        elif kind == "operation":
            dtype, text = self.operation()
            self.put(indent, f"{self.pick(*VARIABLES[dtype])} = {text}")
        elif kind == "if":
            self.put(indent, f"if {self.condition()}:")
            self.body(indent + 1, depth - 1, in_loop)
            if self.pick(True, False):
                self.put(indent, "else:")
                self.body(indent + 1, depth - 1, in_loop)
        elif kind == "for":
            self.loops += 1
            stop = self.pick("3", "lane & 3", "n % 4", "lw.i32(c & 3)")
            self.put(indent, f"for k{self.loops} in range({stop}):")
            self.put(indent + 1, f"b += k{self.loops}")
            self.body(indent + 1, depth - 1, True)
        elif kind == "while":
            self.loops += 1
            name = f"t{self.loops}"
            self.put(indent, f"{name} = 0")
            self.put(indent, f"while {name} < 3 and {self.condition(0)}:")
            self.put(indent + 1, f"{name} += 1")
            self.body(indent + 1, depth - 1, True)
        else:
            word = "return" if kind == "leave" else kind
            self.put(indent, f"if {self.condition()}:")
            self.put(indent + 1, word)


@st.composite
def kernels(draw: Any) -> str:
    """The source of a module with one kernel."""
    writer = Writer(draw)
    for _ in range(draw(st.integers(2, 5))):
        writer.statement(2, 2, False)
    head = HEADER.replace("{block_dim}", str(draw(st.sampled_from([32, 48, 64, 128]))))
    head = head.replace("{row}", str(draw(st.sampled_from([5, 8, 24, 33, 64]))))
    head = head.replace("{loop}", LOOPS[draw(st.sampled_from(sorted(LOOPS)))])
    return head + "\n".join(writer.lines) + "\n" + FOOTER
