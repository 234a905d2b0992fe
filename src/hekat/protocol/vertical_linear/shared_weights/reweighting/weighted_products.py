"""Shares of X^T W X and X^T t over working rows, where the guest alone knows the weights W and the responses t.

1. the host sends its rows once, encrypted, several columns in one plaintext
2. for each column of scores, the guest multiplies them with its weighted columns and with t, and answers under masks
3. the guest sends its weights, encrypted under its own key; the host multiplies them with the products of every two of
   its columns, and answers under masks
Each party adds what it knows alone: the guest the products of its own columns, both the penalty on their own.
Nothing opens: both have shares, which `gram` makes steps with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    from_integers,
    matmul_integers,
    zero_shares,
)
from hekat.protocol.vertical_linear.fixed_point import encode_numbers
from hekat.protocol.vertical_linear.shared_weights.cross_products.paillier import Factors
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import SlotLayout, choose_slots
from hekat.protocol.vertical_linear.shared_weights.gram import column_layout, take_off_raise
from hekat.protocol.vertical_linear.shared_weights.many_parties.set_up import BatchProducts
from hekat.protocol.vertical_linear.shared_weights.pair import Pair
from hekat.protocol.vertical_linear.shared_weights.reweighting.working_rows import WorkingRows
from hekat.protocol.vertical_linear.shared_weights.scales import LIMIT_BITS
from hekat.protocol.vertical_linear.timing_labels import PLAIN

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Products of two columns at this scale stay below 2^48, with which shares can be multiplied.
_MOST_PRODUCT_BITS = 16


@dataclass(frozen=True)
class WeightedProducts:
    """One party's side: its `features` (rows, own columns) as integers, and the `penalty` (own columns, own columns) on
    their weights. `pair` has one column of targets, and the scales of a regression."""

    pair: Pair
    features: IntArray
    penalty: FloatArray

    @property
    def row_count(self) -> int:
        return len(self.features)

    @property
    def _product_bits(self) -> int:
        """The scale of products of two of the host's columns; weights make up for it."""
        return min(_MOST_PRODUCT_BITS, self.pair.scales.feature_bits)

    @property
    def _layout(self) -> SlotLayout:
        """How weighted sums of these products are packed."""
        pairs = pair_count(self.pair.host_columns)
        weight_bits = 2 * self.pair.scales.feature_bits - self._product_bits + 1
        value_bits = weight_bits + self._product_bits + 2 * LIMIT_BITS + self.row_count.bit_length()
        return choose_slots(value_bits, self.pair.key_bits, pairs, self.row_count)

    def begin(self) -> Factors | None:
        """Exchange the host's rows, once for all columns of scores; the guest gets them, encrypted."""
        pair, step = self.pair, "reweight/columns"
        layout = column_layout(pair, self.row_count)
        if not pair.is_guest:
            pair.cross_products.send_columns(step, self.features, pair.scales.feature_limit_bits, layout)
            return None
        return pair.cross_products.receive_columns(step, (self.row_count, pair.host_columns), layout)

    def play_guest(self, step: str, columns: Factors, working: WorkingRows, column: int) -> BatchProducts:
        """The guest's shares for one column of scores."""
        pair, scales = self.pair, self.pair.scales
        limit_bits = scales.feature_limit_bits
        with pair.stopwatch.measure(PLAIN):
            ones = np.full((self.row_count, 1), 1 << scales.feature_bits, np.int64)
            own = np.concatenate([ones, self.features], axis=1)
            weights = working.weights[:, column]
            weighted = np.rint(weights[:, np.newaxis] * own).astype(np.int64)
            responses = encode_numbers(
                working.responses[:, column], scales.target_bits, scales.target_limit_bits, "responses of rows"
            )
            matrix = np.concatenate([weighted.T, responses[np.newaxis]])
        layout = column_layout(pair, self.row_count)
        mixed = pair.cross_products.answer_columns(f"{step}/mixed", matrix, columns, layout, pair.host_columns)
        weight_bits = 2 * scales.feature_bits - self._product_bits
        integers = np.rint(np.ldexp(weights, weight_bits)).astype(np.int64)
        pair.cross_products.send_factors(f"{step}/weights", from_integers(integers[:, np.newaxis]), self._layout)
        shape = (pair_count(pair.host_columns), 1)
        opened = pair.cross_products.open_answer(f"{step}/host", shape, self._layout)
        with pair.stopwatch.measure(PLAIN):
            mixed = take_off_raise(mixed, matrix, limit_bits)
            guests = matmul_integers(np.ascontiguousarray(own.T), from_integers(weighted))
            targets = matmul_integers(np.ascontiguousarray(own.T), from_integers(responses[:, np.newaxis]))
            return self._put_together(guests, mixed, opened, targets)

    def play_host(self, step: str) -> BatchProducts:
        """The host's shares for one column of scores."""
        pair, scales = self.pair, self.pair.scales
        layout, rows = column_layout(pair, self.row_count), 2 + pair.guest_columns
        mixed = pair.cross_products.open_columns(f"{step}/mixed", (rows, pair.host_columns), layout)
        factors = pair.cross_products.receive_factors(f"{step}/weights", (self.row_count, 1), self._layout)
        with pair.stopwatch.measure(PLAIN):
            first, second = np.triu_indices(pair.host_columns)
            values = np.ldexp(self.features.astype(np.float64), -scales.feature_bits)
            matrix = np.rint(np.ldexp(values[:, first] * values[:, second], self._product_bits)).astype(np.int64).T
        own = pair.cross_products.answer(f"{step}/host", np.ascontiguousarray(matrix), factors, self._layout)
        with pair.stopwatch.measure(PLAIN):
            guests = zero_shares((1 + pair.guest_columns, 1 + pair.guest_columns))
            return self._put_together(guests, mixed, own, zero_shares((1 + pair.guest_columns, 1)))

    def _put_together(
        self, guests: ShareArray, mixed: ShareArray, hosts: ShareArray, targets: ShareArray
    ) -> BatchProducts:
        """Shares of X^T W X (size, size, 2) with the penalty, and X^T t (size, 1, 2).

        From shares of the guest's block, of its rows and t with the host's columns, of every two of the host's columns,
        and of the guest's part of X^T t.
        """
        pair = self.pair
        at_guest, at_host = slice(0, 1 + pair.guest_columns), pair.host_range
        products, sums = zero_shares((pair.size, pair.size)), zero_shares((pair.size, 1))
        products[at_guest, at_guest] = guests
        products[at_guest, at_host] = mixed[:-1]
        products[at_host, at_guest] = mixed[:-1].transpose(1, 0, 2)
        first, second = np.triu_indices(pair.host_columns)
        block = zero_shares((pair.host_columns, pair.host_columns))
        block[first, second] = hosts[:, 0]
        block[second, first] = hosts[:, 0]
        products[at_host, at_host] = block
        own = pair.own_range
        penalty = np.rint(np.ldexp(self.penalty, 2 * pair.scales.feature_bits)).astype(np.int64)
        products[own, own] = add_shares(products[own, own], from_integers(penalty))
        sums[at_guest], sums[at_host] = targets, mixed[-1][:, np.newaxis]
        return BatchProducts(products, sums)


def pair_count(column_count: int) -> int:
    """How many products every two of so many columns have, squares among them."""
    return column_count * (column_count + 1) // 2
