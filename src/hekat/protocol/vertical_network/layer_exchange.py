"""What guest and hosts have alike of the interactive layer: sizes, products, and how matrices and answers travel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_network.arithmetic.interface import Arithmetic, Numbers, Product
from hekat.protocol.vertical_network.messages import ANSWER_MESSAGE, FACTORS_MESSAGE
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.timing_labels import DECRYPT, ENCRYPT, PRODUCTS


@dataclass(frozen=True)
class LayerExchange:
    """One party's way to send and take matrices and answers; `widths` are the hosts', m by name."""

    channel: RecordedChannel
    protection: str
    arithmetic: Arithmetic
    units: int
    widths: Mapping[str, int]
    stopwatch: Stopwatch

    @property
    def most_width(self) -> int:
        """The largest width of a host."""
        return max(self.widths.values())

    def send_factors(self, peers: Iterable[str], step: str, values: npt.NDArray[Any], product: Product) -> None:
        """Send one own matrix to peers, the same bytes to all."""
        with self.measure(ENCRYPT):
            message = FACTORS_MESSAGE[self.protection](self.arithmetic.hold(values, product))
        with self.channel.encoding_once(message):
            for peer in peers:
                self.channel.send(peer, step, message)

    def take_factors(self, peer: str, step: str, product: Product) -> Any:
        """A matrix that the peer holds."""
        message = self.channel.receive(peer, step, FACTORS_MESSAGE[self.protection])
        with self.measure(PRODUCTS):
            return self.arithmetic.read_held(peer, message.values, product)

    def send_answer(self, peer: str, step: str, held: Any, plain: Any, product: Product) -> Numbers:
        """Multiply the peer's matrix with an own prepared one, send the answer, and return the own share."""
        with self.measure(PRODUCTS):
            data, share = self.arithmetic.answer(held, plain, product)
        self.channel.send(peer, step, ANSWER_MESSAGE[self.protection](data))
        return share

    def take_answer(self, peer: str, step: str, product: Product) -> Numbers:
        """The own share of a product that the peer answered."""
        message = self.channel.receive(peer, step, ANSWER_MESSAGE[self.protection])
        with self.measure(DECRYPT):
            return self.arithmetic.open(peer, message.values, product)

    def prepare(self, values: npt.NDArray[Any], product: Product) -> Any:
        """An own plain matrix, ready for products."""
        with self.measure(PRODUCTS):
            return self.arithmetic.prepare(values, product)

    def measure(self, label: str) -> AbstractContextManager[None]:
        """A block whose seconds count under a label of `timing_labels`."""
        return self.stopwatch.measure(label)


def kept_uses(settings: VerticalNetworkSettings, run: NetworkRun) -> int:
    """How many products a batch's features serve where they never change; 0 where they do."""
    return 0 if settings.host_bottom == "trained" else max(1, settings.training.epochs - run.epochs_done)
