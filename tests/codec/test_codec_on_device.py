"""The codecs on arrays of a device: the same numbers bit for bit as with NumPy, and nothing of them on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.array_module import array_module
from hekat.codec import (
    clip,
    dequantise,
    dequantise_offset,
    dequantise_sums,
    make_layout,
    quantile_alpha,
    quantise,
    quantise_levels,
    quantise_offset,
)
from hekat.engine.limb_slots import write_slots
from hekat.engine.limbs import ints_from_limbs
from hekat.errors import EngineError, InputError
from hekat.plaintext_space import PackedPlaintext

LAYOUTS = ("balanced", "offset", "two_sign_bits")
ALPHA = 2.5


class SilentDevice(EmulatedDevice):
    """Gives nothing back to the host unless a test asks for it by `fetch`."""

    def download(self, array: Any) -> Any:
        raise AssertionError("a download")

    def fetch(self, array: Any) -> Any:
        return super().download(array)


@pytest.fixture
def device() -> SilentDevice:
    return SilentDevice()


def values(dtype: Any = np.float64) -> np.ndarray:
    """Gaussians, ties between levels, both ends, zeros of both signs and what is next to the bound."""
    rng = np.random.default_rng(5)
    edges = [0.0, -0.0, ALPHA, -ALPHA, np.nextafter(ALPHA, 3), 5e-324, 2 * ALPHA, -1e300]
    ties = (np.arange(-127, 127) + 0.5) * ALPHA / 127
    if dtype != np.float64:
        edges = [e for e in edges if abs(e) < 1e4]
    return np.concatenate([rng.normal(size=3000), edges, ties]).astype(dtype)


def same(device: SilentDevice, got: Any, expected: Any) -> bool:
    assert device.owns(got)
    host = device.fetch(got)
    assert host.dtype == expected.dtype
    return host.shape == expected.shape and host.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32])
def test_clip(device: SilentDevice, dtype: Any) -> None:
    x = values(dtype)
    expected, expected_count = clip(x, ALPHA)
    got, count = clip(device.upload(x), ALPHA)
    assert same(device, got, expected)
    assert type(count) is int
    assert count == expected_count > 0
    inside, none = clip(device.upload(expected), ALPHA)
    assert none == 0
    assert same(device, inside, expected)


def test_quantile_alpha(device: SilentDevice) -> None:
    assert quantile_alpha(device.upload(values()), 0.99) == quantile_alpha(values(), 0.99)


@pytest.mark.parametrize("bits", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@pytest.mark.parametrize("quantised", [quantise, quantise_offset])
def test_quantise(device: SilentDevice, bits: int, rounding: Any, quantised: Any) -> None:
    x, _ = clip(values(), ALPHA)
    expected = quantised(x, ALPHA, bits, rounding, np.random.default_rng(7))
    # The emulation's generator is NumPy's; a GPU has its own, and then levels agree in distribution only.
    got = quantised(device.upload(x), ALPHA, bits, rounding, np.random.default_rng(7))
    assert same(device, got, expected)


def test_a_generator_of_the_host_is_refused_where_the_device_has_its_own(
    device: SilentDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Generator:
        pass

    class Random:
        pass

    random: Any = Random
    random.Generator = Generator
    monkeypatch.setattr(device.xp, "random", random, raising=False)
    with pytest.raises(InputError, match="generator does not belong"):
        quantise(device.upload(np.zeros(3)), ALPHA, 8, "stochastic", np.random.default_rng(7))


def test_a_gpu_without_random_numbers_says_so(device: SilentDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    class Random:
        def __getattr__(self, name: str) -> Any:
            raise ImportError("libcurand is not there")

    monkeypatch.setattr(device.xp, "random", Random(), raising=False)
    for rng in (None, np.random.default_rng(7)):
        with pytest.raises(EngineError, match="stochastic rounding is not available"):
            quantise(device.upload(np.zeros(3)), ALPHA, 8, "stochastic", rng)


def test_dequantise(device: SilentDevice) -> None:
    sums = np.arange(-500, 500, dtype=np.int64) * 12345
    assert same(device, dequantise(device.upload(sums), ALPHA, 16), dequantise(sums, ALPHA, 16))
    expected = dequantise_offset(sums, ALPHA, 16, 9)
    assert same(device, dequantise_offset(device.upload(sums), ALPHA, 16, 9), expected)


@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
def test_levels_in_one_pass(device: SilentDevice, rounding: Any) -> None:
    x = np.tile(values(), 12)  # more than one block of the host
    expected = np.empty(x.size, np.int32)
    expected_count = quantise_levels(x, 127 / ALPHA, 127, expected, rounding, np.random.default_rng(3))
    out = device.empty(x.size, np.int32)
    count = quantise_levels(device.upload(x), 127 / ALPHA, 127, out, rounding, np.random.default_rng(3))
    assert count == expected_count > 0
    assert same(device, out, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_levels(device: SilentDevice, dtype: Any) -> None:
    sums = np.arange(-500, 500, dtype=np.int64) * 12345
    expected = np.empty(sums.size, dtype)
    dequantise_sums(sums, 1 / 3, expected)
    out = device.empty(sums.size, dtype)
    dequantise_sums(device.upload(sums), 1 / 3, out)
    assert same(device, out, expected)


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_layouts_there_and_back(device: SilentDevice, name: str, count: int) -> None:
    layout = make_layout(name, value_bits=12, max_addends=5, plaintext_bits=510)
    x = np.random.default_rng(9).uniform(-ALPHA, ALPHA, count)
    levels = layout.quantise(x, ALPHA)
    expected = layout.pack(levels)
    on_device = layout.quantise(device.upload(x), ALPHA)
    got = layout.pack(on_device)
    assert got.bound == expected.bound
    assert same(device, got.limbs, expected.limbs)
    sums = layout.unpack(got, count, 1)
    assert same(device, sums, levels)
    assert same(device, layout.dequantise(sums, ALPHA, 1), layout.dequantise(levels, ALPHA, 1))
    if layout.has_count_slot and count:
        assert layout.read_addend_count(PackedPlaintext(got.limbs, got.bound)) == 1


@pytest.mark.parametrize("slot_bits", [64, 65, 100, 128, 200])
def test_slots_wider_than_a_field(device: SilentDevice, slot_bits: int) -> None:
    fields = np.random.default_rng(2).integers(0, 1 << 64, size=(7, 5), dtype=np.uint64)
    limb_count = -(-5 * slot_bits // 64)
    expected = [sum(int(f) << (slot_bits * i) for i, f in enumerate(row)) for row in fields]
    written = write_slots(fields, slot_bits, limb_count)
    assert ints_from_limbs(written) == expected
    assert same(device, write_slots(device.upload(fields), slot_bits, limb_count), written)


def test_refusals_name_the_place_and_no_value(device: SilentDevice) -> None:
    x = np.array([[0.0, 1.0], [np.nan, 1.0]])
    with pytest.raises(InputError, match=r"1 NaN or infinite of 4, the first at index \(1, 0\)"):
        clip(device.upload(x), ALPHA)
    with pytest.raises(InputError, match="1 of 2 beyond"):
        quantise(device.upload(np.array([0.0, 3.0])), ALPHA, 8)
    layout = make_layout("balanced", value_bits=4, max_addends=2, plaintext_bits=100)
    with pytest.raises(InputError, match="1 of 2 outside"):
        layout.pack(device.upload(np.array([0, 8])))


def test_the_module_is_told_from_the_array(device: SilentDevice) -> None:
    assert array_module(device.upload(np.zeros(1))) is device.xp
    assert all(array_module(x) is np for x in (np.zeros(1), np.float64(1), 1.0, [1.0]))
