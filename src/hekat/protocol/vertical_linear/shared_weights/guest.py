"""The role of the guest: it has labels and columns, and alone learns the loss of each epoch."""

from __future__ import annotations

from hekat.data import Table
from hekat.errors import DivergedError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.shares.share_array import ShareArray, add_shares, to_floats
from hekat.protocol.vertical_linear.columns import prepare_targets
from hekat.protocol.vertical_linear.loss_bits import LOSS_BITS
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.objective import ends_training, residual_of
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.many_parties.begin import begin
from hekat.protocol.vertical_linear.shared_weights.many_parties.quiet_training import QuietTraining
from hekat.protocol.vertical_linear.shared_weights.messages import EpochEndMessage, LossShareMessage
from hekat.protocol.vertical_linear.shared_weights.scales import RANGE_BITS
from hekat.protocol.vertical_linear.shared_weights.training import SharedTraining
from hekat.protocol.vertical_linear.steps import EPOCH_END, epoch_step

LOSS_STEP = "loss-share"


def run_guest(channel: RecordedChannel, table: Table, settings: VerticalLinearSettings, run: PartyRun) -> ModelPart:
    """Train with the hosts; returns the guest's part of the model: shares of all weights, where it holds shares."""
    targets = prepare_targets(table, settings)
    training = begin(channel, table, settings, run, targets)
    losses = () if run.resume_from is None else run.resume_from.losses
    if not training.finished:
        for epoch in range(training.epochs_done + 1, settings.training.epochs + 1):
            share = training.play_batches(epoch)
            losses = (*losses, _open_loss(training, epoch, share))
            if _end_epoch(training, epoch, losses):
                break
    return training.model_part(targets)


def _open_loss(training: SharedTraining | QuietTraining, epoch: int, share: ShareArray) -> float:
    """Open the epoch's mean loss. Raises DivergedError for a number that is no loss."""
    for holder in training.settings.holders:
        if holder != training.settings.guest:
            step = f"{epoch_step(epoch)}/{LOSS_STEP}"
            other = training.channel.receive(holder, step, LossShareMessage, training.epoch_wait_s).share
            if other.shape != share.shape:
                raise ProtocolError(f"{holder} sent no share of the loss", expected="one", got=f"shape {other.shape}")
            share = add_shares(share, other)
    bits = training.told_loss_bits
    mean_square = float(to_floats(share, bits)) + training.known_square
    residual = residual_of(training.settings.task)
    # Rounding may take a loss of 0 a little below 0; a sum that wrapped can be any number.
    if not -(2.0 ** (RANGE_BITS - LOSS_BITS) + 2.0**-bits) <= mean_square <= 2.0**RANGE_BITS:
        raise DivergedError(
            f"training diverges: the loss of epoch {epoch} is beyond what shares can hold",
            expected=f"a mean square of residuals of at most 2^{RANGE_BITS}",
            got="a larger one",
            cure="lower training.learning_rate, standardise the columns, or give both parties parts of the same model "
            "for a warm start",
        )
    return residual.loss(max(0.0, mean_square))


def _end_epoch(training: SharedTraining | QuietTraining, epoch: int, losses: tuple[float, ...]) -> bool:
    """Tell the hosts whether to go on, and save the state; returns whether training ends."""
    settings, run = training.settings, training.run
    ends = ends_training(losses, settings.training, settings.task, training.told_loss_bits)
    finished = ends or epoch == settings.training.epochs
    message = EpochEndMessage(finished=finished)
    for host in settings.hosts:
        training.channel.send(host, f"{epoch_step(epoch)}/{EPOCH_END}", message)
    record = EpochRecord(epoch, losses[-1], training.error_bound())
    run.end_epoch(training.channel, training.state(epoch, finished=finished, losses=losses), record)
    return finished
