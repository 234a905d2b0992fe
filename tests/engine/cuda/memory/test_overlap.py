"""Whole schemes on a device whose streams overlap and whose memory is short: the same plaintexts as ever."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.cuda.emulation.device import EmulatedDevice

from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.cuda.engine import CudaEngine
from hekat.engine.interface import Modulus
from hekat.engine.limbs import LIMB_BITS, ints_from_limbs, limbs_for_bits, limbs_from_ints
from hekat.errors import EngineError
from hekat.plaintext_space import PackedPlaintext
from hekat.rsa import blind, hash_to_group, sign, unblind, verify
from hekat.scheme.paillier import add, decrypt, encrypt, rerandomise, sum_along

KIB = 1 << 10
COUNT = 22
# Three chunks at once take 0.5 MiB each for the tables of a power: what the older arrays hold, 2.1 MiB, is enough.
OLDER_COUNT = 800
MORE_BYTES = 128 * KIB
# A private key keeps two numbers on the device for encryption, and two for decryption.
KEY_CONSTANTS = 4
# What orders the work of the streams.
SEEDS = [0, 1, pytest.param(2, marks=pytest.mark.long)]


def make_engine(monkeypatch: pytest.MonkeyPatch, seed: int) -> tuple[EmulatedDevice, CudaEngine]:
    """One that works on three chunks of four at once."""
    monkeypatch.setattr("hekat.scheme.chunks.CHUNK_COUNT", 4)
    monkeypatch.setattr(CudaEngine, "chunk_plan", ChunkPlan(in_flight=3))
    monkeypatch.setenv("HEKAT_CUDA_TABLE_MIB", "1")
    device = EmulatedDevice(streams=seed)
    return device, CudaEngine(device)


def plain(values: list[int], bound: int) -> PackedPlaintext:
    limb_count = limbs_for_bits(bound.bit_length() + 1)
    return PackedPlaintext(limbs_from_ints([x % (1 << LIMB_BITS * limb_count) for x in values], limb_count), bound)


def signed(packed: PackedPlaintext) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in packed.limbs.astype("<u8")]


@pytest.mark.parametrize("seed", SEEDS)
def test_paillier_in_overlapping_chunks(monkeypatch: pytest.MonkeyPatch, paillier_keys, seed: int) -> None:
    device, engine = make_engine(monkeypatch, seed)
    keys = paillier_keys(512)
    values = [seed * 1000 + i if i % 2 else -i for i in range(COUNT)]
    # All tables are there before memory ends.
    assert signed(decrypt(keys.private, rerandomise(encrypt(keys.private, plain([1], 1), engine=engine)))) == [1]
    known = encrypt(keys.private, plain(values, 10**6), engine=engine)
    # Room for some work, but not for all at once.
    older = [known.take(np.full(OLDER_COUNT, i)) for i in range(COUNT)]
    device.memory_bytes = device.live_bytes + MORE_BYTES
    said = []
    sums = encrypt(keys.private, plain(values, 10**6), engine=engine, progress=lambda *done: said.append(done))
    assert said == [(min(4 * i, COUNT), COUNT) for i in range(1, 7)]
    for _ in range(3):
        sums = add(sums, rerandomise(known, keys.public))
    assert signed(decrypt(keys.private, sums)) == [4 * x for x in values]
    assert signed(decrypt(keys.private, sum_along(sums).reshape(1))) == [4 * sum(values)]
    # What moved comes back, though its memory was given to others. A chunk that finds little room moves the key's
    # constants too, so their place depends on the order of the threads.
    moved = sum(not one.residues.data.is_on_device for one in [*older, known, sums])
    assert moved
    said_moved, said_resident = (
        int(engine.describe()[name].split(" arrays, ")[0]) for name in ("results moved to the host", "resident results")
    )
    assert moved <= said_moved <= moved + KEY_CONSTANTS
    assert said_moved + said_resident == len(older) + len([known, sums]) + KEY_CONSTANTS
    assert [signed(decrypt(keys.private, one.take(np.array([7]))))[0] for one in older] == values


def test_a_batch_that_does_not_fit_is_told_what_does() -> None:
    device = EmulatedDevice()
    engine = CudaEngine(device)
    modulus = Modulus((1 << 512) - 569)
    values = engine.load(limbs_from_ints(list(range(100)), modulus.limb_count), modulus)
    device.memory_bytes = device.live_bytes + 40 * 64
    with pytest.raises(EngineError, match="MiB for 100 items; cure: work in batches of at most 40 items, "):
        engine.mod_mul(values, values)
    half = engine.take(values, np.arange(20))
    assert ints_from_limbs(engine.store(engine.mod_mul(half, half))) == [i * i for i in range(20)]


@pytest.mark.parametrize("seed", SEEDS)
def test_rsa_in_overlapping_chunks(monkeypatch: pytest.MonkeyPatch, rsa_keys, seed: int) -> None:
    _, engine = make_engine(monkeypatch, seed)
    keys = rsa_keys(512)
    hashed = hash_to_group(keys.public, [str(i).encode() for i in range(COUNT)], engine=engine)
    blinded, state = blind(hashed)
    signatures = unblind(state, sign(keys.private, blinded))
    assert verify(hashed, signatures).all()
    assert ints_from_limbs(signatures.to_limbs()) == ints_from_limbs(sign(keys.private, hashed).to_limbs())
