"""From an array on a device to ciphertexts and back: values as from the host, and nothing but checks crosses."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice
from tests.engine.cuda.emulation.memory import EmulatedArray

import hekat
from hekat.codec import clip, make_layout
from hekat.encrypted_array import make
from hekat.engine.cuda.engine import CudaEngine
from hekat.errors import BoundError, EngineError, InputError
from hekat.scheme import chunks
from hekat.scheme.paillier import add_many, decrypt, encrypt
from hekat.scheme.paillier.twos_complement import plaintext_from_ints

# More than any constant of a 512-bit key has words, so that no batch passes for one.
COUNT = 300


class SpyingDevice(EmulatedDevice):
    """Notes how much crosses between host and device, but for flags: those tell which check failed."""

    crossed: int = 0

    def upload(self, host: Any) -> Any:
        self.crossed = max(self.crossed, host.size)
        return super().upload(host)

    def download(self, array: Any) -> Any:
        if array.dtype != np.bool_:
            self.crossed = max(self.crossed, array.size)
        return super().download(array)

    def put(self, host: Any) -> Any:
        """An array of the device that the test itself makes."""
        return super().upload(host)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpyingDevice]:
    """A device whose engine `hekat.array` finds; NumPy's own ways of reading an array do not take its arrays."""
    device = SpyingDevice()
    engine = CudaEngine(device)
    monkeypatch.setattr(make, "get_engine", lambda name: engine)
    for name in ("asarray", "array", "ascontiguousarray", "asanyarray"):
        monkeypatch.setattr(np, name, _host_only(getattr(np, name)))
    yield device
    assert device.crossed < COUNT


def _host_only(function: Any) -> Any:
    def guarded(values: Any, *args: Any, **kwargs: Any) -> Any:
        assert not isinstance(values, EmulatedArray), "an array of the device was read by the host"
        return function(values, *args, **kwargs)

    return guarded


def reals() -> np.ndarray:
    ends = [0.0, -0.0, 0.5, -0.5, 2.0**29, -(2.0**29), 2.0**-33, 3 * 2.0**-33]
    return np.concatenate([ends, np.random.default_rng(11).normal(size=COUNT)])


PACKS, DTYPES = [None, 1, 7], [np.float64, np.float32, np.int64, np.uint8]
# A private key encrypts what was encoded, whatever it was before.
LONG = [(True, dtype, pack) for dtype in DTYPES for pack in PACKS if dtype is not np.float64 or pack == 1]


@pytest.mark.long_cases("True-float64-None", "False-float64-None")
@pytest.mark.parametrize(
    ("private", "dtype", "pack"),
    [
        pytest.param(*case, marks=[pytest.mark.long] if case in LONG else [])
        for case in product([False, True], DTYPES, PACKS)
    ],
)
def test_encrypted_on_its_own_device(device: SpyingDevice, keys: Any, pack: Any, dtype: Any, private: bool) -> None:
    values = reals().astype(dtype) if dtype != np.uint8 else np.arange(COUNT, dtype=np.uint8)
    values = values.reshape(2, -1)
    bound = 2**31 if pack else None
    x = hekat.array(device.put(values), key=keys.private if private else keys.public, pack=pack, bound=bound)
    assert x.device == device.name
    assert device.crossed < COUNT
    got = x.decrypt(keys.private)
    device.crossed = 0  # the private key's holder reads the values
    assert type(got) is np.ndarray
    expected = np.rint(values.astype(np.float64) * 2**32) / 2**32 if values.dtype.kind == "f" else values
    assert np.array_equal(got, expected)


@pytest.mark.long
def test_plain_addends_stay_on_the_device(device: SpyingDevice, keys: Any) -> None:
    values, addend = reals(), reals()[::-1].copy()
    for pack in (None, 3):
        x = hekat.array(device.put(values), key=keys.public, pack=pack)
        total = x + device.put(addend) - device.put(values)
        assert device.crossed < COUNT
        got = total.decrypt(keys.private)
        device.crossed = 0
        scaled = [np.rint(part * 2**32) for part in (values, addend)]
        assert np.array_equal(got, scaled[1] / 2**32)


def test_plain_factors_on_the_device_are_read(device: SpyingDevice, keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # CuPy's arrays have it.
    monkeypatch.setattr(EmulatedArray, "get", lambda array: device.download(array), raising=False)
    x = hekat.array(device.put(np.arange(4)), key=keys.public)
    factors = np.array([3, -1, 0, 2])
    assert np.array_equal((x * device.put(factors)).decrypt(keys.private), np.arange(4) * factors)


@pytest.mark.parametrize("name", ["balanced", "offset", "two_sign_bits"])
def test_a_gradient_to_ciphertexts_and_back(device: SpyingDevice, keys: Any, name: str) -> None:
    engine = make.get_engine(None)
    layout = make_layout(name, value_bits=8, max_addends=2, plaintext_bits=keys.public.plaintext_space.bits)
    gradient = np.random.default_rng(3).normal(size=5 * COUNT).astype(np.float32)
    on_host, _ = clip(gradient, 2.5)
    on_device, _ = clip(device.put(gradient), 2.5)
    ciphertexts = encrypt(keys.public, layout.pack(layout.quantise(on_device, 2.5)), engine=engine)
    assert device.crossed < COUNT
    sums = layout.unpack(decrypt(keys.private, add_many([ciphertexts, ciphertexts])), gradient.size, 2)
    device.crossed = 0
    assert np.array_equal(sums, 2 * layout.quantise(on_host, 2.5))


def test_every_width_and_sign_of_plaintexts(device: SpyingDevice, keys: Any) -> None:
    engine = make.get_engine(None)
    bound = keys.public.plaintext_space.bound
    for limit in (1, 2**31, 2**63 - 1, 2**63, 2**200, bound):
        values = [0, 1, -1, limit, -limit, limit - 1, 1 - limit]
        plain = plaintext_from_ints(values, limit)
        on_device = type(plain)(device.put(plain.limbs), limit)
        got = decrypt(keys.private, encrypt(keys.public, on_device, engine=engine))
        wrap = 1 << (64 * got.limbs.shape[1])
        assert [int.from_bytes(row.tobytes(), "little") for row in got.limbs] == [v % wrap for v in values]


@pytest.mark.parametrize("seed", [0, 1])
def test_packed_by_one_thread_and_encrypted_by_others(keys: Any, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    # Chunks are encrypted by threads of their own, each with its own order of work on the device.
    monkeypatch.setattr(chunks, "CHUNK_COUNT", 4)
    engine = CudaEngine(EmulatedDevice(streams=seed))
    assert engine.chunk_plan.in_flight > 1
    layout = make_layout("balanced", value_bits=8, max_addends=1, plaintext_bits=keys.public.plaintext_space.bits)
    levels = np.random.default_rng(seed).integers(-127, 128, 70 * layout.slots)
    on_device = engine._device.upload(levels)
    with engine.active(on_device):
        packed = layout.pack(on_device)
    with ThreadPoolExecutor(1) as other:
        ciphertexts = other.submit(encrypt, keys.public, packed, engine=engine).result()
    assert np.array_equal(layout.unpack(decrypt(keys.private, ciphertexts), levels.size, 1), levels)


def test_refusals(device: SpyingDevice, keys: Any) -> None:
    for values, what in [
        (np.array([1.0, np.nan]), "1 NaN or infinite of 2"),
        (np.array([2.0**40]), "too large for this scale"),
        (np.array([2**63], np.uint64), "beyond what is read there"),
        (np.array([True]), "booleans"),
        (np.array([1j]), "cannot be encrypted"),
    ]:
        with pytest.raises(InputError, match=what):
            hekat.array(device.put(values), key=keys.public)
    with pytest.raises(BoundError, match="1 of 2 values"):
        hekat.array(device.put(np.array([1.0, 9.0])), key=keys.public, bound=4)
    x = hekat.array(device.put(np.array([1])), key=keys.public)
    with pytest.raises(InputError, match="too large"):
        x - device.put(np.array([-(2**63)]))


def test_values_beyond_their_claimed_bound_are_found(device: SpyingDevice, keys: Any) -> None:
    engine = make.get_engine(None)
    plain = plaintext_from_ints([3, -3], 3)
    wrong = type(plain)(device.put(plain.limbs), 2)
    with pytest.raises(BoundError, match="beyond its bound"):
        encrypt(keys.public, wrong, engine=engine)


def test_an_engine_of_the_host_does_not_take_them(
    device: SpyingDevice, keys: Any, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with pytest.raises(EngineError, match="do not reach an engine of the host"):
        hekat.array(device.put(np.ones(2)), key=keys.public, engine=engine_name)
    layout = make_layout("balanced", value_bits=8, max_addends=2, plaintext_bits=400)
    plain = layout.pack(device.put(np.ones(5, np.int64)))
    with pytest.raises(EngineError, match="do not reach an engine of the host"):
        encrypt(keys.public, plain, engine=make.get_engine(engine_name))
