"""Discrete Gaussians as the engines draw them: a variance of two small numbers, and the real numbers that draws meet.

Real numbers are known by brackets: integers that enclose a number times a power of two, as closely as asked. So a
comparison with a uniform number is exact, whatever an engine computes with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt

from hekat.errors import InputError

BLOCK_NUMBERS = 1024
BASE_BITS = 32
MIN_BASE, MAX_BASE = 4 << BASE_BITS, 16 << BASE_BITS
MAX_DOUBLINGS = 40
MAX_VARIANCE = 8 << 2 * MAX_DOUBLINGS
# Numbers beyond so many s are not drawn: the uncut law gives them less than this chance, for any s from 2 on.
CUT = 10
CUT_CHANCE = 1e-22
WORD_BITS = 64
# Beyond those asked for, so that roundings of the terms leave a bracket of at most two units.
GUARD_BITS = 24

Bracket = tuple[int, int]


@dataclass(frozen=True)
class DiscreteGaussian:
    """The law on the integers x with |x| <= `limit` = floor(10 s) in proportion to exp(-x^2 / (2 s^2)).

    s = 2^doublings s0 with s0^2 = base / 2^32 in [4, 16), so every s^2 has one form. It is within `CUT_CHANCE` of the
    uncut law in total variation, and its variance is s^2 to one part in 10^20. Source: Canonne, Kamath, Steinke 2020.

    Attributes:
        base: s0^2 in units of 2^-32, from 2^34 to 2^36 - 1.
        doublings: k, from 0 to 40.

    Raises:
        InputError: One of the two is out of range.
    """

    base: int
    doublings: int

    def __post_init__(self) -> None:
        if not MIN_BASE <= self.base < MAX_BASE:
            expected = f"{MIN_BASE} to {MAX_BASE - 1}, units of 2^-{BASE_BITS}"
            raise InputError("base variance of a discrete Gaussian refused", expected=expected, got=str(self.base))
        if not 0 <= self.doublings <= MAX_DOUBLINGS:
            expected = f"0 to {MAX_DOUBLINGS}"
            raise InputError("doublings of a discrete Gaussian refused", expected=expected, got=str(self.doublings))

    @classmethod
    def of_at_least(cls, variance: Fraction) -> DiscreteGaussian:
        """The one of the least s^2 that is not below `variance`: more by one part in 2^34 at most.

        Args:
            variance: s^2 asked for, from 4 to 2^83.

        Raises:
            InputError: The variance is out of range.

        Examples:
            >>> from fractions import Fraction
            >>> law = DiscreteGaussian.of_at_least(Fraction(1000, 3))
            >>> law.doublings, law.variance >= Fraction(1000, 3), law.limit
            (3, True, 182)
        """
        if not 4 <= variance <= MAX_VARIANCE:
            shown = "less than 4" if variance < 4 else f"more than 2^{MAX_VARIANCE.bit_length() - 1}"
            expected = f"4 to 2^{MAX_VARIANCE.bit_length() - 1}"
            raise InputError("variance of a discrete Gaussian refused", expected=expected, got=shown)
        doublings = 0
        while (base := ceil(variance * (1 << BASE_BITS) / 4**doublings)) >= MAX_BASE:
            doublings += 1
        return cls(base, doublings)

    @property
    def variance(self) -> Fraction:
        """s^2, exactly."""
        return Fraction(self.base << 2 * self.doublings, 1 << BASE_BITS)

    @property
    def limit(self) -> int:
        """floor(10 s): no number is larger."""
        return isqrt(CUT * CUT * self.base << 2 * self.doublings >> BASE_BITS)

    @property
    def base_limit(self) -> int:
        """Z = floor(10 s0)."""
        return isqrt(CUT * CUT * self.base >> BASE_BITS)


def bracket_exp(numerator: int, denominator: int, bits: int) -> Bracket:
    """Integers low <= 2^bits exp(-numerator / denominator) <= high, at most two apart, for a quotient from 0 to 64.

    The terms of exp(+x) are positive: each sum of terms rounded down is below it, each of terms rounded up and twice
    the last above, once terms halve.
    """
    if not numerator:
        return 1 << bits, 1 << bits
    one = 1 << bits + GUARD_BITS
    low = high = low_term = high_term = one
    n = 0
    while high_term > 1 or n * denominator < 2 * numerator:
        n += 1
        low_term = low_term * numerator // (n * denominator)
        high_term = -(-high_term * numerator // (n * denominator))
        low, high = low + low_term, high + high_term
    high += high_term
    return (one << bits) // high, -((-one << bits) // low)


@lru_cache(maxsize=64)
def bracket_table(base: int, bits: int) -> tuple[Bracket, ...]:
    """Brackets of 2^bits C_j for j from 0 to Z - 1.

    C_j is the chance of at most j under the law on 0 to Z in proportion to exp(-j^2 / (2 s0^2)).
    """
    law = DiscreteGaussian(base, 0)
    weights = [bracket_exp(j * j << BASE_BITS - 1, base, bits + GUARD_BITS) for j in range(law.base_limit + 1)]
    total_low, total_high = sum(low for low, _ in weights), sum(high for _, high in weights)
    table, low, high = [], 0, 0
    for each_low, each_high in weights[:-1]:
        low, high = low + each_low, high + each_high
        table.append(((low << bits) // total_high, -((-high << bits) // total_low)))
    return tuple(table)


@lru_cache(maxsize=64)
def floor_table(base: int) -> tuple[int, ...]:
    """floor(2^64 C_j), ascending, up to the first that is 2^64 - 1: later ones are equal."""
    words: list[int] = []
    for j in range(len(bracket_table(base, WORD_BITS))):
        beyond = WORD_BITS
        while (word := bracket_table(base, WORD_BITS + beyond)[j][0] >> beyond) != bracket_table(
            base, WORD_BITS + beyond
        )[j][1] >> beyond:
            beyond += WORD_BITS
        words.append(word)
        if word == (1 << WORD_BITS) - 1:
            break
    return tuple(words)


def is_below(word: int, further: Callable[[], Iterator[int]], bracket: Callable[[int], Bracket]) -> bool:
    """Whether a uniform number of [0, 1) is below another real number, exactly.

    `word` is its first 64 binary digits; `further()` are the words of the digits that follow, read where the first do
    not tell. `bracket(bits)` encloses the other number times 2^bits.
    """
    digits, bits = word, WORD_BITS
    words: Iterator[int] | None = None
    while True:
        low, high = bracket(bits)
        if digits + 1 <= low:
            return True
        if digits >= high:
            return False
        words = further() if words is None else words
        digits, bits = digits << WORD_BITS | next(words), bits + WORD_BITS
