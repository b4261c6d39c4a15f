"""What the run time of CUDA has for itself: which code a GPU and a driver take."""

from __future__ import annotations

import pytest

import lanewise as lw
from lanewise.backends.cuda.modules import architecture, ptx_version


@pytest.mark.parametrize(("capability", "name"), [(75, "sm_75"), (87, "sm_86"), (90, "sm_90"), (130, "sm_121")])
def test_architectures(capability: int, name: str) -> None:
    assert architecture(capability) == name


def test_versions_of_ptx() -> None:
    assert [ptx_version(v) for v in (11000, 12030, 12060, 13010)] == ["7.0", "8.3", "8.5", "8.8"]
    with pytest.raises(lw.DeviceError, match=r"for CUDA 10\.2"):
        ptx_version(10020)
