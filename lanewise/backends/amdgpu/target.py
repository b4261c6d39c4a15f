"""AMDGPU: a subgroup is a wavefront of 64 or 32 lanes.

The convergence pass sees to it that EXEC is full wherever lanes meet, so a DPP move never meets a disabled lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ... import dtypes
from ...ir import Kernel, Op
from ..llvm.arithmetic import widened
from ..llvm.lanes import Pattern
from ..llvm.target import SHARED, Target, entry_name
from ..llvm.text import Writer, scalar_type, suffix
from .arch import features
from .natives import natives_of
from .ocml import device_library
from .permutes import gather, permute, read_lane


class AmdTarget(Target):
    """One architecture, such as gfx942, in wave64 or wave32."""

    name: ClassVar[str] = "amdgpu"
    triple = "amdgcn-amd-amdhsa"
    local_space = 5
    argument_space = 4
    scopes: ClassVar[Mapping[str, str]] = {"subgroup": "wavefront", "block": "workgroup", "grid": "agent"}
    # Device memory of a GPU is never fine-grained; without this every float atomic is a loop.
    atomic_notes = ", !amdgpu.no.fine.grained.memory !1"

    def __init__(self, arch: str, subgroup_size: int) -> None:
        self.arch = arch
        self.subgroup_size = subgroup_size
        self.features = features(arch, subgroup_size)
        self.natives = natives_of(self.features, subgroup_size, self.lane)

    # ---- the function --------------------------------------------------------------------------------------------
    def signature(self, kernel: Kernel, argument_bytes: int) -> str:
        threads = self.threads(kernel)
        space = self.argument_space
        arguments = f"ptr addrspace({space}) byref([{argument_bytes} x i8]) align 8 %args"
        attributes = {
            "amdgpu-flat-work-group-size": f"{threads},{threads}",
            "uniform-work-group-size": "true",
            "target-cpu": self.arch,
            "target-features": self.machine_features,
        }
        text = " ".join(f'"{key}"="{value}"' for key, value in attributes.items())
        return f"define amdgpu_kernel void @{entry_name(kernel)}({arguments}) convergent nounwind {text}"

    @property
    def machine_features(self) -> str:
        """The wavefront size, where the architecture has two."""
        return "" if self.arch.startswith("gfx9") else f"+wavefrontsize{self.subgroup_size}"

    def shared_memory(self, kernel: Kernel) -> str:
        size = f"[{kernel.shared_bytes} x i8]"
        return f"{self.shared_symbol(kernel)} = internal addrspace({SHARED}) global {size} poison, align 16"

    def module_text(self) -> str:
        return '!llvm.module.flags = !{!0}\n!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}\n!1 = !{}'

    # ---- where am I ----------------------------------------------------------------------------------------------
    def lane(self, w: Writer) -> str:
        low = w.call("i32", "llvm.amdgcn.mbcnt.lo", "i32 -1", "i32 0")
        return low if self.subgroup_size == 32 else w.call("i32", "llvm.amdgcn.mbcnt.hi", "i32 -1", f"i32 {low}")

    def subgroup_id(self, w: Writer) -> str:
        # Lanes of a wavefront are consecutive threads; readfirstlane tells LLVM that the number is uniform.
        thread = w.call("range(i32 0, 1024) i32", "llvm.amdgcn.workitem.id.x")
        number = w.let(f"lshr i32 {thread}, {self.subgroup_size.bit_length() - 1}")
        return w.call("i32", "llvm.amdgcn.readfirstlane.i32", f"i32 {number}")

    def hardware_block(self, w: Writer) -> str:
        return w.call("i32", "llvm.amdgcn.workgroup.id.x")

    # ---- between lanes -------------------------------------------------------------------------------------------
    def permute(self, w: Writer, word: str, sources: Pattern, lane: str) -> str:
        return permute(w, self.features, word, sources, lane)

    def gather(self, w: Writer, word: str, index: str, lane: str, *, uniform: bool) -> str:
        if uniform:
            return read_lane(w, word, w.call("i32", "llvm.amdgcn.readfirstlane.i32", f"i32 {index}"))
        return gather(w, self.features, word, index, lane, self.subgroup_size)

    def _ballot(self, w: Writer, predicate: str) -> tuple[str, str]:
        """The bits and their type; LLVM aborts on the other width."""
        ty = f"i{self.subgroup_size}"
        return w.call(ty, f"llvm.amdgcn.ballot.{ty}", f"i1 {predicate}"), ty

    def ballot(self, w: Writer, predicate: str) -> str:
        bits, ty = self._ballot(w, predicate)
        return bits if ty == "i64" else w.let(f"zext {ty} {bits} to i64")

    def any(self, w: Writer, predicate: str) -> str:
        bits, ty = self._ballot(w, predicate)
        return w.let(f"icmp ne {ty} {bits}, 0")

    def subgroup_barrier(self, w: Writer) -> None:
        w.do('fence syncscope("wavefront") release')
        w.call("void", "llvm.amdgcn.wave.barrier")
        w.do('fence syncscope("wavefront") acquire')

    def block_barrier(self, w: Writer) -> None:
        w.do('fence syncscope("workgroup") release')
        w.call("void", "llvm.amdgcn.s.barrier")
        w.do('fence syncscope("workgroup") acquire')

    # ---- mathematics ---------------------------------------------------------------------------------------------
    def math(self, w: Writer, op: Op, arguments: Sequence[str]) -> str:
        """ROCm's device library, `__ocml_exp_f32`; f16 through f32."""
        if device_library() is None:
            hint = "install ROCm's device libraries, or set ROCM_PATH"
            raise self.unsupported(op, "it is in ROCm's ocml.bc, which was not found", hint)

        @widened
        def emit(w: Writer, t: dtypes.DType, *args: str) -> str:
            ty = scalar_type(t)
            return w.call(ty, f"__ocml_{op.opcode}_{suffix(ty)}", *(f"{ty} {a}" for a in args))

        return emit(w, op.result.type, *arguments)
