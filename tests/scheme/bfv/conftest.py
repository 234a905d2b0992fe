"""Engines, a key pair in each, and ring arithmetic by big integers, which knows nothing of transforms and primes."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from scipy.stats import chi2

from hekat.engine.interface import Engine
from hekat.engine.select import READY, available_engines, get_engine
from hekat.scheme.bfv import PRODUCTS, Ciphertexts, KeyPair, generate_keys
from hekat.scheme.bfv.elements import Elements, integers_of_residues, transform_back

N, Q = PRODUCTS.degree, PRODUCTS.modulus
BYTE_BINS = 256


@pytest.fixture(scope="session")
def engine() -> Engine:
    return get_engine("cpu") if available_engines().get("cpu") == READY else get_engine("reference")


@pytest.fixture(scope="session")
def pair(engine: Engine) -> KeyPair:
    return generate_keys(engine=engine)


def coefficients_of(element: Elements, engine: Engine) -> list[int]:
    """The N coefficients in [0, q) of one transformed element (primes, N)."""
    coefficients = transform_back(PRODUCTS, element, engine)
    return integers_of_residues(PRODUCTS, tuple(np.ascontiguousarray(x.T) for x in coefficients))


def multiply(a: list[int], b: list[int]) -> list[int]:
    """The product in Z_q[Z] / (Z^N + 1) of coefficients in [0, q), through one product of big integers."""
    width = 2 * Q.bit_length() + N.bit_length() + 1
    packed = [gmpy2.pack([gmpy2.mpz(x) for x in values], width) for values in (a, b)]
    full = [int(x) for x in gmpy2.unpack(packed[0] * packed[1], width)]
    full += [0] * (2 * N - len(full))
    return [(low - high) % Q for low, high in zip(full[:N], full[N:], strict=True)]


def centred(value: int) -> int:
    return (value + Q // 2) % Q - Q // 2


def phase_of(pair: KeyPair, ciphertexts: Ciphertexts, index: int, engine: Engine) -> list[int]:
    """c0 + c1 s, coefficients in (-q/2, q/2]."""
    secret = coefficients_of(pair.private.secret, engine)
    c0 = coefficients_of(tuple(x[index] for x in ciphertexts.c0), engine)
    c1 = coefficients_of(tuple(x[index] for x in ciphertexts.c1), engine)
    return [centred(x + y) for x, y in zip(c0, multiply(c1, secret), strict=True)]


def near_zero(residues: np.ndarray) -> np.ndarray:
    """Residues (answers, primes, N) about 0."""
    primes = np.array(PRODUCTS.primes, np.int64)[:, np.newaxis]
    signed = residues.astype(np.int64)
    return np.where(signed > primes // 2, signed - primes, signed)


def leave_out_zeros(monkeypatch, engine) -> None:
    """From now on v and e2 are 0: `ring_refresh` takes them as polynomials of small numbers, with e1 between them."""
    refresh = type(engine).ring_refresh

    def add_only_e1(engine, ring, elements, small, pair):
        return refresh(engine, ring, elements, small * np.array([[0], [1], [0]], np.int8), pair)

    monkeypatch.setattr(type(engine), "ring_refresh", add_only_e1)


def chi_square_odds(numbers: np.ndarray) -> float:
    """The odds of bytes as uneven as these, if they were uniform."""
    counts = np.bincount(numbers.ravel().astype(np.int64), minlength=BYTE_BINS)
    mean = numbers.size / BYTE_BINS
    return float(chi2.sf(((counts - mean) ** 2 / mean).sum(), BYTE_BINS - 1))
