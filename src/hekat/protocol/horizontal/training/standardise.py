"""Mean and spread of every column over all parties' rows, from encrypted sums; no party's own moments are seen.

The same sums are taken for sparse rows, including their omitted zeros, and parties learn the same. Only the spread is
used: subtracting a mean would leave no zeros, so sparse rows are scaled and not centred.

Labels of a network that predicts numbers are one column more of the same sums: its first weights suit labels of mean 0
and spread 1.

Columns that are 0 or 1 by the job's description of them, as its categories are, have a known range. Of these the number
of ones over all rows is summed, which gives both moments exactly, and nothing by which parties could be counted that
have a category: neither yes-or-no counters nor means, whose rounding is off by up to one unit for each such party.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.codec.clip import FloatArray
from hekat.codec.counters import HIDING_BITS, IntArray
from hekat.data import Features, is_dense
from hekat.data.columns.fill_in import fill_in
from hekat.data.columns.moments import (
    column_means,
    column_sums,
    deviation_moments,
    largest_deviations,
    largest_magnitudes,
)
from hekat.errors import InputError
from hekat.model import Model
from hekat.model.network import DenseModel
from hekat.protocol.secure_sum.aggregation import Aggregate, Aggregation, Counter, SumRequest, sum_counters
from hekat.protocol.secure_sum.exponents import LEAST_EXPONENT, MOST_EXPONENT, exponents_of
from hekat.protocol.secure_sum.streamed_tensor import Tensors
from hekat.protocol.secure_sum.update_codec import check_total

STANDARDISE_STEPS = ("standardise/scale", "standardise/mean", "standardise/deviation", "standardise/variance")
"""The sums in their order; the aggregator serves them by these names."""

# Moments are sent once, so they get the widest slots a codec has; parties agree on powers of two by yes or no. Where a
# count of rows stands beside these, slots are as wide as its digits need to be hidden.
MOMENT_BITS = 32
FLAG_BITS = 1
FLAG_AND_COUNT_BITS = HIDING_BITS
# Deviations from the mean, in units of the column's largest power of two: none is above 2, and the mean's own
# rounding hides those below 2^-32.
LEAST_DEVIATION = -32
MOST_DEVIATION = 1
# A column that is constant deviates from the agreed mean by the mean's rounding, in the same units for each party:
# stochastic rounding of 32-bit slots is off by 2^-31, and powers of two round that up.
MEAN_RESOLUTION_PER_PARTY = 2.0**-30
# Below this, in units of the squared deviation scale, a variance cannot be told from rounding: for each party
# 32-bit slots leave 2^-31 of it uncertain, and twice that by the mean that it is taken around.
LEAST_VARIANCE = 2.0**-28
LEAST_VARIANCE_PER_PARTY = 2.0**-29
DOMINATED_SHARE = 0.2
# In fewer rows one of them may well make up a fifth of the variance.
LEAST_ROWS_TO_JUDGE = 50
# A party's rows lie apart where its mean is so many times both spreads together from the mean of all other rows:
# hardly a row lies among the others' rows, as with another unit.
APART_TIMES = 2.0
# Fewer rows than this, here or at all others, have no spread to speak of.
_LEAST_ROWS_APART = 10


@dataclass(frozen=True)
class LabelUnit:
    """The mean of all parties' labels and their spread, 1 where all are equal: a network learns (y - mean) / spread."""

    mean: float
    spread: float


@dataclass(frozen=True)
class Standardiser:
    """x -> (x - mean) / spread, column by column; a constant column has spread 1. For sparse rows the mean is 0.

    `fill` stands for empty cells, which are NaN, by column; None where tables have none. `label` is None where the
    model learns labels as they are.
    """

    mean: FloatArray
    spread: FloatArray
    fill: FloatArray | None = None
    label: LabelUnit | None = None

    @property
    def loss_unit(self) -> float:
        """What a mean square of standardised labels is multiplied by to be one of labels as they are."""
        return 1.0 if self.label is None else self.label.spread**2

    def apply_to_labels(self, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Labels as the model learns them, shape (rows,)."""
        return labels if self.label is None else np.asarray((labels - self.label.mean) / self.label.spread)

    def in_label_units(self, model: Model, parameters: Tensors) -> Tensors:
        """Parameters of the same model that answers in the labels' own unit; `parameters` where these already do."""
        if self.label is None:
            return parameters
        assert isinstance(model, DenseModel)  # no other model learns standardised labels
        return model.rescale_outputs(parameters, self.label.mean, self.label.spread)

    def apply(self, features: Features) -> Features:
        """The filled and scaled features, dense or sparse as they are. Raises InputError for sparse rows and a mean
        that is not 0.

        For sparse rows the values are new; their places are shared with `features`.
        """
        features = fill_in(features, self.fill)
        if is_dense(features):
            return np.asarray((features - self.mean) / self.spread)
        if self.mean.any():
            raise InputError(
                "sparse rows cannot be centred",
                expected="dense rows, or a model that was trained on sparse ones",
                got="sparse rows and means that are not 0",
                cure="use sparse = true where the model is trained, or dense rows here",
            )
        scaled = features.copy()
        scaled.data = features.data / self.spread[features.indices]
        return scaled


@dataclass(frozen=True)
class ColumnFindings:
    """What the same sums tell of columns, by their numbers: `constant` ones hold one value in every row of all parties;
    in a `dominated` one a single row makes up DOMINATED_SHARE of the variance over all rows, or more; in one `apart`
    the party's own rows lie beside the rows of all others. Each party finds `apart` for itself, the others all alike.
    """

    constant: tuple[int, ...] = ()
    dominated: tuple[int, ...] = ()
    apart: tuple[int, ...] = ()


@dataclass(frozen=True)
class Reach:
    """How far standardised values go: over all `row_count` rows no column's mean square is above `mean_square`, shape
    (columns,), whatever sums rounded. So no party's sum of squares is above row_count * mean_square."""

    row_count: int
    mean_square: FloatArray = field(repr=False)

    def units(self, room: float) -> FloatArray:
        """For each column the least power of two whose square, and the part `room` of it, is no less."""
        return np.ldexp(1.0, exponents_of(np.sqrt(self.mean_square / (1.0 + room))))


@dataclass(frozen=True)
class _Ranges:
    """What the first sum tells: each column's largest power of two, and how many rows and parties there are."""

    scale: FloatArray
    row_count: int
    party_count: int


def fit_standardiser(
    aggregation: Aggregation,
    features: Features,
    weight_max: int,
    *,
    indicators: Sequence[int] = (),
    labels: FloatArray | None = None,
    on_columns: Callable[[ColumnFindings], None] = lambda found: None,
) -> tuple[Standardiser, Reach]:
    """Agree on a Standardiser with all parties; `on_columns` gets what the same sums tell of columns.

    `indicators` are the numbers of columns that are 0 or 1 at every party, as the job has it; they are in the second
    sum alone. `labels`, shape (rows,), are the last column of each sum where the model learns standardised ones.

    1. how many parties have each power of two as their largest magnitude of a column, and all rows (counters);
    2. the weighted mean of each column, scaled to [-1, 1] by the largest of those powers; of indicators the number of
       ones (counters);
    3. how many parties have each power of two as their largest deviation from that mean (counters);
    4. the weighted means of deviations and of their squares, scaled to [-1, 1] by the largest of those: so the spread
       is as exact beside a large mean as beside none, and the mean is refined.

    Parties learn the four sums; the aggregator learns nothing. Raises InputError for a column beyond 2^40.
    """
    row_count, column_count = features.shape
    ones = np.array(indicators, dtype=np.int64)
    numbers = np.delete(np.arange(column_count), ones)
    blocks = [features[:, numbers] if ones.size else features]
    if labels is not None:
        numbers, blocks = np.append(numbers, column_count), [*blocks, labels[:, np.newaxis]]
    ranges = _agree_on_ranges(aggregation, blocks, numbers, column_count, weight_max)
    # No party has more rows than all together, so precision does not depend on a generous weight_max.
    share = min(1.0, ranges.row_count / weight_max)
    means = {"mean": _of_all(column_means, blocks, ranges.scale)}
    counters = counters_of_ones(features, ones, weight_max)
    summed = _sum_moments(aggregation, "standardise/mean", means, share, row_count, counters)
    rough = summed.mean["mean"] * ranges.scale
    parts = shares_of_ones(summed.counters, ones, summed.weight_sum)
    deviations = _of_all(largest_deviations, blocks, rough, ranges.scale)
    deviation_scale = _agree_on_deviations(aggregation, deviations, numbers)
    unit = deviation_scale * ranges.scale
    offset, square = _of_all(deviation_moments, blocks, rough, unit)
    squares = {"offset": offset, "square": square}
    summed = _sum_moments(aggregation, "standardise/variance", squares, share, row_count)
    moments = summed.mean
    variance = moments["square"] - moments["offset"] ** 2
    spread = _spread_of(variance, deviation_scale, ranges)
    dominated = _find_dominated(variance, spread, ranges) if is_dense(features) else ()
    apart = _find_apart((offset, square), row_count, summed, ranges) if is_dense(features) else ()
    rounding = _resolution_of(ranges)
    # From here on all columns, and after them the labels.
    order = np.argsort([*numbers, *ones])
    mean = np.concatenate([rough + moments["offset"] * unit, parts])[order]
    spread = np.concatenate([spread * unit, np.sqrt(parts * (1.0 - parts))])[order]
    most = np.concatenate([(np.maximum(variance, 0.0) + rounding) * unit**2, parts * (1.0 - parts)])[order]
    constant = np.flatnonzero(spread[:column_count] == 0)
    named = [tuple(c for c in numbers[list(found)].tolist() if c < column_count) for found in (dominated, apart)]
    on_columns(ColumnFindings(tuple(constant.tolist()), *named))
    spread = np.where(spread == 0, 1.0, spread)
    label = None if labels is None else LabelUnit(float(mean[-1]), float(spread[-1]))
    mean, spread, most = mean[:column_count], spread[:column_count], most[:column_count]
    if not is_dense(features):
        # Values are not centred, so their squares are around 0.
        unsure = np.concatenate([rounding * unit, np.zeros(ones.size)])[order][:column_count]
        most, mean = most + (np.abs(mean) + unsure) ** 2, np.zeros(column_count)
    # Of constant columns the bound is of what is left by rounding: there is nothing to look at closely.
    return Standardiser(mean, spread, label=label), Reach(ranges.row_count, np.maximum(most / spread**2, 1.0))


def _sum_moments(
    aggregation: Aggregation,
    step: str,
    moments: dict[str, FloatArray],
    share: float,
    row_count: int,
    counters: Sequence[Counter] = (),
) -> Aggregate:
    # A table of indicators alone has no moments, and a sum no tensor without values.
    tensors = {name: values for name, values in moments.items() if values.size}
    bounds = dict.fromkeys(tensors, share)
    summed = aggregation.weighted_mean(SumRequest(step, tensors, bounds, row_count, counters, value_bits=MOMENT_BITS))
    return replace(summed, mean={**moments, **summed.mean})


def counters_of_ones(features: Features, columns: IntArray, weight_max: int) -> list[Counter]:
    """How many rows are 1 in each of these columns, which are 0 or 1 at every party."""
    counts = column_sums(features[:, columns]).tolist() if columns.size else []
    return [Counter(f"{c}/ones", int(count), weight_max) for c, count in zip(columns.tolist(), counts, strict=True)]


def shares_of_ones(sums: dict[str, int], columns: IntArray, row_count: int) -> FloatArray:
    """The part of all rows that is 1 in each of these columns, from sums of `counters_of_ones`. Raises BoundError."""
    counts = [sums[f"{column}/ones"] for column in columns.tolist()]
    for count in counts:
        check_total("a number of rows of one category", count, 0, row_count)
    return np.array(counts, dtype=np.float64) / row_count


def _of_all(of_columns: Callable[..., Any], blocks: Sequence[Features], *by_column: FloatArray) -> FloatArray:
    """`of_columns` of the columns of each block with their part of `by_column`, joined along the columns."""
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    parts = zip(blocks, *(np.split(values, ends) for values in by_column), strict=True)
    return np.concatenate([of_columns(*part) for part in parts], axis=-1)


def _resolution_of(ranges: _Ranges) -> float:
    """How far a variance can be off by rounding, in units of the squared deviation scale."""
    return max(LEAST_VARIANCE, LEAST_VARIANCE_PER_PARTY * ranges.party_count)


def _spread_of(variance: FloatArray, deviation_scale: FloatArray, ranges: _Ranges) -> FloatArray:
    """Spreads in units of the deviation scale; 0 for a constant column."""
    resolution = _resolution_of(ranges)
    unresolved = variance < resolution
    constant = unresolved & (deviation_scale <= MEAN_RESOLUTION_PER_PARTY * ranges.party_count)
    # A few rows far out among very many: one of them alone, at half the deviation scale or more, makes this variance.
    least = min(resolution, 0.25 / ranges.row_count)
    spread: FloatArray = np.sqrt(np.where(unresolved, np.maximum(variance, least), variance))
    return np.where(constant, 0.0, spread)


def _find_dominated(variance: FloatArray, spread: FloatArray, ranges: _Ranges) -> tuple[int, ...]:
    """Columns in which the farthest row makes up DOMINATED_SHARE of the variance at least.

    That row lies at half the deviation scale or more, so its square is 0.25 of the units of `variance`, which is a mean
    over all rows. Columns of magnitudes up to 1 are left out: in the column of a rare category one row does that too.
    """
    if ranges.row_count < LEAST_ROWS_TO_JUDGE:
        return ()
    is_dominated = ranges.row_count * np.maximum(variance, 0.0) * DOMINATED_SHARE <= 0.25
    return tuple(np.flatnonzero(is_dominated & (ranges.scale > 1.0) & (spread > 0)).tolist())


def _find_apart(
    own: tuple[FloatArray, FloatArray], row_count: int, summed: Aggregate, ranges: _Ranges
) -> tuple[int, ...]:
    """Columns in which the party's `row_count` rows lie apart, from `own` and `summed` means of x and x^2 in one unit.

    The party takes its own rows out of the sums: what is left are mean and spread of all other rows together. Columns
    of magnitudes up to 1 are left out: a category that one party alone has lies apart, and is no other unit.
    """
    others = summed.weight_sum - row_count
    if min(row_count, others) < _LEAST_ROWS_APART:
        return ()
    pooled = (summed.mean["offset"], summed.mean["square"])
    other = [(summed.weight_sum * both - row_count * mine) / others for both, mine in zip(pooled, own, strict=True)]
    spreads = [np.sqrt(np.maximum(square - offset**2, 0.0)) for offset, square in (own, other)]
    # What rounding leaves uncertain of the others' mean, which a small share of all rows magnifies.
    unsure = LEAST_VARIANCE * ranges.party_count * summed.weight_sum / others
    is_apart = np.abs(own[0] - other[0]) > APART_TIMES * (spreads[0] + spreads[1]) + unsure
    return tuple(np.flatnonzero(is_apart & (ranges.scale > 1.0)).tolist())


def _agree_on_ranges(
    aggregation: Aggregation, blocks: Sequence[Features], numbers: IntArray, column_count: int, weight_max: int
) -> _Ranges:
    """`numbers` name the blocks' columns among all `column_count`; the labels have the number `column_count`."""
    largest = np.maximum(exponents_of(_of_all(largest_magnitudes, blocks)), LEAST_EXPONENT)
    too_large = numbers[largest > MOST_EXPONENT]
    if too_large.size:
        number = int(too_large[0]) + 1
        what = f"column {number} has values" if number <= column_count else "there are labels"
        raise InputError(
            f"{what} too large to standardise",
            expected=f"magnitudes up to 2^{MOST_EXPONENT}",
            got="a larger one",
            cure="change the column's unit",
        )
    exponents = range(LEAST_EXPONENT, MOST_EXPONENT + 1)
    counters = [
        *exponent_flags(largest, exponents, numbers),
        Counter("rows", blocks[0].shape[0], maximum=weight_max),
    ]
    summed = aggregation.weighted_mean(
        SumRequest("standardise/scale", counters=counters, value_bits=FLAG_AND_COUNT_BITS)
    )
    sums, party_count = summed.counters, summed.party_count
    check_total("the sum of row counts", sums["rows"], max(1, party_count), party_count * weight_max)
    return _Ranges(largest_power(sums, exponents, numbers), sums["rows"], party_count)


def _agree_on_deviations(aggregation: Aggregation, deviations: FloatArray, numbers: IntArray) -> FloatArray:
    """The least power of two that no party's largest deviation passes, by column; at least 2^LEAST_DEVIATION."""
    exponents = range(LEAST_DEVIATION, MOST_DEVIATION + 1)
    largest = np.clip(exponents_of(deviations), LEAST_DEVIATION, MOST_DEVIATION)
    flags = exponent_flags(largest, exponents, numbers)
    return largest_power(
        sum_counters(aggregation, "standardise/deviation", flags, value_bits=FLAG_BITS), exponents, numbers
    )


def exponent_flags(largest: IntArray, exponents: range, numbers: IntArray) -> list[Counter]:
    """For each column and each exponent a counter that is 1 where the exponent is the column's; `numbers` name them."""
    return [
        Counter(f"{column}/{exponent}", int(own == exponent), maximum=1)
        for column, own in zip(numbers.tolist(), largest.tolist(), strict=True)
        for exponent in exponents
    ]


def largest_power(sums: dict[str, int], exponents: range, numbers: IntArray) -> FloatArray:
    """For each of the columns two to the largest exponent that any party counted."""
    top = [max(e for e in exponents if sums[f"{column}/{e}"] > 0) for column in numbers.tolist()]
    return np.ldexp(1.0, np.array(top, dtype=np.int64))
