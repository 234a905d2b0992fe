"""A host's end of the interactive layer: its features go forward, and its weights move.

`forward` and `backward` are all that an own training loop needs; the guest plays `GuestLayer` beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hekat.errors import ProtocolError
from hekat.protocol.vertical_network.arithmetic.make import feature_slopes, fresh_weights, gradient, kept_features
from hekat.protocol.vertical_network.fixed_point import (
    FEATURE_SLOPE_BITS,
    PRODUCT_BITS,
    FloatArray,
    IntArray,
    Residues,
    add,
    multiply,
    to_floats,
)
from hekat.protocol.vertical_network.host_masks import HostMasks
from hekat.protocol.vertical_network.layer_exchange import LayerExchange
from hekat.protocol.vertical_network.messages import FeatureSlopesMessage, OutputsMessage
from hekat.protocol.vertical_network.shared_addend import SharedAddend
from hekat.protocol.vertical_network.steps import (
    ANSWER,
    FACTORS,
    FEATURE_ANSWER,
    FEATURE_SLOPES,
    GRADIENT,
    HOST_WEIGHTS,
    OUTPUTS,
    SLOPES,
    block_step,
)
from hekat.protocol.vertical_network.timing_labels import PLAIN


class HostLayer:
    """A host's addend of its weights, and the products with its features (rows, m) at 2^-16.

    `kept_uses` is how many products a batch's features serve, which are encrypted once; 0: none are.
    """

    def __init__(
        self, exchange: LayerExchange, guest: str, addend: SharedAddend, masks: HostMasks, kept_uses: int
    ) -> None:
        self._exchange, self._guest, self.addend, self._masks = exchange, guest, addend, masks
        self._kept_uses = kept_uses
        self._sent: set[int] = set()

    def forward(self, step: str, number: int, features: IntArray) -> None:
        """Give the guest this host's part of the outputs of batch `number`."""
        exchange, guest, (rows, width) = self._exchange, self._guest, features.shape
        with exchange.measure(PLAIN):
            self.addend.use(step)
        if self._kept_uses:
            product = kept_features(rows, width, exchange.units, self._kept_uses)
            if number not in self._sent:
                self._sent.add(number)
                exchange.send_factors([guest], f"{step}/{FACTORS}", np.ascontiguousarray(features.T), product)
            share = exchange.take_answer(guest, f"{step}/{ANSWER}", product).T
        else:
            product = fresh_weights(rows, width, exchange.units, rows)
            held = exchange.take_factors(guest, f"{step}/{FACTORS}", product)
            share = exchange.send_answer(guest, f"{step}/{ANSWER}", held, exchange.prepare(features, product), product)
        self._give(step, features, share)

    def backward(self, step: str, features: IntArray) -> FloatArray | None:
        """Move the weights by the guest's slopes of the batch of the last `forward`.

        Returns the slopes of the features, (rows, m), where these train; else None. They are of the sum over rows.
        """
        exchange, guest, (rows, width) = self._exchange, self._guest, features.shape
        product = gradient(rows, width, exchange.units, exchange.most_width)
        held = exchange.take_factors(guest, f"{step}/{SLOPES}", product)
        plain = exchange.prepare(np.ascontiguousarray(features.T), product)
        moved = exchange.send_answer(guest, f"{step}/{GRADIENT}", held, plain, product)
        slopes = self.take_slopes(step, rows, width) if exchange.opens_slopes else None
        with exchange.measure(PLAIN):
            self.addend.move(moved, rows)
        return slopes

    def outputs(self, step: str, blocks: Sequence[IntArray]) -> None:
        """As `forward`, for blocks of rows outside training; the first block is the largest."""
        exchange, guest, (most_rows, width) = self._exchange, self._guest, blocks[0].shape
        self.addend.use(step)
        product = fresh_weights(most_rows, width, exchange.units, most_rows)
        held = exchange.take_factors(guest, f"{step}/{FACTORS}", product)
        for number, features in enumerate(blocks):
            block = block_step(step, number)
            product = fresh_weights(len(features), width, exchange.units, most_rows)
            plain = exchange.prepare(features, product)
            self._give(block, features, exchange.send_answer(guest, f"{block}/{ANSWER}", held, plain, product))

    def _give(self, step: str, features: IntArray, share: Residues) -> None:
        exchange = self._exchange
        with exchange.measure(PLAIN):
            own = add(share, multiply(features, self.addend.used))
            covered = self._masks.cover(step, own)
        exchange.channel.send(self._guest, f"{step}/{OUTPUTS}", OutputsMessage(covered))

    def take_slopes(self, step: str, rows: int, width: int) -> FloatArray:
        """Learn the slopes of the features of a batch, (rows, m), where the bottom trains.

        Raises BoundError where weights in their range give none so large, ProtocolError for other shapes.
        """
        exchange, guest = self._exchange, self._guest
        product = feature_slopes(rows, width, exchange.units)
        own = np.ascontiguousarray(self.addend.used.T)
        exchange.send_factors([guest], f"{step}/{HOST_WEIGHTS}", own, product)
        share = exchange.take_answer(guest, f"{step}/{FEATURE_ANSWER}", product)
        other = exchange.channel.receive(guest, f"{step}/{FEATURE_SLOPES}", FeatureSlopesMessage).share
        if other.shape != (rows, width) or int(other.max(initial=0)) >> PRODUCT_BITS:
            raise ProtocolError(
                f"{guest} sent slopes of features that cannot be",
                expected=f"numbers mod 2^{PRODUCT_BITS}, shape {(rows, width)}",
                got=f"shape {other.shape}, or larger numbers",
                cure="all parties must run the same job and release",
            )
        return to_floats(
            "slopes of features",
            add(share, other),
            FEATURE_SLOPE_BITS,
            exchange.units,
            "lower training.shared_rate, or let the bottom give larger numbers",
        )
