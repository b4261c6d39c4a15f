"""Prints the IR as text that a person can follow: one operation a line, values named after the user's variables."""

from __future__ import annotations

from typing import Any

from .nodes import Array, Block, Kernel, Memory, Op, Program, Shared, Value


class _Names:
    """Readable, unique names: `%total`, `%total.1`, `%7`."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._of: dict[Value | Memory, str] = {}
        self._taken: dict[str, int] = {}
        self._count = 0

    def __call__(self, thing: Value | Memory) -> str:
        name = self._of.get(thing)
        if name is None:
            hint = thing.hint if isinstance(thing, Value) else thing.name
            name = self._of[thing] = self._prefix + self._fresh(hint)
        return name

    def _fresh(self, hint: str) -> str:
        if not hint:
            self._count += 1
            return str(self._count)
        count = self._taken.get(hint, 0)
        self._taken[hint] = count + 1
        return f"{hint}.{count}" if count else hint


def _attr(value: Any) -> str:
    if isinstance(value, float):
        return value.hex() if value == value and abs(value) != float("inf") else repr(value)
    return repr(value) if isinstance(value, str) else str(value)


class _Printer:
    def __init__(self) -> None:
        self.name = _Names("%")
        self.memory = _Names("")
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
            words.append(self.memory(mem))
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

    def declared(self, mem: Memory) -> str:
        """`a: f32[ndim 2, strided]`, `shared tile: f32[16, 16]` or `local window: f32[3]`."""
        if isinstance(mem, Array):
            notes = ("" if mem.contiguous else ", strided") + ("" if mem.writable else ", read-only")
            return f"{self.memory(mem)}: {mem.dtype}[ndim {mem.ndim}{notes}]"
        kind = "shared" if isinstance(mem, Shared) else "local"
        return f"{kind} {self.memory(mem)}: {mem.dtype}{list(mem.shape)}"


def to_text(what: Program | Kernel | Block) -> str:
    """The text of a program, of one launch's kernel, or of a block; without source locations, so it can be a key."""
    printer = _Printer()
    if isinstance(what, Block):
        printer.block(what, "")
        return "\n".join(printer.lines) + "\n"
    head = [printer.declared(m) for m in what.memories] + [printer.typed((v,)) for v in what.scalars]
    facts = f"W={what.subgroup_size} index={what.index_type}"
    offsets: dict[Shared, int] = {}
    if isinstance(what, Kernel):
        facts += f" block_dim={what.block_dim}" + (" regular" if what.regular else "")
        offsets = what.shared
    printer.lines.append(f"{type(what).__name__.lower()} {what.name}({', '.join(head)}) {facts} {{")
    for mem in dict.fromkeys(op.attrs["mem"] for op in what.body.walk() if "mem" in op.attrs):
        if not isinstance(mem, Array):
            at = f" at {offsets[mem]}" if mem in offsets else ""
            printer.lines.append(f"  {printer.declared(mem)}{at}")
    printer.block(what.body, "  ")
    return "\n".join(printer.lines) + "\n}\n"
