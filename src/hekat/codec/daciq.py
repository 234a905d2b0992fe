"""Estimates the clipping bound with the smallest error, from a layer's range and size alone (dACIQ)."""

from __future__ import annotations

import math

import numpy as np

from hekat.codec.clip import FloatArray, check_alpha, fall_back
from hekat.codec.quantise import check_value_bits, level_interval_count
from hekat.errors import InputError

# From this width on, rounding error is even over its interval to better than 1e-9 of alpha (tested).
_SMOOTH_BITS = 11
_QUADRATURE_NODES = 40
_BISECTION_STEPS = 80

# alpha / sigma for 1 to 32 bits: derive_daciq_ratio(bits), rounded to nine decimals.
# fmt: off
DACIQ_RATIO: tuple[float, ...] = (
    0.647142820, 1.017402086, 1.726359310, 2.266936122, 2.710391831, 3.096428513, 3.445427840, 3.768070989,
    4.070388828, 4.356127050, 4.627837890, 4.887396429, 5.136257487, 5.375592855, 5.606370821, 5.829406112,
    6.045393500, 6.254931719, 6.458541204, 6.656677657, 6.849742681, 7.038092234, 7.222043469, 7.401880314,
    7.577858065, 7.750207212, 7.919136629, 8.084836273, 8.247479461, 8.407224813, 8.564217918, 8.718592765,
)
# fmt: on


def _rounding_slope(ratio: float, bits: int) -> float:
    """d/d(ratio) of the stochastic rounding term of Eq. 1 for sigma = 1 and alpha = ratio."""
    intervals = level_interval_count(bits)
    density = math.exp(-ratio * ratio / 2) / math.sqrt(2 * math.pi)
    if bits >= _SMOOTH_BITS:
        # (x - q_i)(q_{i+1} - x) averages to Delta^2 / 6: the term is (2 ratio / intervals)^2 / 6 * P(|X| < ratio).
        inside = math.erf(ratio / math.sqrt(2))
        return (2 / intervals) ** 2 / 6 * (2 * ratio * inside + 2 * ratio * ratio * density)
    # With x = ratio * t the levels stand still: the term is ratio^3 * integral of f(ratio t) (t - t_i)(t_{i+1} - t).
    nodes, weights = np.polynomial.legendre.leggauss(_QUADRATURE_NODES)
    width = 2.0 / intervals
    starts: FloatArray = -1.0 + width * np.arange(intervals, dtype=np.float64)[:, None]
    offset: FloatArray = (nodes[None, :] + 1.0) * (width / 2)
    t = starts + offset
    f = np.exp(-0.5 * (ratio * t) ** 2) / math.sqrt(2 * math.pi)
    integrand = f * offset * (width - offset) * (3 * ratio**2 - ratio**4 * t**2)
    return float(np.sum(integrand * weights[None, :]) * (width / 2))


def _clipping_slope(ratio: float) -> float:
    """d/d(ratio) of both clipping tails of Eq. 1 for sigma = 1: minus 4 times the integral of f(x)(x - ratio)."""
    density = math.exp(-ratio * ratio / 2) / math.sqrt(2 * math.pi)
    tail = math.erfc(ratio / math.sqrt(2)) / 2
    return -4 * (density - ratio * tail)


def derive_daciq_ratio(bits: int) -> float:
    """The alpha / sigma that minimises the mean squared error of clipping and stochastic rounding, Gaussian values.

    Found by bisection on the derivative of the integrals of Eq. 1 themselves, with the levels this package uses:
    2^bits - 2 intervals of Delta = 2 alpha / (2^bits - 2) (one interval of 2 alpha for one bit).

    The closed form printed below those integrals is not equal to them: its clipping part
    (alpha^2 + sigma^2)/2 * [1 - erf] - alpha sigma exp(..)/sqrt(2 pi) is one tail, where the integrals have two; its
    rounding part 2 alpha^2 (2^r - 2) / (3 * 2^(3r)) takes Delta = 2 alpha / 2^r and a uniform density, where the
    integrals give Delta^2 / 6 * P(|X| < alpha) to leading order. Its minimum lies higher for 2 and 3 bits (1.478 and
    1.805 against 1.017 and 1.726) and lower from 4 bits on (3.617 against 3.768 at 8); we do not use it.

    Source: BatchCrypt (ATC 2020), section 4.3, Eq. 1.
    """
    check_value_bits(bits)
    low, high = 0.05, 20.0
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        if _clipping_slope(middle) + _rounding_slope(middle, bits) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def daciq_sigma(minimum: float, maximum: float, sample_count: int) -> float:
    """The standard deviation of a Gaussian whose `sample_count` > 1 draws spanned [minimum, maximum].

    Source: BatchCrypt (ATC 2020), section 4.3, "Gaussian fitting".
    """
    constant = 0.175 * (1 + math.sqrt(math.pi * math.log(4)))
    return (maximum - minimum) * constant / math.sqrt(2 * math.log(sample_count))


def daciq_alpha(
    minimum: float, maximum: float, count: int, party_count: int, bits: int, *, fixed_alpha: float | None = None
) -> float:
    """The clipping bound for one layer from the parties' joint minimum, maximum and size.

    `count` is the number of values in the layer, and each of `party_count` parties holds such a layer. A single value,
    or minimum = maximum, says nothing about the spread: then the result is `fixed_alpha`. To quantise for a sum
    ("advance scaling"), clip at alpha and quantise over party_count * alpha.

    Raises InputError for a range that is not finite and ordered, for counts below 1, for bits outside 1 to 32, and
    where `fixed_alpha` is needed and not given.
    Source: BatchCrypt (ATC 2020), section 4.3.
    """
    check_value_bits(bits)
    if not (math.isfinite(minimum) and math.isfinite(maximum) and minimum <= maximum):
        raise InputError(
            "the range of a layer was refused",
            expected="finite minimum <= maximum",
            got="a range that is not",
            cure="take both over the same finite values",
        )
    if count < 1 or party_count < 1:
        raise InputError(
            "the size of a layer was refused",
            expected="at least 1 value and 1 party",
            got=f"{count} values and {party_count} parties",
        )
    if count * party_count == 1 or minimum == maximum:
        return fall_back(fixed_alpha, "one value only" if minimum != maximum else "a range of width zero")
    return check_alpha(DACIQ_RATIO[bits - 1] * daciq_sigma(minimum, maximum, count * party_count))
