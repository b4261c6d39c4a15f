"""Loads, stores and atomics as fancy indexing under the mask.

An index out of range, which compiled code leaves undefined, is an error here: the interpreter is the checker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import KernelAssertionError, Loc
from ...ir import OPCODES, Memory
from ...simt.op import Arr


class Place:
    """The elements that the active threads name: one index array an axis, with an entry for each of them.

    `outer` are the indices of the axes that the memory has beside the user's: the block, or the thread.
    """

    def __init__(
        self, array: Arr, mem: Memory, outer: Sequence[Arr], indices: Sequence[Arr], mask: Arr, loc: Loc
    ) -> None:
        self.array = array
        self.mask = mask
        chosen = [np.broadcast_to(i, mask.shape)[mask] for i in indices]
        for axis, index in enumerate(chosen):
            _check(mem, axis, index, array.shape[len(outer) + axis], loc)
        self.index = tuple(
            i.astype(np.int64) for i in (*(np.broadcast_to(o, mask.shape)[mask] for o in outer), *chosen)
        )

    def chosen(self, value: Arr) -> Arr:
        """The active threads' values."""
        return np.broadcast_to(value, self.mask.shape)[self.mask]

    def everywhere(self, values: Arr) -> Arr:
        """The active threads' values in their places, 0 in the others."""
        result = np.zeros(self.mask.shape, self.array.dtype)
        result[self.mask] = values
        return result

    def load(self) -> Arr:
        return self.everywhere(self.array[self.index])

    def store(self, value: Arr) -> None:
        self.array[self.index] = self.chosen(value)

    def atomic(self, kind: str, *values: Arr) -> Arr:
        """The old values, as if the threads came one after another in their order."""
        operands = [self.chosen(v) for v in values]
        if not operands[0].size:
            return self.everywhere(operands[0])
        address = np.zeros(operands[0].size, np.int64)  # in bytes: in a strided array two indices may be one cell
        for index, step in zip(self.index, self.array.strides, strict=True):
            address += index * step
        order = np.argsort(address, kind="stable")  # by cell, in each cell by thread
        _, starts, counts = np.unique(address[order], return_index=True, return_counts=True)
        cells = tuple(i[order][starts] for i in self.index)
        current = self.array[cells] if cells else self.array.reshape(1).copy()
        old = np.empty_like(operands[0])
        run = _one_by_one if kind in _PREFIXES and len(starts) < counts.max() else _in_rounds
        self.array[cells] = run(kind, current, order, starts, counts, operands, old).reshape(self.array[cells].shape)
        return self.everywhere(old)


def _check(mem: Memory, axis: int, index: Arr, extent: int, loc: Loc) -> None:
    outside = (index < 0) | (index >= extent)
    if outside.any():
        raise KernelAssertionError(
            f"index {index[outside.argmax()]} is out of range of axis {axis} of {mem.name}, of {extent} elements",
            loc=loc,
            why="indices count from 0 and negative ones do not wrap",
        )


# ---- atomics ------------------------------------------------------------------------------------------------------
def _compare_and_swap(current: Arr, expected: Arr, desired: Arr) -> Arr:
    """Compares bits, as hardware does."""
    bits = np.dtype(f"u{current.dtype.itemsize}")
    return np.where(current.view(bits) == expected.view(bits), desired, current)


def _update(kind: str) -> Callable[..., Arr]:
    """The new value from the current one and the operands."""
    if kind == "cas":
        return _compare_and_swap
    if kind == "exchange":
        return lambda current, value: value
    meaning = OPCODES[kind].meaning
    assert meaning is not None
    return meaning


def _in_rounds(kind: str, current: Arr, order: Arr, starts: Arr, counts: Arr, operands: Sequence[Arr], old: Arr) -> Arr:
    """The r-th thread of every cell in round r."""
    update = _update(kind)
    for number in range(counts.max()):
        busy = counts > number
        threads = order[starts[busy] + number]
        old[threads] = current[busy]
        current[busy] = update(current[busy], *(o[threads] for o in operands))
    return current


_PREFIXES: dict[str, Callable[[Arr], Arr]] = {
    "add": lambda states: np.add.accumulate(states, dtype=states.dtype),
    "sub": lambda states: np.subtract.accumulate(states, dtype=states.dtype),
    "exchange": lambda states: states,
}
"""From a cell's value and then the operands: all values that the cell takes."""


def _one_by_one(
    kind: str, current: Arr, order: Arr, starts: Arr, counts: Arr, operands: Sequence[Arr], old: Arr
) -> Arr:
    """A cell at a time: better where few cells have many threads."""
    for cell, (start, count) in enumerate(zip(starts, counts, strict=True)):
        threads = order[start : start + count]
        states = _PREFIXES[kind](np.concatenate([current[cell : cell + 1], operands[0][threads]]))
        old[threads], current[cell] = states[:-1], states[-1]
    return current


def scratch(mem: Any, outer: tuple[int, ...]) -> Arr:
    """A shared or local array, zero at first."""
    return np.zeros((*outer, *mem.shape), mem.dtype.np)
