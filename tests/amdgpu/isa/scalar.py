"""Scalar ALU: one value a wave, and the bit SCC ("SOP1", "SOP2", "SOPC", "SOPK")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .operands import KINDS, destination, parse_operand, reader, signed, to_words
from .state import EXEC, Arr, Model, Step, Waves
from .text import Instruction


@dataclass(frozen=True)
class Row:
    """`result = function(*sources)`; what SCC becomes of the result and the sources."""

    kinds: str
    """Types of the sources; of the result too, unless `result` says it."""
    function: Callable[..., Arr]
    scc: Callable[..., Arr] | None = None
    result: str = ""


def _nonzero(result: Arr, *sources: Arr) -> Arr:
    return result != 0


def _wide(*values: Arr) -> tuple[Arr, ...]:
    return tuple(value.astype(np.int64) for value in values)


def _carry(result: Arr, a: Arr, b: Arr) -> Arr:
    return result < a


def _borrow(result: Arr, a: Arr, b: Arr) -> Arr:
    return a < b


def _overflow(operation: Callable[..., Arr]) -> Callable[..., Arr]:
    return lambda result, a, b: operation(*_wide(a, b)) != result.astype(np.int64)


def _shift(operation: Callable[..., Arr]) -> Callable[..., Arr]:
    def shifted(a: Arr, n: Arr) -> Arr:
        return operation(a, (n & np.uint32(8 * a.dtype.itemsize - 1)).astype(a.dtype))

    return shifted


def _bit_field(a: Arr, field: Arr) -> Arr:
    """S_BFE: the offset in bits [4:0] ([5:0]), the width in bits [22:16]."""
    bits = 8 * a.dtype.itemsize
    offset = (field & np.uint32(bits - 1)).astype(np.int64)
    width = np.minimum((field >> np.uint32(16) & np.uint32(0x7F)).astype(np.int64), bits - offset)
    left = np.where(width == 0, 0, bits - offset - width)
    moved = a << left.astype(a.dtype)
    return np.where(width == 0, 0, moved >> np.where(width == 0, 0, bits - width).astype(a.dtype)).astype(a.dtype)


def _bit_mask(width: Arr, offset: Arr, bits: int) -> Arr:
    dtype = np.dtype(f"u{bits // 8}").type
    ones = (dtype(1) << (width & np.uint32(bits - 1)).astype(dtype)) - dtype(1)
    return ones << (offset & np.uint32(bits - 1)).astype(dtype)


def trailing_zeros(a: Arr) -> Arr:
    """-1 for 0."""
    isolated = a & (~a + a.dtype.type(1))
    return np.where(a == 0, -1, np.bitwise_count(isolated - a.dtype.type(1)).astype(np.int32)).astype(np.int32)


def leading_zeros(a: Arr) -> Arr:
    """-1 for 0."""
    bits = 8 * a.dtype.itemsize
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < bits:
            a = a | a >> a.dtype.type(shift)
    zeros = bits - np.bitwise_count(a).astype(np.int32)
    return np.where(a == 0, -1, zeros).astype(np.int32)


def leading_sign_bits(a: Arr) -> Arr:
    """How many bits from the top are like the sign; -1 where all are."""
    return leading_zeros((a ^ (a >> a.dtype.type(8 * a.dtype.itemsize - 1))).view(f"u{a.dtype.itemsize}"))


def reversed_bits(a: Arr) -> Arr:
    order = np.unpackbits(np.ascontiguousarray(a)[..., None].view(np.uint8), axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(order, axis=-1, bitorder="little").view(a.dtype)[..., 0]


def high_product(a: Arr, b: Arr) -> Arr:
    wide = np.int64 if a.dtype.kind == "i" else np.uint64
    return (a.astype(wide) * b.astype(wide) >> wide(32)).astype(a.dtype)


def absolute(a: Arr) -> Arr:
    return np.where(a < 0, ~a + a.dtype.type(1), a)


def _extended(bits: int) -> Callable[[Arr], Arr]:
    return lambda a: a.astype(np.uint32).astype(f"i{bits // 8}").astype(np.int32)


def _pack(low: int, high: int) -> Callable[[Arr, Arr], Arr]:
    half = np.uint32(0xFFFF)
    return lambda a, b: (a >> np.uint32(16 * low) & half) | (b >> np.uint32(16 * high) & half) << np.uint32(16)


_LOGIC: dict[str, Callable[..., Arr]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "and_not1": lambda a, b: a & ~b,
    "or_not1": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}
_COMPARE = {
    "eq": np.equal,
    "lg": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}

ROWS: dict[str, Row] = {
    "s_mov_b32": Row("u32", lambda a: a),
    "s_mov_b64": Row("u64", lambda a: a),
    "s_not_b32": Row("u32", np.invert, _nonzero),
    "s_not_b64": Row("u64", np.invert, _nonzero),
    "s_brev_b32": Row("u32", reversed_bits),
    "s_brev_b64": Row("u64", reversed_bits),
    "s_abs_i32": Row("i32", absolute, _nonzero),
    "s_sext_i32_i8": Row("u32", _extended(8), result="i32"),
    "s_sext_i32_i16": Row("u32", _extended(16), result="i32"),
    "s_add_u32": Row("u32 u32", np.add, _carry),
    "s_sub_u32": Row("u32 u32", np.subtract, _borrow),
    "s_add_i32": Row("i32 i32", np.add, _overflow(np.add)),
    "s_sub_i32": Row("i32 i32", np.subtract, _overflow(np.subtract)),
    "s_add_nc_u64": Row("u64 u64", np.add),
    "s_sub_nc_u64": Row("u64 u64", np.subtract),
    "s_mul_i32": Row("u32 u32", np.multiply),
    "s_mul_u64": Row("u64 u64", np.multiply),
    "s_mul_hi_u32": Row("u32 u32", high_product),
    "s_mul_hi_i32": Row("i32 i32", high_product),
    "s_min_u32": Row("u32 u32", np.minimum, lambda r, a, b: a < b),
    "s_max_u32": Row("u32 u32", np.maximum, lambda r, a, b: a > b),
    "s_min_i32": Row("i32 i32", np.minimum, lambda r, a, b: a < b),
    "s_max_i32": Row("i32 i32", np.maximum, lambda r, a, b: a > b),
    "s_pack_ll_b32_b16": Row("u32 u32", _pack(0, 0)),
    "s_pack_lh_b32_b16": Row("u32 u32", _pack(0, 1)),
    "s_pack_hl_b32_b16": Row("u32 u32", _pack(1, 0)),
    "s_pack_hh_b32_b16": Row("u32 u32", _pack(1, 1)),
    "s_bfm_b32": Row("u32 u32", lambda a, b: _bit_mask(a, b, 32)),
    "s_bfm_b64": Row("u32 u32", lambda a, b: _bit_mask(a, b, 64), result="u64"),
    "s_bitset0_b32": Row("u32 u32", lambda old, n: old & ~(np.uint32(1) << (n & np.uint32(31)))),
    "s_bitset1_b32": Row("u32 u32", lambda old, n: old | np.uint32(1) << (n & np.uint32(31))),
    **{
        f"s_lshl{n}_add_u32": Row(
            "u32 u32",
            lambda a, b, n=n: (a << np.uint32(n)) + b,
            lambda r, a, b, n=n: (a.astype(np.uint64) << np.uint64(n)) + b.astype(np.uint64) > np.uint64(0xFFFFFFFF),
        )
        for n in (1, 2, 3, 4)
    },
}
for _bits in (32, 64):
    for _name, _function in _LOGIC.items():
        ROWS[f"s_{_name}_b{_bits}"] = Row(f"u{_bits} u{_bits}", _function, _nonzero)
    ROWS |= {
        f"s_lshl_b{_bits}": Row(f"u{_bits} u32", _shift(np.left_shift), _nonzero),
        f"s_lshr_b{_bits}": Row(f"u{_bits} u32", _shift(np.right_shift), _nonzero),
        f"s_ashr_i{_bits}": Row(f"i{_bits} u32", _shift(np.right_shift), _nonzero),
        f"s_bfe_u{_bits}": Row(f"u{_bits} u32", _bit_field, _nonzero),
        f"s_bfe_i{_bits}": Row(f"i{_bits} u32", _bit_field, _nonzero),
        f"s_bcnt1_i32_b{_bits}": Row(f"u{_bits}", np.bitwise_count, _nonzero, "i32"),
        f"s_bcnt0_i32_b{_bits}": Row(f"u{_bits}", lambda a: np.bitwise_count(~a), _nonzero, "i32"),
        f"s_ff1_i32_b{_bits}": Row(f"u{_bits}", trailing_zeros, result="i32"),
        f"s_flbit_i32_b{_bits}": Row(f"u{_bits}", leading_zeros, result="i32"),
    }
ROWS["s_flbit_i32"] = Row("i32", leading_sign_bits)
ROWS["s_flbit_i32_i64"] = Row("i64", leading_sign_bits, result="i32")

# gfx11 and gfx12 have other names for the same.
ALIASES = {
    "s_andn2_b32": "s_and_not1_b32",
    "s_andn2_b64": "s_and_not1_b64",
    "s_orn2_b32": "s_or_not1_b32",
    "s_orn2_b64": "s_or_not1_b64",
    "s_ctz_i32_b32": "s_ff1_i32_b32",
    "s_ctz_i32_b64": "s_ff1_i32_b64",
    "s_clz_i32_u32": "s_flbit_i32_b32",
    "s_clz_i32_u64": "s_flbit_i32_b64",
    "s_cls_i32": "s_flbit_i32",
    "s_cls_i32_i64": "s_flbit_i32_i64",
    "s_add_co_u32": "s_add_u32",
    "s_add_co_i32": "s_add_i32",
    "s_sub_co_u32": "s_sub_u32",
    "s_sub_co_i32": "s_sub_i32",
    "s_add_co_ci_u32": "s_addc_u32",
    "s_sub_co_ci_u32": "s_subb_u32",
    "s_addk_co_i32": "s_addk_i32",
}


def write(d: int, w: Waves, value: Arr) -> None:
    for number, word in enumerate(to_words(value)):
        w.put_scalar(d + number, word)


def from_row(row: Row, instruction: Instruction, model: Model) -> Step:
    target, *sources = instruction.operands
    if instruction.opcode.startswith("s_bitset"):
        sources = [target, *sources]
    d, kinds = destination(target, model).first, row.kinds.split()
    reads = [reader(parse_operand(text, model), kind) for text, kind in zip(sources, kinds, strict=True)]
    result = KINDS[row.result or kinds[0]]

    def step(w: Waves) -> None:
        values = [read(w) for read in reads]
        value = np.asarray(row.function(*values)).astype(result)
        if row.scc is not None:
            w.scc = np.broadcast_to(row.scc(value, *values), (w.count, 1))
        write(d, w, value)

    return step


# ---- those that read SCC or EXEC, or have a constant in the instruction ---------------------------------------------
def _with_carry(subtract: bool) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        target, *sources = instruction.operands
        d = destination(target, model).first
        a, b = (reader(parse_operand(text, model), "u32") for text in sources)

        def step(w: Waves) -> None:
            x, y = _wide(a(w), b(w))
            exact = x - y - w.scc if subtract else x + y + w.scc
            w.scc = np.broadcast_to((exact < 0) | (exact > 0xFFFFFFFF), (w.count, 1))
            w.put_scalar(d, exact.astype(np.uint32))

        return step

    return build


def _select(kind: str) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        target, *sources = instruction.operands
        d = destination(target, model).first
        a, b = (reader(parse_operand(text, model), kind) for text in sources)
        return lambda w: write(d, w, np.where(w.scc, a(w), b(w)))

    return build


def _conditional_move(kind: str) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        target, source = instruction.operands
        d, old = destination(target, model).first, reader(parse_operand(target, model), kind)
        a = reader(parse_operand(source, model), kind)
        return lambda w: write(d, w, np.where(w.scc, a(w), old(w)))

    return build


def _compare(name: str, kind: str) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        operands = [parse_operand(text, model) for text in instruction.operands]
        a, b = (signed(reader(operand, kind), operand) for operand in operands)

        def step(w: Waves) -> None:
            w.scc = np.broadcast_to(_COMPARE[name](a(w), b(w)), (w.count, 1))

        return step

    return build


def _test_bit(kind: str, wanted: int) -> Callable[[Instruction, Model], Step]:
    def build(instruction: Instruction, model: Model) -> Step:
        a, n = (
            reader(parse_operand(text, model), k) for text, k in zip(instruction.operands, (kind, "u32"), strict=True)
        )
        bits = 8 * KINDS[kind].itemsize

        def step(w: Waves) -> None:
            value = a(w)
            bit = value >> (n(w) & np.uint32(bits - 1)).astype(value.dtype) & value.dtype.type(1)
            w.scc = np.broadcast_to(bit == wanted, (w.count, 1))

        return step

    return build


def _immediate(function: Callable[[Arr, Arr], Arr] | None, scc: Callable[..., Arr] | None) -> Callable[..., Step]:
    """SOPK: a 16-bit constant, sign-extended."""

    def build(instruction: Instruction, model: Model) -> Step:
        target, text = instruction.operands
        d, old = destination(target, model).first, reader(parse_operand(target, model), "i32")
        number = int(text, 0) & 0xFFFF
        constant = np.array([[number - (number >> 15 << 16)]], np.int32)

        def step(w: Waves) -> None:
            before = old(w)
            value = constant if function is None else function(before, constant)
            if scc is not None:
                w.scc = np.broadcast_to(scc(value, before, constant), (w.count, 1))
            w.put_scalar(d, value.view(np.uint32))

        return step

    return build


def _save_exec(name: str, kind: str) -> Callable[[Instruction, Model], Step]:
    """D = EXEC; EXEC = S op EXEC; SCC = EXEC != 0."""

    def build(instruction: Instruction, model: Model) -> Step:
        target, source = instruction.operands
        d = destination(target, model).first
        mask = reader(parse_operand(source, model), kind)
        current = reader(parse_operand("exec" if kind == "u64" else "exec_lo", model), kind)
        operation = _SAVES[name]

        def step(w: Waves) -> None:
            old, chosen = current(w), mask(w)  # the source may be the destination
            new = operation(chosen, old)
            write(d, w, old)
            write(EXEC, w, np.broadcast_to(new, (w.count, 1)))
            w.scc = np.broadcast_to(new != 0, (w.count, 1))

        return step

    return build


_SAVES: dict[str, Callable[[Arr, Arr], Arr]] = {
    **_LOGIC,
    "andn2": _LOGIC["and_not1"],
    "orn2": _LOGIC["or_not1"],
    "andn1": lambda a, b: ~a & b,
    "and_not0": lambda a, b: ~a & b,
    "or_not0": lambda a, b: ~a | b,
}
BUILDERS: dict[str, Callable[[Instruction, Model], Step]] = {
    "s_addc_u32": _with_carry(False),
    "s_subb_u32": _with_carry(True),
    "s_cselect_b32": _select("u32"),
    "s_cselect_b64": _select("u64"),
    "s_cmov_b32": _conditional_move("u32"),
    "s_cmov_b64": _conditional_move("u64"),
    "s_movk_i32": _immediate(None, None),
    "s_addk_i32": _immediate(np.add, _overflow(np.add)),
    "s_mulk_i32": _immediate(np.multiply, None),
}
for _name in _SAVES:
    for _bits in (32, 64):
        BUILDERS[f"s_{_name}_saveexec_b{_bits}"] = _save_exec(_name, f"u{_bits}")
for _bits in (32, 64):
    BUILDERS[f"s_bitcmp0_b{_bits}"] = _test_bit(f"u{_bits}", 0)
    BUILDERS[f"s_bitcmp1_b{_bits}"] = _test_bit(f"u{_bits}", 1)
for _name in _COMPARE:
    for _kind in ("u32", "i32", "u64"):
        BUILDERS[f"s_cmp_{_name}_{_kind}"] = _compare(_name, _kind)
    for _kind in ("u32", "i32"):
        BUILDERS[f"s_cmpk_{_name}_{_kind}"] = _compare(_name, _kind)
