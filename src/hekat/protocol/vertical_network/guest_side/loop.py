"""The guest's side of the interactive layer over a whole run: what a training loop of any kind drives.

A loop calls `forward` and `backward` for each batch, `held_out` and `end_epoch` at the end of an epoch; each host
drives a `HostLoop` in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.arithmetic.make import make_arithmetic
from hekat.protocol.vertical_network.fixed_point import SLOPE_BITS, FloatArray, Rounding
from hekat.protocol.vertical_network.guest_layer.guest import HoldingGuestLayer
from hekat.protocol.vertical_network.guest_side.layer import GuestLayer
from hekat.protocol.vertical_network.handshake import call_hosts, note_run, take_addend, widths_of
from hekat.protocol.vertical_network.layer_exchange import LayerExchange, kept_uses
from hekat.protocol.vertical_network.messages import EpochEndMessage
from hekat.protocol.vertical_network.own_features import draw_seed
from hekat.protocol.vertical_network.party_run import NetworkRun, origin_array
from hekat.protocol.vertical_network.row_plan import RowPlan, blocks_of
from hekat.protocol.vertical_network.settings import GUEST_LAYER, VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import SharedAddend, first_addend
from hekat.protocol.vertical_network.steps import EPOCH_END, HELD_OUT, batch_step, epoch_step


class GuestLoop:
    """Made by meeting the hosts: all parties make theirs at the same time.

    `start` tells how the training begins; `widths` are m by host.
    """

    def __init__(
        self, channel: RecordedChannel, settings: VerticalNetworkSettings, run: NetworkRun, row_count: int, width: int
    ) -> None:
        """`row_count` are all common rows, `width` the features of the guest's own bottom.

        Raises ProtocolError where hosts come with other rows, batches or states; BoundError for a run whose truncations
        would go astray too often.
        """
        self._channel, self._settings = channel, settings
        self.plan = RowPlan.of(row_count, settings.training)
        arithmetic = make_arithmetic(settings.protection, run.stopwatch)
        self.start = call_hosts(channel, settings, run, self.plan, row_count, width, arithmetic)
        self._origin = run.origin or self.start.model_id
        self.widths: Mapping[str, int] = widths_of(settings, self.start)
        note_run(channel.ledger, settings, run, self.plan, self.widths)
        exchange = LayerExchange(
            channel,
            settings.protection,
            arithmetic,
            settings.network.units,
            self.widths,
            run.stopwatch,
            opens_slopes=settings.host_bottom == "trained",
        )
        make_layer = HoldingGuestLayer if settings.form == GUEST_LAYER else GuestLayer
        self._layer = make_layer(exchange, self._first_addends(run), kept_uses(settings, run, self.plan))
        cure = "lower training.learning_rate or training.shared_rate"
        self._rounding = Rounding("slopes of the interactive layer", SLOPE_BITS, cure, run.warn)
        self._step = ""

    def forward(self, epoch: int, number: int) -> FloatArray:
        """The hosts' part of the outputs of batch `number` (the first is 0), summed over hosts, (rows, k)."""
        self._step = batch_step(epoch, number)
        return self._layer.forward(self._step, number, len(self.plan.batches[number]))

    def backward(self, slopes: FloatArray) -> None:
        """Move the weights of hosts against the slope of each row's loss by the outputs of the last `forward`.

        With label privacy the caller makes slopes from replaced labels alone (`label_privacy.LabelFlips`), since a loop
        cannot tell from slopes which labels they know.

        Raises InputError for NaN or infinity, BoundError where too many lie beyond 8.
        """
        self._layer.backward(self._step, self._rounding.round(slopes))

    def held_out(self, epoch: int) -> Iterator[tuple[npt.NDArray[np.int64], FloatArray]]:
        """The held-out rows in blocks, each with the hosts' part of its outputs."""
        rows = self.plan.held_out
        blocks = blocks_of(len(rows), self._settings.training.batch_rows)
        if not blocks:
            return
        opened = self._layer.outputs(f"{epoch_step(epoch)}/{HELD_OUT}", [len(rows[block]) for block in blocks])
        for block, outputs in zip(blocks, opened, strict=True):
            yield rows[block], outputs

    def evaluate(self, step: str, row_count: int) -> FloatArray:
        """The hosts' part of the outputs of any rows, (row_count, k); no weight moves. No two steps have one name."""
        blocks = blocks_of(row_count, self._settings.training.batch_rows)
        return np.concatenate(list(self._layer.outputs(step, [block.stop - block.start for block in blocks])))

    def end_epoch(self, epoch: int, *, finished: bool) -> float:
        """Tell hosts whether the training ends; returns the share of the epoch's slopes that were cut."""
        for host in self._settings.hosts:
            self._channel.send(host, f"{epoch_step(epoch)}/{EPOCH_END}", EpochEndMessage(finished))
        return self._rounding.end_epoch()

    def arrays(self, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
        """The addends of all hosts' weights, with their velocities where a training goes on."""
        arrays = origin_array(self._origin) if with_state else {}
        for addend in self._layer.addends.values():
            arrays |= addend.state_arrays() if with_state else addend.arrays()
        return arrays

    def _first_addends(self, run: NetworkRun) -> dict[str, SharedAddend]:
        settings, start = self._settings, self.start
        generator = np.random.default_rng(draw_seed(run, 3))
        addends = {}
        for host, width in self.widths.items():
            # Half the variance that a layer before a rectifier begins with: the host draws the other half.
            drawn = first_addend(generator, width, settings.network.units, 1.0 / sum(start.widths))
            if run.begins_with is None:
                drawn = take_addend(self._channel, host, drawn)
            addends[host] = SharedAddend(self._origin, host, drawn, is_guest=True, training=settings.training)
            if run.begins_with is not None:
                addends[host].begin_from(run.begins_with)
        return addends
