"""Gradients by the Gram matrix: products of columns, computed once for each batch and kept in shares.

Batches never change, so X^T d = X^T X w / 4 - X^T y / 2 (logistic; X^T X w - X^T y for a regression) needs the rows
only once. Each party knows its own block of X^T X, and the guest its own part of X^T y. The block that mixes both
parties' columns takes two messages:

1. the host sends each row of the batch encrypted, with several columns in one plaintext
2. the guest multiplies the rows with its intercept, columns and targets, masks the products and answers: both parties
   hold exact shares of the mixed block, because slots lie so far apart that none carries into the next
After that, a step multiplies shares by shares:
3. each party sends its shares of all weights encrypted, and gets its share of (the other's shares of X^T X) @ weights
4. both parties truncate to the mean's scale
This pays for few columns: a step costs as many products as X^T X has entries, and none for each row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hekat.protocol.shares.share_array import (
    RING_BITS,
    ShareArray,
    add_shares,
    constant,
    from_integers,
    matmul,
    matmul_integers,
    multiply,
    shift_left,
    subtract,
    sum_along,
    zero_shares,
)
from hekat.protocol.vertical_linear.loss_bits import LOSS_BITS
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import (
    CARRY_UNITS,
    MARGIN_BITS,
    SlotLayout,
    choose_slots,
    most_slots,
)
from hekat.protocol.vertical_linear.shared_weights.loss_sums import LossSums
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.residuals import largest_mean_magnitude
from hekat.protocol.vertical_linear.shared_weights.scales import Scales, rows_shift
from hekat.protocol.vertical_linear.timing_labels import PLAIN

IntArray = npt.NDArray[np.int64]


class GramGradients:
    """A party's dense columns (rows, own columns) as integers, the guest's targets (rows, K), and the batches."""

    def __init__(self, pair: Pair, features: IntArray, targets: IntArray | None, batches: Sequence[IntArray]) -> None:
        self._pair, self._features, self._targets, self._batches = pair, features, targets, batches
        self._largest_mean = largest_mean_magnitude(features, batches, pair.scales.feature_bits)
        self._kept: dict[int, tuple[ShareArray, ShareArray, ShareArray]] = {}
        self._loss = LossSums(pair, pair.size * pair.target_count * len(batches), both_cross=True)
        # Signed shares of products are below 2^127 in magnitude, shares of weights below 2^128.
        value_bits = 2 * RING_BITS - 1 + pair.size.bit_length()
        self._layout = choose_slots(value_bits, pair.key_bits, pair.size, pair.size)

    def gradient(self, step: str, number: int, weights: ShareArray) -> ShareArray:
        """Shares (size, K, 2) of the sum of x d over the batch / 2^rows_shift, at 2^-value_bits.

        They are off by little more than a unit; see `error_bound`.
        """
        pair, scales, row_count = self._pair, self._pair.scales, len(self._batches[number])
        if number not in self._kept:
            self._kept[number] = self._make_products(f"{step}/columns", number)
        products, lifted_targets, mean_targets = self._kept[number]
        shape = (pair.size, pair.target_count)
        pair.cross_products.send_factors(f"{step}/weights", weights, self._layout)
        factors = pair.cross_products.receive_factors(f"{step}/weights", shape, self._layout)
        sums = pair.cross_products.answer(f"{step}/products", products, factors, self._layout)
        sums = add_shares(sums, pair.cross_products.open_answer(f"{step}/products", shape, self._layout))
        with pair.stopwatch.measure(PLAIN):
            sums = subtract(add_shares(sums, matmul(products, weights)), lifted_targets)
            scale_bits = 2 * scales.feature_bits + scales.residual_bits + rows_shift(row_count)
            gradient = pair.truncation.rescale(sums, scale_bits, scales.value_bits)
            rest = subtract(gradient, mean_targets)
            local = sum_along(multiply(weights, rest).reshape(-1, 2), 0)
        self._loss.add(row_count, local, rest, factors)
        return gradient

    def mean_square(self, step: str) -> ShareArray:
        """This party's share of the mean of d^2 of the epoch, over batches, at 2^-LOSS_BITS.

        With d = s u - t y, a batch's sum of d^2 is s w . (X^T d - t X^T y) plus t^2 times the sum of y^2. The guest
        knows the last term and adds it to its share.
        """
        values = self._pair.target_count * len(self._batches)
        weights = {len(rows): 2.0 ** rows_shift(len(rows)) / (len(rows) * values) for rows in self._batches}
        scale_bits = 2 * self._pair.scales.value_bits + self._pair.scales.residual_shift
        share = self._loss.close(f"{step}/loss", scale_bits, weights)
        return add_shares(share, constant(round(self._target_square() * 2.0**LOSS_BITS)))

    def _target_square(self) -> float:
        """t^2 times the mean of y^2 over batches, at the guest; 0 at the host."""
        return 0.0 if self._targets is None else target_square(self._targets, self._batches, self._pair.scales)

    def error_bound(self) -> float:
        """How far any entry of a mean gradient of this party's columns is off; see `kept_error_bound`."""
        return kept_error_bound(self._pair.scales, self._largest_mean)

    def _make_products(self, step: str, number: int) -> tuple[ShareArray, ShareArray, ShareArray]:
        """Shares of X^T X (size, size, 2), and of X^T y (size, K, 2) at two scales: for the sums of x d, and their
        mean."""
        pair = self._pair
        products = zero_shares((pair.size, pair.size))
        targets = zero_shares((pair.size, pair.target_count))
        own = self._own_columns(number)
        columns = np.ascontiguousarray(own.T)
        mixed = self._mixed_products(step, number, columns)
        with pair.stopwatch.measure(PLAIN):
            guests = slice(0, 1 + pair.guest_columns)
            block = guests if pair.is_guest else pair.host_range
            products[block, block] = matmul_integers(columns, from_integers(own))
            products[guests, pair.host_range] = mixed[guests]
            products[pair.host_range, guests] = mixed[guests].transpose(1, 0, 2)
            targets[pair.host_range] = mixed[guests.stop :].transpose(1, 0, 2)
            if self._targets is not None:
                targets[guests] = matmul_integers(columns, from_integers(self._targets[self._batches[number]]))
            return self._scaled(products, targets, number)

    def _scaled(
        self, products: ShareArray, targets: ShareArray, number: int
    ) -> tuple[ShareArray, ShareArray, ShareArray]:
        """Shares of X^T X as they are, and of X^T y (size, K, 2) at the two scales."""
        scales, row_count = self._pair.scales, len(self._batches[number])
        lifted = shift_left(targets, scales.feature_bits + scales.target_lift)
        target_scale = scales.feature_bits + scales.target_bits + scales.target_shift + rows_shift(row_count)
        return products, lifted, self._pair.truncation.rescale(targets, target_scale, scales.value_bits)

    def _mixed_products(self, step: str, number: int, columns: IntArray) -> ShareArray:
        """Shares (1 + guest columns + K, host columns, 2) of the products of the guest's numbers and the host's
        columns."""
        pair, rows = self._pair, self._batches[number]
        shape = (1 + pair.guest_columns + pair.target_count, pair.host_columns)
        limit_bits, layout = pair.scales.feature_limit_bits, column_layout(pair, len(rows))
        if self._targets is None:
            pair.cross_products.send_columns(step, self._features[rows], limit_bits, layout)
            return pair.cross_products.open_columns(f"{step}/products", shape, layout)
        matrix = np.concatenate([columns, self._targets[rows].T])
        factors = pair.cross_products.receive_columns(step, (len(rows), pair.host_columns), layout)
        own = pair.cross_products.answer_columns(f"{step}/products", matrix, factors, layout, pair.host_columns)
        with pair.stopwatch.measure(PLAIN):
            return take_off_raise(own, matrix, limit_bits)

    def _own_columns(self, number: int) -> IntArray:
        """This party's columns of a batch; the guest's begin with the intercept's ones."""
        features = self._features[self._batches[number]]
        if not self._pair.is_guest:
            return features
        ones = np.full((len(features), 1), 1 << self._pair.scales.feature_bits, np.int64)
        return np.concatenate([ones, features], axis=1)


def column_layout(pair: Pair, row_count: int) -> SlotLayout:
    """How products with the host's columns over so many rows are packed."""
    return layout_of_columns(pair.scales, pair.key_bits, pair.host_columns, row_count)


def layout_of_columns(scales: Scales, key_bits: int, column_count: int, row_count: int) -> SlotLayout:
    """How products with so many columns over so many rows are packed under the key of their owner.

    Later steps multiply the products with weights of any size, so a carried unit would count: slots lie MARGIN_BITS
    apart.
    """
    limit_bits = scales.feature_limit_bits
    # The owner sends its integers raised by 2^limit_bits, so that none is negative.
    value_bits = limit_bits + 1 + max(limit_bits, scales.target_limit_bits) + row_count.bit_length()
    slots = min(most_slots(value_bits, key_bits, MARGIN_BITS), column_count)
    return SlotLayout(value_bits, slots, key_bits, MARGIN_BITS)


def take_off_raise(own: ShareArray, matrix: IntArray, limit_bits: int) -> ShareArray:
    """Shares of matrix @ columns, from shares of matrix @ (columns + 2^limit_bits)."""
    raised = np.broadcast_to(constant(1 << limit_bits), (matrix.shape[1], 1, 2))
    return subtract(own, matmul_integers(matrix, raised))


def kept_error_bound(scales: Scales, largest_mean: float) -> float:
    """How far any entry of a mean gradient is off by kept products, for columns whose mean |x| is at most
    `largest_mean`: a unit, the carries of both answers after truncation by at least 2 feature_bits, and mean |x| times
    the error of targets."""
    carried = 2.0 * CARRY_UNITS * 2.0 ** -(2 * scales.feature_bits + scales.residual_shift)
    return 2.0**-scales.value_bits * (1.0 + carried) + largest_mean * scales.target_error


def target_square(targets: IntArray, batches: Sequence[IntArray], scales: Scales) -> float:
    """t^2 times the mean of y^2, over batches, for the targets' integers (rows, K)."""
    values = np.ldexp(targets.astype(np.float64), -scales.target_bits - scales.target_shift)
    return float(np.mean([np.mean(values[rows] ** 2) for rows in batches]))
