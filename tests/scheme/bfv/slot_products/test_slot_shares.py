"""Shares of sums of entrywise products add up to the sums, number for number, and other vectors are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheme.bfv.slot_products.conftest import added, draw_vector, shares_of, term_of

from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bfv import PRODUCTS, generate_keys
from hekat.scheme.bfv.slot_products import (
    SLOT_PRIMES,
    SlotTerm,
    SlotVector,
    encrypt_slots,
    lay_out_slot_sums,
    multiply_slots_masked,
    open_slots,
    prepare_slots,
)

N = PRODUCTS.degree
# The least prime that slots have, beside both that are used.
PRIMES = (*SLOT_PRIMES, 65537)


@settings(max_examples=12)
@given(
    prime=st.sampled_from(PRIMES),
    count=st.sampled_from([1, 2, 1000, N - 1, N, N + 1, 2 * N + 7]),
    terms=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_shares_of_sums_of_products_add_up_exactly(pair, engine, prime, count, terms, seed) -> None:
    rng = np.random.default_rng(seed)
    vectors = [[draw_vector(count, prime, rng) for _ in range(2)] for _ in range(terms)]
    layout = lay_out_slot_sums(prime=prime, count=count, terms=terms)
    shares = shares_of(pair, layout, [term_of(pair, *both, prime, engine) for both in vectors], engine)
    expected = sum(plain.astype(object) * secret.astype(object) for plain, secret in vectors) % prime
    assert np.array_equal(added(*shares, prime), expected)


@pytest.mark.parametrize("prime", SLOT_PRIMES)
def test_folded_sums_add_up_the_blocks_and_one_block_meets_all(pair, engine, prime) -> None:
    """As a squared layer needs it: a sum over units, and each unit times one vector that lies in a block of its own."""
    rng, count = np.random.default_rng(61), 3 * N - 5
    a, b = (draw_vector(count, prime, rng) for _ in range(2))
    one, other = (draw_vector(N, prime, rng) for _ in range(2))
    padded = [np.concatenate((x, np.zeros(5, np.uint64))).astype(object).reshape(3, N) for x in (a, b)]
    folded = lay_out_slot_sums(prime=prime, count=count, folded=True)
    shares = shares_of(pair, folded, [term_of(pair, a, b, prime, engine)], engine)
    assert np.array_equal(added(*shares, prime), (padded[0] * padded[1]).sum(axis=0) % prime)
    spread = lay_out_slot_sums(prime=prime, count=count, terms=2)
    terms = [term_of(pair, a, one, prime, engine), term_of(pair, other, b, prime, engine)]
    expected = (padded[0] * one.astype(object) + other.astype(object) * padded[1]).reshape(-1)[:count] % prime
    assert np.array_equal(added(*shares_of(pair, spread, terms, engine), prime), expected)


def test_residues_mod_both_primes_are_numbers_mod_their_product(pair, engine) -> None:
    rng, t = np.random.default_rng(62), SLOT_PRIMES[0] * SLOT_PRIMES[1]
    numbers = [[int.from_bytes(rng.bytes(13), "little") % t for _ in range(300)] for _ in range(2)]
    found = []
    for prime in SLOT_PRIMES:
        plain, secret = (np.array([x % prime for x in values], np.uint64) for values in numbers)
        layout = lay_out_slot_sums(prime=prime, count=300)
        found.append(added(*shares_of(pair, layout, [term_of(pair, plain, secret, prime, engine)], engine), prime))
    assert [list(row) for row in found] == [[x * y % p for x, y in zip(*numbers, strict=True)] for p in SLOT_PRIMES]


def test_other_vectors_and_terms_are_refused(pair, engine) -> None:
    prime, vector = SLOT_PRIMES[0], SlotVector(PRODUCTS, SLOT_PRIMES[0], 10)
    good = np.arange(10, dtype=np.uint64)
    for values in (good[:9], good.astype(np.int64), good.reshape(2, 5), np.full(10, prime, np.uint64)):
        with pytest.raises(InputError, match="a vector of slots"):
            prepare_slots(values, vector, engine)
        with pytest.raises(InputError, match="a vector of slots"):
            encrypt_slots(pair.private, values, vector, engine)
    term = term_of(pair, good, good, prime, engine)
    other_prime = term_of(pair, good, good, SLOT_PRIMES[1], engine)
    long = term_of(pair, np.zeros(2 * N, np.uint64), good, prime, engine)
    layout = lay_out_slot_sums(prime=prime, count=10, terms=2)
    for terms in ([term], [], [term] * 3, [term, other_prime], [term, SlotTerm(term.plain, other_prime.encrypted)]):
        with pytest.raises(InputError, match="do not fit"):
            multiply_slots_masked(layout, terms, engine)
    for folded, count, number in ((False, 10, 1), (False, 3 * N, 1), (True, 3 * N, 1), (True, 2 * N, 2)):
        sums = lay_out_slot_sums(prime=prime, count=count, terms=number, folded=folded)
        with pytest.raises(InputError, match="do not fit"):
            multiply_slots_masked(sums, [long], engine)


def test_foreign_keys_are_refused(pair, engine) -> None:
    prime, good = SLOT_PRIMES[0], np.arange(10, dtype=np.uint64)
    other = generate_keys(engine=engine)
    term = term_of(pair, good, good, prime, engine)
    terms, layout = [term, term_of(other, good, good, prime, engine)], lay_out_slot_sums(prime=prime, count=10, terms=2)
    with pytest.raises(KeyRefusedError, match="different keys"):
        multiply_slots_masked(layout, terms, engine)
    answer, _ = multiply_slots_masked(lay_out_slot_sums(prime=prime, count=10), [term], engine)
    with pytest.raises(KeyRefusedError, match="another key") as refused:
        open_slots(other.private, answer, engine)
    assert pair.public.fingerprint in str(refused.value)
