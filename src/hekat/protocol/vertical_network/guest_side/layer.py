"""The guest's end of the interactive layer: outputs of all hosts together come forward, slopes go back.

`forward` and `backward` are all that an own training loop needs; hosts play `HostLayer` beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import ProtocolError
from hekat.protocol.vertical_network.arithmetic.interface import Numbers
from hekat.protocol.vertical_network.arithmetic.make import feature_slopes, fresh_weights, gradient, kept_features
from hekat.protocol.vertical_network.fixed_point import (
    OUTPUT_BITS,
    PRODUCT_BITS,
    FloatArray,
    IntArray,
    Residues,
    add,
    multiply,
    to_floats,
)
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


class GuestLayer:
    """The guest's addends of all hosts' weights, and the products with them.

    `kept_uses` is how many products a batch's features serve, which hosts encrypt once; 0: none does.
    """

    def __init__(self, exchange: LayerExchange, addends: Mapping[str, SharedAddend], kept_uses: int) -> None:
        self._exchange, self.addends, self._kept_uses = exchange, addends, kept_uses
        self._kept: dict[tuple[str, int], Any] = {}

    def forward(self, step: str, number: int, row_count: int) -> FloatArray:
        """Z_h of batch `number`, summed over hosts, (row_count, k).

        Raises BoundError where they lie beyond what weights in their range give, ProtocolError for other shapes.
        """
        exchange, units = self._exchange, self._exchange.units
        shares: list[Numbers] = []
        for host, addend in self.addends.items():
            with exchange.measure(PLAIN):
                used = addend.use(step)
            width = exchange.widths[host]
            if not self._kept_uses:
                product = fresh_weights(row_count, width, units, row_count)
                exchange.send_factors([host], f"{step}/{FACTORS}", used, product)
                continue
            product = kept_features(row_count, width, units, self._kept_uses)
            if (host, number) not in self._kept:
                self._kept[host, number] = exchange.take_factors(host, f"{step}/{FACTORS}", product)
            plain = exchange.prepare(np.ascontiguousarray(used.T), product)
            shares.append(exchange.send_answer(host, f"{step}/{ANSWER}", self._kept[host, number], plain, product).T)
        if not self._kept_uses:
            shares = self._take_answers(step, row_count, row_count)
        return self._open(step, shares, row_count)

    def backward(self, step: str, slopes: IntArray) -> None:
        """Move the weights of all hosts against the slopes of the batch of the last `forward`, (rows, k) at 2^-24.

        A host whose bottom trains learns the slopes of its features.
        """
        exchange, units, rows = self._exchange, self._exchange.units, len(slopes)
        laid_out = gradient(rows, exchange.most_width, units, exchange.most_width)
        exchange.send_factors(self.addends, f"{step}/{SLOPES}", slopes, laid_out)
        for host, addend in self.addends.items():
            product = gradient(rows, exchange.widths[host], units, exchange.most_width)
            moved = exchange.take_answer(host, f"{step}/{GRADIENT}", product)
            if exchange.opens_slopes:
                self.give_slopes(step, host, slopes)
            with exchange.measure(PLAIN):
                addend.move(moved, rows)

    def outputs(self, step: str, row_counts: Sequence[int]) -> Iterator[FloatArray]:
        """As `forward`, for blocks of rows outside training; the first block is the largest."""
        exchange, most_rows = self._exchange, row_counts[0]
        for host, addend in self.addends.items():
            product = fresh_weights(most_rows, exchange.widths[host], exchange.units, most_rows)
            exchange.send_factors([host], f"{step}/{FACTORS}", addend.use(step), product)
        for number, rows in enumerate(row_counts):
            block = block_step(step, number)
            yield self._open(block, self._take_answers(block, rows, most_rows), rows)

    def _take_answers(self, step: str, row_count: int, most_rows: int) -> list[Numbers]:
        exchange = self._exchange
        return [
            exchange.take_answer(
                host, f"{step}/{ANSWER}", fresh_weights(row_count, exchange.widths[host], exchange.units, most_rows)
            )
            for host in self.addends
        ]

    def give_slopes(self, step: str, host: str, slopes: IntArray) -> None:
        """Tell a host whose bottom trains the slopes of its features."""
        exchange = self._exchange
        product = feature_slopes(len(slopes), exchange.widths[host], exchange.units)
        held = exchange.take_factors(host, f"{step}/{HOST_WEIGHTS}", product)
        plain = exchange.prepare(slopes, product)
        share = exchange.send_answer(host, f"{step}/{FEATURE_ANSWER}", held, plain, product)
        with exchange.measure(PLAIN):
            share = add(share, multiply(slopes, self.addends[host].used.T))
        exchange.channel.send(host, f"{step}/{FEATURE_SLOPES}", FeatureSlopesMessage(share))

    def _open(self, step: str, own: Sequence[Numbers], row_count: int) -> FloatArray:
        """The outputs, from the guest's shares and the hosts'."""
        exchange = self._exchange
        shape = (row_count, exchange.units)
        others = [
            check_outputs(host, exchange.channel.receive(host, f"{step}/{OUTPUTS}", OutputsMessage).share, shape)
            for host in self.addends
        ]
        return self.to_outputs(add(*own, *others))

    def to_outputs(self, numbers: Residues) -> FloatArray:
        """Outputs mod 2^60, summed over hosts, as floats. Raises BoundError where they are beyond their range."""
        exchange = self._exchange
        with exchange.measure(PLAIN):
            return to_floats(
                "outputs of the interactive layer",
                numbers,
                OUTPUT_BITS,
                sum(exchange.widths.values()),
                "lower training.shared_rate, or standardise the columns",
            )


def check_outputs(host: str, share: npt.NDArray[np.uint64], shape: tuple[int, int]) -> Residues:
    """A host's share of outputs as it came. Raises ProtocolError for another shape, or numbers beyond 2^60."""
    if share.shape != shape or share.dtype != np.uint64 or int(share.max(initial=0)) >> PRODUCT_BITS:
        raise ProtocolError(
            f"{host} sent outputs that cannot be",
            expected=f"numbers mod 2^{PRODUCT_BITS}, shape {shape}",
            got=f"shape {share.shape}, or larger numbers",
            cure="all parties must run the same job and release",
        )
    return share
