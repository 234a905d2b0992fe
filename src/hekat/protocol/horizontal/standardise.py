"""Mean and spread of every column over all parties' rows, from encrypted sums; no party's own moments are seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.errors import InputError
from hekat.protocol.horizontal.aggregation import Aggregation, Counter, FloatArray
from hekat.protocol.horizontal.clipping import LEAST_EXPONENT, MOST_EXPONENT, exponents_of

# Moments are sent once, so they get the widest lanes a codec has.
MOMENT_BITS = 32
# Below this, in units of a column's largest power of two squared, a variance is not told apart from rounding: 2^-31 is
# what 32-bit lanes leave uncertain for each party.
LEAST_VARIANCE = 2.0**-28
LEAST_VARIANCE_PER_PARTY = 2.0**-29
# A party's mean square around the common mean, times its share s of the rows, is at most 1 / (2 - s) for values in
# [-1, 1]; twice that leaves room for the rounding of the mean.
SQUARE_BOUND = 2.0


@dataclass(frozen=True)
class Standardiser:
    """x -> (x - mean) / spread, column by column; a constant column has spread 1."""

    mean: FloatArray
    spread: FloatArray

    def apply(self, features: FloatArray) -> FloatArray:
        return (features - self.mean) / self.spread


@dataclass(frozen=True)
class _Ranges:
    """What the first sum tells: each column's largest power of two, and how many rows and parties there are."""

    scale: FloatArray
    row_count: int
    party_count: int


def fit_standardiser(aggregation: Aggregation, features: FloatArray, weight_max: int) -> Standardiser:
    """Agree on a Standardiser with all parties.

    1. how many parties have each power of two as their largest magnitude of a column, and all rows (counters);
    2. the weighted mean of each column, scaled to [-1, 1] by the largest of those powers;
    3. the weighted mean of the squares around it.

    Parties learn the three sums; the aggregator learns nothing. Raises InputError for a column beyond 2^40.
    """
    row_count = features.shape[0]
    ranges = _agree_on_ranges(aggregation, features, weight_max)
    scaled = features / ranges.scale
    # No party has more rows than all together: so precision does not depend on how generous weight_max is.
    share = min(1.0, ranges.row_count / weight_max)
    mean = aggregation.weighted_mean(
        "standardise/mean", {"mean": scaled.mean(axis=0)}, {"mean": share}, row_count, value_bits=MOMENT_BITS
    ).mean["mean"]
    squares = ((scaled - mean) ** 2).mean(axis=0)
    variance = aggregation.weighted_mean(
        "standardise/variance",
        {"square": squares},
        {"square": SQUARE_BOUND * share},
        row_count,
        value_bits=MOMENT_BITS,
    ).mean["square"]
    constant = variance < max(LEAST_VARIANCE, LEAST_VARIANCE_PER_PARTY * ranges.party_count)
    spread = np.sqrt(np.maximum(variance, 0.0))
    return Standardiser(mean * ranges.scale, np.where(constant, 1.0, spread * ranges.scale))


def _agree_on_ranges(aggregation: Aggregation, features: FloatArray, weight_max: int) -> _Ranges:
    largest = np.maximum(exponents_of(np.abs(features).max(axis=0)), LEAST_EXPONENT)
    too_large = np.flatnonzero(largest > MOST_EXPONENT)
    if too_large.size:
        raise InputError(
            f"column {int(too_large[0]) + 1} has values too large to standardise",
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
    counters.append(Counter("rows", features.shape[0], maximum=weight_max))
    sums = aggregation.sum_counters("standardise/scale", counters)
    top = [max(e for e in exponents if sums[f"{column}/{e}"] > 0) for column in range(features.shape[1])]
    return _Ranges(
        scale=np.ldexp(1.0, np.array(top, dtype=np.int64)),
        row_count=sums["rows"],
        party_count=sum(sums[f"0/{exponent}"] for exponent in exponents),
    )
