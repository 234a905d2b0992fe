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
from hekat.model.split import Top
from hekat.protocol.stop_rules import should_stop
from hekat.protocol.vertical_network.guest_side.loop import GuestLoop
from hekat.protocol.vertical_network.guest_side.own_network import OwnNetwork
from hekat.protocol.vertical_network.guest_side.targets import FLIPS, Targets, make_targets
from hekat.protocol.vertical_network.guest_side.top import make_top
from hekat.protocol.vertical_network.model_part import TARGET_MEAN, TARGET_SPREAD, NetworkPart
from hekat.protocol.vertical_network.own_features import OwnFeatures, draw_seed, prepare_own_features
from hekat.protocol.vertical_network.party_run import NetworkRecord, NetworkRun, NetworkState
from hekat.protocol.vertical_network.settings import VerticalNetworkSettings
from hekat.protocol.vertical_network.timing_labels import NETWORK, PLAIN
from hekat.protocol.vertical_network.trained_part import make_part


def run_guest(
    channel: RecordedChannel, table: Table, settings: VerticalNetworkSettings, run: NetworkRun
) -> NetworkPart:
    """Train with the others; returns the guest's part of the model."""
    with run.stopwatch.measure(PLAIN):
        targets = make_targets(table, settings, run, channel.ledger)
        top = make_top(settings, run)
        own = prepare_own_features(channel, table, settings, run, top.kind)
    loop = GuestLoop(channel, settings, run, len(table), own.width)
    guest = _Guest(channel, settings, run, targets, own, top, loop)
    if not loop.start.finished:
        guest.train()
    arrays = guest.arrays(with_state=False)
    return make_part(channel.party, settings, loop.start, table, own, guest.epochs, arrays, top.kind)


class _Guest:
    """The guest's loop over epochs."""

    def __init__(
        self,
        channel: RecordedChannel,
        settings: VerticalNetworkSettings,
        run: NetworkRun,
        targets: Targets,
        own: OwnFeatures,
        top: Top,
        loop: GuestLoop,
    ) -> None:
        self._channel, self._settings, self._run = channel, settings, run
        self._targets, self._own, self._loop = targets, own, loop
        self._network = OwnNetwork(
            own.bottom,
            top,
            None if settings.classes is None else len(settings.classes),
            units=settings.network.units,
            learning_rate=settings.training.learning_rate,
            l2=settings.training.l2,
            seed=draw_seed(run, 1),
            input_count=sum(loop.start.widths),
        )
        if run.begins_with is not None:
            self._network.begin_from(run.begins_with)
        resumed = run.resume_from
        self._losses = list(resumed.losses) if resumed else []
        self._held_losses = list(resumed.validation_losses) if resumed else []
        self.epochs = run.epochs_done

    def train(self) -> None:
        """Train to the last epoch, or until the loss gets no better."""
        settings, training = self._settings, self._settings.training
        finished = False
        while not finished:
            self.epochs += 1
            self._losses.append(self._play_batches())
            held_loss = self._play_held_out()
            if held_loss is not None:
                self._held_losses.append(held_loss)
            judged = self._losses if held_loss is None else self._held_losses
            finished = self.epochs == settings.training.epochs or should_stop(judged, settings.training)
            cut_share = self._loop.end_epoch(self.epochs, finished=finished)
            rate = training.taken_rate(self._loop.plan.most_rows)
            record = NetworkRecord(self.epochs, self._losses[-1], held_loss, cut_share, rate)
            self._run.end_epoch(self._channel, self._state(finished=finished), record)

    def arrays(self, *, with_state: bool) -> dict[str, npt.NDArray[Any]]:
        """What the guest's part keeps; with the optimisers' state where a training goes on."""
        arrays = self._own.arrays(with_state=with_state) | self._network.arrays(with_state=with_state)
        arrays |= self._loop.arrays(with_state=with_state)
        arrays[TARGET_MEAN], arrays[TARGET_SPREAD] = np.array(self._targets.mean), np.array(self._targets.spread)
        if with_state and self._targets.flips:
            arrays[FLIPS] = np.frombuffer(self._targets.flips, np.uint8)
        return arrays

    def _play_batches(self) -> float:
        """The steps of an epoch; returns the mean loss of its rows, each before its batch's step."""
        total, row_count = 0.0, 0
        for number, rows in enumerate(self._loop.plan.batches):
            with self._run.stopwatch.measure(NETWORK):
                own = self._network.forward(self._own.columns[rows])
            outputs = own + self._loop.forward(self.epochs, number)
            with self._run.stopwatch.measure(NETWORK):
                loss, slopes = self._network.finish(outputs, self._targets.values[rows])
                _check_loss(loss)
            self._loop.backward(slopes)
            with self._run.stopwatch.measure(NETWORK):
                self._network.backward()
            total, row_count = total + loss * len(rows), row_count + len(rows)
        return total / row_count

    def _play_held_out(self) -> float | None:
        """The mean loss of the held-out rows; None without any."""
        total, row_count = 0.0, 0
        for rows, hosts in self._loop.held_out(self.epochs):
            with self._run.stopwatch.measure(NETWORK):
                outputs = self._network.evaluate(self._own.columns[rows], hosts)
                total += self._network.loss.loss(outputs, self._targets.values[rows]) * len(rows)
            row_count += len(rows)
        return total / row_count if row_count else None

    def _state(self, *, finished: bool) -> NetworkState:
        losses, held_losses = tuple(self._losses), tuple(self._held_losses)
        arrays = self.arrays(with_state=True)
        return NetworkState(arrays, self.epochs, finished, losses, held_losses, self._loop.start.model_id)


def _check_loss(loss: float) -> None:
    if not math.isfinite(loss):
        raise DivergedError(
            "the loss of a batch is out of range",
            expected="a finite number",
            got="NaN or infinity",
            cure="lower training.learning_rate or training.shared_rate, or standardise the columns",
        )
