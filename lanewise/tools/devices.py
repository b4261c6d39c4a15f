"""Lists the devices, as a table for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .. import dtypes
from ..backends.engine import OP_GROUPS, Detail, Properties
from ..device import Device
from ..errors import DeviceError

Found = Mapping[str, Device | DeviceError]


def _bytes(count: int) -> str:
    return f"{count // 1024} KiB" if count % 1024 == 0 else f"{count} B"


def _sizes(sizes: tuple[int, ...]) -> str:
    return f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 2 else ", ".join(map(str, sizes))


def _most(every: Iterable[object], these: Collection[object]) -> str:
    """Which of them all these are, in few words."""
    missing = [str(one) for one in every if one not in these]
    return f"all but {' '.join(missing)}" if missing else "all"


COLUMNS: dict[str, Callable[[Properties], str]] = {
    "device": lambda p: p.name,
    "subgroup\nsize": lambda p: str(p.subgroup_size),
    "possible\nsizes": lambda p: _sizes(p.subgroup_sizes),
    "block\nthreads": lambda p: f"{p.max_block_dim:,}",
    "shared\nmemory": lambda p: _bytes(p.max_shared_bytes),
    "types": lambda p: _most(dtypes.ALL, p.dtypes),
    "ops": lambda p: _most(OP_GROUPS, p.op_groups),
}
_NUMBERS = ("subgroup\nsize", "possible\nsizes", "block\nthreads", "shared\nmemory")


def to_table(found: Found) -> RenderableType:
    """One row a device; a kind of device that is not here says why; then the details of each that has some."""
    table = Table(caption_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("arch", style="bold", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    missing: list[str] = []
    for name, device in found.items():
        if isinstance(device, Device):
            table.add_row(name, *(cell(device.properties) for cell in COLUMNS.values()))
        else:
            missing.append(f"{name}: {device.what}")
    table.caption = Text("\n".join(missing))
    parts: list[RenderableType] = [table]
    for name, device in found.items():
        if isinstance(device, Device) and device.properties.details:
            parts += [Text(f"\n{name}: {device.properties.name}", style="bold"), _details(device.properties.details)]
    return Group(*parts)


def _details(details: Mapping[str, Detail]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2))
    for name, detail in details.items():
        if isinstance(detail, Mapping):
            for label, answer, wanted in ((name, "yes", True), ("", "no", False)):
                table.add_row(label, Text(f"{answer}: {' '.join(key for key, has in detail.items() if has is wanted)}"))
        else:
            table.add_row(name, Text(detail if isinstance(detail, str) else ", ".join(detail)))
    return table


def to_json(found: Found) -> str:
    """An object by device: its properties, or `{"unavailable": reason}`."""
    return json.dumps({name: _facts(device) for name, device in found.items()}, indent=2)


def _facts(device: Device | DeviceError) -> dict[str, Any]:
    if isinstance(device, DeviceError):
        return {"unavailable": device.what}
    p = device.properties
    return {
        "name": p.name,
        "subgroup_size": p.subgroup_size,
        "subgroup_sizes": list(p.subgroup_sizes),
        "max_block_dim": p.max_block_dim,
        "max_shared_bytes": p.max_shared_bytes,
        "dtypes": [str(t) for t in p.dtypes],
        "op_groups": list(p.op_groups),
        "threads": p.threads,
        "forward_progress": p.forward_progress,
        "details": {name.replace(" ", "_"): _plain(detail) for name, detail in p.details.items()},
    }


def _plain(detail: Detail) -> str | list[str] | dict[str, bool]:
    """For JSON: a feature is true or false."""
    if isinstance(detail, str):
        return detail
    return dict(detail) if isinstance(detail, Mapping) else list(detail)
