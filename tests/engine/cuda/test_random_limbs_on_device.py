"""Random integers of a device are OpenSSL's key streams under a seed that no two calls share."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.cuda.device import DeviceMemoryError
from hekat.engine.cuda.random_limbs import CudaRandom
from hekat.engine.limbs import ints_from_limbs, limbs_for_bits


class RandomOnly(CudaRandom):
    def __init__(self):
        self._device = EmulatedDevice()

    def integers(self, limbs):
        return ints_from_limbs(self._device.download(limbs))


@pytest.fixture
def seeds(monkeypatch):
    """Every seed that is taken from the operating system from here on."""
    taken = []
    urandom = os.urandom

    def watched(byte_count):
        seed = urandom(byte_count)
        taken.append(seed)
        return seed

    monkeypatch.setattr(os, "urandom", watched)
    return taken


def drawn(seed, attempt, item, bits):
    """What the stream of one item's try says: the low bits of whole limbs, but for the highest limb its high ones."""
    nonce = attempt.to_bytes(4, "little") + item.to_bytes(8, "little")
    limb_count = limbs_for_bits(bits)
    stream = Cipher(ChaCha20(seed, bytes(4) + nonce), None).encryptor().update(bytes(8 * limb_count))
    value = int.from_bytes(stream, "little")
    low = value & (1 << 64 * (limb_count - 1)) - 1
    top = value >> 64 * (limb_count - 1) >> (64 * limb_count - bits)
    return top << 64 * (limb_count - 1) | low


@pytest.mark.parametrize("bits", [1, 64, 65, 511, 512, 513, 1024, 2047])
@pytest.mark.parametrize("count", [1, 255, 257])
def test_random_bits_are_their_streams(seeds, bits, count):
    engine = RandomOnly()
    found = engine.integers(engine.random_bits(count, bits))
    assert len(seeds) == 1
    assert len(seeds[0]) == 32
    assert found == [drawn(seeds[0], 0, item, bits) for item in range(count)]


@pytest.mark.parametrize("bound", [1, 3, 2**63 + 1, 2**64 - 1, 2**64 + 1, 2**511 + 1, 2**512 + 1, 3 << 1030])
def test_random_below_are_the_first_tries_below(seeds, bound):
    engine = RandomOnly()
    found = engine.integers(engine.random_below(300, bound))
    assert len(seeds) == 1
    refused = 0
    for item, value in enumerate(found):
        attempt = 0
        while (x := drawn(seeds[0], attempt, item, bound.bit_length())) >= bound:
            attempt += 1
        assert value == x
        refused += attempt
    # Of the integers of as many bits 1 - bound / 2^bits are refused: about half just above a power of two.
    assert refused > 100 or bound not in (2**63 + 1, 2**64 + 1, 2**511 + 1, 2**512 + 1)


def test_every_call_has_a_seed_of_its_own(seeds):
    engine = RandomOnly()
    for _ in range(20):
        engine.random_bits(2, 100)
        engine.random_below(2, 1000)
    assert len(seeds) == len(set(seeds)) == 40


def test_seeds_are_wiped_when_a_call_is_over():
    engine = RandomOnly()
    limbs = engine.random_below(10, 1000)
    wiped = engine._device.wiped_bytes
    assert wiped >= 32
    assert engine._device.live_bytes > 0
    del limbs
    assert engine._device.live_bytes == 0


def test_a_seed_that_the_device_has_no_room_for_is_wiped(monkeypatch):
    engine, given = RandomOnly(), []

    def refuse(host):
        given.append(host)
        raise DeviceMemoryError("cuda:0", host.nbytes, 0)

    monkeypatch.setattr(engine._device, "upload", refuse)
    with pytest.raises(DeviceMemoryError):
        engine.random_bits(2, 100)
    assert [seed.tolist() for seed in given] == [[0] * 8]
