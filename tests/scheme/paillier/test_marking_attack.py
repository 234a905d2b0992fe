"""A key holder who marks one ciphertext by its randomiser's symbol must not find it again after re-randomising.

The game: the attacker holds p and q and makes two encryptions of zero, one with a randomiser of a symbol that it
chose. The other side flips a coin, re-randomises the one or the other and returns it; the attacker guesses the coin.
"""

from __future__ import annotations

import secrets
from math import comb

import gmpy2
import numpy as np
import pytest

from hekat.engine.limbs import ints_from_limbs, limbs_from_ints
from hekat.scheme.paillier import Ciphertexts, rerandomise
from hekat.scheme.paillier.randomiser import djn_randomisers

ROUND_COUNT = 200
# Odds that a fair coin fails this test.
CHANCE = 1e-12


def most_lucky_guesses(rounds, chance):
    """The least k with P(at least k of `rounds` fair coins guessed) < chance."""
    tail, k = 0, rounds + 1
    while tail + comb(rounds, k - 1) < chance * 2**rounds:
        k -= 1
        tail += comb(rounds, k)
    return k


def symbols(key):
    """The three characters a key holder can read: mod p, mod q, and mod n (their product)."""
    return {
        "jacobi mod n": lambda r: gmpy2.jacobi(r, key.public.n),
        "legendre mod p": lambda r: gmpy2.jacobi(r, key.p),
        "legendre mod q": lambda r: gmpy2.jacobi(r, key.q),
    }


def encryption_of_zero(key, symbol, sign):
    n = key.public.n
    while True:
        r = secrets.randbelow(n - 1) + 1
        if symbol(r) == sign:
            return int(gmpy2.powmod(r, n, n * n))


def by_djn(c, key=None):
    """As answers were re-randomised at first: h_s^a alone, without the other cosets."""
    return Ciphertexts(c.public, c.engine.mod_mul(c.residues, djn_randomisers(c.public, c.size, c.engine)))


def play(setting, symbol, renew=rerandomise, key=None):
    """Right guesses of ROUND_COUNT; r^n has the symbols of r, n being odd."""
    public = setting.keys.public
    coins = [secrets.randbits(1) for _ in range(ROUND_COUNT)]
    chosen = [encryption_of_zero(setting.keys.private, symbol, -1 if coin else 1) for coin in coins]
    limbs = limbs_from_ints(chosen, public.n_squared.limb_count)
    returned = renew(Ciphertexts.from_limbs(public, limbs, setting.engine), key)
    guesses = [symbol(c % public.n) == -1 for c in ints_from_limbs(returned.to_limbs())]
    return int(np.sum(np.array(guesses) == np.array(coins, bool)))


def test_the_bound_on_luck():
    assert most_lucky_guesses(1, 0.6) == 1
    assert most_lucky_guesses(2, 0.3) == 2
    k = most_lucky_guesses(200, 1e-6)
    at_least = [sum(comb(200, i) for i in range(least, 201)) / 2**200 for least in (k, k - 1)]
    assert at_least[0] < 1e-6 <= at_least[1]


def test_djn_alone_is_followed_every_time(small):
    symbol = symbols(small.keys.private)["jacobi mod n"]
    assert play(small, symbol, by_djn) == ROUND_COUNT


@pytest.mark.parametrize("name", ["jacobi mod n", "legendre mod p", "legendre mod q"])
@pytest.mark.parametrize("with_private_key", [False, True])
def test_the_default_gives_no_better_than_chance(small, name, with_private_key):
    key = small.keys.private if with_private_key else None
    right = play(small, symbols(small.keys.private)[name], key=key)
    limit = most_lucky_guesses(ROUND_COUNT, CHANCE)
    # Always guessing wrong would tell as much as always guessing right.
    assert ROUND_COUNT - limit < right < limit
