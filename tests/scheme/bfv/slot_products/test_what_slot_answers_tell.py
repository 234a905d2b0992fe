"""What a key's holder can make of answers in slots: attacks that work without a rule, and find nothing with it."""

from __future__ import annotations

import inspect
import os

import numpy as np
import pytest
from tests.scheme.bfv.conftest import BYTE_BINS, Q, chi_square_odds, leave_out_zeros, near_zero
from tests.scheme.bfv.slot_products.conftest import draw_vector, term_of

from hekat.errors import InputError
from hekat.scheme.bfv import PRODUCTS, generate_keys
from hekat.scheme.bfv.elements import add_elements, multiply_slots, residues_at, transform, transform_back
from hekat.scheme.bfv.keys import SEED_BYTES
from hekat.scheme.bfv.shared_products.encrypted_matrix import expand
from hekat.scheme.bfv.slot_products import (
    SLOT_PRIMES,
    EncryptedSlots,
    SlotAnswer,
    SlotSums,
    SlotTerm,
    SlotVector,
    encrypt_slots,
    lay_out_slot_sums,
    multiply_slots_masked,
    open_slots,
    prepare_slots,
)
from hekat.scheme.bfv.slot_products import answers as answers_module
from hekat.scheme.bfv.slot_products.encrypted_slots import SLOTS_DOMAIN
from hekat.scheme.bfv.slot_products.plaintext import coefficients_of

N, PRIME = PRODUCTS.degree, SLOT_PRIMES[0]
VECTOR = SlotVector(PRODUCTS, PRIME, N)
LAYOUT = lay_out_slot_sums(prime=PRIME, count=N)


def opened_coefficients(pair, term: SlotTerm, engine) -> np.ndarray:
    """The coefficients, not the slots, that the holder opens: one number for each mask."""
    share = open_slots(pair.private, multiply_slots_masked(LAYOUT, [term], engine)[0], engine)
    return engine.ring_intt(VECTOR.ring, share[np.newaxis])[0]


def constant_polynomial(pair, value: int, engine) -> EncryptedSlots:
    """The attack: a vector of equal numbers is the polynomial `value`, and a product has `value` times the plain one's
    coefficients.
    """
    return encrypt_slots(pair.private, np.full(N, value, np.uint64), VECTOR, engine)


def hostile(kind: str, pair, rng: np.random.Generator, engine) -> EncryptedSlots:
    """Vectors that no honest holder sends."""
    if kind == "constant":
        return constant_polynomial(pair, 1, engine)
    encrypted = encrypt_slots(pair.private, draw_vector(N, PRIME, rng), VECTOR, engine)
    if kind == "honest":
        return encrypted
    if kind == "zeros":
        return EncryptedSlots(pair.public, VECTOR, encrypted.seed, tuple(np.zeros_like(x) for x in encrypted.c0))
    # No number mod p: a plaintext of q / 2 moves each product by half of the ring, or not at all.
    shifted = tuple(np.zeros_like(x) for x in encrypted.c0)
    for part, x in zip(PRODUCTS.parts, shifted, strict=True):
        for row, prime in enumerate(part.primes):
            x[..., row, :] = Q // 2 % prime
    moved = add_elements(PRODUCTS, encrypted.c0, transform(PRODUCTS, shifted, engine), engine)
    return EncryptedSlots(pair.public, VECTOR, encrypted.seed, moved)


@pytest.mark.parametrize("draws", [pytest.param(2, id="2^14"), pytest.param(128, id="2^20", marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["honest", "constant", "zeros", "half-of-the-ring"])
def test_a_holder_that_sends_other_plaintexts_opens_uniform_coefficients(engine, monkeypatch, kind, draws) -> None:
    """One plain vector, other masks in each draw. All randomness follows from the seed, so the odds are one number."""
    rng = np.random.default_rng(65)
    monkeypatch.setattr(os, "urandom", rng.bytes)
    pair = generate_keys(engine=engine)
    plain = prepare_slots(draw_vector(N, PRIME, rng), VECTOR, engine)
    term = SlotTerm(plain, hostile(kind, pair, rng, engine))
    opened = np.array([opened_coefficients(pair, term, engine) for _ in range(draws)])
    # 256 of p's 2^50 numbers are a bin's error of 2^-42.
    seen = (opened >> np.uint64(42), opened & np.uint64(BYTE_BINS - 1), opened[:, N - N // 8 :] >> np.uint64(42))
    odds = [chi_square_odds(x) for x in seen]
    print(f"seed 65, {kind}: odds of such bytes {odds}")
    assert min(odds) > 0.001


def test_a_coefficient_without_a_mask_opens_the_plain_vectors_coefficient(pair, engine, monkeypatch) -> None:
    """Without the rule: masks that leave out the last coefficient show it, under the plaintext 1, number for number."""
    values = draw_vector(N, PRIME, np.random.default_rng(66))
    term = SlotTerm(prepare_slots(values, VECTOR, engine), constant_polynomial(pair, 1, engine))
    wanted = engine.ring_intt(VECTOR.ring, values[np.newaxis])[0]
    assert np.count_nonzero(opened_coefficients(pair, term, engine) == wanted) <= 1
    draw = answers_module.draw_uniform

    def leave_out_last(parameters, count, engine):
        masks = draw(parameters, count, engine)
        for part, x in zip(parameters.parts, masks, strict=True):
            # Half a step, so that no noise passes one.
            x[:, -1] = [Q // PRIME // 2 % prime for prime in part.primes]
        return masks

    monkeypatch.setattr(answers_module, "draw_uniform", leave_out_last)
    found = opened_coefficients(pair, term, engine)
    assert found[-1] == wanted[-1]
    assert np.count_nonzero(found == wanted) <= 2


def test_masks_as_large_as_a_part_of_the_ring_open_parities(pair, engine, monkeypatch) -> None:
    """Without the rule: under a plaintext of (p - 1) / 2 even coefficients open near 0, and odd ones near p / 2."""
    rng = np.random.default_rng(67)
    values = draw_vector(N, PRIME, rng)
    parities = coefficients_of(VECTOR.ring, values[np.newaxis], 1, engine)[0] & 1
    term = SlotTerm(prepare_slots(values, VECTOR, engine), constant_polynomial(pair, PRIME // 2, engine))

    def draw_small_masks(parameters, count, engine):
        masks = [int.from_bytes(rng.bytes(24), "little") % (Q >> 12) for _ in range(count)]
        return tuple(np.ascontiguousarray(x.T) for x in residues_at(parameters, masks))

    def guesses_right() -> int:
        centred = opened_coefficients(pair, term, engine).astype(np.int64)
        odd = (centred > PRIME // 4) & (centred < 3 * (PRIME // 4))
        return int((odd == parities.astype(bool)).sum())

    # 8192 fair coins, 400 off with odds below 2^-50.
    assert abs(guesses_right() - N // 2) < 400
    monkeypatch.setattr(answers_module, "draw_uniform", draw_small_masks)
    assert guesses_right() > 0.99 * N


def quotients(answer: SlotAnswer, encrypted: EncryptedSlots, engine) -> np.ndarray:
    """The attack: c1 of an answer divided, slot by slot, by c1 of the encrypted vector: (1, primes, N)."""
    found = []
    for part, c1, a in zip(PRODUCTS.parts, answer.c1, encrypted.second_halves(engine), strict=True):
        inverse = [[pow(x, -1, p) for x in row] for p, row in zip(part.primes, a[0].tolist(), strict=True)]
        slots = engine.ring_mul(part, engine.ring_ntt(part, c1), np.array(inverse, np.uint64))
        found.append(engine.ring_intt(part, slots))
    return np.concatenate(found, axis=1)


def test_second_halves_divided_read_the_plain_vector_only_without_a_fresh_zero(pair, engine, monkeypatch) -> None:
    values = draw_vector(N, 65537, np.random.default_rng(68))
    vector = SlotVector(PRODUCTS, 65537, N)
    term = term_of(pair, values, values, 65537, engine)
    whole = SlotSums(vector, folded=False, products=1, kept_primes=4, noise_bound=LAYOUT.noise_bound)
    wanted = np.repeat(coefficients_of(vector.ring, values[np.newaxis], 1, engine)[:, np.newaxis], 4, axis=1)

    def divided() -> np.ndarray:
        return near_zero(quotients(multiply_slots_masked(whole, [term], engine)[0], term.encrypted, engine))

    correlation = np.corrcoef(divided().ravel().astype(float), wanted.ravel().astype(float))[0, 1]
    print(f"seed 68: correlation {correlation:.5f} of {wanted.size} numbers with the fresh zero")
    assert abs(correlation) < 0.04
    leave_out_zeros(monkeypatch, engine)
    assert np.array_equal(divided(), wanted)


def test_no_mask_no_zero_and_no_error_comes_twice(pair, engine, monkeypatch) -> None:
    count = 2 * N
    values = draw_vector(count, PRIME, np.random.default_rng(69))
    layout, vector = lay_out_slot_sums(prime=PRIME, count=count), SlotVector(PRODUCTS, PRIME, count)
    plain = prepare_slots(values, vector, engine)
    first, second = (encrypt_slots(pair.private, values, vector, engine) for _ in range(2))
    assert first.seed != second.seed
    answers = [multiply_slots_masked(layout, [SlotTerm(plain, x)], engine) for x in (first, first, second)]
    for one, other in ((answers[0], answers[1]), (answers[0], answers[2])):
        assert np.count_nonzero(one[1] == other[1]) <= 1
        for x, y in zip((*one[0].c1, *one[0].c0), (*other[0].c1, *other[0].c0), strict=True):
            assert np.count_nonzero(x == y) <= 1
    # Blocks of one answer: other masks and other zeros.
    for x in (*answers[0][0].c1, *answers[0][0].c0, answers[0][1].reshape(2, N)):
        assert np.count_nonzero(x[0] == x[1]) <= 1
    # Errors: what two encryptions of one vector differ by, and two products without v and e2.
    phases = []
    for encrypted in (first, second):
        shared = multiply_slots(PRODUCTS, encrypted.second_halves(engine), pair.private.secret, engine)
        phases.append(transform_back(PRODUCTS, add_elements(PRODUCTS, encrypted.c0, shared, engine), engine))
    leave_out_zeros(monkeypatch, engine)
    halves = [answers_module._multiply(layout, pair.public, [SlotTerm(plain, first)], engine)[0] for _ in range(2)]
    for one, other in (phases, halves):
        for x, y in zip(one, other, strict=True):
            # CBD(21) less CBD(21): 0 in one of twelve.
            assert 0.85 < np.count_nonzero(x != y) / x.size < 0.99


def test_nobody_passes_a_seed_and_vectors_share_no_stream_with_matrices(engine) -> None:
    assert not {"seed", "rng", "errors", "randomness"} & set(inspect.signature(encrypt_slots).parameters)
    seed = bytes(range(SEED_BYTES))
    streams = [x.tobytes() for domain in ((), (SLOTS_DOMAIN,)) for x in expand(PRODUCTS, seed, 1, engine, *domain)]
    assert len(set(streams)) == 2 * len(PRODUCTS.parts)


def test_malformed_vectors_and_answers_are_refused(pair, engine) -> None:
    term = term_of(pair, *[draw_vector(N, PRIME, np.random.default_rng(70))] * 2, PRIME, engine)
    encrypted, (answer, _) = term.encrypted, multiply_slots_masked(LAYOUT, [term], engine)
    large = tuple(np.full_like(x, 1 << 48) for x in encrypted.c0)
    for seed, c0 in (
        (encrypted.seed[:-1], encrypted.c0),
        (bytearray(encrypted.seed), encrypted.c0),
        (encrypted.seed, large),
        (encrypted.seed, tuple(x[:0] for x in encrypted.c0)),
        (encrypted.seed, tuple(x.astype(np.int64) for x in encrypted.c0)),
    ):
        with pytest.raises(InputError):
            EncryptedSlots(pair.public, VECTOR, seed, c0)
    for c1, c0 in (
        (tuple(np.full_like(x, 1 << 48) for x in answer.c1), answer.c0),
        (answer.c1, tuple(np.full_like(x, 1 << 48) for x in answer.c0)),
        (tuple(x[:0] for x in answer.c1), answer.c0),
        (answer.c1, tuple(x[:0] for x in answer.c0)),
        (answer.c1, encrypted.c0),
    ):
        with pytest.raises(InputError):
            SlotAnswer(pair.public, LAYOUT, c1, c0)


def test_secrets_show_nothing(pair, engine) -> None:
    values = draw_vector(N, PRIME, np.random.default_rng(71))
    term = term_of(pair, values, values, PRIME, engine)
    answer, share = multiply_slots_masked(LAYOUT, [term], engine)
    shown = repr(term) + repr(answer)
    hidden = [*values[5:60], *share[:50], *term.plain.elements[0].ravel()[:50], *answer.c0[0].ravel()[:50]]
    assert not any(str(int(number)) in shown for number in hidden)
