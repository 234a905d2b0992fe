"""The role of a host: it has columns and no labels.

1. prepare its columns and its bottom; tell the guest its rows, batches and width; both split first weights
2. each batch: give its share of the interactive layer's outputs under masks that cancel over the hosts
3. multiply its features with the guest's encrypted slopes, and move its addend of the weights by its share
4. where its bottom trains: learn the slopes of its features, and move the bottom
5. each epoch: the same for held-out rows; hear whether another one follows; save its part
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table, check_has_no_labels
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_network.arithmetic.make import make_arithmetic
from hekat.protocol.vertical_network.fixed_point import FEATURE_BITS, IntArray, Rounding
from hekat.protocol.vertical_network.handshake import answer_guest, note_leaks, split_weights, widths_of
from hekat.protocol.vertical_network.host_masks import agree_on_masks
from hekat.protocol.vertical_network.host_side.layer import HostLayer
from hekat.protocol.vertical_network.layer_exchange import LayerExchange, keeps_features
from hekat.protocol.vertical_network.messages import EpochEndMessage, StartMessage
from hekat.protocol.vertical_network.model_part import NetworkPart
from hekat.protocol.vertical_network.own_features import OwnFeatures, draw_seed, prepare_own_features
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun, NetworkState
from hekat.protocol.vertical_network.row_plan import RowPlan, blocks_of
from hekat.protocol.vertical_network.run_odds import check_odds
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import SharedAddend, first_addend
from hekat.protocol.vertical_network.steps import EPOCH_END, HELD_OUT, batch_step, epoch_step
from hekat.protocol.vertical_network.timing_labels import NETWORK, PLAIN
from hekat.protocol.vertical_network.trained_part import make_part


def run_host(channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun) -> NetworkPart:
    """Train with the others; returns this host's part of the model."""
    check_has_no_labels(table)
    with run.stopwatch.measure(PLAIN):
        plan = RowPlan.of(len(table), settings.training)
        own = prepare_own_features(table, settings, run, channel.party, plan.trained)
    arithmetic = make_arithmetic(settings.protection, run.stopwatch)
    start = answer_guest(channel, settings, run, plan, len(table), own.width, arithmetic)
    widths = widths_of(settings, start)
    note_leaks(channel.ledger, settings, widths)
    steps = (settings.training.epochs - run.epochs_done) * (len(plan.batches) + 1)
    check_odds(channel.ledger, settings, list(widths.values()), max(1, steps), plan.most_rows)
    exchange = LayerExchange(channel, settings.protection, arithmetic, settings.network.units, widths, run.stopwatch)
    host = _Host(table, settings, run, plan, own, start, exchange)
    if not start.finished:
        host.train()
    return host.part()


class _Host:
    """A host's loop over epochs."""

    def __init__(
        self,
        table: Table,
        settings: VerticalNetworkSettings,
        run: NetworkRun,
        plan: RowPlan,
        own: OwnFeatures,
        start: StartMessage,
        exchange: LayerExchange,
    ) -> None:
        self._table, self._settings, self._run, self._plan = table, settings, run, plan
        self._own, self._start, self._exchange = own, start, exchange
        training, channel = settings.training, exchange.channel
        self._addend = self._first_addend()
        self._kept_uses = training.epochs - run.epochs_done if keeps_features(settings) else 0
        masks = agree_on_masks(channel, settings.hosts)
        self._layer = HostLayer(exchange, settings.guest, self._addend, masks, self._kept_uses)
        self._rounding = Rounding(
            f"features of {channel.party}",
            FEATURE_BITS,
            "standardise the columns, or let the bottom give smaller numbers",
            run.warn,
        )
        self._kept: dict[int, IntArray] = {}
        self._cut_share = 0.0
        self._epochs = run.epochs_done

    def train(self) -> None:
        """Train until the guest says that no epoch follows."""
        settings, run, channel = self._settings, self._run, self._exchange.channel
        finished = False
        while not finished:
            self._epochs += 1
            for number in range(len(self._plan.batches)):
                self._play_batch(number)
            self._play_held_out()
            step = f"{epoch_step(self._epochs)}/{EPOCH_END}"
            finished = channel.receive(settings.guest, step, EpochEndMessage).finished
            finished = finished or self._epochs == settings.training.epochs
            # Features that never change are rounded in the first epoch alone.
            self._cut_share = max(self._rounding.end_epoch(), self._cut_share if self._kept_uses else 0.0)
            rate = settings.training.taken_rate(self._plan.most_rows)
            record = NetworkRecord(self._epochs, clipped_share=self._cut_share, shared_rate=rate)
            state = NetworkState(self._arrays(with_state=True), self._epochs, finished, model_id=self._start.model_id)
            run.end_epoch(channel, state, record)

    def part(self) -> NetworkPart:
        """This host's part of the model."""
        return make_part(
            self._exchange.channel.party,
            self._settings,
            self._start,
            self._table.feature_names,
            self._own,
            self._epochs,
            self._arrays(with_state=False),
        )

    def _play_batch(self, number: int) -> None:
        step, bottom = batch_step(self._epochs, number), self._own.bottom
        assert bottom is not None
        features = self._features(number)
        self._layer.forward(step, number, features)
        slopes = self._layer.backward(step, features)
        if slopes is not None:
            with self._exchange.measure(NETWORK):
                bottom.step(bottom.backward(slopes / len(features)))

    def _features(self, number: int) -> IntArray:
        """The features of a batch, kept where they never change."""
        if number in self._kept:
            return self._kept[number]
        bottom = self._own.bottom
        assert bottom is not None
        with self._exchange.measure(NETWORK):
            features = self._rounding.round(bottom.forward(self._own.columns[self._plan.batches[number]]))
        if self._kept_uses:
            self._kept[number] = features
        return features

    def _play_held_out(self) -> None:
        rows, bottom = self._plan.held_out, self._own.bottom
        if not len(rows):
            return
        assert bottom is not None
        with self._exchange.measure(NETWORK):
            features = self._rounding.round(bottom.evaluate(self._own.columns[rows]))
        blocks = blocks_of(len(rows), self._settings.training.batch_rows)
        self._layer.outputs(f"{epoch_step(self._epochs)}/{HELD_OUT}", [features[block] for block in blocks])

    def _first_addend(self) -> SharedAddend:
        settings, run, channel = self._settings, self._run, self._exchange.channel
        generator = np.random.default_rng(draw_seed(run, 3))
        drawn = first_addend(generator, self._own.width, settings.network.units, 1.0 / sum(self._start.widths))
        if run.begins_with is None:
            drawn = split_weights(channel, settings.guest, drawn)
        addend = SharedAddend(self._start.model_id, channel.party, drawn, is_guest=False, training=settings.training)
        if run.begins_with is not None:
            addend.begin_from(run.begins_with)
        return addend

    def _arrays(self, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
        arrays = self._own.arrays(with_state=with_state)
        return arrays | (self._addend.state_arrays() if with_state else self._addend.arrays())
