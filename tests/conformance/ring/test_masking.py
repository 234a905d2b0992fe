"""Conformance: masked blocks are written as composed of the single operations, and sums of them open to sums."""

from __future__ import annotations

import numpy as np
import pytest

PUBLIC_KEY = bytes(range(1, 33))
FIRST_CHUNK = 2**32 - 1


def error_key(number):
    return number.to_bytes(32, "big")


def composed_block(engine, oracle, form, secret_ntt, errors, first_chunk, values):
    """What `mask_values` writes, from the single operations, integers of any size and NumPy's bits."""
    ring, used = form.ring, oracle.used(form, len(values))
    a = engine.expand_uniform(ring, PUBLIC_KEY, first_chunk, len(used))
    a_s = oracle.integers(ring, engine.ring_intt(ring, engine.ring_mul(ring, a, secret_ntt)))
    e = engine.sample_cbd(errors, first_chunk, len(used), ring.degree).astype(object)
    written = []
    for chunk, m in enumerate(oracle.messages(form, values)):
        masked = (a_s[chunk] + e[chunk])[: used[chunk]] + form.delta * m
        written.append(oracle.write(oracle.round_off(masked % ring.modulus, form.dropped_bits), form.field_bits))
    return np.concatenate(written)


def secret_of(engine, oracle, ring, number):
    """A secret's coefficients, and it transformed."""
    secret = engine.sample_cbd(error_key(1000 + number), 0, 1, ring.degree)[0].astype(np.int64)
    return secret, engine.ring_ntt(ring, oracle.lift(ring, secret))


def value_counts(published, engine):
    """Counts of values around whole chunks and whole coefficients; few for the reference."""
    form, chunk = published.form, published.form.values_per_chunk
    if engine.name == "reference":
        return [0, chunk, chunk + 1] if published.name == "A8-32" else [form.slots + 1]
    counts = {0, 1, 2, 7, form.slots - 1, form.slots, 2 * form.slots, 1000, chunk // 2}
    counts |= {chunk - 1, chunk, chunk + 1, chunk + form.slots, 2 * chunk - 1, 2 * chunk + 1, 8 * chunk, 8 * chunk + 1}
    return sorted(counts)


def draw_values(limit, count, seed):
    """Values to both ends of their range."""
    values = np.random.default_rng([count, seed]).integers(-limit, limit, count, np.int32, endpoint=True)
    values[:2] = [limit, -limit][: len(values[:2])]
    return values


def test_published_formats(published):
    form = published.form
    assert form.delta == published.delta
    assert form.slot_bits == 1 + (published.party_count * published.value_limit).bit_length()
    assert 2 * published.noise_limit < form.delta


@pytest.mark.quick_values
def test_blocks_are_composed_of_single_operations(engine, oracle, published):
    form = published.form
    _, secret_ntt = secret_of(engine, oracle, form.ring, 1)
    for count in value_counts(published, engine):
        values = draw_values(published.value_limit, count, 1)
        found = engine.mask_values(form, PUBLIC_KEY, secret_ntt, error_key(1), FIRST_CHUNK, values)
        assert (found.dtype, found.shape) == (np.uint8, (form.written_bytes(count),))
        expected = composed_block(engine, oracle, form, secret_ntt, error_key(1), FIRST_CHUNK, values)
        assert np.array_equal(found, expected), count


@pytest.mark.quick_values
def test_sums_open_to_sums(engine, oracle, published):
    form = published.form
    for count in value_counts(published, engine):
        accumulator = np.zeros(form.field_count(count), np.uint64)
        secret_sum, sums = np.zeros(form.ring.degree, np.int64), np.zeros(count, np.int64)
        for party in range(2):
            secret, secret_ntt = secret_of(engine, oracle, form.ring, party)
            values = draw_values(published.value_limit, count, party)
            block = engine.mask_values(form, PUBLIC_KEY, secret_ntt, error_key(party), FIRST_CHUNK, values)
            engine.add_masked(form, accumulator, block, count)
            secret_sum, sums = secret_sum + secret, sums + values
        opening = engine.ring_ntt(form.ring, oracle.lift(form.ring, secret_sum))
        written = engine.write_sum(form, accumulator, count)
        found, counts = engine.unmask_sum(form, PUBLIC_KEY, opening, FIRST_CHUNK, written, count)
        assert (found.dtype, counts.dtype) == (np.int64, np.int64)
        assert np.array_equal(found, sums), count
        assert counts.tolist() == [2] * form.chunk_count(count)


@pytest.mark.parametrize("name", ["A16-16", "C16-128"])
def test_blocks_are_independent_of_how_values_are_cut(engine, oracle, name):
    """Whole chunks masked one by one are the parts of one block."""
    form = oracle.published_set(name).form
    _, secret_ntt = secret_of(engine, oracle, form.ring, 3)
    chunk = form.values_per_chunk
    values = draw_values(30000, 2 * chunk + 5 if engine.name != "reference" else chunk + 5, 3)
    whole = engine.mask_values(form, PUBLIC_KEY, secret_ntt, error_key(3), 10, values)
    parts = [
        engine.mask_values(form, PUBLIC_KEY, secret_ntt, error_key(3), 10 + i, values[i * chunk : (i + 1) * chunk])
        for i in range(form.chunk_count(len(values)))
    ]
    assert np.array_equal(whole, np.concatenate(parts))


def test_values_to_the_ends_of_their_lanes(engine, oracle):
    """Digits up to 2^(l-1) - 1 on either side, in every slot."""
    for name in ("A8-32", "C16-128"):
        form = oracle.published_set(name).form
        limit = (1 << form.slot_bits - 1) - 1
        _, secret_ntt = secret_of(engine, oracle, form.ring, 4)
        values = np.resize(np.array([limit, -limit, -limit, limit, 0], np.int32), 3 * form.slots + 1)
        found = engine.mask_values(form, PUBLIC_KEY, secret_ntt, error_key(4), 0, values)
        assert np.array_equal(found, composed_block(engine, oracle, form, secret_ntt, error_key(4), 0, values))


@pytest.mark.parametrize("name", ["A16-16", "C24-128"])
def test_blocks_under_structured_secrets(engine, oracle, name):
    form = oracle.published_set(name).form
    values = draw_values(30000, 9, 5)
    structured = oracle.structured(form.ring)
    for kind in ("all p-1", "alternating") if engine.name == "reference" else structured:
        found = engine.mask_values(form, PUBLIC_KEY, structured[kind], error_key(5), 1, values)
        assert np.array_equal(found, composed_block(engine, oracle, form, structured[kind], error_key(5), 1, values))


def test_arguments_that_lie_otherwise_in_memory(engine, oracle):
    form = oracle.published_set("C16-128").form
    _, secret_ntt = secret_of(engine, oracle, form.ring, 6)
    values = draw_values(30000, 11, 6)
    spread = np.asfortranarray(np.repeat(secret_ntt, 2, axis=1))[:, ::2]
    block = engine.mask_values(form, PUBLIC_KEY, secret_ntt, error_key(6), 0, values)
    again = engine.mask_values(form, PUBLIC_KEY, spread, error_key(6), 0, np.repeat(values, 3)[::3])
    assert np.array_equal(block, again)
    accumulators = np.zeros((2, form.field_count(11)), np.uint64)
    engine.add_masked(form, accumulators[0], block, 11)
    engine.add_masked(form, accumulators[1], np.repeat(block, 2)[::2], 11)
    assert np.array_equal(*accumulators)
    written = engine.write_sum(form, np.repeat(accumulators[0], 2)[::2], 11)
    assert np.array_equal(written, engine.write_sum(form, accumulators[0], 11))
    opened = engine.unmask_sum(form, PUBLIC_KEY, spread, 0, np.repeat(written, 2)[::2], 11)
    assert np.array_equal(opened[0], values)
