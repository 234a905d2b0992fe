"""The role of the host: it has columns and no labels, and learns nothing about labels but when training ends."""

from __future__ import annotations

from hekat.data import Table, check_has_no_labels
from hekat.ledger import RecordedChannel
from hekat.protocol.vertical_linear.model_part import ModelPart
from hekat.protocol.vertical_linear.party_run import EpochRecord, PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings
from hekat.protocol.vertical_linear.shared_weights.guest import LOSS_STEP
from hekat.protocol.vertical_linear.shared_weights.many_parties.begin import begin
from hekat.protocol.vertical_linear.shared_weights.many_parties.quiet_training import QuietTraining
from hekat.protocol.vertical_linear.shared_weights.messages import EpochEndMessage, LossShareMessage
from hekat.protocol.vertical_linear.shared_weights.training import SharedTraining
from hekat.protocol.vertical_linear.steps import EPOCH_END, epoch_step


def run_host(channel: RecordedChannel, table: Table, settings: VerticalLinearSettings, run: PartyRun) -> ModelPart:
    """Train with the others; returns the host's part of the model: shares of all weights, where it holds shares."""
    check_has_no_labels(table)
    training = begin(channel, table, settings, run, None)
    if not training.finished:
        for epoch in range(training.epochs_done + 1, settings.training.epochs + 1):
            if _play_epoch(training, epoch):
                break
    return training.model_part(None)


def _play_epoch(training: SharedTraining | QuietTraining, epoch: int) -> bool:
    """One epoch; returns whether the guest ends training."""
    guest, step = training.settings.guest, epoch_step(epoch)
    share = training.play_batches(epoch)
    if training.holds_shares:
        training.channel.send(guest, f"{step}/{LOSS_STEP}", LossShareMessage(share=share))
    wait_s = training.epoch_wait_s
    finished = training.channel.receive(guest, f"{step}/{EPOCH_END}", EpochEndMessage, wait_s).finished
    record = EpochRecord(epoch, gradient_error_bound=training.error_bound())
    training.run.end_epoch(training.channel, training.state(epoch, finished=finished), record)
    return finished
