"""Engines, a key pair in each, and ring arithmetic by big integers, which knows nothing of transforms and primes."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest

from hekat.engine.interface import Engine
from hekat.engine.select import READY, available_engines, get_engine
from hekat.scheme.bfv import PRODUCTS, Ciphertexts, KeyPair, generate_keys
from hekat.scheme.bfv.elements import Elements, integers_of_residues, transform_back

N, Q = PRODUCTS.degree, PRODUCTS.modulus


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
