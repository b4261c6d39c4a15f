"""NVPTX: warps of 32 lanes, `shfl.sync` and its kin with the full mask (PTX ISA 9.7.9 and 9.7.13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ... import dtypes
from ...errors import CompileError
from ...ir import Kernel, Op
from ..llvm.arithmetic import widened
from ..llvm.lanes import Pattern, named, pattern_index
from ..llvm.target import SHARED, Target, entry_name
from ..llvm.text import Writer, scalar_type
from .libdevice import libdevice
from .natives import natives_of

FULL = "i32 -1"
STATIC_SHARED_LIMIT = 48 << 10
"""A block's statically sized shared memory; more must be asked for at the launch."""

# kind of permute: (mode of shfl.sync, the low bits of its operand c).  c's upper field, 32 - size, cuts the warp into
# tiles; the low bits clamp: past 0 for `up`, past the tile's end for the others, the reader keeps its own value.
SHUFFLES = {
    "xor": ("bfly", 0x1F),
    "up": ("up", 0x00),
    "down": ("down", 0x1F),
    "broadcast": ("idx", 0x1F),
}


class CudaTarget(Target):
    """One compute capability, such as sm_90."""

    name: ClassVar[str] = "cuda"
    triple = "nvptx64-nvidia-cuda"
    local_space = 0
    argument_space = 0
    # The lanes of a warp see what their block sees.
    scopes: ClassVar[Mapping[str, str]] = {"subgroup": "block", "block": "block", "grid": "device"}
    subgroup_size = 32

    def __init__(self, arch: str) -> None:
        number = arch.removeprefix("sm_").rstrip("af")
        if not arch.startswith("sm_") or not number.isdigit() or int(number) < 70:
            raise CompileError(
                f"{arch!r} is no architecture of the cuda backend",
                why="it needs warp operations that synchronise, which came with sm_70",
                hint='arch="sm_90"',
            )
        self.arch = arch
        self.natives = natives_of(int(number))

    # ---- the function --------------------------------------------------------------------------------------------
    def signature(self, kernel: Kernel, argument_bytes: int) -> str:
        arguments = f"ptr byval([{argument_bytes} x i8]) align 8 %args"
        threads = self.threads(kernel)
        attributes = f'convergent nounwind "nvvm.reqntid"="{threads}"'
        return f"define ptx_kernel void @{entry_name(kernel)}({arguments}) {attributes}"

    def shared_memory(self, kernel: Kernel) -> str:
        symbol, space = self.shared_symbol(kernel), f"addrspace({SHARED})"
        if kernel.shared_bytes > STATIC_SHARED_LIMIT:
            return f"{symbol} = external {space} global [0 x i8], align 16"
        return f"{symbol} = internal {space} global [{kernel.shared_bytes} x i8] undef, align 16"

    # ---- where am I ----------------------------------------------------------------------------------------------
    def _thread(self, w: Writer) -> str:
        return w.call("range(i32 0, 1024) i32", "llvm.nvvm.read.ptx.sreg.tid.x")

    def lane(self, w: Writer) -> str:
        # In a block of one dimension `%laneid` is tid % 32; written so, it cancels against subgroup_id * 32.
        return w.let(f"and i32 {self._thread(w)}, {self.subgroup_size - 1}")

    def subgroup_id(self, w: Writer) -> str:
        return w.let(f"lshr i32 {self._thread(w)}, {self.subgroup_size.bit_length() - 1}")

    def hardware_block(self, w: Writer) -> str:
        return w.call("i32", "llvm.nvvm.read.ptx.sreg.ctaid.x")

    # ---- between lanes -------------------------------------------------------------------------------------------
    def _shuffle(self, w: Writer, mode: str, word: str, operand: str | int, c: int) -> str:
        function = f"llvm.nvvm.shfl.sync.{mode}.i32"
        return w.call("i32", function, FULL, f"i32 {word}", f"i32 {operand}", f"i32 {c}")

    def permute(self, w: Writer, word: str, sources: Pattern, lane: str) -> str:
        kind, amount, log2_size = named(sources) or ("map", 0, 0)
        tiles = (self.subgroup_size - (1 << log2_size)) << 8
        if kind in SHUFFLES:
            mode, clamp = SHUFFLES[kind]
            return self._shuffle(w, mode, word, amount, tiles | clamp)
        if kind == "rotate":  # `idx` takes its operand modulo the tile
            return self._shuffle(w, "idx", word, w.let(f"add i32 {lane}, {amount}"), tiles | 0x1F)
        return self._shuffle(w, "idx", word, pattern_index(w, lane, sources), 0x1F)

    def gather(self, w: Writer, word: str, index: str, lane: str, *, uniform: bool) -> str:
        return self._shuffle(w, "idx", word, index, 0x1F)

    def ballot(self, w: Writer, predicate: str) -> str:
        bits = w.call("i32", "llvm.nvvm.vote.ballot.sync", FULL, f"i1 {predicate}")
        return w.let(f"zext i32 {bits} to i64")

    def any(self, w: Writer, predicate: str) -> str:
        return w.call("i1", "llvm.nvvm.vote.any.sync", FULL, f"i1 {predicate}")

    def subgroup_barrier(self, w: Writer) -> None:
        w.call("void", "llvm.nvvm.bar.warp.sync", FULL)

    def block_barrier(self, w: Writer) -> None:
        w.call("void", "llvm.nvvm.barrier.cta.sync.aligned.all", "i32 0")

    # ---- mathematics ---------------------------------------------------------------------------------------------
    def math(self, w: Writer, op: Op, arguments: Sequence[str]) -> str:
        """libdevice's `__nv_expf` for f32, `__nv_exp` for f64; f16 through f32."""
        if libdevice() is None:
            raise self.unsupported(op, "it is in libdevice.10.bc, which was not found", "pip install nvidia-nvvm")

        @widened
        def emit(w: Writer, t: dtypes.DType, *args: str) -> str:
            ty = scalar_type(t)
            function = f"__nv_{op.opcode}{'f' if t == dtypes.f32 else ''}"
            return w.call(ty, function, *(f"{ty} {a}" for a in args))

        return emit(w, op.result.type, *arguments)
