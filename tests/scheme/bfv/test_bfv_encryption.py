"""Ciphertexts open to what went in, within the noise that is promised; keys are what they say and tell nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.scheme.bfv.conftest import N, Q, centred, coefficients_of, multiply, phase_of

from hekat.engine.ring.parameters import Ring
from hekat.engine.select import get_engine
from hekat.errors import InputError, KeyRefusedError
from hekat.scheme.bfv import (
    PRODUCTS,
    BfvParameters,
    Ciphertexts,
    PublicKey,
    add,
    encrypt,
    generate_keys,
    multiply_plain,
)
from hekat.scheme.bfv.elements import (
    INT64_LIMIT,
    integers_of_residues,
    residues_of_integers,
    scale_elements,
    transform,
)

DELTA = 1 << 100


def encrypted(pair, values: np.ndarray, engine) -> Ciphertexts:
    return encrypt(pair.public, scale_elements(PRODUCTS, residues_of_integers(PRODUCTS, values, engine), DELTA, engine))


def test_a_ciphertext_opens_to_its_integers_within_the_noise_by_independent_arithmetic(pair, engine) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(-(2**46), 2**46, (2, N))
    ciphertexts = encrypted(pair, values, engine)
    for index in range(2):
        phase = phase_of(pair, ciphertexts, index, engine)
        noise = [centred(x - int(m) * DELTA) for x, m in zip(phase, values[index], strict=True)]
        assert 0 < max(map(abs, noise)) <= PRODUCTS.fresh_noise


def test_sums_and_products_with_plain_polynomials_are_those_of_big_integers(pair, engine) -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(-(2**30), 2**30, (2, N))
    factor = rng.integers(-(2**16), 2**16, (1, N))
    first, second = (encrypted(pair, values[i : i + 1], engine) for i in range(2))
    transformed = transform(PRODUCTS, residues_of_integers(PRODUCTS, factor, engine), engine)
    result = multiply_plain(add([first, second]), transformed)
    total = [int(x) % Q for x in values.sum(axis=0)]
    expected = multiply(total, [int(x) % Q for x in factor[0]])
    phase = phase_of(pair, result, 0, engine)
    bound = 2 * PRODUCTS.fresh_noise * int(np.abs(factor).sum())
    noise = [centred(x - m * DELTA) for x, m in zip(phase, expected, strict=True)]
    assert 0 < max(map(abs, noise)) <= bound < DELTA // 2


@pytest.mark.parametrize("value", [0, 1, -1, 2**32 - 1, -(2**32), 2**53 + 1, INT64_LIMIT - 1, 1 - INT64_LIMIT])
def test_residues_of_integers_are_exact_to_their_limit(engine, value: int) -> None:
    coefficients = np.full((1, N), value, np.int64)
    residues = residues_of_integers(PRODUCTS, coefficients, engine)
    columns = tuple(x[0, :, :3].T for x in residues)
    assert [centred(x) for x in integers_of_residues(PRODUCTS, columns)] == [value] * 3


def test_engines_agree_on_every_operation(pair) -> None:
    """What `cpu` encrypts the reference computes on and opens, to the same residues."""
    cpu, reference = get_engine("cpu"), get_engine("reference")
    values = np.random.default_rng(3).integers(-(2**40), 2**40, (1, N))
    ciphertexts = encrypted(pair, values, cpu)
    factors = transform(PRODUCTS, residues_of_integers(PRODUCTS, values >> 20, reference), reference)
    products = [multiply_plain(ciphertexts, factors, engine) for engine in (cpu, reference)]
    for ours, expected in zip(products[0].c0 + products[0].c1, products[1].c0 + products[1].c1, strict=True):
        assert np.array_equal(ours, expected)
    assert coefficients_of(pair.public.a, cpu) == coefficients_of(pair.public.a, reference)


def test_equal_values_are_encrypted_differently_every_time(pair, engine) -> None:
    values = np.ones((2, N), np.int64)
    ciphertexts = [encrypted(pair, values, engine) for _ in range(2)]
    seen = {x.tobytes() for one in ciphertexts for c in (one.c0, one.c1) for part in c for x in part}
    assert len(seen) == 2 * 2 * 2 * len(PRODUCTS.parts)


def test_ciphertexts_of_different_keys_or_counts_are_not_added(pair, engine) -> None:
    values = np.zeros((2, N), np.int64)
    ours = encrypted(pair, values, engine)
    with pytest.raises(KeyRefusedError, match="different keys"):
        add([ours, encrypted(generate_keys(), values, engine)])
    with pytest.raises(InputError, match="do not fit"):
        add([ours, ours[:1]])
    with pytest.raises(InputError, match="wrong layout"):
        Ciphertexts(pair.public, ours.c0, ours[:1].c1)


def test_a_private_key_shows_and_pickles_nothing(pair) -> None:
    numbers = {str(int(x)) for part in pair.private.secret for x in part[0, :8]}
    assert not any(number in repr(pair.private) + repr(pair) for number in numbers)
    with pytest.raises(KeyRefusedError, match="not pickled"):
        pickle.dumps(pair.private)
    assert pickle.loads(pickle.dumps(pair.public)) == pair.public
    assert pair.public != generate_keys().public


def test_a_public_key_of_another_form_is_refused(pair) -> None:
    with pytest.raises(InputError, match="seed"):
        PublicKey(PRODUCTS, b"short", pair.public.b)
    beyond = tuple(np.full_like(x, 2**63) for x in pair.public.b)
    with pytest.raises(InputError, match="not below its prime"):
        PublicKey(PRODUCTS, bytes(32), beyond)


def test_sets_below_the_floor_are_refused() -> None:
    with pytest.raises(KeyRefusedError, match="protects too little"):
        BfvParameters("more", (*PRODUCTS.parts, Ring(8192, (281474975285249,))))
    with pytest.raises(KeyRefusedError, match="protects too little"):
        BfvParameters("small", (Ring(4096, PRODUCTS.parts[0].primes),))
    with pytest.raises(InputError, match="repeats"):
        BfvParameters("twice", (PRODUCTS.parts[0], PRODUCTS.parts[0]))
    with pytest.raises(InputError, match="48 bits"):
        BfvParameters("wide", (Ring(8192, (1125899906826241,)),))
    with pytest.raises(InputError, match="one degree"):
        BfvParameters("mixed", (PRODUCTS.parts[0], Ring(4096, PRODUCTS.parts[1].primes)))
