"""One subgroup's work as a function: what emission knows while it walks a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import TypeAlias

from ...dtypes import DType
from ...ir import OPCODES, Block, Kernel, Level, Local, Op, Value
from ...passes.uniformity import Uniformity
from . import libm
from .arguments import Arguments, Slots
from .arithmetic import ROWS
from .forms import Form, Linear, Strips, Uniform, ramp, splat
from .frames import SPARE, suspends
from .host import Host
from .text import Text, lane_type, literal, memory_type, scalar_type
from .width import Width

Emitter: TypeAlias = "Callable[[Body, Op], None]"


class Body:
    """Emits one kernel's body for one subgroup.

    `mask` holds the strips of the active lanes, None where all W run.  Where `some` holds, at least one of them is
    active: then what is uniform (a load, a store, a loop's condition) may run without asking.
    """

    def __init__(
        self, kernel: Kernel, levels: Uniformity, slots: Slots, host: Host, emitters: Mapping[str, Emitter]
    ) -> None:
        self.kernel = kernel
        self.host = host
        self.W = kernel.subgroup_size
        self.S = host.strip_lanes(self.W)
        self.R = self.W // self.S
        self.text = Text()
        self.scalar = Width(self.text, 0)
        self.vector = Width(self.text, self.S)
        self.arguments = Arguments(self.text, slots)
        self.mask: tuple[str, ...] | None = None
        self.some = True
        self.used = _used(kernel.body)
        self._levels = levels
        self._emitters = emitters
        self._forms: dict[Value, Form] = {
            v: Uniform(self.arguments.scalar(v)) for v in kernel.scalars if v in self.used
        }
        self._materialised: list[dict[tuple[Form, DType], tuple[str, ...]]] = [{}]
        self._stack: dict[str, str] = {}
        self._arena = _indexed_locals(kernel.body, levels) if suspends(kernel) else frozenset[Local]()

    # ---- walking -------------------------------------------------------------------------------------------------
    def block(self, block: Block) -> None:
        """Emit the operations of a block."""
        for op in block.ops:
            emitter = self._emitters.get(op.opcode)
            if emitter is not None:
                emitter(self, op)
            else:
                self._arithmetic(op)

    def _arithmetic(self, op: Op) -> None:
        row = ROWS.get(op.opcode, libm.emit)
        result = op.result
        level = self.level(result)
        if level <= Level.LINEAR:
            # A linear result's base is its value in lane 0: the operation applied to the operands' values there.
            name = row(self.scalar, op, [self.first(v) for v in op.operands])
            self.define(result, Uniform(name) if level < Level.LINEAR else Linear(name, self._levels.stride[result]))
            return
        operands = [self.strips(v) for v in op.operands]
        self.define(result, Strips(tuple(row(self.vector, op, strip) for strip in zip(*operands, strict=True))))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Code that does not dominate what follows: what is materialised in it is forgotten at its end."""
        self._materialised.append({})
        try:
            yield
        finally:
            self._materialised.pop()

    @contextmanager
    def under(self, mask: tuple[str, ...] | None, some: bool) -> Iterator[None]:
        """Emit for these active lanes."""
        outer = self.mask, self.some
        self.mask, self.some = mask, some
        try:
            yield
        finally:
            self.mask, self.some = outer

    # ---- values --------------------------------------------------------------------------------------------------
    def level(self, value: Value) -> Level:
        return self._levels.level[value]

    def is_constant(self, value: Value) -> bool:
        return value in self._levels.constant

    def uniform(self, *values: Value) -> bool:
        """Whether all of them are held as scalars."""
        return all(isinstance(self._forms[v], Uniform) for v in values)

    def define(self, value: Value, form: Form) -> None:
        if self.W == 1 and isinstance(form, Strips):  # the analysis calls everything uniform
            form = Uniform(self.extract(value.type, form.names[0], "0"))
        self._forms[value] = form

    def form(self, value: Value) -> Form:
        return self._forms[value]

    def known(self, value: Value) -> bool:
        """Whether it has been defined already."""
        return value in self._forms

    def first(self, value: Value) -> str:
        """The scalar in lane 0: of a uniform value, the value."""
        match self._forms[value]:
            case Uniform(name) | Linear(name, _):
                return name
            case Strips(names):
                return self.extract(value.type, names[0], "0")

    def strips(self, value: Value) -> tuple[str, ...]:
        return self.materialise(self._forms[value], value.type)

    def materialise(self, form: Form, dtype: DType) -> tuple[str, ...]:
        """Any form as strips."""
        if isinstance(form, Strips):
            return form.names
        for scope in self._materialised:
            if (form, dtype) in scope:
                return scope[form, dtype]
        match form:
            case Uniform(name):
                names = (splat(self.text, self.S, dtype, name),) * self.R
            case Linear(base, stride):
                start = splat(self.text, self.S, dtype, base)
                names = tuple(ramp(self.text, self.S, r, dtype, start, stride) for r in range(self.R))
        self._materialised[-1][form, dtype] = names
        return names

    def each(self, function: Callable[..., str], *operands: Sequence[str]) -> tuple[str, ...]:
        """Strip by strip."""
        return tuple(function(*strip) for strip in zip(*operands, strict=True))

    # ---- forms that meet: the values of phis ----------------------------------------------------------------------
    def conform(self, form: Form, like: Value) -> Form:
        """The form that a phi for `like` takes from each side."""
        level = self.level(like)
        if level == Level.VARYING or isinstance(form, Strips):
            return Strips(self.materialise(form, like.type))
        if level == Level.LINEAR:
            return form if isinstance(form, Linear) else Linear(form.name, self._levels.stride[like])
        return form

    def parts(self, form: Form, dtype: DType) -> tuple[str, list[str]]:
        """The type of the registers that hold a form, and the registers."""
        match form:
            case Uniform(name) | Linear(name, _):
                return scalar_type(dtype), [name]
            case Strips(names):
                return self.vector.of(lane_type(dtype)), list(names)

    @staticmethod
    def rebuild(form: Form, names: Sequence[str]) -> Form:
        """A form like `form`, held in other registers."""
        match form:
            case Uniform(_):
                return Uniform(names[0])
            case Linear(_, stride):
                return Linear(names[0], stride)
            case Strips(_):
                return Strips(tuple(names))

    # ---- masks ---------------------------------------------------------------------------------------------------
    def and_mask(self, cond: tuple[str, ...]) -> tuple[str, ...]:
        """The active lanes for which `cond` holds."""
        if self.mask is None:
            return cond
        type_ = self.vector.of("i32")
        return self.each(lambda a, b: self.text.do(f"and {type_} {a}, {b}"), self.mask, cond)

    def invert(self, mask: tuple[str, ...]) -> tuple[str, ...]:
        type_ = self.vector.of("i32")
        return self.each(lambda a: self.text.do(f"xor {type_} {a}, splat (i32 -1)"), mask)

    def any(self, mask: Sequence[str]) -> str:
        """An `i1`: is a lane of the mask set?"""
        total, type_ = mask[0], self.vector.of("i32")
        for strip in mask[1:]:
            total = self.text.do(f"or {type_} {total}, {strip}")
        bits = self._sign_bits(total)
        return self.text.do(f"icmp ne i{self.S} {bits}, 0")

    def ballot(self, mask: Sequence[str]) -> str:
        """A u64 with a bit for each lane of the mask."""
        total = ""
        for r, strip in enumerate(mask):
            bits = self._sign_bits(strip)
            wide = self.text.do(f"zext i{self.S} {bits} to i64") if self.S < 64 else bits
            placed = self.text.do(f"shl i64 {wide}, {r * self.S}") if r else wide
            total = self.text.do(f"or i64 {total}, {placed}") if r else placed
        return total

    def active_bits(self) -> str:
        """The ballot of the active lanes."""
        return str((1 << self.W) - 1) if self.mask is None else self.ballot(self.mask)

    def _sign_bits(self, strip: str) -> str:
        return self.text.do(f"bitcast {self.vector.of('i1')} {self.vector.cond(strip)} to i{self.S}")

    def conds(self, mask: Sequence[str] | None = None) -> tuple[str, ...]:
        """The mask as the `i1`s that select and masked memory take (all true where every lane is active)."""
        mask = mask or self.mask
        if mask is None:
            return ("splat (i1 true)",) * self.R
        return tuple(self.vector.cond(strip) for strip in mask)

    # ---- lanes, and memory for them -------------------------------------------------------------------------------
    def extract(self, dtype: DType, strip: str, position: str) -> str:
        """One lane of one strip, as a scalar."""
        element = lane_type(dtype)
        name = self.text.do(f"extractelement {self.vector.of(element)} {strip}, i64 {position}")
        return self.text.do(f"icmp ne i32 {name}, 0") if dtype.is_bool else name

    def lane_of(self, dtype: DType, names: tuple[str, ...], lane: str) -> str:
        """The scalar in the lane that an i64 names, a literal or a register below W."""
        if not lane.startswith("%"):
            return self.extract(dtype, names[int(lane) // self.S], str(int(lane) % self.S))
        if self.R == 1:
            return self.extract(dtype, names[0], lane)
        element = lane_type(dtype)
        place = self.spill(element, names)
        slot = self.text.do(f"getelementptr {element}, ptr {place}, i64 {lane}")
        name = self.text.do(f"load {element}, ptr {slot}")
        return self.text.do(f"icmp ne i32 {name}, 0") if dtype.is_bool else name

    def stack(self, key: str, type_: str, count: int) -> str:
        """A stack array that all uses of one `key` share."""
        if key not in self._stack:
            self._stack[key] = self.text.slot(type_, count)
        return self._stack[key]

    def local(self, memory: Local) -> str:
        """Where a thread's own array lies, that of all lanes together.

        LLVM moves a coroutine's stack into its frame only where it sees through every use, which it does not for
        vectors of pointers; so a subgroup that suspends has an array that it indexes at run time in the arena.
        """
        key = f"local {id(memory)}"
        if key not in self._stack:
            element, count = memory_type(memory.dtype), prod(memory.shape) * self.W
            if memory in self._arena:
                size = count * memory.dtype.itemsize
                self._stack[key] = self.text.early(f"call ptr @new_frame(ptr %scratch, i64 {size})")
            else:
                self._stack[key] = self.text.slot(element, count)
        return self._stack[key]

    def spare(self) -> str:
        """A place of 8 bytes that may be read and written by lanes that are not active."""
        if "spare" not in self._stack:
            self._stack["spare"] = self.text.early(f"getelementptr i8, ptr %scratch, i64 {SPARE}")
        return self._stack["spare"]

    def spill(self, element: str, names: Sequence[str], key: str = "lanes") -> str:
        """W lanes laid out in memory, for what can only be done one lane at a time."""
        place = self.stack(f"{key} {element}", element, self.W)
        for r, name in enumerate(names):
            slot = self.text.do(f"getelementptr {element}, ptr {place}, i64 {r * self.S}")
            self.text.put(f"store {self.vector.of(element)} {name}, ptr {slot}")
        return place

    def reload(self, element: str, place: str) -> tuple[str, ...]:
        """What `spill` laid out, read back."""
        names: list[str] = []
        for r in range(self.R):
            slot = self.text.do(f"getelementptr {element}, ptr {place}, i64 {r * self.S}")
            names.append(self.text.do(f"load {self.vector.of(element)}, ptr {slot}"))
        return tuple(names)

    # ---- bools in memory ------------------------------------------------------------------------------------------
    def from_memory(self, w: Width, dtype: DType, name: str) -> str:
        """A loaded element as a value: a byte that is not zero is true."""
        if not dtype.is_bool:
            return name
        return w.boolean(w.do(f"icmp ne {w.of('i8')} {name}, {w.const('i8', '0')}"))

    def to_memory(self, w: Width, dtype: DType, name: str) -> str:
        if not dtype.is_bool:
            return name
        return w.do(f"zext {w.of('i1')} {w.cond(name)} to {w.of(memory_type(dtype))}")


def _indexed_locals(block: Block, levels: Uniformity) -> frozenset[Local]:
    """The threads' own arrays with an index that is not known at compile time."""
    found: set[Local] = set()
    for op in block.walk():
        memory = op.attrs.get("mem")
        if isinstance(memory, Local) and any(v not in levels.constant for v in op.operands[: len(memory.shape)]):
            found.add(memory)
    return frozenset(found)


def _used(block: Block) -> set[Value]:
    """Every value that something reads."""
    used = set(block.yields)
    for op in block.walk():
        used.update(op.uses)
        for region in op.regions:
            used.update(region.yields)
    return used


def emit_const(body: Body, op: Op) -> None:
    body.define(op.result, Uniform(literal(op.attrs["value"], op.result.type)))


def emit_undef(body: Body, op: Op) -> None:
    body.define(op.result, Uniform(literal(0, op.result.type)))


def emit_extent(body: Body, op: Op) -> None:
    body.define(op.result, Uniform(body.arguments.extent(op.attrs["mem"], op.attrs["axis"], op.result.type)))


def _index(register: str) -> Emitter:
    """A count that the driver passes as i64, in the type that the kernel wants."""

    def emit(body: Body, op: Op) -> None:
        bits = op.result.type.bits
        name = register if bits == 64 else body.text.early(f"trunc i64 {register} to i{bits}")
        body.define(op.result, Uniform(name))

    return emit


def emit_lane(body: Body, op: Op) -> None:
    body.define(op.result, Linear("0", 1) if body.W > 1 else Uniform("0"))


def emit_clock(body: Body, op: Op) -> None:
    body.define(op.result, Uniform(body.text.do("call i64 @llvm.readcyclecounter()")))


VALUES: dict[str, Emitter] = {
    "const": emit_const,
    "undef": emit_undef,
    "extent": emit_extent,
    "lane": emit_lane,
    "subgroup_id": _index("%subgroup"),
    "block_idx": _index("%block"),
    "num_blocks": _index("%blocks"),
    "clock": emit_clock,
}

assert not set(VALUES) - set(OPCODES)
