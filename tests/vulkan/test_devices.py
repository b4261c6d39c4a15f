"""Which device is chosen, at which subgroup size, and what is said where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

import lanewise as lw
from lanewise.backends.vulkan import probe
from lanewise.backends.vulkan.devices import KINDS, physical_devices

from .cards import card_of


def test_devices_are_chosen_by_number_name_and_uuid(vulkan: lw.Device) -> None:
    first = physical_devices()[0]
    for wanted in (None, 0, first.name, first.name[2:8].upper(), first.uuid):
        assert lw.init(lw.vulkan, device=wanted).engine.properties.number == 0
    dashed = "-".join((first.uuid[:8], first.uuid[8:12], first.uuid[12:16], first.uuid[16:20], first.uuid[20:]))
    assert lw.init(lw.vulkan, device=dashed).name == first.name


@pytest.mark.parametrize("wanted", [99, -1, "no such device", ""])
def test_a_bad_choice_lists_the_devices(vulkan: lw.Device, wanted: Any) -> None:
    with pytest.raises(lw.DeviceError, match="expected device to name one Vulkan device, got ") as caught:
        lw.init(lw.vulkan, device=wanted)
    for device in physical_devices():
        assert f"{device.number}: {device.name!r} ({KINDS[device.kind]}, uuid {device.uuid})" in str(caught.value)


def test_real_gpus_come_first(vulkan: lw.Device) -> None:
    kinds = [KINDS[device.kind] for device in physical_devices()]
    order = ["discrete GPU", "integrated GPU", "virtual GPU", "other", "CPU"]
    assert kinds == sorted(kinds, key=order.index)
    assert [device.number for device in physical_devices()] == list(range(len(kinds)))


@pytest.mark.parametrize("arch", [lw.cpu, lw.interpreter, lw.cuda])
def test_other_backends_take_no_name(arch: lw.Arch) -> None:
    with pytest.raises(lw.DeviceError, match="expected device to be a number, got 'llvmpipe'"):
        lw.init(arch, device="llvmpipe")


def test_a_device_is_a_number_or_a_name() -> None:
    wrong: Any = 1.5
    with pytest.raises(lw.DeviceError, match=r"expected device to be a number or a name, got 1\.5"):
        lw.init(lw.vulkan, device=wrong)


def test_a_size_outside_the_range_names_it(vulkan: lw.Device) -> None:
    sizes = vulkan.properties.subgroup_sizes
    for size in {1, 2, 4, 8, 16, 32, 64} - set(sizes):
        with pytest.raises(lw.DeviceError, match=f"expected a subgroup_size .*{sizes[0]}.*, got {size}"):
            lw.init(lw.vulkan, subgroup_size=size)
    for size in sizes:
        assert lw.init(lw.vulkan, subgroup_size=size).subgroup_size == size


def test_a_device_that_lacks_what_is_needed_is_refused(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    features = replace(card_of(vulkan).facts.features, subgroup_basic=False)
    monkeypatch.setattr(probe, "_features", lambda *args: features)
    with pytest.raises(lw.DeviceError, match="cannot run kernels: it has no subgroup operations in compute shaders"):
        probe.probe(physical_devices()[0])


def test_features_may_be_left_out(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(probe.WITHOUT, "bufferDeviceAddress, shaderFloat64")
    facts = probe.probe(physical_devices()[0])
    assert not facts.features.buffer_device_address
    assert not facts.features.float64
    assert facts.features.subgroup_ballot
    for structure in facts.enabled:
        assert not getattr(structure, "bufferDeviceAddress", 0)
    monkeypatch.setenv(probe.WITHOUT, "bufferDeviceAdress")
    with pytest.raises(lw.DeviceError, match="LANEWISE_VULKAN_WITHOUT: expected names of features, got 'bufferDev"):
        probe.probe(physical_devices()[0])


def test_an_old_device_is_refused(vulkan: lw.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_instance_version", lambda device: (1 << 22) | (1 << 12))
    with pytest.raises(lw.DeviceError, match=r"it has Vulkan 1\.1, lanewise needs 1\.2"):
        probe.probe(physical_devices()[0])


def test_only_what_is_used_is_enabled(vulkan: lw.Device) -> None:
    facts = card_of(vulkan).facts
    used = {"bufferDeviceAddress", "subgroupSizeControl", "computeFullSubgroups", *probe.FEATURE_NAMES.values()}
    for structure in facts.enabled:
        members = [name for name, _ in structure._fields_ if name not in ("sType", "pNext")]
        assert {name for name in members if getattr(structure, name)} <= used
    for name, member in probe.FEATURE_NAMES.items():
        enabled = any(getattr(structure, member, False) for structure in facts.enabled)
        assert enabled is getattr(facts.features, name)


def test_the_largest_block_runs(vulkan: lw.Device) -> None:
    largest = vulkan.properties.max_block_dim

    @lw.kernel
    def subgroups(out: lw.types.ndarray(lw.i32, 1), size: lw.template()):
        lw.loop_config(block_dim=size)
        for i in range(out.shape[0]):
            out[i] = lw.simt.subgroup.subgroup_id()

    out = lw.ndarray(lw.i32, 2 * largest)
    subgroups(out, largest)
    found = out.to_numpy()
    assert (found == [j % largest // vulkan.subgroup_size for j in range(2 * largest)]).all()
    with pytest.raises(lw.CompileError, match=f"block_dim is {largest + 1}") as caught:
        subgroups(out, largest + 1)
    assert str(largest) in str(caught.value)


# ---- without Vulkan: in processes of their own -----------------------------------------------------------------------
def error_of_init(setup: str, **variables: str) -> str:
    tried = "try:\n    lw.init(lw.vulkan)\nexcept lw.DeviceError as error:\n    print(error)"
    command = [sys.executable, "-c", f"import lanewise as lw\n{setup}\n{tried}"]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_without_a_loader_the_error_says_what_to_install() -> None:
    said = error_of_init(
        "from lanewise.backends.vulkan import driver\n"
        "driver.LIBRARIES = dict.fromkeys(('linux', 'darwin', 'win32'), ('libnonesuch.so',))"
    )
    assert "no Vulkan loader was found on this machine (libnonesuch.so)" in said
    assert "install" in said


def test_without_a_driver_the_error_says_what_to_install(vulkan: lw.Device) -> None:
    said = error_of_init("", VK_ICD_FILENAMES="/nonexistent.json", VK_DRIVER_FILES="/nonexistent.json")
    assert "no Vulkan device was found on this machine" in said or "Vulkan does not start on this machine" in said
    assert "vulkaninfo" in said
