"""A training of a split network that ended, as the results of its roles tell it."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.job.vertical_network.job_file import NetworkJob
from hekat.protocol.vertical_network.settings import SEALED
from hekat.summary.vertical.finished_run import FinishedColumnsRun
from hekat.summary.vertical_network.role_result import NetworkResult
from hekat.summary.vertical_network.summary_shape import EpochFacts, LearnedFacts


class FinishedNetworkRun(FinishedColumnsRun[NetworkResult]):
    """The results of a run's roles by name."""

    def __init__(self, job: NetworkJob, results: Mapping[str, NetworkResult], seconds: float) -> None:
        super().__init__(job, results, seconds)
        self.job = job

    @property
    def epochs(self) -> list[EpochFacts]:
        """Every epoch in order, the epochs of the resumed run first; one ends when it ends for the narrator."""
        narrator = self.narrator
        if narrator is None:
            return []
        resumed = narrator.resumed
        losses = () if resumed is None else resumed.losses
        first = 1 if resumed is None else resumed.epochs_done - len(losses) + 1
        earlier = [
            EpochFacts(epoch=number, loss=loss, validation_loss=None, clipped_share={}, seconds=None)
            for number, loss in enumerate(losses, first)
        ]
        return earlier + [
            EpochFacts(
                epoch=one.record.epoch,
                loss=one.record.loss,
                validation_loss=one.record.validation_loss,
                clipped_share={
                    name: found.epochs[place].record.clipped_share
                    for name, found in self.results.items()
                    if place < len(found.epochs)
                },
                seconds=one.seconds,
            )
            for place, one in enumerate(narrator.epochs)
        ]

    @property
    def shared_rate(self) -> float | None:
        """The rate at which the shared layer moved, after it was taken in units; None where no epoch was trained."""
        epochs = () if self.narrator is None else self.narrator.epochs
        return epochs[-1].record.shared_rate if epochs else None

    @property
    def learned(self) -> list[LearnedFacts]:
        """What the outputs of the interactive layer tell the guest of each host's features: nothing where none open."""
        narrator, settings = self.narrator, self.job.settings
        widths = {} if narrator is None else narrator.widths
        resumed = 0 if narrator is None or narrator.resumed is None else narrator.resumed.epochs_done
        epochs = resumed + (0 if narrator is None else len(narrator.epochs))
        most = settings.network.units * epochs
        if settings.form == SEALED:
            return []
        return [
            LearnedFacts(host=host, features=widths[host], directions=min(widths[host], most))
            for host in settings.hosts
            if host in widths
        ]
