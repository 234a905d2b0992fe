"""The attack of Li and Micciancio on shared results: two raw ones give the key away, two rounded ones do not.

Real values are the half sums of a polynomial m and its conjugate, m(1/X), so a result tells m + conj(m) = c0 + c1 s +
conj(c0 + c1 s). In transformed form conjugation turns the order of the N numbers around: two results are two equations
for each pair s[j], s[N - 1 - j]. Source: Li and Micciancio (EUROCRYPT 2021), section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hekat.scheme.ckks import FEDML_HE, KeyPair, Sharing, decrypt, encrypt
from hekat.scheme.ckks.seal import load_library


def numbers_of(thing: Any, count: int) -> list[int]:
    return [thing[index] for index in range(count)]


def recover_key(keys: KeyPair, sharing: Sharing) -> list[int]:
    """The key modulo the first prime, from ciphertexts of zeros and what `sharing` gives out of them."""
    context, degree = keys.public.context, FEDML_HE.degree
    prime = context.primes[0]
    rows = []
    for _ in range(2):
        encrypted = encrypt(keys.public, np.zeros(FEDML_HE.batch))
        shared, plain = decrypt(keys.private, encrypted, sharing), load_library().Plaintext()
        context.encoder.encode((2 * shared).tolist(), FEDML_HE.scale, plain)
        # Numbers lie polynomial by polynomial, prime by prime.
        numbers = numbers_of(encrypted.chunks[0], 3 * degree)
        c0, c1, told = numbers[:degree], numbers[2 * degree :], numbers_of(plain, degree)
        rows.append([(c1[j], c1[-1 - j], told[j] - c0[j] - c0[-1 - j]) for j in range(degree)])
    key = []
    for (a, b, u), (c, d, v) in zip(*rows, strict=True):
        key.append((u * d - v * b) * pow(a * d - b * c, -1, prime) % prime)
    return key


@pytest.mark.parametrize(("sharing", "broken"), [("raw_reveals_key", True), ("rounding", False)])
def test_shared_results_and_the_key(keys: KeyPair, sharing: Sharing, broken: bool) -> None:
    prime, degree = keys.public.context.primes[0], FEDML_HE.degree
    key = recover_key(keys, sharing)
    # An update of somebody else, opened without the private key: c0 + c1 s is what SEAL's decryptor finds.
    update, plain = encrypt(keys.public, np.linspace(-1, 1, FEDML_HE.batch)), load_library().Plaintext()
    keys.private.decryptor().decrypt(update.chunks[0], plain)
    numbers = numbers_of(update.chunks[0], 3 * degree)
    opened = [(numbers[j] + numbers[2 * degree + j] * key[j]) % prime for j in range(degree)]
    assert (opened == numbers_of(plain, degree)) is broken
