"""The operations sorted into families, for the table in the README and for the reference: every one in just one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanewise.simt.families import FUNCTIONS
from lanewise.simt.op import Function

_BY_OPERATION = "(add|mul|min|max|and|or|xor)"


@dataclass(frozen=True)
class Family:
    """What it is called, and a pattern of its functions' qualified names without `_tiled`."""

    title: str
    pattern: str

    def __contains__(self, function: Function) -> bool:
        return bool(re.fullmatch(self.pattern, function.qualified_name.removesuffix("_tiled")))

    def functions(self) -> Sequence[Function]:
        """Its functions, in the order of their declarations, plain ones before tiled ones; without old names."""
        found = [f for f in FUNCTIONS.values() if f in self and not f.forwards_to]
        order = {f.qualified_name: number for number, f in enumerate(found)}
        first = {f.qualified_name.removesuffix("_tiled"): order[f.qualified_name] for f in reversed(found)}
        return sorted(found, key=lambda f: (first[f.qualified_name.removesuffix("_tiled")], f.tiled))


FAMILIES = (
    Family("Who is who", r"subgroup\.(invocation_id|group_size|log2_group_size|subgroup_id|num_subgroups|elect)"),
    Family("Moving values", r"subgroup\.(shuffle|rotate|broadcast).*"),
    Family("Votes", r"subgroup\.(all|any)_.*"),
    Family("Ballots and matches", r"subgroup\.(ballot.*|inverse_ballot|match_any|active_mask)"),
    Family("Lane masks", r"subgroup\.lanemask.*"),
    Family("Reductions", rf"subgroup\.reduce(_all)?_{_BY_OPERATION}"),
    Family("Scans", rf"subgroup\.(in|ex)clusive_{_BY_OPERATION}"),
    Family("Segmented reductions", r"subgroup\.segmented_.*"),
    Family("With a function of your own", r"subgroup\.(reduce|reduce_all|inclusive_scan|exclusive_scan)"),
    Family("Sorting", r"subgroup\.bitonic_.*"),
    Family("Order of memory", r"subgroup\.(sync|mem_fence)"),
    Family("Quads", r"quad\..*"),
    Family("Threads of a block", r"block\.(\w*idx|block_dim)"),
    Family("Shared memory and barriers", r"block\.(SharedArray|sync.*|mem_fence)"),
    Family("Reductions and scans of a block", r"block\.(reduce|inclusive|exclusive).*"),
    Family("Grid and clock", r"(grid|simt)\..*"),
)


def placed() -> Iterator[tuple[Function, list[Family]]]:
    """Every function with the families that it is in: just one, if all is well."""
    for function in FUNCTIONS.values():
        if not function.forwards_to:
            yield function, [family for family in FAMILIES if function in family]


def old_names() -> Iterator[Function]:
    """The functions that still work under a name that they had before."""
    return (function for function in FUNCTIONS.values() if function.forwards_to)
