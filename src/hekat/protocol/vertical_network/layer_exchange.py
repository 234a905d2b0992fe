"""What guest and hosts have alike of the interactive layer: sizes, products, and how matrices and answers travel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final

import numpy.typing as npt

from hekat.ledger import RecordedChannel
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_network.arithmetic.interface import Arithmetic, Numbers, Product
from hekat.protocol.vertical_network.messages import ANSWER_MESSAGE, FACTORS_MESSAGE
from hekat.protocol.vertical_network.party_run import NetworkRun
from hekat.protocol.vertical_network.row_plan import RowPlan
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.timing_labels import DECRYPT, ENCRYPT, PRODUCTS

LEAST_KEPT_USES: Final = 3
"""A batch's features take as many bytes as addends for two steps."""
MOST_KEPT_BATCHES: Final = 128
"""At 1,024 rows and 32 features some 8 MB each at the guest for every host."""


@dataclass(frozen=True)
class LayerExchange:
    """One party's way to send and take matrices and answers; `widths` are the hosts', m by name."""

    channel: RecordedChannel
    protection: str
    arithmetic: Arithmetic
    units: int
    widths: Mapping[str, int]
    stopwatch: Stopwatch
    opens_slopes: bool = False
    """Whether hosts' bottoms train, so that hosts learn the slopes of their features."""

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


def kept_uses(settings: VerticalNetworkSettings, run: NetworkRun, plan: RowPlan) -> int:
    """How many products a batch's features serve, which hosts then encrypt once; 0 where hosts take [V'] in each step.

    Features that are encrypted once have to stay the same, to be used often enough to pay for their bytes, and to fit
    the guest's memory.
    """
    if run.kept_uses is not None:
        return run.kept_uses
    return uses_of(settings, settings.training.epochs - run.epochs_done, len(plan.batches))


def uses_of(settings: VerticalNetworkSettings, epochs: int, batches: int) -> int:
    """`kept_uses` of a training of so many epochs and batches."""
    keeps = settings.host_bottom != "trained" and epochs >= LEAST_KEPT_USES and batches <= MOST_KEPT_BATCHES
    return epochs if keeps else 0
