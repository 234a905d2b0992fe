"""Conformance: sums within the published bounds decode whatever the noise does, up to the bound and at every end."""

from __future__ import annotations

import numpy as np
import pytest

PUBLIC_KEY = bytes(range(2, 34))
SIGNS = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def value_count_of(published, engine):
    return 200 if engine.name == "reference" else published.form.values_per_chunk


def extreme_sums(published, count, seed):
    """Sums at both ends of their range, and others."""
    limit = published.sum_limit
    pattern = np.array([limit, -limit, 0, 1, -1, limit - 1, 1 - limit], np.int64)
    sums = np.resize(pattern, count)
    sums[count // 2 :] = np.random.default_rng(seed).integers(-limit, limit, count - count // 2, endpoint=True)
    return sums


def phase_base(engine, oracle, published, secret, messages):
    """a S + delta M of the used coefficients, and S transformed."""
    form = published.form
    opening = engine.ring_ntt(form.ring, oracle.constant(form.ring, secret))
    a = engine.expand_uniform(form.ring, PUBLIC_KEY, 0, 1)
    a_s = oracle.integers(form.ring, engine.ring_intt(form.ring, engine.ring_mul(form.ring, a, opening)))[0]
    return a_s[: len(messages)] + form.delta * messages, opening


def open_integers(engine, oracle, published, opening, integers, count):
    """`integers` as a written sum, opened."""
    form = published.form
    written = oracle.write(integers % (1 << sum(form.sum_field_bits)), form.sum_field_bits)
    return engine.unmask_sum(form, PUBLIC_KEY, opening, 0, written, count)


@pytest.mark.quick_values
@pytest.mark.parametrize("sign", [1, -1])
def test_noise_at_the_bound_decodes(engine, oracle, published, sign):
    """The written sums that lie farthest from a S + delta M within the most that parties and roundings can add."""
    form, count = published.form, value_count_of(published, engine)
    q, d2, bound = form.ring.modulus, form.sum_dropped_bits, published.noise_limit
    sums = extreme_sums(published, count, 1)
    messages = oracle.messages(form, sums, published.party_count)[0]
    exact, opening = phase_base(engine, oracle, published, sign * 21 * published.party_count, messages)
    # Everything mod q first, so that what is written is below 2^(bits - d2).
    for end in (1, -1):
        target = (exact + end * bound) % q
        farthest = target >> d2 if end > 0 else -(-target >> d2)
        noise = (farthest * 2**d2 - exact + q // 2) % q - q // 2
        assert max(abs(noise)) <= bound
        assert max(abs(noise)) > bound - 2**d2
        found, counts = open_integers(engine, oracle, published, opening, farthest, count)
        assert np.array_equal(found, sums)
        assert counts.tolist() == [published.party_count]


def test_noise_beyond_half_of_delta_does_not(engine, oracle, published):
    """The bound is needed: just beyond delta / 2 the count slot is off by one."""
    form, count = published.form, 7
    messages = oracle.messages(form, np.zeros(count, np.int64), published.party_count)[0]
    exact, opening = phase_base(engine, oracle, published, 21, messages)
    for end in (1, -1):
        target = (exact + end * (form.delta // 2 + (2 << form.sum_dropped_bits))) % form.ring.modulus
        integers = oracle.round_off(target, form.sum_dropped_bits)
        _, counts = open_integers(engine, oracle, published, opening, integers, count)
        assert counts.tolist() == [published.party_count + end]


def test_all_parties_at_the_extremes_decode(engine, oracle, published):
    """Every secret and error at +-21, every value at an end: all send one block, rounded alike, its noise P-fold."""
    form, count = published.form, value_count_of(published, engine)
    ring, parties = form.ring, published.party_count
    values = np.resize(np.array([published.value_limit, -published.value_limit, 0], np.int64), count)
    messages = oracle.messages(form, values)[0]
    for secret, error in SIGNS if engine.name != "reference" else SIGNS[1:2]:
        exact, _ = phase_base(engine, oracle, published, 21 * secret, messages)
        masked = (exact + 21 * error) % ring.modulus
        block = oracle.write(oracle.round_off(masked, form.dropped_bits), form.field_bits)
        accumulator = np.zeros(form.field_count(count), np.uint64)
        engine.add_masked(form, accumulator, block, count)
        accumulator *= np.uint64(parties)
        opening = engine.ring_ntt(ring, oracle.constant(ring, 21 * secret * parties))
        written = engine.write_sum(form, accumulator, count)
        found, counts = engine.unmask_sum(form, PUBLIC_KEY, opening, 0, written, count)
        assert np.array_equal(found, parties * values)
        assert counts.tolist() == [parties]


@pytest.mark.quick_values
def test_as_many_blocks_as_parties(engine, oracle, published):
    """Blocks added one by one, errors and secrets as drawn."""
    form = published.form
    count, parties = (5, 2) if engine.name == "reference" else (3 * form.slots + 1, published.party_count)
    ring, rng = form.ring, np.random.default_rng(3)
    accumulator = np.zeros(form.field_count(count), np.uint64)
    secrets = np.concatenate(
        [engine.sample_cbd(party.to_bytes(32, "big"), 0, 1, ring.degree) for party in range(parties)]
    )
    transformed = engine.ring_ntt(ring, oracle.lift(ring, secrets))
    sums = np.zeros(count, np.int64)
    for party in range(parties):
        values = rng.integers(-published.value_limit, published.value_limit, count, np.int32, endpoint=True)
        error_key = party.to_bytes(32, "little")
        block = engine.mask_values(form, PUBLIC_KEY, transformed[party], error_key, 0, values)
        engine.add_masked(form, accumulator, block, count)
        sums += values
    opening = engine.ring_ntt(ring, oracle.lift(ring, secrets.sum(axis=0, dtype=np.int64)))
    written = engine.write_sum(form, accumulator, count)
    found, counts = engine.unmask_sum(form, PUBLIC_KEY, opening, 0, written, count)
    assert np.array_equal(found, sums)
    assert counts.tolist() == [parties]
