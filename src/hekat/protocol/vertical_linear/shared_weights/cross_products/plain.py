"""Cross products in the clear, for a comparison on public data: the same shares as `paillier`, and no protection."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.ledger import RecordedChannel
from hekat.protocol.shares.share_array import (
    ShareArray,
    add_shares,
    from_integers,
    matmul,
    matmul_integers,
    multiply,
    random_shares,
    subtract,
    sum_along,
)
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.shared_weights.cross_products.paillier import are_shares, other_shape
from hekat.protocol.vertical_linear.shared_weights.cross_products.slots import SlotLayout
from hekat.protocol.vertical_linear.shared_weights.messages import PlainFactorsMessage, PlainProductsMessage
from hekat.protocol.vertical_linear.timing_labels import GRADIENT, LOSS

IntArray = npt.NDArray[np.int64]


class PlainCrossProducts:
    """Cross products in the clear: they give the same shares, and nothing protects them."""

    def __init__(self, channel: RecordedChannel, peer: str, stopwatch: Stopwatch) -> None:
        self._channel, self._peer, self._measure = channel, peer, stopwatch.measure

    def send_factors(self, step: str, shares: ShareArray, layout: SlotLayout) -> None:
        self._channel.send(self._peer, step, PlainFactorsMessage(shares))

    def send_columns(self, step: str, values: IntArray, offset_bits: int, layout: SlotLayout) -> None:
        self._channel.send(self._peer, step, self.pack_columns(values, offset_bits, layout))

    def pack_columns(self, values: IntArray, offset_bits: int, layout: SlotLayout) -> PlainFactorsMessage:
        return PlainFactorsMessage(from_integers(values + (1 << offset_bits)))

    def receive_factors(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        values = self._channel.receive(self._peer, step, PlainFactorsMessage).values
        return _check_shape(values, shape, self._peer, step)

    def receive_columns(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        return self.receive_factors(step, shape, layout)

    def answer(self, step: str, matrix: Any, factors: ShareArray, layout: SlotLayout) -> ShareArray:
        with self._measure(GRADIENT):
            products = matmul(matrix, factors) if are_shares(matrix) else matmul_integers(matrix, factors)
            own = random_shares(products.shape[:-1])
        self._channel.send(self._peer, step, PlainProductsMessage(subtract(products, own)))
        return own

    def answer_columns(self, step: str, matrix: Any, factors: ShareArray, layout: SlotLayout, count: int) -> ShareArray:
        return self.answer(step, matrix, factors, layout)

    def open_answer(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        values = self._channel.receive(self._peer, step, PlainProductsMessage).values
        return _check_shape(values, shape, self._peer, step)

    def open_columns(self, step: str, shape: tuple[int, int], layout: SlotLayout) -> ShareArray:
        return self.open_answer(step, shape, layout)

    def inner_product(self, shares: ShareArray, factors: ShareArray, before: Any = None) -> ShareArray:
        with self._measure(LOSS):
            product = sum_along(multiply(shares, factors).reshape(-1, 2), 0).reshape(1, 1, 2)
            return product if before is None else add_shares(before, product)


def _check_shape(values: ShareArray, shape: tuple[int, int], peer: str, step: str) -> ShareArray:
    if values.shape != (*shape, 2):
        raise other_shape(peer, step, (*shape, 2), values.shape)
    return values
