"""The role of the guest: it has labels, and may have columns.

    1. hear each host's rows, batches and width; tell all hosts how the training begins; both split first weights
    2. each batch: give each host a product with the guest's addend of its weights, open the outputs summed over hosts
    3. run the top, find the slopes of the outputs, move the guest's own networks
    4. send the slopes encrypted; open shares of each host's gradient and move the addends; where bottoms of hosts
       train, give each the slopes of its features
    5. each epoch: open the outputs of held-out rows; say whether another epoch follows; save its part

Source: F. Fu et al. 2022 (BlindFL), section 4, for first layers in shares; products of matrices here are of one party's
lattice key.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.data import Table
from hekat.errors import DivergedError
from hekat.ledger import RecordedChannel
from hekat.protocol.stop_rules import should_stop
from hekat.protocol.vertical_network.arithmetic.make import make_arithmetic
from hekat.protocol.vertical_network.fixed_point import SLOPE_BITS, Rounding
from hekat.protocol.vertical_network.guest_side.layer import GuestLayer
from hekat.protocol.vertical_network.guest_side.own_network import OwnNetwork
from hekat.protocol.vertical_network.guest_side.targets import FLIPS, Targets, make_targets
from hekat.protocol.vertical_network.handshake import call_hosts, note_leaks, take_addend, widths_of
from hekat.protocol.vertical_network.layer_exchange import LayerExchange, keeps_features
from hekat.protocol.vertical_network.messages import EpochEndMessage, StartMessage
from hekat.protocol.vertical_network.model_part import TARGET_MEAN, TARGET_SPREAD, NetworkPart
from hekat.protocol.vertical_network.own_features import OwnFeatures, draw_seed, prepare_own_features
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun, NetworkState
from hekat.protocol.vertical_network.row_plan import RowPlan, blocks_of
from hekat.protocol.vertical_network.run_odds import check_odds
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.shared_addend import SharedAddend, first_addend
from hekat.protocol.vertical_network.steps import EPOCH_END, HELD_OUT, batch_step, epoch_step
from hekat.protocol.vertical_network.timing_labels import NETWORK, PLAIN
from hekat.protocol.vertical_network.trained_part import make_part


def run_guest(
    channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun
) -> NetworkPart:
    """Train with the others; returns the guest's part of the model."""
    with run.stopwatch.measure(PLAIN):
        plan = RowPlan.of(len(table), settings.training)
        targets = make_targets(table, settings, run, channel.ledger)
        own = prepare_own_features(table, settings, run, channel.party, plan.trained)
    arithmetic = make_arithmetic(settings.protection, run.stopwatch)
    start = call_hosts(channel, settings, run, plan, len(table), own.width, arithmetic)
    widths = widths_of(settings, start)
    note_leaks(channel.ledger, settings, widths)
    steps = (settings.training.epochs - run.epochs_done) * (len(plan.batches) + 1)
    check_odds(channel.ledger, settings, list(widths.values()), max(1, steps), plan.most_rows)
    exchange = LayerExchange(channel, settings.protection, arithmetic, settings.network.units, widths, run.stopwatch)
    guest = _Guest(table, settings, run, plan, targets, own, start, exchange)
    if not start.finished:
        guest.train()
    return guest.part()


class _Guest:
    """The guest's loop over epochs."""

    def __init__(
        self,
        table: Table,
        settings: VerticalNetworkSettings,
        run: NetworkRun,
        plan: RowPlan,
        targets: Targets,
        own: OwnFeatures,
        start: StartMessage,
        exchange: LayerExchange,
    ) -> None:
        self._table, self._settings, self._run, self._plan = table, settings, run, plan
        self._targets, self._own, self._start, self._exchange = targets, own, start, exchange
        training, count = settings.training, sum(start.widths)
        self._network = OwnNetwork(
            own.bottom,
            settings.network,
            None if settings.classes is None else len(settings.classes),
            output_count=settings.output_count,
            learning_rate=training.learning_rate,
            l2=training.l2,
            seeds=(draw_seed(run, 1), draw_seed(run, 2)),
            input_count=count,
        )
        if run.begins_with is not None:
            self._network.begin_from(run.begins_with)
        kept_uses = training.epochs - run.epochs_done if keeps_features(settings) else 0
        self._layer = GuestLayer(exchange, self._first_addends(count), kept_uses)
        self._rounding = Rounding(
            "slopes of the interactive layer",
            SLOPE_BITS,
            "lower training.learning_rate or training.shared_rate",
            run.warn,
        )
        resumed = run.resume_from
        self._losses = list(resumed.losses) if resumed else []
        self._held_losses = list(resumed.validation_losses) if resumed else []
        self._epochs = run.epochs_done

    def train(self) -> None:
        """Train to the last epoch, or until the loss gets no better."""
        settings, run, channel = self._settings, self._run, self._exchange.channel
        finished = False
        while not finished:
            self._epochs += 1
            self._losses.append(self._play_batches())
            held_loss = self._play_held_out()
            if held_loss is not None:
                self._held_losses.append(held_loss)
            judged = self._losses if held_loss is None else self._held_losses
            finished = self._epochs == settings.training.epochs or should_stop(judged, settings.training)
            for host in settings.hosts:
                channel.send(host, f"{epoch_step(self._epochs)}/{EPOCH_END}", EpochEndMessage(finished))
            record = NetworkRecord(
                self._epochs,
                self._losses[-1],
                held_loss,
                self._rounding.end_epoch(),
                settings.training.taken_rate(self._plan.most_rows),
            )
            run.end_epoch(channel, self._state(finished=finished), record)

    def part(self) -> NetworkPart:
        """The guest's part of the model."""
        return make_part(
            self._exchange.channel.party,
            self._settings,
            self._start,
            self._table.feature_names,
            self._own,
            self._epochs,
            self._arrays(with_state=False),
        )

    def _play_batches(self) -> float:
        """The steps of an epoch; returns the mean loss of its rows, each before its batch's step."""
        total, columns, targets = 0.0, self._own.columns, self._targets.values
        for number, rows in enumerate(self._plan.batches):
            step = batch_step(self._epochs, number)
            with self._exchange.measure(NETWORK):
                own = self._network.forward(columns[rows])
            outputs = own + self._layer.forward(step, number, len(rows))
            with self._exchange.measure(NETWORK):
                loss, slopes = self._network.finish(outputs, targets[rows])
                _check_loss(loss)
                self._network.backward()
                integers = self._rounding.round(slopes)
            self._layer.backward(step, integers)
            total += loss * len(rows)
        return total / len(self._plan.trained)

    def _play_held_out(self) -> float | None:
        """The mean loss of the held-out rows; None without any."""
        rows = self._plan.held_out
        if not len(rows):
            return None
        blocks = blocks_of(len(rows), self._settings.training.batch_rows)
        step = f"{epoch_step(self._epochs)}/{HELD_OUT}"
        found = []
        opened = self._layer.outputs(step, [len(rows[block]) for block in blocks])
        for block, hosts in zip(blocks, opened, strict=True):
            with self._exchange.measure(NETWORK):
                found.append(self._network.evaluate(self._own.columns[rows[block]], hosts))
        return self._network.loss.loss(np.concatenate(found), self._targets.values[rows])

    def _first_addends(self, input_count: int) -> dict[str, SharedAddend]:
        settings, run, channel = self._settings, self._run, self._exchange.channel
        generator = np.random.default_rng(draw_seed(run, 3))
        addends = {}
        for host, width in self._exchange.widths.items():
            drawn = first_addend(generator, width, settings.network.units, 1.0 / input_count)
            if run.begins_with is None:
                drawn = take_addend(channel, host, drawn)
            addends[host] = SharedAddend(self._start.model_id, host, drawn, is_guest=True, training=settings.training)
            if run.begins_with is not None:
                addends[host].begin_from(run.begins_with)
        return addends

    def _state(self, *, finished: bool) -> NetworkState:
        return NetworkState(
            self._arrays(with_state=True),
            self._epochs,
            finished,
            tuple(self._losses),
            tuple(self._held_losses),
            self._start.model_id,
        )

    def _arrays(self, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
        arrays = self._own.arrays(with_state=with_state) | self._network.arrays(with_state=with_state)
        for addend in self._layer.addends.values():
            arrays |= addend.state_arrays() if with_state else addend.arrays()
        arrays[TARGET_MEAN], arrays[TARGET_SPREAD] = np.array(self._targets.mean), np.array(self._targets.spread)
        if with_state and self._targets.flips:
            arrays[FLIPS] = np.frombuffer(self._targets.flips, np.uint8)
        return arrays


def _check_loss(loss: float) -> None:
    if not math.isfinite(loss):
        raise DivergedError(
            "the loss of a batch is out of range",
            expected="a finite number",
            got="NaN or infinity",
            cure="lower training.learning_rate or training.shared_rate, or standardise the columns",
        )
