"""Sums of contributions open exactly: every set, every subset, cut into blocks or whole."""

from __future__ import annotations

import threading
from itertools import combinations

import numpy as np
import pytest

from hekat.scheme.lattice import (
    SETS,
    Accumulator,
    Decryptor,
    Encryptor,
    add,
    block_values,
    decrypt,
    encrypt,
    generate_secret,
    public_key,
    sum_secrets,
)

from .conftest import ENGINES_AND_SETS, Upload, random_levels


@pytest.mark.quick_values
@pytest.mark.parametrize(("engine", "name"), ENGINES_AND_SETS, indirect=["engine"])
def test_sums_of_random_and_extreme_values(engine, name):
    parameters = SETS[name]
    count = 2 * parameters.form.values_per_chunk + 40 if engine.name == "cpu" else 300
    levels = [random_levels(parameters, count, seed) for seed in (1, 2)]
    upload = Upload.of(engine, name, levels)
    sums = upload.open(add(parameters, count, upload.contributions, engine))
    assert sums.dtype == np.int64
    np.testing.assert_array_equal(sums, upload.total)
    assert sums[:2].tolist() == [2 * parameters.level, -2 * parameters.level]


@pytest.mark.parametrize(("engine", "name"), ENGINES_AND_SETS, indirect=["engine"])
def test_as_many_parties_as_a_set_takes(engine, name):
    """One contribution of extreme values, added as often as the set allows."""
    parameters = SETS[name]
    values = np.array([parameters.level, -parameters.level, 0, 1, -1, parameters.level, -parameters.level], np.int32)
    secret = generate_secret(parameters, engine)
    key = public_key(b"full", 1, parameters)
    written = encrypt(parameters, secret, key, values, engine)
    written_sum = add(parameters, values.size, [written] * parameters.max_parties, engine)
    secret_sum = sum_secrets([secret] * parameters.max_parties)
    sums = decrypt(parameters, secret_sum, key, written_sum, values.size, engine)
    np.testing.assert_array_equal(sums, values.astype(np.int64) * parameters.max_parties)


def test_any_subset_opens_with_the_sum_of_its_secrets(default_engine):
    """Weighted contributions; whoever drops out takes weight and values along."""
    weights = np.array([1, 3, 250, 1000])
    x = np.random.default_rng(5).integers(-32, 33, (4, 9))
    upload = Upload.of(
        default_engine, "A16-16", [(w * row).astype(np.int32) for w, row in zip(weights, x, strict=True)]
    )
    for size in (1, 2, 3, 4):
        for included in map(list, combinations(range(4), size)):
            written = add(upload.parameters, 9, [upload.contributions[i] for i in included], default_engine)
            secret_sum = sum_secrets([upload.secrets[i] for i in included])
            sums = upload.open(written, secret_sum)
            np.testing.assert_allclose(
                sums / weights[included].sum(), np.average(x[included], axis=0, weights=weights[included])
            )


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_short_contributions(default_engine, count):
    upload = Upload.of(default_engine, "C16-128", [random_levels(SETS["C16-128"], count, seed) for seed in (1, 2)])
    assert len(upload.contributions[0]) == upload.parameters.form.written_bytes(count)
    sums = upload.open(add(upload.parameters, count, upload.contributions, default_engine))
    np.testing.assert_array_equal(sums, upload.total)


@pytest.mark.parametrize(
    ("engine", "name"),
    [pytest.param("reference", "A16-16", marks=pytest.mark.long), ("cpu", "A16-16"), ("cpu", "C24-128")],
    indirect=["engine"],
)
def test_blocks_join_to_the_whole(engine, name, monkeypatch):
    """Encryption, addition and opening block by block give the bytes and the sums of whole vectors."""
    parameters = SETS[name]
    form = parameters.form
    per_chunk = form.values_per_chunk
    count = 3 * per_chunk + 77
    key = public_key(b"blocks", 3, parameters)
    secrets = [generate_secret(parameters, engine) for _ in range(2)]
    again = [type(secret)(parameters, secret.coefficients) for secret in secrets]
    levels = [random_levels(parameters, count, seed) for seed in (11, 12)]
    monkeypatch.setattr("os.urandom", lambda size: bytes(range(size)))
    whole = [encrypt(parameters, s, key, x, engine) for s, x in zip(secrets, levels, strict=True)]
    accumulator = Accumulator(parameters, count, engine)
    for secret, x, expected, cuts in zip(again, levels, whole, [(1, 3), (2,)], strict=True):
        encryptor = Encryptor(parameters, secret, key, engine)
        parts = np.split(x, [cut * per_chunk for cut in cuts])
        blocks = [encryptor.encrypt(part, last=i == len(cuts)) for i, part in enumerate(parts)]
        assert b"".join(blocks) == expected
        accumulator.add(blocks)
    whole_sum = add(parameters, count, whole, engine)
    block = block_values(parameters, 2 * per_chunk + 5)
    assert block == 2 * per_chunk
    blocks = list(accumulator.write(block))
    assert b"".join(blocks) == whole_sum == b"".join(accumulator.write())
    decryptor = Decryptor(parameters, sum_secrets(secrets), key, engine)
    sums = [decryptor.decrypt(blocks[0], block, 0), decryptor.decrypt(blocks[1], count - block, 2)]
    np.testing.assert_array_equal(np.concatenate(sums), np.sum(levels, axis=0, dtype=np.int64))


def test_a_contribution_that_ends_with_its_last_full_chunk(default_engine):
    parameters = SETS["A16-16"]
    key = public_key(b"end", 1, parameters)
    levels = random_levels(parameters, parameters.form.values_per_chunk, 4)
    secret = generate_secret(parameters, default_engine)
    encryptor = Encryptor(parameters, secret, key, default_engine)
    written = encryptor.encrypt(levels[:0])
    written += encryptor.encrypt(levels)
    written += encryptor.encrypt(levels[:0], last=True)
    assert len(written) == parameters.form.written_bytes(levels.size)
    written_sum = add(parameters, levels.size, [written], default_engine)
    sums = decrypt(parameters, sum_secrets([secret]), key, written_sum, levels.size, default_engine)
    np.testing.assert_array_equal(sums, levels)


def test_block_values():
    parameters = SETS["A16-16"]
    assert parameters.form.values_per_chunk == 4095
    assert [block_values(parameters, n) for n in (1, 4095, 8189, 8190, 10**6)] == [4095, 4095, 4095, 8190, 999180]


def test_threads_number_chunks_apart(reference):
    """Whatever the order in which threads come, no chunk number is given twice."""
    seen, barrier = [], threading.Barrier(4)

    class Spy:
        def ring_ntt(self, ring, a):
            return a

        def mask_values(self, form, public_key, secret_ntt, error_key, first_chunk, values):
            seen.append(first_chunk)
            return np.zeros(form.written_bytes(values.size), np.uint8)

    parameters = SETS["A16-16"]
    secret = generate_secret(parameters, reference)
    encryptor = Encryptor(parameters, secret, bytes(32), Spy())
    block = np.zeros(parameters.form.values_per_chunk, np.int32)

    def work():
        barrier.wait(timeout=60)
        for _ in range(5):
            encryptor.encrypt(block)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(seen) == list(range(20))
