"""Gradients by residuals: shares of the scores and residuals of a batch's rows, computed anew in every step.

1. each party sends its shares of the other's weights encrypted, and gets its share of (the other's X) @ weights
2. both parties truncate scores to 2^-value_bits; the guest takes its targets off: both have shares of the residuals d
3. each party sends its shares of d encrypted, and gets its share of (the other's X)^T d
4. both parties truncate to the mean's scale; the guest multiplies its d with the host's encrypted d for the loss
This works for any number of columns, dense or sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.protocol.shares.share_array import (
    RING_BITS,
    ShareArray,
    add_shares,
    from_integers,
    matmul_integers,
    multiply,
    shift_left,
    subtract,
    sum_along,
    zero_shares,
)
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import CARRY_UNITS, SlotLayout, choose_slots
from hekat.protocol.vertical_linear.shared_weights.loss_sums import LossSums
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.scales import Scales, rows_shift
from hekat.protocol.vertical_linear.timing_labels import PLAIN

IntArray = npt.NDArray[np.int64]


class ResidualGradients:
    """A party's columns (rows, own columns) as integers, the guest's targets (rows, K), and the batches of rows."""

    def __init__(self, pair: Pair, features: Any, targets: IntArray | None, batches: Sequence[IntArray]) -> None:
        self._pair, self._features, self._targets, self._batches = pair, features, targets, batches
        self._largest_mean = largest_mean_magnitude(features, batches, pair.scales.feature_bits)
        row_count = sum(len(rows) for rows in batches)
        self._loss = LossSums(pair, row_count * pair.target_count, both_cross=False)

    def gradient(self, step: str, number: int, weights: ShareArray) -> ShareArray:
        """Shares (size, K, 2) of the sum of x d over the batch / 2^rows_shift, at 2^-value_bits, off by less than 1.

        `score_error` says how far the residuals d are off.
        """
        pair, scales, rows = self._pair, self._pair.scales, self._batches[number]
        features = self._features[rows]
        scores = score_shares(pair, step, features, weights)
        with pair.stopwatch.measure(PLAIN):
            residuals = pair.truncation.truncate(scores, scales.feature_bits)
            if self._targets is not None:
                lifted = shift_left(from_integers(self._targets[rows]), scales.target_lift)
                residuals = subtract(residuals, lifted)
            squares = sum_along(multiply(residuals, residuals).reshape(-1, 2), 0)
        sums, factors = self._column_sums(f"{step}/gradient", features, residuals)
        self._loss.add(len(rows), squares, shift_left(residuals, 1), factors)
        scale_bits = scales.feature_bits + scales.residual_bits + rows_shift(len(rows))
        return pair.truncation.rescale(sums, scale_bits, scales.value_bits)

    def mean_square(self, step: str) -> ShareArray:
        """This party's share of the mean of d^2 of the epoch, over batches, at 2^-LOSS_BITS."""
        values = self._pair.target_count * len(self._batches)
        weights = {len(rows): 1.0 / (len(rows) * values) for rows in self._batches}
        return self._loss.close(f"{step}/loss", 2 * self._pair.scales.residual_bits, weights)

    def error_bound(self) -> float:
        """How far any entry of a mean gradient is off: a unit, and mean |x| times the error of scores and targets."""
        scales = self._pair.scales
        scores = score_error(scales) * 2.0**-scales.residual_shift
        return 2.0**-scales.value_bits + self._largest_mean * (scores + scales.target_error)

    def _column_sums(self, step: str, features: Any, residuals: ShareArray) -> tuple[ShareArray, Any]:
        """Shares of X^T d for all columns and the intercept, and the other party's encrypted residuals."""
        pair, row_count = self._pair, len(residuals)
        layout = SlotLayout(RING_BITS + pair.scales.feature_limit_bits + row_count.bit_length(), 1, pair.key_bits)
        pair.cross_products.send_factors(step, residuals, layout)
        factors = pair.cross_products.receive_factors(step, (row_count, pair.target_count), layout)
        columns = np.ascontiguousarray(features.T) if isinstance(features, np.ndarray) else features.T.tocsr()
        own = pair.cross_products.answer(f"{step}/products", columns, factors, layout)
        sums = np.empty((pair.size, pair.target_count, 2), np.uint64)
        with pair.stopwatch.measure(PLAIN):
            sums[0] = shift_left(sum_along(residuals, 0), pair.scales.feature_bits)
            sums[pair.own_range] = add_shares(own, matmul_integers(columns, residuals))
        other = pair.other_range
        sums[other] = pair.cross_products.open_answer(
            f"{step}/products", (other.stop - other.start, pair.target_count), layout
        )
        return sums, factors


def score_shares(pair: Pair, step: str, features: Any, weights: ShareArray) -> ShareArray:
    """Shares (rows, K, 2) of X w + intercept over all columns, at 2^-(feature_bits + value_bits).

    Each party's columns take an answer of their own, so scores are up to two CARRY_UNITS too high.
    """
    row_count, target_count = features.shape[0], pair.target_count
    guests, hosts = score_layouts(pair, row_count)
    mine, others = (guests, hosts) if pair.is_guest else (hosts, guests)
    cross, other_weights = pair.cross_products, weights[pair.other_range]
    own_columns = pair.own_range.stop - pair.own_range.start
    # A guest may have labels alone, and then nothing of its columns crosses.
    if len(other_weights):
        cross.send_factors(f"{step}/weights", other_weights, others)
    total = zero_shares((row_count, target_count))
    if own_columns:
        factors = cross.receive_factors(f"{step}/weights", (own_columns, target_count), mine)
        with pair.stopwatch.measure(PLAIN):
            total = matmul_integers(features, weights[pair.own_range])
        total = add_shares(total, cross.answer(f"{step}/scores", features, factors, mine))
    if len(other_weights):
        total = add_shares(total, cross.open_answer(f"{step}/scores", (row_count, target_count), others))
    return add_shares(total, shift_left(weights[0], pair.scales.feature_bits)[np.newaxis])


def score_layouts(pair: Pair, row_count: int) -> tuple[SlotLayout, SlotLayout]:
    """How the scores of so many rows are packed: the layout for the guest's columns, and for the host's."""
    guests, hosts = (
        score_layout(pair.scales, pair.key_bits, row_count, columns)
        for columns in (pair.guest_columns, pair.host_columns)
    )
    return guests, hosts


def score_layout(scales: Scales, key_bits: int, row_count: int, column_count: int) -> SlotLayout:
    """How the scores of so many rows are packed where their owner multiplies so many columns."""
    value_bits = RING_BITS + scales.feature_limit_bits + column_count.bit_length()
    return choose_slots(value_bits, key_bits, row_count, column_count)


def score_error(scales: Scales) -> float:
    """How far a truncated score is off at most: less than a unit by truncation, and the carries of both answers."""
    return 2.0**-scales.value_bits * (1.0 + 2.0 * CARRY_UNITS * 2.0**-scales.feature_bits)


def largest_mean_magnitude(features: Any, batches: Sequence[IntArray], feature_bits: int) -> float:
    """The largest mean of |x| of any column in any batch; at least 1, the mean of the intercept's ones."""
    means = [float(np.asarray(abs(features[rows]).mean(axis=0)).max(initial=0.0)) for rows in batches]
    return max(1.0, *(mean * 2.0**-feature_bits for mean in means))
