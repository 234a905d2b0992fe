"""Long batches in chunks: the same results in the same shape, with word of every chunk, and none of an empty batch."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.engine.chunk_plan import ChunkPlan
from hekat.engine.limbs import ints_from_limbs
from hekat.rsa import (
    BlindSignatures,
    Signatures,
    blind,
    decrypt,
    encrypt,
    hash_to_group,
    sign,
    unblind,
    verify,
)


class StoppedError(Exception):
    """What a caller's progress raises to stop."""


class Heard(list):
    """What `progress` was told."""

    def __call__(self, done, total):
        self.append((done, total))


@pytest.fixture(params=["reference", "cpu", "cpu overlapped"])
def chunked(request, monkeypatch, rsa_keys, make_rsa_setting):
    """A setting of 512 bits whose batches are cut into fours, of which three may be worked on at once."""
    monkeypatch.setattr("hekat.scheme.chunks.CHUNK_COUNT", 4)
    name, *overlapped = request.param.split()
    setting = make_rsa_setting(name, rsa_keys(512))
    if overlapped:
        monkeypatch.setattr(type(setting.engine), "chunk_plan", ChunkPlan(in_flight=3))
    return setting


def calls(setting, count):
    """Every function that works in chunks on a batch of `count`, as a function of progress."""
    private, public, engine = setting.keys.private, setting.public, setting.engine
    items = [str(index).encode() for index in range(count)]
    hashed = hash_to_group(public, items, engine=engine)
    blinded, state = blind(hashed)
    answers, signatures = sign(private, blinded), sign(private, hashed)
    plain = setting.limbs(list(range(1, count + 1)))
    ciphertexts = encrypt(public, plain, engine=engine)
    return {
        "hash_to_group": lambda progress: hash_to_group(public, items, engine=engine, progress=progress),
        "blind": lambda progress: blind(hashed, progress=progress),
        "sign": lambda progress: sign(private, hashed, progress=progress),
        "unblind": lambda progress: unblind(state, answers, progress=progress),
        "verify": lambda progress: verify(hashed, signatures, progress=progress),
        "encrypt": lambda progress: encrypt(public, plain, engine=engine, progress=progress),
        "decrypt": lambda progress: decrypt(private, ciphertexts, progress=progress),
    }


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, []), (1, [(1, 1)]), (4, [(4, 4)]), (9, [(4, 9), (8, 9), (9, 9)])],
)
def test_progress_is_told_of_every_chunk(chunked, count, expected):
    for name, call in calls(chunked, count).items():
        heard = Heard()
        call(heard)
        assert heard == expected, name


def test_what_progress_raises_ends_the_batch(chunked):
    heard = Heard()

    def stop(done, total):
        heard(done, total)
        if done == 8:
            raise StoppedError

    for name, call in calls(chunked, 13).items():
        heard.clear()
        with pytest.raises(StoppedError):
            call(stop)
        assert heard == [(4, 13), (8, 13)], name


@pytest.mark.parametrize("shape", [(3, 3), (2, 2), (0, 5), ()])
def test_chunks_join_in_order_and_shape(chunked, shape):
    count = int(np.prod(shape))
    hashed = chunked.hash_count(count).take(np.arange(count).reshape(shape))
    blinded, state = blind(hashed)
    signatures = unblind(state, sign(chunked.keys.private, blinded))
    assert blinded.shape == state.shape == signatures.shape == shape
    assert chunked.integers(signatures) == [chunked.power_d(m) for m in chunked.integers(hashed)]
    messages = list(range(2, 2 + count))
    ciphertexts = encrypt(chunked.public, chunked.limbs(messages).reshape(*shape, -1 if count else 8))
    assert ciphertexts.shape == shape
    assert chunked.integers(ciphertexts) == [pow(m, chunked.public.e, chunked.public.n) for m in messages]
    assert ints_from_limbs(decrypt(chunked.keys.private, ciphertexts)) == messages


def test_verify_points_at_the_place_in_every_chunk(chunked):
    hashed = chunked.hash_count(10)
    values = chunked.integers(sign(chunked.keys.private, hashed))
    bad = [0, 3, 4, 9]
    for index in bad:
        values[index] = chunked.public.n - values[index]
    forged = Signatures.from_limbs(chunked.public, chunked.limbs(values), chunked.engine)
    holds = verify(hashed[:].take(np.arange(10).reshape(5, 2)), forged.take(np.arange(10).reshape(5, 2)))
    assert holds.shape == (5, 2)
    assert np.flatnonzero(~holds).tolist() == bad
    _, state = blind(hashed)
    with pytest.raises(ValueError, match="do not hold"):
        unblind(state, BlindSignatures(forged.public, forged.residues))
