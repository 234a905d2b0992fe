"""A host's side of the interactive layer over a whole run: what a training loop of any kind drives.

A loop calls `forward` and `backward` for each batch, `held_out` and `end_epoch` at the end of an epoch, in the guest's
order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.arithmetic.make import make_arithmetic
from hekat.protocol.vertical_network.fixed_point import FEATURE_BITS, FloatArray, IntArray, Rounding
from hekat.protocol.vertical_network.guest_layer.host import NoisyHostLayer
from hekat.protocol.vertical_network.handshake import answer_guest, note_run, split_weights, widths_of
from hekat.protocol.vertical_network.host_masks import agree_on_masks
from hekat.protocol.vertical_network.host_side.layer import HostLayer
from hekat.protocol.vertical_network.layer_exchange import LayerExchange, kept_uses
from hekat.protocol.vertical_network.messages import EpochEndMessage
from hekat.protocol.vertical_network.own_features import draw_seed
from hekat.protocol.vertical_network.party_run import NetworkRun, origin_array
from hekat.protocol.vertical_network.row_plan import RowPlan, blocks_of
from hekat.protocol.vertical_network.settings import GUEST_LAYER, VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import SharedAddend, first_addend
from hekat.protocol.vertical_network.steps import EPOCH_END, HELD_OUT, batch_step, epoch_step


class HostLoop:
    """Made by meeting the guest and the other hosts: all parties make theirs at the same time.

    `start` tells how the training begins; `keeps_features` whether a batch's features are the same in every epoch.
    """

    def __init__(
        self, channel: RecordedChannel, settings: VerticalNetworkSettings, run: NetworkRun, row_count: int, width: int
    ) -> None:
        """`row_count` are all common rows, `width` the features of this host's bottom. Raises as `GuestLoop`."""
        self._channel, self._settings = channel, settings
        self.plan = RowPlan.of(row_count, settings.training)
        arithmetic = make_arithmetic(settings.protection, run.stopwatch)
        self.start = answer_guest(channel, settings, run, self.plan, row_count, width, arithmetic)
        self._origin = run.origin or self.start.model_id
        widths = widths_of(settings, self.start)
        note_run(channel.ledger, settings, run, self.plan, widths)
        exchange = LayerExchange(
            channel,
            settings.protection,
            arithmetic,
            settings.network.units,
            widths,
            run.stopwatch,
            opens_slopes=settings.host_bottom == "trained",
        )
        self._addend = self._first_addend(run, width)
        masks = agree_on_masks(channel, settings.hosts)
        self.keeps_features = settings.host_bottom != "trained"
        uses = kept_uses(settings, run, self.plan)
        make_layer = NoisyHostLayer if settings.form == GUEST_LAYER else HostLayer
        self._layer = make_layer(exchange, settings.guest, self._addend, masks, uses)
        cure = "standardise the columns, or let the bottom give smaller numbers"
        self._rounding = Rounding(f"features of {channel.party}", FEATURE_BITS, cure, run.warn)
        self._kept: dict[int, IntArray] = {}
        self._step, self._features = "", np.zeros((0, width), np.int64)
        self._cut_share = 0.0

    def forward(self, epoch: int, number: int, features: FloatArray | None) -> None:
        """Give the guest this host's part of the outputs of batch `number` (the first is 0).

        `features` (rows, m) may be None where they are kept and were given before. Raises InputError for NaN or
        infinity, and for other features of a batch that is kept; BoundError where too many lie beyond 8; ProtocolError
        for a batch that was played in this epoch before.
        """
        self._step = batch_step(epoch, number)
        if features is None:
            self._features = self._kept[number]
        else:
            self._features = self._rounding.round(features)
            if self.keeps_features:
                _check_kept(self._kept.setdefault(number, self._features), self._features, number)
        self._layer.forward(self._step, number, self._features)

    def backward(self) -> FloatArray | None:
        """Move this host's weights by the batch of the last `forward`.

        Returns the slope of each row's loss by its features (rows, m) where the bottom trains; else None.
        """
        return self._layer.backward(self._step, self._features)

    def has_features(self, number: int) -> bool:
        """Whether the features of a batch are kept."""
        return number in self._kept

    def held_out(self, epoch: int, features: FloatArray) -> None:
        """Give the guest this host's part of the outputs of the held-out rows, from their features."""
        if len(features):
            self.evaluate(f"{epoch_step(epoch)}/{HELD_OUT}", features)

    def evaluate(self, step: str, features: FloatArray) -> None:
        """Give the guest this host's part of the outputs of any rows; no weight moves. No two steps have one name."""
        integers = self._rounding.round(features)
        blocks = blocks_of(len(features), self._settings.training.batch_rows)
        self._layer.outputs(step, [integers[block] for block in blocks])

    def end_epoch(self, epoch: int) -> tuple[bool, float]:
        """Hear whether the training ends; with the share of the features that were cut."""
        settings = self._settings
        step = f"{epoch_step(epoch)}/{EPOCH_END}"
        finished = self._channel.receive(settings.guest, step, EpochEndMessage).finished
        # Features that are kept are rounded in the first epoch alone.
        share = self._rounding.end_epoch()
        self._cut_share = max(share, self._cut_share) if self.keeps_features else share
        return finished or epoch == settings.training.epochs, self._cut_share

    def arrays(self, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
        """The addend of this host's weights, with its velocity where a training goes on."""
        if with_state:
            return self._addend.state_arrays() | origin_array(self._origin)
        return self._addend.arrays()

    def _first_addend(self, run: NetworkRun, width: int) -> SharedAddend:
        settings, channel, start = self._settings, self._channel, self.start
        generator = np.random.default_rng(draw_seed(run, 3))
        drawn = first_addend(generator, width, settings.network.units, 1.0 / sum(start.widths))
        if run.begins_with is None:
            drawn = split_weights(channel, settings.guest, drawn)
        addend = SharedAddend(self._origin, channel.party, drawn, is_guest=False, training=settings.training)
        if run.begins_with is not None:
            addend.begin_from(run.begins_with)
        return addend


def _check_kept(kept: IntArray, features: IntArray, number: int) -> None:
    """Raise InputError where a batch comes with other features than those that the guest was sent, encrypted, once."""
    if not np.array_equal(kept, features):
        raise InputError(
            f"batch {number + 1} comes with other features than before",
            expected="the features that it was given first: under this host_bottom they are encrypted once and kept",
            got="others",
            cure="give a batch the same rows and the same fixed map in every epoch, or None",
        )
