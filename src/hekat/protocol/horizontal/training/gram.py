"""The Gram matrix of all parties' rows as one encrypted sum: a bound on the curvature of a linear model's loss.

With A the rows with a 1 before each, n rows, G = A^T A / n, the second derivative of the mean loss is at most
factor * G whatever the weights are: 1/4 for two classes, 1/2 for more (for each class), and exactly 1 for squares.
The matrix does not depend on the weights, so it is summed once: a second sum, after one party has dropped out, would
tell that party's own. Parties learn the sum: means of products of every two columns over all rows.

It is summed only where it is an aggregate: where its numbers are at most a tenth of the numbers in all rows together.
Two parties learn each other's matrix, so there each one's rows must be enough. Otherwise, and beyond MAX_COLUMNS
columns, training does without.

How large its numbers can be follows from what standardised the columns: over all rows the mean square is 1, so that no
party's own sum of squares is above all rows, and by Cauchy and Schwarz no sum of products either. Without standardising
parties count by powers of two how large each column is; of columns that are 0 or 1 by the job they sum the ones, which
does not tell how many parties have any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.codec.counters import HIDING_BITS
from hekat.data import Features, is_dense
from hekat.data.columns.moments import mean_squares
from hekat.protocol.horizontal.training.standardise import (
    FLAG_AND_COUNT_BITS,
    Reach,
    counters_of_ones,
    exponent_flags,
    largest_power,
    shares_of_ones,
)
from hekat.protocol.secure_sum.aggregation import Aggregation, Counter, SumRequest, sum_counters
from hekat.protocol.secure_sum.exponents import LEAST_EXPONENT, MOST_EXPONENT, exponents_of
from hekat.protocol.secure_sum.update_codec import check_total

RANGES_STEP, GRAM_STEP = "lbfgs/ranges", "lbfgs/gram"
GRAM_STEPS = (RANGES_STEP, GRAM_STEP)
"""The sums in their order; the aggregator serves them by these names."""

MAX_COLUMNS = 512
# The table has so many times as many numbers as the sum at least.
NUMBERS_BEHIND_ONE = 10
# Eigenvalues below so many units of the last place, for each column, are rounding.
ROUNDING_UNITS = 8
# What a column's mean square may be above the square of its unit: so columns whose mean square is 1 but for what sums
# rounded have the unit 1 and not 2.
ROOM = 2.0**-8


@dataclass(frozen=True)
class Curvature:
    """What is known of the curvature before the first round.

    `gram` has shape (1 + columns, 1 + columns), the constant first, in units of `scale`, shape (1 + columns,), powers
    of two, 1 for the constant. It is all zeros where it was not summed; it is empty, as is `scale`, where it never is
    in such a job. `factor` is the loss' own, `value_bits` the bits of a number in the sum.
    """

    row_count: int
    factor: float = 1.0
    value_bits: int = 32
    gram: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    scale: FloatArray = field(default_factory=lambda: np.zeros(0))

    def inverse(self, penalty: float) -> FloatArray:
        """The inverse of factor * gram + penalty; zeros where there is no Gram matrix."""
        if not self.gram.any():
            return self.gram
        bound = self.factor * self.gram
        bound[np.diag_indices_from(bound)] += penalty * np.concatenate([[0.0], self.scale[1:] ** -2.0])
        # In units in which its diagonal is 1, so that columns of any size count alike; zeros stay zeros.
        diagonal = np.diag(bound)
        unit = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        values, vectors = np.linalg.eigh(bound / np.outer(unit, unit))
        # A larger curvature than the true one makes a shorter step, which is safe.
        values = np.maximum(values, ROUNDING_UNITS * unit.size * 2.0**-self.value_bits)
        inverse: FloatArray = (vectors / values) @ vectors.T / np.outer(unit, unit)
        return inverse


def empty_curvature(column_count: int | None) -> Curvature:
    """Of a job whose Gram matrix was not summed; None: of one where it never is."""
    if column_count is None:
        return Curvature(1)
    return Curvature(1, gram=np.zeros((column_count + 1, column_count + 1)), scale=np.ones(column_count + 1))


def has_gram(column_count: int, *, is_linear: bool) -> bool:
    """Whether a job with such a model may sum a Gram matrix."""
    return is_linear and column_count <= MAX_COLUMNS


def gram_value_count(column_count: int) -> int:
    """The numbers of one triangle, the constant included."""
    return (column_count + 1) * (column_count + 2) // 2


def is_aggregate(row_count: int, column_count: int) -> bool:
    """Whether so many rows are enough to sum their Gram matrix."""
    return row_count * column_count >= NUMBERS_BEHIND_ONE * gram_value_count(column_count)


def sum_curvature(
    aggregation: Aggregation,
    features: Features,
    *,
    factor: float | None,
    weight_max: int,
    party_count: int,
    value_bits: int,
    indicators: Sequence[int] = (),
    reach: Reach | None = None,
) -> Curvature:
    """Agree with all parties on the Curvature; `factor` None: the model's loss has no such bound.

    `reach` is of the standardised `features`; None: they are as they were, and 0 or 1 in the columns `indicators`.

    The matrix travels in numbers of `value_bits`, and of HIDING_BITS at least, so that the digits of rows hide.

    1. all rows; of two parties whether each has enough; of features as they were also how many parties have each power
       of two as the root of a column's mean square, or the ones of an indicator (counters);
    2. the weighted mean of the Gram matrices in units that no column's root of the mean square over all rows passes,
       but for ROOM, so that no number is quantised above all rows in units of weight_max.
    """
    value_bits = max(value_bits, HIDING_BITS)
    row_count, column_count = features.shape
    may = factor is not None and has_gram(column_count, is_linear=True)
    counters = [Counter("rows", row_count, maximum=weight_max)]
    lacks = party_count == 2 and not is_aggregate(row_count, column_count)
    counters.append(Counter("lacks-rows", int(lacks), maximum=1))
    ones = np.array(indicators, dtype=np.int64)
    numbers = np.delete(np.arange(column_count), ones)
    exponents = range(LEAST_EXPONENT, MOST_EXPONENT + 1)
    if may and reach is None:
        own = np.clip(exponents_of(np.sqrt(mean_squares(features))), LEAST_EXPONENT, MOST_EXPONENT)
        counters += exponent_flags(own[numbers], exponents, numbers)
        counters += counters_of_ones(features, ones, weight_max)
    sums = sum_counters(aggregation, RANGES_STEP, counters, value_bits=FLAG_AND_COUNT_BITS)
    check_total("the sum of row counts", sums["rows"], 1, party_count * weight_max)
    if not may or factor is None:
        aggregation.weighted_mean(SumRequest(GRAM_STEP, weight=row_count, value_bits=value_bits))
        return Curvature(sums["rows"])
    if reach is None:
        squares = np.zeros(column_count)
        squares[numbers] = largest_power(sums, exponents, numbers) ** 2
        squares[ones] = shares_of_ones(sums, ones, sums["rows"])
        reach = Reach(sums["rows"], np.where(squares > 4.0**LEAST_EXPONENT, squares, 1.0))  # 1: a column of zeros
    unit = np.concatenate([[1.0], reach.units(ROOM)])
    gram = np.zeros((column_count + 1, column_count + 1))
    tensors: dict[str, FloatArray] = {}
    if is_aggregate(sums["rows"], column_count) and not sums["lacks-rows"]:
        tensors["gram"] = triangle_of(features, unit)
    # A party that has left since columns were standardised may have had most rows.
    share = (1.0 + ROOM) * reach.row_count / weight_max
    request = SumRequest(GRAM_STEP, tensors, dict.fromkeys(tensors, share), row_count, value_bits=value_bits)
    mean = aggregation.weighted_mean(request).mean
    if tensors:
        gram[np.triu_indices(column_count + 1)] = mean["gram"]
        gram += np.triu(gram, 1).T
    return Curvature(sums["rows"], factor, value_bits, gram, unit)


def triangle_of(features: Features, unit: FloatArray) -> FloatArray:
    """The upper triangle of A^T A / rows, row by row, the constant first; its columns in units of `unit`."""
    row_count, column_count = features.shape
    gram = np.zeros((column_count + 1, column_count + 1))
    gram[1:, 1:] = features.T @ features if is_dense(features) else (features.T @ features).toarray()
    gram[0, 1:] = np.asarray(features.sum(axis=0)).ravel()
    gram[0, 0] = row_count
    return np.asarray((gram / row_count / np.outer(unit, unit))[np.triu_indices(column_count + 1)])
