"""Bounds of noise and odds of flooding, each as a function; docs/spec/bin-sums.md proves them.

CBD(21) is sub-Gaussian with variance proxy 21/2: E exp(x l) = cosh(l/2)^42 <= exp(21 l^2 / 4). A sum of independent
multiples has the sum of their squares times 21/2 as its proxy, and exceeds sqrt(90 proxy) with odds of at most
2 exp(-45) < 2^-63.
"""

from __future__ import annotations

from math import isqrt, log2
from typing import Final

from hekat.engine.ring.interface import CBD_BOUND

TAIL: Final = 90
# E x^2 of a coefficient is 21/2; a secret or a key's error beyond 12 N is drawn again, which happens once in 2^35 keys.
MAX_MEAN_SQUARE: Final = 12


def max_squared_norm(degree: int) -> int:
    """The most that the squares of the coefficients of a secret, or of a public pair's error, add up to."""
    return MAX_MEAN_SQUARE * degree


def sum_noise_proxy(degree: int, terms: int) -> float:
    """Variance proxy of a re-randomised sum's noise +-e_1 +- ... + v e + e2 s, with `terms` errors of rows."""
    return CBD_BOUND / 2 * (terms + 2 * max_squared_norm(degree))


def sum_noise(degree: int, terms: int) -> int:
    """A bound of that noise, passed with odds below 2^-63 a number."""
    return isqrt(TAIL * CBD_BOUND * (terms + 2 * max_squared_norm(degree)) // 2) + 1


def rounding_noise(degree: int, sent_bits: int) -> int:
    """A bound of what rounding both halves to integers mod 2^sent_bits adds, in units of the rounded numbers.

    c0 adds half a unit. c1 adds r s, r in [-1/2, 1/2] without bias: proxy |s|^2 / 4, passed with odds below 2^-63.
    Floating point moves each r by less than 2^(sent_bits - 50), and the sum of |s_i| is below 4 N.
    """
    of_random = isqrt(TAIL * max_squared_norm(degree) // 4) + 1
    return of_random + (((4 * degree + 1) << sent_bits) >> 50) + 2


def flood_bits(degree: int, terms: int, flood: int) -> float:
    """-log2 of the odds that one number shows anything of its noise under a uniform number below `flood`.

    The distance of x + f from f is |x| / flood, and E |x| <= sqrt(E x^2).
    """
    return log2(flood) - log2(sum_noise_proxy(degree, terms)) / 2
