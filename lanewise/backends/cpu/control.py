"""Control flow: branches on uniform conditions stay branches, varying ones run both sides under masks.

A varying `if` is jumped over when no lane takes it, where its region is long or must not run for nobody.  A varying
`loop` runs while any lane is in it; what leaves it is kept as it was when its lane left.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import OPCODES, Block, Effect, Level, Local, Op, Value
from .arguments import RARELY
from .body import Body, Emitter
from .forms import Form, Strips
from .text import lane_type

JUMP_WEIGHT = 24
"""A masked region of at least so many operations is skipped when no lane is active (memory counts for four)."""


# ---- if -----------------------------------------------------------------------------------------------------------
def emit_if(body: Body, op: Op) -> None:
    if body.uniform(op.operands[0]):
        _uniform_if(body, op)
    else:
        _varying_if(body, op)


def _uniform_if(body: Body, op: Op) -> None:
    text = body.text
    then, orelse, join = text.new_label("then"), text.new_label("else"), text.new_label("join")
    text.branch(body.first(op.operands[0]), then, orelse, RARELY if op.attrs.get("rare") else "")
    sides: list[tuple[list[Form], str]] = []
    for label, region in zip((then, orelse), op.regions, strict=True):
        text.begin(label)
        with body.scope():
            body.block(region)
            values = [body.conform(body.form(v), r) for v, r in zip(region.yields, op.results, strict=True)]
        sides.append((values, text.label))
        text.jump(join)
    text.begin(join)
    (a, from_a), (b, from_b) = sides
    for result, x, y in zip(op.results, a, b, strict=True):
        body.define(result, _phi(body, result, [(x, from_a), (y, from_b)]))


def _phi(body: Body, like: Value, sources: Sequence[tuple[Form, str]]) -> Form:
    """The value that comes from one of several blocks, all in one form."""
    first = sources[0][0]
    if all(form == first for form, _ in sources):
        return first
    columns = [(body.parts(form, like.type), block) for form, block in sources]
    type_ = columns[0][0][0]
    rows = zip(*(names for (_, names), _ in columns), strict=True)
    blocks = [block for _, block in columns]
    return body.rebuild(first, [body.text.phi(type_, list(zip(row, blocks, strict=True))) for row in rows])


def _varying_if(body: Body, op: Op) -> None:
    cond = body.strips(op.operands[0])
    then, orelse = op.regions
    yes = _masked_region(body, op, then, body.and_mask(cond))
    no = _masked_region(body, op, orelse, body.and_mask(body.invert(cond)) if orelse.ops else cond)
    undefined = [_undefined(region) for region in op.regions]
    for number, (result, a, b) in enumerate(zip(op.results, yes, no, strict=True)):
        if a == b or orelse.yields[number] in undefined[1]:
            body.define(result, a)
        elif then.yields[number] in undefined[0]:
            body.define(result, b)
        else:
            x, y = body.materialise(a, result.type), body.materialise(b, result.type)
            body.define(result, Strips(_select(body, result, body.conds(cond), x, y)))


def _undefined(block: Block) -> set[Value]:
    return {op.result for op in block.ops if op.opcode == "undef"}


def _select(body: Body, like: Value, conds: Sequence[str], yes: Sequence[str], no: Sequence[str]) -> tuple[str, ...]:
    bits, type_ = body.vector.of("i1"), body.vector.of(lane_type(like.type))
    return body.each(
        lambda c, a, b: a if a == b else body.text.do(f"select {bits} {c}, {type_} {a}, {type_} {b}"), conds, yes, no
    )


def _masked_region(body: Body, op: Op, region: Block, mask: tuple[str, ...]) -> list[Form]:
    """Run a region under a mask, jumping over it where nobody is active and it is worth it; what it yields."""
    text = body.text
    if not _worth_a_jump(body, region):
        with body.under(mask, some=False):
            body.block(region)
        return [body.form(v) for v in region.yields]
    inside, after = text.new_label("some"), text.new_label("none")
    origin = text.label
    outer = {v for v in region.yields if body.known(v)}
    text.branch(body.any(mask), inside, after)
    text.begin(inside)
    with body.scope(), body.under(mask, some=True):
        body.block(region)
        forms = [body.form(v) for v in region.yields]
    end = text.label
    text.jump(after)
    text.begin(after)
    return [
        form if value in outer else _or_zero(body, value, form, end, origin)
        for form, value in zip(forms, region.yields, strict=True)
    ]


def _or_zero(body: Body, value: Value, form: Form, end: str, origin: str) -> Form:
    """A value of a region that was perhaps skipped: zero then, which is no poison and reaches no active lane."""
    type_, names = body.parts(form, value.type)
    if all(not name.startswith("%") for name in names):
        return form
    return body.rebuild(form, [body.text.phi(type_, [(name, end), ("zeroinitializer", origin)]) for name in names])


def _worth_a_jump(body: Body, region: Block) -> bool:
    """Whether nobody may run this region, or it is too long to run for nobody."""
    weight = 0
    for op in region.walk():
        effect = OPCODES[op.opcode].effect
        touches = bool(effect & (Effect.READS | Effect.WRITES))
        if op.opcode == "loop" or (touches and _needs_somebody(body, op)):
            return True
        weight += 4 if touches else 1
    return weight >= JUMP_WEIGHT


def _needs_somebody(body: Body, op: Op) -> bool:
    """A uniform address is touched once for all, so somebody must be active; so it is with rare and slow things."""
    if op.opcode not in ("load", "store"):
        return True
    indices = op.operands if op.opcode == "load" else op.operands[:-1]
    if isinstance(op.attrs["mem"], Local) and all(body.is_constant(v) for v in indices):
        return False
    return all(body.level(v) <= Level.SUBGROUP for v in indices)


# ---- loop ---------------------------------------------------------------------------------------------------------
def emit_loop(body: Body, op: Op) -> None:
    assert body.some, "a loop wants an active lane"
    if body.level(op.regions[0].yields[0]) <= Level.SUBGROUP:
        _uniform_loop(body, op)
    else:
        _varying_loop(body, op)


class _Carried:
    """The phis at the head of a loop, for one value: made before the code that their second source comes from."""

    def __init__(self, body: Body, like: Value, start: Form, origin: str) -> None:
        self.like = like
        type_, names = body.parts(start, like.type)
        self._starts = [(name, origin) for name in names]
        self._phis = [body.text.reserve_phi(type_) for _ in names]
        self.form = body.rebuild(start, [name for name, _ in self._phis])

    def close(self, body: Body, following: Form, latch: str) -> None:
        _, names = body.parts(following, self.like.type)
        for (_, place), start, name in zip(self._phis, self._starts, names, strict=True):
            body.text.fill_phi(place, [start, (name, latch)])


def _starts(body: Body, op: Op) -> list[Form]:
    """The first arguments, in the forms that the loop carries."""
    return [body.conform(body.form(v), arg) for v, arg in zip(op.operands, op.regions[0].args, strict=True)]


def _uniform_loop(body: Body, op: Op) -> None:
    text = body.text
    before, after = op.regions
    starts, origin = _starts(body, op), text.label
    head, inside, out = text.new_label("loop"), text.new_label("body"), text.new_label("done")
    text.jump(head)
    text.begin(head)
    carried = [_Carried(body, arg, start, origin) for arg, start in zip(before.args, starts, strict=True)]
    for item in carried:
        body.define(item.like, item.form)
    with body.scope():
        body.block(before)
        go_on, *forwarded = before.yields
        text.branch(body.first(go_on), inside, out)
        for arg, result, value in zip(after.args, op.results, forwarded, strict=True):
            body.define(arg, body.form(value))
            body.define(result, body.form(value))
        text.begin(inside)
        body.block(after)
        following = [body.conform(body.form(v), item.like) for v, item in zip(after.yields, carried, strict=True)]
    for item, form in zip(carried, following, strict=True):
        item.close(body, form, text.label)
    text.jump(head)
    text.begin(out)


def _varying_loop(body: Body, op: Op) -> None:
    text, mask_type = body.text, body.vector.of("i32")
    before, after = op.regions
    go_on, *forwarded = before.yields
    kept = [
        number for number, result in enumerate(op.results) if result in body.used and not body.known(forwarded[number])
    ]
    # An argument that is handed on as it is need not be kept aside: it stops changing in the lanes that left.
    still = {before.args.index(forwarded[n]): n for n in kept if forwarded[n] in before.args}
    still = {place: n for place, n in still.items() if body.level(before.args[place]) == Level.VARYING}
    aside = [n for n in kept if n not in still.values()]

    starts = _starts(body, op)
    everyone = ("splat (i32 -1)",) * body.R
    origin = text.label
    head, inside, out = text.new_label("loop"), text.new_label("body"), text.new_label("done")
    text.jump(head)
    text.begin(head)
    live_phis = [text.reserve_phi(mask_type) for _ in range(body.R)]
    live = tuple(name for name, _ in live_phis)
    carried = [_Carried(body, arg, start, origin) for arg, start in zip(before.args, starts, strict=True)]
    for item in carried:
        body.define(item.like, item.form)
    zeros = Strips(("zeroinitializer",) * body.R)
    results = {n: _Carried(body, op.results[n], zeros, origin) for n in aside}

    with body.scope():
        with body.under(live, some=True):
            body.block(before)
            going = body.and_mask(body.strips(go_on))
        left: dict[int, Form] = {}
        for n, item in results.items():
            new = body.materialise(body.form(forwarded[n]), op.results[n].type)
            old = body.materialise(item.form, op.results[n].type)
            left[n] = Strips(_select(body, op.results[n], body.conds(live), new, old))
        for arg, value in zip(after.args, forwarded, strict=True):
            body.define(arg, body.form(value))
        text.branch(body.any(going), inside, out)
        text.begin(inside)
        with body.under(going, some=True):
            body.block(after)
            following = [body.conform(body.form(v), item.like) for v, item in zip(after.yields, carried, strict=True)]
            for place in still:
                arg = before.args[place]
                new, old = body.materialise(following[place], arg.type), body.strips(arg)
                following[place] = Strips(_select(body, arg, body.conds(going), new, old))
    latch = text.label
    for item, form in zip(carried, following, strict=True):
        item.close(body, form, latch)
    for n, item in results.items():
        item.close(body, left[n], latch)
    for (_, place), start, name in zip(live_phis, body.mask or everyone, going, strict=True):
        text.fill_phi(place, [(start, origin), (name, latch)])
    text.jump(head)
    text.begin(out)
    for number, (result, value) in enumerate(zip(op.results, forwarded, strict=True)):
        body.define(result, left[number] if number in left else body.form(value))


CONTROL: dict[str, Emitter] = {"if": emit_if, "loop": emit_loop}
