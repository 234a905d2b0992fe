"""What an exponent of a `crt` randomiser gives away: one alone nothing, two the primes."""

from __future__ import annotations

import gmpy2
import pytest

from hekat.engine.limbs import ints_from_limbs
from hekat.scheme.paillier import PrivateKey, encrypt
from hekat.scheme.paillier.keys.prime_half import PrimeHalf

SMALL_GENERATORS = range(2, 200)


@pytest.fixture
def seen(small, monkeypatch) -> list[tuple[int, int]]:
    """Exponent and ciphertext of two encryptions, as one who watches the look-ups in the table of p has them."""
    exponents = []
    random_below = small.engine.random_below

    def watched(count, bound):
        limbs = random_below(count, bound)
        exponents.append(ints_from_limbs(limbs))
        return limbs

    monkeypatch.setattr(small.engine, "random_below", watched)
    ciphertexts = encrypt(small.keys.private, small.plain([5, -6]), engine=small.engine)
    of_p, of_q = exponents
    assert of_p != of_q
    return list(zip(of_p, ints_from_limbs(ciphertexts.to_limbs()), strict=True))


def test_one_exponent_gives_no_factor(small, seen) -> None:
    """For a small known gamma, gcd(gamma^a - c, n) would be p."""
    n, p = small.keys.public.n, small.keys.private.p
    assert any(gmpy2.jacobi(gamma, p) == -1 for gamma in SMALL_GENERATORS)
    for exponent, c in seen:
        for gamma in SMALL_GENERATORS:
            assert gmpy2.gcd(gmpy2.powmod(gamma, exponent, n) - c, n) == 1


def test_two_exponents_give_the_primes(small, seen) -> None:
    """As SECURITY.md says: they are as secret as the private key."""
    (a, c), (b, d) = seen
    n = small.keys.public.n
    # Modulo q the two powers differ, but with odds of about 2^-255.
    assert gmpy2.gcd(gmpy2.powmod(c, b, n) - gmpy2.powmod(d, a, n), n) == small.keys.private.p


@pytest.mark.parametrize(("p", "q"), [(5, 7), (23, 47), (83, 107)])
def test_every_generator_comes_up_and_nothing_else(p: int, q: int) -> None:
    generators = {g for g in range(1, p) if len({pow(g, i, p) for i in range(p - 1)}) == p - 1}
    # The last of them is missing after this many draws with odds below 10^-9.
    drawn = {ints_from_limbs(PrimeHalf(p, q)._base)[0] % p for _ in range(30 * len(generators))}
    assert drawn == generators


def test_a_key_made_anew_has_a_generator_of_its_own(paillier_keys) -> None:
    p, q = paillier_keys(512).private.p, paillier_keys(512).private.q
    halves = PrimeHalf(p, q), PrimeHalf(p, q)
    assert (halves[0]._base != halves[1]._base).any()


def test_equal_private_keys_are_one_while_they_live(paillier_keys) -> None:
    key = paillier_keys(512).private
    assert PrivateKey(key.p, key.q) is PrivateKey._trusted(key.p, key.q) is key
