"""The rules on what gradients tell, as guest and hosts check them in a run, and all of them at once before a run.

In a run every party checks what it can count: a host its own columns, the guest each host's counts by its labels, and
the guest and every host the guest's counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hekat.data import Table
from hekat.protocol.stopwatch import Stopwatch
from hekat.protocol.vertical_linear.arbiter.local_trainer import LocalTrainer
from hekat.protocol.vertical_linear.arbiter.messages import StartMessage
from hekat.protocol.vertical_linear.columns import Targets, prepare_targets
from hekat.protocol.vertical_linear.label_leak.equations import LeakCount, check_equations, check_leverage
from hekat.protocol.vertical_linear.label_leak.label_bits import check_label_bits, least_label_bits, most_label_bits
from hekat.protocol.vertical_linear.label_leak.number_bits import check_number_bits
from hekat.protocol.vertical_linear.objective import WEIGHTS
from hekat.protocol.vertical_linear.party_run import PartyRun
from hekat.protocol.vertical_linear.settings import VerticalLinearSettings


def check_host_alone(own: LocalTrainer, leak: LeakCount) -> None:
    """Check what a host's gradients tell, by its own columns. Raises PolicyError."""
    settings = own.settings
    check_equations(leak, settings)
    most_bits = most_label_bits(own.largest_batch, settings)
    check_label_bits(own.party, own.column_count, own.feature_bits, own.largest_batch, most_bits, settings)
    check_leverage(leak, settings, own.high_leverage_columns)
    own.check_column_rows()


@dataclass(frozen=True)
class LabelCounts:
    """What the guest counts of its labels: the fewest bits of any batch, and the bits of targets before the point."""

    own: LocalTrainer
    targets: Targets
    label_bits: float
    target_bits: int

    @classmethod
    def of(cls, own: LocalTrainer, targets: Targets) -> LabelCounts:
        target_bits = math.ceil(np.abs(targets.values).max()).bit_length()
        return cls(own, targets, least_label_bits(targets.values, own.batches, own.settings), target_bits)

    def check_host(self, leak: LeakCount, feature_bits: int) -> None:
        """Check what a host's gradients tell, by its counts and the guest's labels. Raises PolicyError."""
        own, settings, host, columns = self.own, self.own.settings, leak.party, leak.column_count
        check_equations(leak, settings)
        check_label_bits(host, columns, feature_bits, own.largest_batch, self.label_bits, settings, self.target_bits)
        check_number_bits(host, columns, feature_bits, self.targets.values, own.batches, settings, self.target_bits)
        check_leverage(leak, settings)


def judge_gradients(tables: Mapping[str, Table], settings: VerticalLinearSettings) -> None:
    """Check everything that the parties of a run check before numbers leave, on the common rows of all of them.

    `tables` have the same rows in the same order. Raises PolicyError, BoundError or InputError as the roles do.
    """
    targets = prepare_targets(tables[settings.guest], settings)
    trainers = {party: _trainer(tables[party], party, settings) for party in settings.parties}
    guest = trainers[settings.guest]
    labels = LabelCounts.of(guest, targets)
    for host in settings.hosts:
        leak = trainers[host].count_leak()
        check_host_alone(trainers[host], leak)
        labels.check_host(leak, trainers[host].feature_bits)
    leak = guest.count_leak(ones=1)
    check_equations(leak, settings)
    check_leverage(leak, settings, guest.high_leverage_columns)
    guest.lay_out(
        StartMessage(
            row_count=guest.row_count,
            column_counts=[trainer.column_count for trainer in trainers.values()],
            high_leverage_columns=leak.high_leverage_columns,
            feature_bits=max(trainer.feature_bits for trainer in trainers.values()),
            target_bits=labels.target_bits,
            epochs_done=0,
            finished=False,
        )
    )


def _trainer(table: Table, party: str, settings: VerticalLinearSettings) -> LocalTrainer:
    weights = np.zeros((table.features.shape[1], settings.column_count))
    return LocalTrainer(party, table, settings, PartyRun(Stopwatch()), {WEIGHTS: weights})
