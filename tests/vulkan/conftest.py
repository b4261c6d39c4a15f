"""Vulkan as these tests have it: the device that the loader finds first."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import lanewise as lw


@pytest.fixture(scope="session")
def first_device() -> lw.Device:
    """One device for the whole run; where there is none the test is skipped, or fails if LANEWISE_REQUIRE names it."""
    try:
        device = lw.init(lw.vulkan)
    except lw.DeviceError as error:
        if "vulkan" in os.environ.get("LANEWISE_REQUIRE", "").split():
            raise
        pytest.skip(f"no Vulkan device (.ci/vulkan makes some): {error.what}")
    lw.reset()
    return device


@pytest.fixture
def vulkan(first_device: lw.Device) -> Iterator[lw.Device]:
    """It, as the current device."""
    with lw.use(first_device):
        yield first_device
