"""What the libraries that are made up share: a launch, decoded from its argument block and run by the interpreter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

import lanewise as lw
from lanewise.backends.interpreter.engine import Lanes, one
from lanewise.backends.interpreter.evaluate import Evaluator
from lanewise.backends.llvm.arguments import ArgumentBlock
from lanewise.ir import Kernel
from lanewise.views import array_at

MULTIPROCESSORS = 2


@dataclass(frozen=True)
class Launch:
    """What a launch of one variant ran."""

    regular: bool
    first: int
    end: int
    grid: int
    stream: int


class Fake(ABC):
    """A maker's library that is made up, for a backend at a subgroup size."""

    arch: lw.Arch
    subgroup_size: int
    other_size: int
    """A size that it does not have."""
    default_stream: int | None
    """Its number in the CUDA array interface."""
    device_type: int
    """DLPack's number for its memory."""
    launches: list[Launch]

    @property
    @abstractmethod
    def live(self) -> int:
        """How many allocations there are."""

    @abstractmethod
    def fail(self, step: str, how: str) -> str:
        """Let the "launch" or the "wait" fail by an "invalid value" or an "illegal address": the error's name."""

    def init(self, **options: Any) -> lw.Device:
        return lw.init(self.arch, **{"subgroup_size": self.subgroup_size, **options})


def run(kernel: Kernel, data: bytes, grid: int, threads: int, stream: int) -> Launch:
    """Run the blocks that the argument block names."""
    assert threads == kernel.num_subgroups * kernel.subgroup_size
    block = ArgumentBlock.of(kernel)
    assert len(data) == block.size

    def slot(offset: int, dtype: Any = np.int64) -> Any:
        return np.frombuffer(data, dtype, 1, offset)[0]

    first, end = int(slot(block.first_block)), int(slot(block.end_block))
    assert slot(block.grid) == grid
    arrays: dict[Any, Any] = {
        mem: array_at(
            int(slot(block.pointers[mem])),
            tuple(int(slot(block.extent(mem, axis))) for axis in range(mem.ndim)),
            mem.dtype.np,
            tuple(int(slot(block.stride(mem, axis))) * mem.dtype.itemsize for axis in range(mem.ndim)),
        )
        for mem in kernel.memories
    }
    values = {value: one(slot(offset, value.type.np), value.type) for value, offset in block.scalars.items()}
    items = int(np.prod([int(values[extent].item()) for extent in kernel.extents]))
    mask = np.ones((end - first, kernel.num_subgroups, kernel.subgroup_size), bool)
    lanes = Lanes(mask, kernel.block_dim, first, -(-items // kernel.block_dim))
    with np.errstate(all="ignore"):
        Evaluator(lanes, arrays, values).run(kernel.body, mask)
    return Launch(kernel.regular, first, end, grid, stream)
