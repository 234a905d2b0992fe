"""Conformance: random rings, formats, sizes and bytes; every engine gives the reference's bits or its refusal."""

from __future__ import annotations

import random
from functools import cache

import gmpy2
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hekat.engine.ring.parameters import MAX_DELTA_BITS, MAX_SLOT_BITS, MAX_SLOTS, MaskFormat, Ring
from hekat.engine.select import get_engine
from hekat.errors import InputError

LONG_RUNS = 100
# Powers of two about which primes are taken, and the largest products.
PRIME_BITS = [14, 15, 17, 20, 25, 26, 30, 32, 33, 38, 45, 49, 50]


@cache
def primes_of(bits, degree):
    """The least and the greatest prime of so many bits that are 1 mod 2N, where there are any."""
    upwards = range((1 << bits - 1) + 1, 1 << bits, 2 * degree)
    found = (next(filter(gmpy2.is_prime, side), None) for side in (upwards, reversed(upwards)))
    return sorted({p for p in found if p is not None})


@cache
def ring_of(degree, primes):
    return Ring(degree, primes)


def draw_ring(rng):
    """Mostly small degrees, for the reference's sake."""
    degree = rng.choice((1024, 1024, 1024, 2048, 4096))
    candidates = [p for bits in PRIME_BITS for p in primes_of(bits, degree)]
    return ring_of(degree, tuple(rng.sample(candidates, rng.choice((1, 2)))))


def draw_format(rng):
    """Any format that can be made, to both ends of slots, digits, delta and dropped bits."""
    while True:
        ring = draw_ring(rng)
        q_bits = ring.modulus.bit_length()
        slots = rng.randint(1, MAX_SLOTS)
        slot_bits = (q_bits - rng.choice((2, 3, 5, 10, 15, MAX_DELTA_BITS))) // slots
        if not 2 <= slot_bits <= MAX_SLOT_BITS:
            continue
        delta_bits = (ring.modulus >> slots * slot_bits).bit_length()
        dropped = [rng.choice((0, 1, delta_bits // 2, delta_bits - 1)) for _ in range(2)]
        try:
            return MaskFormat(ring, slots, slot_bits, *dropped)
        except InputError:
            continue


def draw_count(rng, form):
    """Values of at most two chunks; half of the time no slot is left over."""
    count = rng.choice((0, 1, 2, 7, rng.randrange(1, 200), form.values_per_chunk, form.values_per_chunk + 1))
    surplus = -(count + 1) % form.slots
    return count + surplus if count < 200 and rng.random() < 0.5 else count


def draw_element(rng, ring, shape=()):
    generator = np.random.default_rng(rng.getrandbits(64))
    rows = [generator.integers(0, p, (*shape, ring.degree), np.uint64) for p in ring.primes]
    if rng.random() < 0.3:
        rows = [np.where(generator.random(row.shape) < 0.5, p - 1, 0) for row, p in zip(rows, ring.primes, strict=True)]
    return np.stack(rows, axis=-2).astype(np.uint64)


def draw_fields(rng, form, count, field_bits):
    """Written bytes of any fields, or of extreme ones; padding bits are zero but for now and then."""
    generator, parts = np.random.default_rng(rng.getrandbits(64)), []
    kind = rng.choice(("random", "random", "ones", "zeros", "sparse"))
    full = form.chunk_count(count) - 1
    for used in [form.ring.degree] * full + [form.last_used(count)]:
        for bits in field_bits:
            most = {"random": 0.5, "ones": 1.0, "zeros": 0.0, "sparse": 0.02}[kind]
            plane = np.packbits(generator.random(used * bits) < most, bitorder="little")
            parts.append(plane)
    written = np.concatenate(parts)
    if rng.random() < 0.1:
        written[-1] |= 128
    return written


def draw_call(operation, seed):
    """The arguments of one call, `operation` of them."""
    rng = random.Random(f"{operation} {seed}")
    form = draw_format(rng)
    ring, key, first_chunk = form.ring, rng.randbytes(32), rng.choice((0, 1, rng.getrandbits(64)))
    count = draw_count(rng, form)
    if operation == "expand_uniform":
        return [ring, key, first_chunk, rng.randrange(3)]
    if operation == "sample_cbd":
        return [key, first_chunk, rng.randrange(3), ring.degree]
    if operation in ("ring_ntt", "ring_intt"):
        return [ring, draw_element(rng, ring, rng.choice(((), (1,), (2,), (0,), (1, 2))))]
    if operation in ("ring_add", "ring_sub", "ring_mul"):
        shapes = rng.choice((((), ()), ((2,), ()), ((2, 1), (3,)), ((0,), (1,)), ((2,), (3,))))
        return [ring, *(draw_element(rng, ring, shape) for shape in shapes)]
    if operation == "mask_values":
        limit = min(2**31, 1 << form.slot_bits - 1) - (rng.random() < 0.95)
        values = np.random.default_rng(rng.getrandbits(64)).integers(-limit, limit, count, np.int64, endpoint=True)
        return [form, key, draw_element(rng, ring), rng.randbytes(32), first_chunk, values.astype(np.int32)]
    if operation == "unmask_sum":
        written = draw_fields(rng, form, count, form.sum_field_bits)
        return [form, key, draw_element(rng, ring), first_chunk, written, count]
    most = rng.choice((1 << form.field_bits[0], 2**64 - 1))
    accumulator = np.random.default_rng(seed).integers(0, most, form.field_count(count), np.uint64, endpoint=True)
    if operation == "add_masked":
        return [form, accumulator, draw_fields(rng, form, count, form.field_bits), count]
    return [form, accumulator, count]


OPERATIONS = ["expand_uniform", "sample_cbd", "ring_ntt", "ring_intt", "ring_add", "ring_sub", "ring_mul"]
OPERATIONS += ["mask_values", "add_masked", "write_sum", "unmask_sum"]


def answer(engine, operation, arguments):
    """Results and what is left of the arguments, or the refusal's words and the same."""
    arguments = [np.array(x, order="C") if isinstance(x, np.ndarray) else x for x in arguments]
    try:
        found = getattr(engine, operation)(*arguments)
    except InputError as refusal:
        found = str(refusal)
    results = list(found) if isinstance(found, tuple) else [found]
    return results + [x for x in arguments if isinstance(x, np.ndarray)]


@cache
def specified(operation, seed):
    return answer(get_engine("reference"), operation, draw_call(operation, seed))


def compare(engine, operation, seed):
    """Whether the call was answered by more than a refusal; fails where the engine differs from the reference."""
    expected = specified(operation, seed)
    found = expected if engine.name == "reference" else answer(engine, operation, draw_call(operation, seed))
    for mine, reference in zip(found, expected, strict=True):
        assert type(mine) is type(reference)
        if isinstance(mine, np.ndarray):
            assert (mine.dtype, mine.shape) == (reference.dtype, reference.shape)
            assert np.array_equal(mine, reference)
        else:
            assert mine == reference
    return not isinstance(expected[0], str)


@pytest.mark.quick_values
@pytest.mark.parametrize("operation", OPERATIONS)
@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
@example(seed=0)
def test_random_calls(engine, operation, seed):
    compare(engine, operation, seed)


@pytest.mark.quick_values
@pytest.mark.parametrize("operation", OPERATIONS)
def test_random_calls_of_fixed_seeds(engine, operation):
    answered = sum(compare(engine, operation, seed) for seed in range(1000, 1010))
    assert answered > 2


@pytest.mark.long
@pytest.mark.parametrize("operation", OPERATIONS)
def test_many_random_calls(engine, operation):
    first = random.SystemRandom().randrange(2**48)
    print(f"seeds from {first} on")
    answered = sum(compare(engine, operation, first + i) for i in range(LONG_RUNS))
    print(f"{answered} of {LONG_RUNS} calls answered, the others refused alike")
    assert answered > LONG_RUNS // 5
