"""Conformance: uniform residues and centred binomial numbers are what OpenSSL's key stream says, and so distributed."""

from __future__ import annotations

from math import comb, sqrt

import numpy as np
import pytest

KEY = bytes.fromhex("6b" * 16 + "91" * 16)
# Chunk numbers around the halves of a nonce's eight bytes, and the last one.
FIRST_CHUNKS = [0, 2**32 - 1, 2**64 - 2]


def expected_uniform(oracle, ring, key, first_chunk, chunk_count):
    chunks = []
    for chunk in range(first_chunk, first_chunk + chunk_count):
        rows = []
        for number, p in enumerate(ring.primes):
            words = oracle.words(key, number, chunk, 5 * ring.degree) & np.uint64((1 << p.bit_length()) - 1)
            rows.append(words[words < p][: ring.degree])
        chunks.append(np.stack(rows))
    return np.stack(chunks)


def expected_cbd(oracle, key, first_chunk, chunk_count, degree):
    words = np.stack([oracle.words(key, 2**32 - 1, c, degree) for c in range(first_chunk, first_chunk + chunk_count)])
    bits = np.unpackbits(words.view(np.uint8).reshape(*words.shape, 8), axis=-1, bitorder="little")
    return (bits[..., :21].sum(-1, dtype=np.int64) - bits[..., 21:42].sum(-1, dtype=np.int64)).astype(np.int8)


@pytest.mark.parametrize("first_chunk", FIRST_CHUNKS)
def test_uniform_residues(engine, ring, oracle, first_chunk):
    found = engine.expand_uniform(ring, KEY, first_chunk, 2)
    expected = expected_uniform(oracle, ring, KEY, first_chunk, 2)
    assert found.dtype == np.uint64
    assert np.array_equal(found, expected)
    assert (found < oracle.primes(ring)).all()


def test_half_of_the_words_are_rejected_where_the_prime_is_just_above_a_power_of_two(oracle):
    for degree, power in ((2048, 41), (4096, 49), (4096, 37)):
        p = oracle.prime_above(power, degree)
        words = oracle.words(KEY, 0, 0, 1 << 16) & np.uint64((1 << p.bit_length()) - 1)
        assert 0.49 < (words >= p).mean() < 0.51


@pytest.mark.parametrize("name", ["A16-16", "C16-128", "C32-128"])
def test_uniform_residues_of_many_chunks_are_those_of_each(engine, oracle, name):
    ring, count = oracle.published_set(name).form.ring, 2 if engine.name == "reference" else 33
    found = engine.expand_uniform(ring, KEY, 7, count)
    assert np.array_equal(found, expected_uniform(oracle, ring, KEY, 7, count))


@pytest.mark.parametrize("degree", [1024, 2048, 4096, 8192])
@pytest.mark.parametrize("first_chunk", FIRST_CHUNKS)
def test_centred_binomial_numbers(engine, oracle, degree, first_chunk):
    found = engine.sample_cbd(KEY, first_chunk, 2, degree)
    assert found.dtype == np.int8
    assert np.array_equal(found, expected_cbd(oracle, KEY, first_chunk, 2, degree))


def test_centred_binomial_numbers_of_many_chunks_are_those_of_each(engine, oracle):
    count = 2 if engine.name == "reference" else 65
    found = engine.sample_cbd(KEY, 2**33 - 3, count, 2048)
    assert np.array_equal(found, expected_cbd(oracle, KEY, 2**33 - 3, count, 2048))


def test_no_chunks_are_empty_arrays(engine, ring):
    assert engine.expand_uniform(ring, KEY, 5, 0).shape == (0, len(ring.primes), ring.degree)
    assert engine.sample_cbd(KEY, 5, 0, ring.degree).shape == (0, ring.degree)


def assert_chi_square(counts, expected):
    """The statistic lies within four standard deviations of its mean, on either side; the key is fixed."""
    freedom = len(counts) - 1
    statistic = float(((counts - expected) ** 2 / expected).sum())
    print(f"chi square {statistic:.1f} with {freedom} degrees of freedom")
    assert abs(statistic - freedom) < 4 * sqrt(2 * freedom)


@pytest.mark.quick_values
@pytest.mark.parametrize("name", ["A16-16", "A16-256", "C16-128"])
def test_residues_are_uniform(engine, oracle, name):
    ring = oracle.published_set(name).form.ring
    count = 4 if engine.name == "reference" else 200
    residues = engine.expand_uniform(ring, KEY, 0, count)
    for number, p in enumerate(ring.primes):
        row = residues[:, number].ravel()
        # Top bits by equal parts of [0, p), bottom bits by the last eight.
        for bins in ((row.astype(np.float64) * (256 / p)).astype(np.int64), (row & np.uint64(255)).astype(np.int64)):
            assert_chi_square(np.bincount(bins, minlength=256), row.size / 256)


def test_centred_binomial_numbers_follow_their_law(engine):
    count = 8 if engine.name == "reference" else 500
    numbers = engine.sample_cbd(KEY, 0, count, 2048).ravel().astype(np.int64)
    law = np.array([comb(42, 21 + x) for x in range(-21, 22)]) / 2**42 * numbers.size
    counts = np.bincount(numbers + 21, minlength=43)
    # Tails that are expected less than ten times count as one bin each.
    common = np.flatnonzero(law >= 10)
    first, last = common[0], common[-1]
    merge = [slice(0, first + 1), *(slice(i, i + 1) for i in common[1:-1]), slice(last, None)]
    assert_chi_square(np.array([counts[part].sum() for part in merge]), np.array([law[part].sum() for part in merge]))
