"""What the examples share: `--arch`, `--subgroup-size`, `--size`, and the comparison with NumPy."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import lanewise as lw


@dataclass(frozen=True)
class Options:
    """What was asked for; the device is the current one already."""

    device: lw.Device
    size: int
    random: np.random.Generator

    @property
    def W(self) -> int:  # noqa: N802  the field's name for the subgroup size
        return self.device.subgroup_size


def start(description: str | None, arguments: Sequence[str] | None, *, size: int) -> Options:
    """Read the command line (or `arguments`) and choose the device."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="cpu", help="cpu, interpreter, cuda, vulkan, amdgpu, gpu (default: cpu)")
    parser.add_argument("--subgroup-size", type=int, help="lanes of a subgroup (default: the device's own)")
    parser.add_argument("--size", type=int, default=size, help=f"elements (default: {size})")
    given = parser.parse_args(arguments)
    device = lw.init(given.arch, subgroup_size=given.subgroup_size)
    print(f"{device}, W = {device.subgroup_size}, {given.size} elements")
    return Options(device, given.size, np.random.default_rng(0))


def compare(what: str, got: Any, wanted: Any, *, tolerance: float = 0.0) -> None:
    """Stop the program unless the two are equal, or for floats close."""
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=what)
    print(f"  {what}: as NumPy has it")
