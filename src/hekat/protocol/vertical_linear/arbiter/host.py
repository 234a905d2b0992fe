"""The role of a host: it has columns and no labels.

    1. check what its own gradients would tell; tell the guest how many rows and columns it has; check by the guest's
       counts what the guest's gradients would tell
    2. take the arbiter's key, and compare the digest of the sizes that the arbiter heard
    3. each batch: send its part of the residuals, encrypted; get the residuals, encrypted; have its gradient opened
       under a mask; make a step
    4. each epoch: send its part of the loss, encrypted; hear whether to go on

Source: Hardy et al. 2017, section 4; HAFLO, Fig. 2; FLASH, appendix A.2.
"""

from __future__ import annotations

import numpy as np

from hekat.data import Table, check_has_no_labels
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.arbiter.leak_rules import check_host_alone
from hekat.protocol.vertical_linear.arbiter.local_trainer import LocalTrainer
from hekat.protocol.vertical_linear.arbiter.loss import encode_loss_part
from hekat.protocol.vertical_linear.arbiter.messages import (
    LOSS_PARTS,
    RESIDUALS,
    SCORES,
    EpochEndMessage,
    HostReadyMessage,
    StartMessage,
)
from hekat.protocol.vertical_linear.arbiter.opening import Opening, receive_opening
from hekat.protocol.vertical_linear.arbiter.sum_layout import SumLayout
from hekat.protocol.vertical_linear.fixed_point import IntArray, decode_products
from hekat.protocol.vertical_linear.label_leak.equation_total import describe_equation_total
from hekat.protocol.vertical_linear.label_leak.equations import LeakCount, check_equations, check_leverage
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.objective import WEIGHTS
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.steps import (
    EPOCH_END,
    READY_STEP,
    START_STEP,
    batch_step,
    epoch_step,
)
from hekat.protocol.vertical_linear.timing_labels import ENCRYPT_LOGITS, GRADIENT, LOSS, PLAIN


def run_host(channel: RecordedChannel, table: Table, settings: VerticalLinearSettings, run: PartyRun) -> ModelPart:
    """Train with the others; returns this host's part of the model."""
    check_has_no_labels(table)
    with run.stopwatch.measure(PLAIN):
        weights = np.zeros((table.features.shape[1], settings.column_count))
        own = LocalTrainer(channel.party, table, settings, run, {WEIGHTS: weights})
    own.note_limited(channel.ledger)
    start = _announce(channel, own)
    layout = own.lay_out(start)
    _check_guest(channel, own, start)
    opening = receive_opening(channel, settings, start, layout, run.stopwatch)
    if run.exactness_check is not None:
        run.exactness_check.begin(channel.party, own.columns.features)
    if not start.finished:
        _Host(channel, own, opening, layout).train()
    return own.model_part(channel.session_id)


def _announce(channel: RecordedChannel, own: LocalTrainer) -> StartMessage:
    settings = own.settings
    leak = own.count_leak()
    channel.ledger.note("setup", leak.describe(), "disclosed")
    check_host_alone(own, leak)
    ready = HostReadyMessage(
        row_count=own.row_count,
        column_count=own.column_count,
        high_leverage_columns=leak.high_leverage_columns,
        feature_bits=own.feature_bits,
        epochs_done=own.epochs_done,
    )
    channel.send(settings.guest, READY_STEP, ready)
    start = channel.receive(settings.guest, START_STEP, StartMessage)
    if (start.row_count, start.epochs_done) != (own.row_count, own.epochs_done):
        raise ProtocolError(
            f"{settings.guest} begins with other rows or epochs than this host has",
            expected=f"{own.row_count:,} rows, {own.epochs_done:,} epochs done",
            got=f"{start.row_count:,} rows, {start.epochs_done:,} epochs done",
            cure="all parties must run the same job, on the same rows, and resume from the same epoch",
        )
    if start.feature_bits < own.feature_bits:
        # These bits lay out the sums: with fewer bits, this host's gradients would wrap.
        raise ProtocolError(
            f"{settings.guest} begins with fewer bits than features of this host take",
            expected=f"at least the {own.feature_bits} bits that {own.party} told it",
            got=f"{start.feature_bits} bits",
            cure="find out what runs there: this release tells the largest of all parties",
        )
    if len(settings.hosts) > 1:
        total = describe_equation_total(len(own.batches), start.column_counts[1:], own.row_count)
        channel.ledger.note("setup", total, "disclosed")
    return start


def _check_guest(channel: RecordedChannel, own: LocalTrainer, start: StartMessage) -> None:
    """Check what the guest's gradients would tell of hosts, by its own counts, before this host sends a score."""
    settings = own.settings
    guest_columns, high = start.column_counts[0], start.high_leverage_columns
    if not 0 <= high <= guest_columns:
        raise ProtocolError(
            f"{settings.guest} begins with columns that cannot be",
            expected="the columns of high leverage among its own",
            got=f"{guest_columns} columns, {high} of high leverage",
            cure="find out what runs there: this release does not send such counts",
        )
    leak = LeakCount(settings.guest, len(own.batches), guest_columns + 1, own.row_count, high)
    channel.ledger.note("setup", f"{leak.describe()}, on the hosts' scores", "disclosed")
    check_equations(leak, settings)
    check_leverage(leak, settings)


class _Host:
    """A host's loop over epochs and batches."""

    def __init__(self, channel: RecordedChannel, own: LocalTrainer, opening: Opening, layout: SumLayout) -> None:
        self._channel, self._own, self._opening, self._layout = channel, own, opening, layout
        self._settings, self._run = own.settings, own.run
        self._arithmetic, self._stopwatch = opening.arithmetic, own.run.stopwatch

    def train(self) -> None:
        """Train to the last epoch, or until the guest stops."""
        for epoch in range(self._own.epochs_done + 1, self._settings.training.epochs + 1):
            if self._play_epoch(epoch):
                return

    def _play_epoch(self, epoch: int) -> bool:
        guest, step = self._settings.guest, epoch_step(epoch)
        parts = [self._play_batch(batch_step(epoch, number), rows) for number, rows in enumerate(self._own.batches)]
        with self._stopwatch.measure(LOSS):
            data = self._arithmetic.write(self._arithmetic.hold_sum(encode_loss_part(parts, self._layout)))
        self._channel.send(guest, f"{step}/loss-part", LOSS_PARTS[self._settings.protection](values=data))
        finished = self._channel.receive(guest, f"{step}/{EPOCH_END}", EpochEndMessage).finished
        record = EpochRecord(epoch, gradient_error_bound=self._own.error_bound())
        self._run.end_epoch(self._channel, self._own.state(epoch, finished=finished), record)
        return finished

    def _play_batch(self, step: str, rows: IntArray) -> float:
        """One step; returns this host's part of the batch's mean of d^2."""
        own, settings = self._own, self._settings
        with self._stopwatch.measure(PLAIN):
            part = own.encode(own.residual.score_factor * own.scores(rows))
        with self._stopwatch.measure(ENCRYPT_LOGITS):
            data = self._arithmetic.write(self._arithmetic.hold(part))
        self._channel.send(settings.guest, f"{step}/scores", SCORES[settings.protection](values=data))
        received = self._channel.receive(settings.guest, f"{step}/residuals", RESIDUALS[settings.protection])
        with self._stopwatch.measure(GRADIENT):
            residuals = self._arithmetic.read_rows(received.values, (len(rows), settings.column_count), settings.guest)
            masked = self._arithmetic.mask(self._arithmetic.multiply(own.matrix(rows), residuals))
        self._opening.ask_gradient(step, masked)
        opened = self._opening.open_gradient(step, masked)
        with self._stopwatch.measure(PLAIN):
            gradient = decode_products(opened, settings.fixed_point).reshape(-1, settings.column_count) / len(rows)
            own.check_exactness(step, rows, {WEIGHTS: gradient})
            loss_part = own.loss_part(gradient)
            own.move({WEIGHTS: gradient})
        return loss_part
