"""One party's half of the epochs of a sealed network; guest and host play the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.ledger import RecordedChannel
from hekat.protocol.shares.modular_shares import ModularShares
from hekat.protocol.vertical_network.fixed_point import IntArray
from hekat.protocol.vertical_network.messages import StartMessage
from hekat.protocol.vertical_network.party_run import NetworkRun, origin_array
from hekat.protocol.vertical_network.row_plan import RowPlan, blocks_of
from hekat.protocol.vertical_network.sealed.batch import SealedBatch, Slopes
from hekat.protocol.vertical_network.sealed.cross_products import CrossProducts
from hekat.protocol.vertical_network.sealed.first_shares import begin_weights
from hekat.protocol.vertical_network.sealed.inner_watch import InnerWatch
from hekat.protocol.vertical_network.sealed.opened_loss import open_loss, send_loss, told_loss
from hekat.protocol.vertical_network.sealed.peer import ChannelPeer
from hekat.protocol.vertical_network.sealed.scales import PENALTY_BITS, RATE_BITS, SLOT_RING, SealedShape, signs_of
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.steps import HELD_OUT, LOSS, batch_step, block_step, epoch_step
from hekat.protocol.vertical_network.timing_labels import PLAIN


class SealedLoop:
    """Made after the handshake, by both parties at the same time.

    `columns` int64 (rows, own width) at 2^-16 are of all common rows; `labels`, 1 or -1, are the guest's alone. `start`
    tells how the training begins.
    """

    def __init__(
        self,
        channel: RecordedChannel,
        settings: VerticalNetworkSettings,
        run: NetworkRun,
        start: StartMessage,
        columns: IntArray,
        labels: IntArray | None,
        products: CrossProducts,
        watch: InnerWatch,
    ) -> None:
        """Raises as `begin_weights`."""
        self._channel, self._settings, self.start = channel, settings, start
        self._columns, self._labels, self._products, self._watch = columns, labels, products, watch
        self.plan = RowPlan.of(len(columns), settings.training)
        self._origin = run.origin or start.model_id
        self._weights = begin_weights(channel, settings, run, self.shape_of(1), self._origin)

    @property
    def is_guest(self) -> bool:
        return self._labels is not None

    def shape_of(self, row_count: int) -> SealedShape:
        """The sizes of a batch of so many rows."""
        guest_width, host_width = self.start.widths
        return SealedShape(row_count, guest_width, host_width, signs_of(self._settings.network.units))

    def train(self, epoch: int) -> float | None:
        """Take the steps of an epoch; at the guest the mean loss of its rows, each before its batch's step.

        Raises DivergedError at the guest, and WireError for what the other party cannot have sent.
        """
        training, total = self._settings.training, _nothing()
        with self._watch.measure(PLAIN):
            for number, rows in enumerate(self.plan.batches):
                batch, slopes = self._play(batch_step(epoch, number), rows)
                penalty_units = round(training.l2 * len(rows) * 2**PENALTY_BITS)
                self._weights.move(batch.gradient(slopes), training.rate_units(len(rows), RATE_BITS), penalty_units)
                total = SLOT_RING.add(total, slopes.loss)
            return self._open(f"{epoch_step(epoch)}/{LOSS}", total, len(self.plan.trained))

    def held_out(self, epoch: int) -> float | None:
        """At the guest the mean loss of the held-out rows, where there are any. No weight moves. Raises as `train`."""
        held, total, step = self.plan.held_out, _nothing(), f"{epoch_step(epoch)}/{HELD_OUT}"
        if not len(held):
            return None
        with self._watch.measure(PLAIN):
            for number, block in enumerate(blocks_of(len(held), self._settings.training.batch_rows)):
                _, slopes = self._play(block_step(step, number), held[block])
                total = SLOT_RING.add(total, slopes.loss)
            return self._open(f"{step}/{LOSS}", total, len(held))

    def arrays(self, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
        """This party's share of all weights; with their velocity where a training goes on."""
        if with_state:
            return self._weights.state_arrays() | origin_array(self._origin)
        return self._weights.arrays()

    def _play(self, step: str, rows: IntArray) -> tuple[SealedBatch, Slopes]:
        """A batch up to its slopes."""
        used = self._weights.begin_step(step)
        batch = SealedBatch(
            ChannelPeer(self._channel, self._other, self._settings.protection, step, self._watch),
            self._products,
            self.shape_of(len(rows)),
            self._columns[rows],
            self._weights.modular,
            is_guest=self.is_guest,
        )
        return batch, batch.slopes(batch.forward(used), None if self._labels is None else self._labels[rows])

    def _open(self, step: str, share: ModularShares, row_count: int) -> float | None:
        """Open a mean loss, at the guest."""
        told = told_loss(row_count, self._settings.training.epochs)
        cut = self._weights.modular_of(step)
        with self._watch.pause():
            if self.is_guest:
                return open_loss(self._channel, self._other, step, share, told, cut)
            send_loss(self._channel, self._other, step, share, told, cut)
            return None

    @property
    def _other(self) -> str:
        return self._settings.hosts[0] if self.is_guest else self._settings.guest


def _nothing() -> ModularShares:
    return np.zeros(len(SLOT_RING.primes), np.uint64)
