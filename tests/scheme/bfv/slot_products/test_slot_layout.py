"""Vectors are encrypted to the nearest number, floors are exact, and layouts bound the noise that sums really have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheme.bfv.conftest import Q, centred
from tests.scheme.bfv.slot_products.conftest import draw_vector, term_of

from hekat.errors import BoundError, InputError
from hekat.scheme.bfv import PRODUCTS
from hekat.scheme.bfv.elements import (
    add_elements,
    integers_of_residues,
    multiply_slots,
    transform,
    transform_back,
)
from hekat.scheme.bfv.shared_products import first_primes
from hekat.scheme.bfv.slot_products import SLOT_PRIMES, SlotVector, encrypt_slots, lay_out_slot_sums
from hekat.scheme.bfv.slot_products.answers import _multiply
from hekat.scheme.bfv.slot_products.plaintext import floor_of_units

N = PRODUCTS.degree


def integers(elements) -> list[int]:
    """Coefficients in [0, q) of one block, (1, primes, N) a part."""
    return integers_of_residues(PRODUCTS, tuple(np.ascontiguousarray(x[0].T) for x in elements))


@pytest.mark.parametrize("prime", [*SLOT_PRIMES, 65537])
@pytest.mark.parametrize("noisy", [True, False])
def test_a_vector_becomes_the_nearest_integers_to_its_fractions_of_the_modulus(
    pair, engine, monkeypatch, prime, noisy
) -> None:
    if not noisy:
        draw = type(engine).sample_cbd
        monkeypatch.setattr(type(engine), "sample_cbd", lambda *arguments: 0 * draw(*arguments))
    values = draw_vector(N, prime, np.random.default_rng(63))
    vector = SlotVector(PRODUCTS, prime, N)
    encrypted = encrypt_slots(pair.private, values, vector, engine)
    shared = multiply_slots(PRODUCTS, encrypted.second_halves(engine), pair.private.secret, engine)
    phases = integers(transform_back(PRODUCTS, add_elements(PRODUCTS, encrypted.c0, shared, engine), engine))
    x = engine.ring_intt(vector.ring, values[np.newaxis])[0].tolist()
    # p phase - q x, from [-p q / 2, p q / 2): p / 2 of rounding, and p times the error.
    t = prime * Q
    off = [abs((prime * phase - Q * value + t // 2) % t - t // 2) for value, phase in zip(x, phases, strict=True)]
    if noisy:
        assert 10 * prime < max(off) <= 21 * prime + prime // 2
    else:
        assert max(off) <= prime // 2


@settings(max_examples=20)
@given(kept=st.integers(1, 4), prime=st.sampled_from([*SLOT_PRIMES, 65537]), data=st.data())
def test_floors_are_exact_on_both_sides_of_every_step(engine, kept, prime, data) -> None:
    parameters = first_primes(PRODUCTS, kept)
    q = parameters.modulus
    steps = data.draw(st.lists(st.integers(0, prime - 1) | st.sampled_from([0, 1, prime - 1]), min_size=1, max_size=20))
    values = [0, q - 1, *(data.draw(st.integers(0, q - 1)) for _ in range(5))]
    values += [y for k in steps for x in [-(-k * q // prime)] for y in (x, max(x - 1, 0), min(x + 1, q - 1)) if y < q]
    values += [0] * (N - len(values))
    elements = tuple(
        np.array([[value % p for value in values] for p in part.primes], np.uint64)[np.newaxis]
        for part in parameters.parts
    )
    found = floor_of_units(parameters, elements, prime, engine)
    assert found.tolist() == [[value * prime // q for value in values]]


def test_noise_stays_below_its_bound_and_not_far_below(pair, engine) -> None:
    """With plain coefficients all as large as they may be. The bound holds for any errors, so it lies above."""
    prime = SLOT_PRIMES[0]
    vector = SlotVector(PRODUCTS, prime, N)
    largest = np.full((1, 1, N), prime // 2, np.uint64)
    plain = engine.ring_ntt(vector.ring, largest)[0, 0]
    secret = draw_vector(N, prime, np.random.default_rng(64))
    layout = lay_out_slot_sums(prime=prime, count=N)
    c0, c1 = _multiply(layout, pair.public, [term_of(pair, plain, secret, prime, engine)], engine)
    shared = multiply_slots(PRODUCTS, transform(PRODUCTS, c1, engine), pair.private.secret, engine)
    phases = integers(add_elements(PRODUCTS, c0, transform_back(PRODUCTS, shared, engine), engine))
    products = engine.ring_mul(vector.ring, plain[np.newaxis], secret[np.newaxis])
    expected = engine.ring_intt(vector.ring, products)[0].tolist()
    noise = [abs(centred(x - Q * y // prime)) for x, y in zip(phases, expected, strict=True)]
    assert layout.noise_bound >> 12 < max(noise) <= layout.noise_bound


@pytest.mark.parametrize(
    ("facts", "kept", "least_bits"),
    [
        pytest.param({}, 3, 62, id="one-product"),
        pytest.param({"terms": 2}, 3, 61, id="two-products"),
        pytest.param({"count": 4 * N, "folded": True}, 3, 60, id="sum-over-units"),
        pytest.param({"prime": 65537}, 2, 48, id="least-prime"),
    ],
)
def test_answers_keep_as_many_primes_as_planned(facts, kept, least_bits) -> None:
    layout = lay_out_slot_sums(**{"prime": SLOT_PRIMES[0], "count": N} | facts)
    assert layout.kept_primes == kept
    assert least_bits <= layout.exact_bits < 75
    assert layout.answer_bytes == 2 * 6 * kept * N


def test_what_has_no_room_or_no_sense_is_refused() -> None:
    prime = SLOT_PRIMES[0]
    with pytest.raises(BoundError, match="no room for a sum of so many products"):
        lay_out_slot_sums(prime=prime, count=1, terms=1 << 15)
    assert lay_out_slot_sums(prime=prime, count=1, terms=1 << 13).exact_bits >= 48
    for facts in (
        {"count": 0},
        {"terms": 0},
        {"prime": prime - 2},
        {"prime": 3},
        {"prime": PRODUCTS.primes[0]},
        {"prime": (1 << 50) + 1},
    ):
        with pytest.raises(InputError):
            lay_out_slot_sums(**{"prime": prime, "count": 1} | facts)
