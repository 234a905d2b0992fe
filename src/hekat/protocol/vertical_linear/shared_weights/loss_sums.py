"""Sums over an epoch that make up its loss; they stay in shares until the guest opens their mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hekat.protocol.shares.share_array import (
    RING_BITS,
    ShareArray,
    add_shares,
    constant,
    multiply,
    zero_shares,
)
from hekat.protocol.vertical_linear.loss_bits import LOSS_BITS
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import SlotLayout
from hekat.protocol.vertical_linear.shared_weights.pair import Pair

_WEIGHT_BITS = 40


class LossSums:
    """Sums of products of shares, one sum for each size of batch; each inner product crosses encrypted.

    With `both_cross` each party multiplies its shares with the other party's; otherwise the guest does so for both.
    """

    def __init__(self, pair: Pair, term_count: int, *, both_cross: bool) -> None:
        self._pair, self._both_cross = pair, both_cross
        # A product of two shares, times as many terms as an epoch adds up.
        self._layout = SlotLayout(2 * RING_BITS + term_count.bit_length(), 1, pair.key_bits)
        self._local: dict[int, ShareArray] = {}
        self._crossed: dict[int, Any] = {}

    def add(self, row_count: int, local: ShareArray, shares: ShareArray, factors: Any) -> None:
        """Add this party's local share (2,), and the inner product of `shares` with the other party's `factors`."""
        self._local[row_count] = add_shares(self._local.get(row_count, zero_shares(())), local)
        if self._pair.is_guest or self._both_cross:
            before = self._crossed.get(row_count)
            self._crossed[row_count] = self._pair.cross_products.inner_product(shares, factors, before)

    def close(self, step: str, scale_bits: int, weights: Mapping[int, float]) -> ShareArray:
        """This party's share of the weighted sum of all sums, at 2^-LOSS_BITS; the sums begin anew.

        `scale_bits` is the scale of the sums; `weights`, all below 1, are given by the number of rows of a batch.
        """
        total = zero_shares(())
        for row_count in sorted(self._local):
            share = add_shares(self._local[row_count], self._crossed_share(f"{step}/{row_count}", row_count))
            coarse = self._pair.truncation.rescale(share, scale_bits, LOSS_BITS)
            weight = round(weights[row_count] * 2.0**_WEIGHT_BITS)
            total = add_shares(total, multiply(coarse, constant(weight)))
        self._local.clear()
        self._crossed.clear()
        return self._pair.truncation.truncate(total, _WEIGHT_BITS)

    def _crossed_share(self, step: str, row_count: int) -> ShareArray:
        cross_products, own = self._pair.cross_products, zero_shares(())
        if row_count in self._crossed:
            own = cross_products.answer(step, np.ones((1, 1), np.int64), self._crossed[row_count], self._layout)[0, 0]
        if self._both_cross or not self._pair.is_guest:
            own = add_shares(own, cross_products.open_answer(step, (1, 1), self._layout)[0, 0])
        return own
