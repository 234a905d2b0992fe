"""The role of the guest: it has labels and columns, and adds up the residuals that nobody sees.

    1. hear how many rows and columns each host has; refuse a job whose gradients would tell labels, before anything
       about labels leaves
    2. take the arbiter's key, and compare the digest of the sizes that the arbiter heard
    3. each batch: add the hosts' parts and its own part, which holds the labels and is freshly encrypted; send the sum,
       the residuals, to all hosts; have its own gradient opened under a mask; make a step
    4. each epoch: add the parts of the loss and have the sum opened under a mask; say whether to go on

The fresh encryption re-randomises the sum that a host gets back, so that no host finds its own part in it.
Source: Hardy et al. 2017, section 4; HAFLO, Fig. 2; FLASH, appendix A.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hekat.data import Table
from hekat.data.features import MAX_COLUMNS
from hekat.errors import ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.arbiter.leak_rules import LabelCounts
from hekat.protocol.vertical_linear.arbiter.local_trainer import LocalTrainer
from hekat.protocol.vertical_linear.arbiter.loss import decode_loss, encode_loss_part, encode_target_shares
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
from hekat.protocol.vertical_linear.columns import Targets, prepare_targets
from hekat.protocol.vertical_linear.fixed_point import FEATURE_LIMIT_BITS, IntArray, decode_products
from hekat.protocol.vertical_linear.label_leak.equation_total import describe_equation_total
from hekat.protocol.vertical_linear.label_leak.equations import LeakCount, check_equations, check_leverage
from hekat.protocol.vertical_linear.loss_bits import describe_told_loss
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.objective import INTERCEPT, WEIGHTS, ends_training, start_parameters
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.steps import (
    EPOCH_END,
    READY_STEP,
    START_STEP,
    batch_step,
    epoch_step,
)
from hekat.protocol.vertical_linear.timing_labels import AGGREGATE, FORE_GRADIENT, GRADIENT, LOSS, PLAIN


def run_guest(channel: RecordedChannel, table: Table, settings: VerticalLinearSettings, run: PartyRun) -> ModelPart:
    """Train with the others; returns the guest's part of the model."""
    with run.stopwatch.measure(PLAIN):
        targets = prepare_targets(table, settings)
        start = start_parameters(table.features.shape[1], settings.column_count)
        own = LocalTrainer(channel.party, table, settings, run, start)
    own.note_limited(channel.ledger)
    begun = _begin(channel, own, targets)
    layout = own.lay_out(begun)
    opening = receive_opening(channel, settings, begun, layout, run.stopwatch)
    if run.exactness_check is not None:
        run.exactness_check.begin(channel.party, own.columns.features, targets.values)
    if not begun.finished:
        _Guest(channel, own, opening, layout, targets).train()
    return own.model_part(channel.session_id, targets)


def _begin(channel: RecordedChannel, own: LocalTrainer, targets: Targets) -> StartMessage:
    """Hear all hosts, check their counts, and tell all roles the sizes; `finished` where the resumed run had ended."""
    settings = own.settings
    counts, feature_bits = [own.column_count], own.feature_bits
    labels = LabelCounts.of(own, targets)
    for host in settings.hosts:
        ready = channel.receive(host, READY_STEP, HostReadyMessage)
        _check_ready(ready, host, own)
        leak = LeakCount(host, len(own.batches), ready.column_count, own.row_count, ready.high_leverage_columns)
        channel.ledger.note("setup", leak.describe(), "disclosed")
        labels.check_host(leak, ready.feature_bits)
        counts.append(ready.column_count)
        feature_bits = max(feature_bits, ready.feature_bits)
    if len(settings.hosts) > 1:
        total = describe_equation_total(len(own.batches), counts[1:], own.row_count)
        channel.ledger.note("setup", total, "disclosed")
    leak = own.count_leak(ones=1)
    channel.ledger.note("setup", f"{leak.describe()}, on the hosts' scores: it has the labels", "disclosed")
    check_equations(leak, settings)
    check_leverage(leak, settings, own.high_leverage_columns)
    channel.ledger.note("setup", describe_told_loss(own.row_count, settings.training.epochs), "disclosed")
    start = StartMessage(
        row_count=own.row_count,
        column_counts=counts,
        high_leverage_columns=leak.high_leverage_columns,
        feature_bits=feature_bits,
        target_bits=labels.target_bits,
        epochs_done=own.epochs_done,
        finished=own.run.had_ended(settings.training.epochs),
    )
    for party in settings.everyone[1:]:
        channel.send(party, START_STEP, start)
    return start


def _check_ready(ready: HostReadyMessage, host: str, own: LocalTrainer) -> None:
    if ready.row_count != own.row_count:
        raise ProtocolError(
            f"{host} has other rows than {own.party}",
            expected=f"{own.row_count:,} rows",
            got=f"{ready.row_count:,} rows",
            cure="find the rows that all parties have in common first: set intersection gives them in one order",
        )
    if ready.epochs_done != own.epochs_done:
        raise ProtocolError(
            f"{host} resumes from another epoch than {own.party}",
            expected=f"{own.epochs_done:,} epochs done",
            got=f"{ready.epochs_done:,} epochs done",
            cure="resume all parties from an epoch that all have saved, or begin anew",
        )
    if not (
        1 <= ready.column_count <= MAX_COLUMNS
        and 0 <= ready.high_leverage_columns <= ready.column_count
        and 1 <= ready.feature_bits <= FEATURE_LIMIT_BITS
    ):
        raise ProtocolError(
            f"{host} has columns that cannot be",
            expected=f"1 to {MAX_COLUMNS} columns, with all columns of high leverage, of features of 1 to "
            f"{FEATURE_LIMIT_BITS} bits",
            got=f"{ready.column_count} columns, {ready.high_leverage_columns} of high leverage, {ready.feature_bits} "
            "bits",
            cure="find out what runs there: this release does not send such counts",
        )


class _Guest:
    """The guest's loop over epochs and batches."""

    def __init__(
        self, channel: RecordedChannel, own: LocalTrainer, opening: Opening, layout: SumLayout, targets: Targets
    ) -> None:
        self._channel, self._own, self._opening, self._targets = channel, own, opening, targets.values
        self._settings, self._run = own.settings, own.run
        self._arithmetic, self._stopwatch = opening.arithmetic, own.run.stopwatch
        self._layout = layout
        self._losses = () if own.run.resume_from is None else own.run.resume_from.losses

    def train(self) -> None:
        """Train to the last epoch, or until the stop rule holds."""
        for epoch in range(self._own.epochs_done + 1, self._settings.training.epochs + 1):
            if self._play_epoch(epoch):
                return

    def _play_epoch(self, epoch: int) -> bool:
        settings, step = self._settings, epoch_step(epoch)
        own_losses: list[float] = []
        encrypted: list[Any] = []
        for number, rows in enumerate(self._own.batches):
            own_loss, target_part = self._play_batch(batch_step(epoch, number), rows)
            own_losses.append(own_loss)
            with self._stopwatch.measure(LOSS):
                encrypted = [self._arithmetic.add([*encrypted, target_part])]
        self._losses = (*self._losses, self._open_loss(step, own_losses, encrypted))
        ends = ends_training(self._losses, settings.training, settings.task, self._layout.told_loss_bits)
        finished = ends or epoch == settings.training.epochs
        for party in settings.everyone[1:]:
            self._channel.send(party, f"{step}/{EPOCH_END}", EpochEndMessage(finished=finished))
        state = self._own.state(epoch, finished=finished, losses=self._losses)
        record = EpochRecord(epoch, self._losses[-1], self._own.error_bound(least=1.0))
        self._run.end_epoch(self._channel, state, record)
        return finished

    def _open_loss(self, step: str, own_losses: list[float], encrypted: list[Any]) -> float:
        settings, arithmetic = self._settings, self._arithmetic
        for host in settings.hosts:
            message = self._channel.receive(host, f"{step}/loss-part", LOSS_PARTS[settings.protection])
            encrypted.append(arithmetic.read_sum(message.values, host))
        with self._stopwatch.measure(LOSS):
            encrypted.append(arithmetic.hold_sum(encode_loss_part(own_losses, self._layout)))
            masked = arithmetic.mask(arithmetic.add(encrypted))
        return decode_loss(self._opening.open_loss(step, masked), self._own.residual, self._layout)

    def _play_batch(self, step: str, rows: IntArray) -> tuple[float, Any]:
        """One step; returns the guest's part of the batch's mean of d^2, and the labels' part, still encrypted,
        (1,)."""
        own, settings = self._own, self._settings
        residuals = self._add_residuals(step, rows)
        with self._stopwatch.measure(GRADIENT):
            products = self._arithmetic.multiply(self._matrix(rows), residuals)
            gradient_count = (own.column_count + 1) * settings.column_count
            masked = self._arithmetic.mask(self._arithmetic.take(products, np.arange(gradient_count)))
        self._opening.ask_gradient(step, masked)
        with self._stopwatch.measure(LOSS):
            # Targets of class k meet residuals of class k: the diagonal of the products behind the gradient.
            diagonal = gradient_count + np.arange(settings.column_count) * (settings.column_count + 1)
            terms = [self._arithmetic.take(products, diagonal[k : k + 1]) for k in range(len(diagonal))]
            target_part = self._arithmetic.add(terms)
        opened = self._opening.open_gradient(step, masked)
        with self._stopwatch.measure(PLAIN):
            values = decode_products(opened, settings.fixed_point).reshape(-1, settings.column_count) / len(rows)
            gradient = {WEIGHTS: values[:-1], INTERCEPT: values[-1]}
            own.check_exactness(step, rows, gradient)
            of_intercept = own.residual.score_factor * float(np.mean(own.parameters[INTERCEPT] * gradient[INTERCEPT]))
            own_loss = own.loss_part(gradient[WEIGHTS]) + of_intercept
            own.move(gradient)
        return own_loss, target_part

    def _add_residuals(self, step: str, rows: IntArray) -> Any:
        """Add up the residuals of a batch, (rows, K), and send them to all hosts."""
        own, settings, arithmetic = self._own, self._settings, self._arithmetic
        with self._stopwatch.measure(PLAIN):
            scores = own.scores(rows) + own.parameters[INTERCEPT]
            part = own.encode(own.residual.of(scores, self._targets[rows]))
        with self._stopwatch.measure(FORE_GRADIENT):
            addends = [arithmetic.hold(part)]
        for host in settings.hosts:
            message = self._channel.receive(host, f"{step}/scores", SCORES[settings.protection])
            with self._stopwatch.measure(AGGREGATE):
                addends.append(arithmetic.read_rows(message.values, (len(rows), settings.column_count), host))
        with self._stopwatch.measure(AGGREGATE):
            residuals = arithmetic.add(addends)
            message = RESIDUALS[settings.protection](values=arithmetic.write(residuals))
        for host in settings.hosts:
            self._channel.send(host, f"{step}/residuals", message)
        return residuals

    def _matrix(self, rows: IntArray) -> Any:
        """Integers (columns + 1 + K, rows): the guest's columns, the intercept's ones, and the shares of targets."""
        columns = self._own.matrix(rows)
        ones = np.full((1, len(rows)), 1 << self._settings.fixed_point.feature_bits, np.int64)
        shares = encode_target_shares(self._targets[rows], self._own.residual, self._layout, self._own.party)
        if isinstance(columns, np.ndarray):
            return np.concatenate([columns, ones, shares])
        from scipy.sparse import csr_array, vstack

        return vstack([columns, csr_array(ones), csr_array(shares)], format="csr")
