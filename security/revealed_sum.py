"""What an attacker faces who knows the sum of the honest parties' secrets: LWE with narrower secrets and errors."""

from __future__ import annotations

from math import comb, log2, sqrt

from reduction import Instance

CBD_BOUND = 21
HONEST_PARTIES = 2


def deviation(bound: int = CBD_BOUND, honest: int = HONEST_PARTIES) -> float:
    """Standard deviation of one of `honest` values of CBD(`bound`) to whoever knows their sum.

    The variance of one of h independent, equally distributed values given their sum is on average (1 - 1/h) of its own:
    for two values of variance bound/2 it is bound/4. `conditional_variances` has it sum by sum.
    """
    return sqrt(bound / 2 * (1 - 1 / honest))


def conditional_variances(bound: int = CBD_BOUND) -> list[tuple[float, float]]:
    """(probability, variance of either value) for every sum of two values of CBD(`bound`).

    A value is the number of ones in 2 `bound` fair bits, less `bound`. Given k ones in the 4 `bound` bits of both, the
    first has a hypergeometric number of them, with variance k (4 bound - k) / (4 (4 bound - 1)).
    """
    bits = 4 * bound
    return [(comb(bits, ones) / 2**bits, ones * (bits - ones) / (4 * (bits - 1))) for ones in range(bits + 1)]


def lwe(degree: int, modulus: int, honest: int = HONEST_PARTIES) -> Instance:
    """The instance of one honest party's upload: as many samples as wanted, for one secret masks many chunks."""
    spread = deviation(honest=honest)
    return Instance(degree, log2(modulus), spread, spread)


def ternary_lwe(degree: int, modulus: int) -> Instance:
    """The same with uniform ternary secrets, which the scheme must not use: two ninths of the coordinates are told.

    Of two such secrets, a sum of 2 or -2 (2/9) gives both away; 1 or -1 (4/9) leaves variance 1/4, 0 (1/3) leaves 2/3.
    """
    unknown = round(degree * 7 / 9)
    return Instance(unknown, log2(modulus), sqrt((4 / 9 * 1 / 4 + 1 / 3 * 2 / 3) / (7 / 9)), deviation())
