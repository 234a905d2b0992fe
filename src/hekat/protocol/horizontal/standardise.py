"""Mean and spread of every column over all parties' rows, from encrypted sums; no party's own moments are seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.errors import InputError
from hekat.protocol.horizontal.aggregation import Aggregation, Counter, FloatArray
from hekat.protocol.horizontal.clipping import LEAST_EXPONENT, MOST_EXPONENT, exponents_of

# Moments are sent once, so they get the widest lanes a codec has.
MOMENT_BITS = 32
# Below this share of a column's largest magnitude a spread is not told apart from rounding (32-bit values).
LEAST_RELATIVE_SPREAD = 2.0**-14


@dataclass(frozen=True)
class Standardiser:
    """x -> (x - mean) / spread, column by column; a constant column has spread 1."""

    mean: FloatArray
    spread: FloatArray

    def apply(self, features: FloatArray) -> FloatArray:
        return (features - self.mean) / self.spread


def fit_standardiser(aggregation: Aggregation, features: FloatArray) -> Standardiser:
    """Agree on a Standardiser with all parties.

    1. how many parties have each power of two as their largest magnitude of a column (counters);
    2. the weighted mean of each column, scaled to [-1, 1] by the largest of those powers;
    3. the weighted mean of the squares around it.

    Parties learn the three sums; the aggregator learns nothing. Raises InputError for a column beyond 2^40.
    """
    row_count = features.shape[0]
    scale = _agree_on_scale(aggregation, features)
    means = (features / scale).mean(axis=0)
    mean = aggregation.weighted_mean(
        "standardise/mean", {"mean": means}, {"mean": 1.0}, row_count, value_bits=MOMENT_BITS
    ).mean["mean"]
    squares = (((features / scale) - mean) ** 2).mean(axis=0)
    variance = aggregation.weighted_mean(
        "standardise/variance", {"square": squares}, {"square": 4.0}, row_count, value_bits=MOMENT_BITS
    ).mean["square"]
    spread = np.sqrt(np.maximum(variance, 0.0))
    constant = spread < LEAST_RELATIVE_SPREAD
    return Standardiser(mean * scale, np.where(constant, 1.0, spread * scale))


def _agree_on_scale(aggregation: Aggregation, features: FloatArray) -> FloatArray:
    """Each column's largest power of two over all parties, shape (columns,)."""
    largest = np.maximum(exponents_of(np.abs(features).max(axis=0)), LEAST_EXPONENT)
    too_large = np.flatnonzero(largest > MOST_EXPONENT)
    if too_large.size:
        raise InputError(
            f"column {int(too_large[0])} has values too large to standardise",
            expected=f"magnitudes up to 2^{MOST_EXPONENT}",
            got="a larger one",
            cure="change the column's unit",
        )
    exponents = range(LEAST_EXPONENT, MOST_EXPONENT + 1)
    counters = [
        Counter(f"{column}/{exponent}", int(largest[column] == exponent), maximum=1)
        for column in range(features.shape[1])
        for exponent in exponents
    ]
    sums = aggregation.sum_counters("standardise/scale", counters)
    top = [max(e for e in exponents if sums[f"{column}/{e}"] > 0) for column in range(features.shape[1])]
    return np.exp2(np.array(top, dtype=np.float64))
