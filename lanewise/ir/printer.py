"""Prints the IR as text that a person can follow: one operation a line, values named after the user's variables."""

from __future__ import annotations

from typing import Any

from .nodes import Array, Block, Kernel, Local, Op, Program, Shared, Value


class _Names:
    """Readable, unique names: `%total`, `%total.1`, `%7`."""

    def __init__(self) -> None:
        self._of: dict[Value, str] = {}
        self._taken: dict[str, int] = {}
        self._count = 0

    def __call__(self, value: Value) -> str:
        name = self._of.get(value)
        if name is None:
            name = self._of[value] = "%" + self._fresh(value.hint)
        return name

    def _fresh(self, hint: str) -> str:
        if not hint:
            self._count += 1
            return str(self._count)
        count = self._taken.get(hint, 0)
        self._taken[hint] = count + 1
        return f"{hint}.{count}" if count else hint


def _attr(value: Any) -> str:
    if isinstance(value, (Array, Shared, Local)):
        return value.name
    if isinstance(value, Block):
        return "{...}"
    if isinstance(value, float):
        return value.hex() if value == value and abs(value) != float("inf") else repr(value)
    return repr(value) if isinstance(value, str) else str(value)


class _Printer:
    def __init__(self) -> None:
        self.name = _Names()
        self.lines: list[str] = []

    def values(self, values: tuple[Value, ...]) -> str:
        return ", ".join(self.name(v) for v in values)

    def typed(self, values: tuple[Value, ...]) -> str:
        return ", ".join(f"{self.name(v)}: {v.type}" for v in values)

    def op(self, op: Op, indent: str) -> None:
        left = f"{self.typed(op.results)} = " if op.results else ""
        attrs = dict(op.attrs)
        mem = attrs.pop("mem", None)
        if op.opcode == "const":
            self.lines.append(f"{indent}{left}{_attr(attrs['value'])}")
            return
        if op.results:
            attrs.pop("dtype", None)
        words = [op.opcode]
        if mem is not None:
            words.append(_attr(mem))
        if op.operands:
            words.append(self.values(op.operands))
        words += [f"{k}={_attr(v)}" for k, v in attrs.items()]
        if op.mask is not None:
            words.append(f"mask={self.name(op.mask)}")
        line = indent + left + " ".join(words)
        if not op.regions:
            self.lines.append(line)
            return
        for number, region in enumerate(op.regions):
            args = f"({self.typed(region.args)}) " if region.args else ""
            self.lines.append(f"{line} {args}{{" if number == 0 else f"{indent}}} {args}{{")
            self.block(region, indent + "  ")
        self.lines.append(indent + "}")

    def block(self, block: Block, indent: str) -> None:
        for op in block.ops:
            self.op(op, indent)
        if block.yields:
            self.lines.append(f"{indent}yield {self.values(block.yields)}")


def memory_text(mem: Array | Shared | Local) -> str:
    """`a: f32[ndim 2, strided]` or `tile: f32[16, 16]`."""
    if isinstance(mem, Array):
        notes = ("" if mem.contiguous else ", strided") + ("" if mem.writable else ", read-only")
        return f"{mem.name}: {mem.dtype}[ndim {mem.ndim}{notes}]"
    return f"{mem.name}: {mem.dtype}{list(mem.shape)}"


def to_text(what: Program | Kernel | Block) -> str:
    """The text of a program, of one launch's kernel, or of a block; without source locations, so it can be a key."""
    printer = _Printer()
    if isinstance(what, Block):
        printer.block(what, "")
        return "\n".join(printer.lines) + "\n"
    head = [memory_text(m) for m in what.memories] + [f"{printer.name(v)}: {v.type}" for v in what.scalars]
    facts = f"W={what.subgroup_size} index={what.index_type}"
    if isinstance(what, Kernel):
        facts += f" block_dim={what.block_dim}" + (" regular" if what.regular else "")
        facts += "".join(f" shared@{offset} {memory_text(m)}" for m, offset in what.shared.items())
    printer.lines.append(f"{type(what).__name__.lower()} {what.name}({', '.join(head)}) {facts} {{")
    printer.block(what.body, "  ")
    return "\n".join(printer.lines) + "\n}\n"
