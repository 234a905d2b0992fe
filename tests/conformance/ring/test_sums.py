"""Conformance: accumulators add fields as they stand, and sums are written mod q, rounded, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from hekat.errors import InputError

HIGHEST = 2**64 - 1


def counts_of(form, engine):
    chunk = form.values_per_chunk
    return (
        [0, 5, chunk + 2]
        if engine.name == "reference"
        else [0, 1, 2, 5, 8, 100, chunk - 1, chunk, chunk + 1, 3 * chunk]
    )


def random_block(oracle, form, count, seed):
    """Any fields, as written, and the fields in an accumulator's order."""
    rng, written, fields = np.random.default_rng([count, seed]), [], []
    for used in oracle.used(form, count):
        planes = [rng.integers(0, 1 << bits, used, np.uint64) for bits in form.field_bits]
        coefficients, shift = np.zeros(used, object), 0
        for plane, bits in zip(planes, form.field_bits, strict=True):
            coefficients, shift = coefficients + (plane.astype(object) << shift), shift + bits
        written.append(oracle.write(coefficients, form.field_bits))
        fields += planes
    return np.concatenate(written), np.concatenate(fields)


def expected_sum(oracle, form, accumulator, count):
    """What `write_sum` writes, by integers of any size."""
    written, at, q = [], 0, form.ring.modulus
    for used in oracle.used(form, count):
        total, shift = np.zeros(used, object), 0
        for bits in form.field_bits:
            total, shift = total + (accumulator[at : at + used].astype(object) << shift), shift + bits
            at += used
        integers = oracle.round_off((total << form.dropped_bits) % q, form.sum_dropped_bits)
        written.append(oracle.write(integers, form.sum_field_bits))
    return np.concatenate(written)


def test_fields_add_in_the_order_of_the_bytes(engine, oracle, published):
    form = published.form
    for count in counts_of(form, engine):
        accumulator = np.zeros(form.field_count(count), np.uint64)
        expected = accumulator.copy()
        for seed in range(3):
            block, fields = random_block(oracle, form, count, seed)
            assert block.size == form.written_bytes(count)
            engine.add_masked(form, accumulator, block, count)
            expected += fields
            assert np.array_equal(accumulator, expected)


def test_sums_are_written_mod_q_and_rounded(engine, oracle, published):
    form = published.form
    for count in counts_of(form, engine):
        rng = np.random.default_rng([count, 7])
        for most in (1 << form.field_bits[0], published.party_count << form.field_bits[0], HIGHEST):
            accumulator = rng.integers(0, most, form.field_count(count), np.uint64, endpoint=True)
            accumulator[: 1 + count % 3] = most
            before = accumulator.copy()
            written = engine.write_sum(form, accumulator, count)
            assert (written.dtype, written.shape) == (np.uint8, (form.written_sum_bytes(count),))
            assert np.array_equal(written, expected_sum(oracle, form, accumulator, count))
            assert np.array_equal(accumulator, before)


def test_sums_around_multiples_of_q(engine, oracle, published):
    """Sums whose coefficients are just below, at and just above k q, where a reduction or a rounding goes wrong."""
    form, q = published.form, published.form.ring.modulus
    d, d2 = form.dropped_bits, form.sum_dropped_bits
    low_bits = form.field_bits[0]
    wanted = []
    for k in (1, 2, 3, published.party_count):
        for offset in (0, 1 << d, 1 << d2 >> 1, (1 << d2 >> 1) + (1 << d), 1 << d2):
            wanted += [(k * q + sign * offset + extra >> d) for sign in (1, -1) for extra in (-(1 << d), 0, 1 << d)]
    wanted += [0, 1, (1 << sum(form.field_bits)) - 1]
    # As many coefficients as there are sums, and every slot of theirs.
    count = form.slots * len(wanted) - 1
    assert form.last_used(count) == len(wanted)
    sums = np.array(wanted, object)
    # The high field takes what the low one does not; with one prime there is but the low one.
    planes = [sums] if len(form.field_bits) == 1 else [sums & (1 << low_bits) - 1, sums >> low_bits]
    accumulator = np.concatenate(planes).astype(np.uint64)
    written = engine.write_sum(form, accumulator, count)
    integers, _ = oracle.read(written, len(wanted), form.sum_field_bits)
    assert np.array_equal(integers, oracle.round_off((sums << d) % q, d2))


def test_thousands_of_blocks_stay_below_the_words_end(engine, oracle):
    """2^14 blocks of all ones in fields of 50 bits, the widest there are: the last 256 of them added one by one."""
    ring = oracle.make_ring(1024, oracle.primes_below(50, 1024, 2))
    form = oracle.format(ring, 8, 10, 0, 0)
    assert form.field_bits == (50, 50)
    block = oracle.write(np.full(1, (1 << 100) - 1, object), form.field_bits)
    accumulator = np.full(2, ((1 << 14) - 256) * ((1 << 50) - 1), np.uint64)
    for _ in range(256):
        engine.add_masked(form, accumulator, block, 2)
    assert accumulator.tolist() == [(1 << 64) - (1 << 14)] * 2
    assert np.array_equal(engine.write_sum(form, accumulator, 2), expected_sum(oracle, form, accumulator, 2))


def test_padding_bits_are_refused_and_nothing_is_added(engine, oracle, published):
    form = published.form
    seen = 0
    for count in range(0, 8 * form.slots):
        used = form.last_used(count)
        plane_bytes = [-(-used * bits // 8) for bits in form.field_bits]
        for number, bits in enumerate(form.field_bits):
            for bit in range(used * bits % 8, 8 if used * bits % 8 else 0):
                block, _ = random_block(oracle, form, count, 1)
                block[sum(plane_bytes[: number + 1]) - 1] |= 1 << bit
                accumulator = np.full(form.field_count(count), 5, np.uint64)
                with pytest.raises(InputError, match="bits behind its last field"):
                    engine.add_masked(form, accumulator, block, count)
                assert (accumulator == 5).all()
                seen += 1
    assert seen or not any(bits % 8 for bits in form.field_bits)
