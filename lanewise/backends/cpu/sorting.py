"""How this processor sorts: as integers where it takes the lesser and the greater of them in one instruction."""

from __future__ import annotations

from collections.abc import Mapping

from ...passes import Expansion
from ...simt.packed import by_extremes
from ...simt.sorting import expansions
from .host import Host


def sorts(host: Host) -> Mapping[str, Expansion]:
    return expansions(by_extremes, widest=64 if host.wide_order else 32)
