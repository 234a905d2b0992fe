"""A vertical run that ended, as the results of its roles tell it."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.protocol.vertical_linear.exactness_check import StepCheck
from hekat.summary.vertical.finished_run import FinishedColumnsRun
from hekat.summary.vertical_linear.role_result import VerticalResult
from hekat.summary.vertical_linear.summary_shape import EpochFacts


class FinishedVerticalRun(FinishedColumnsRun[VerticalResult]):
    """A regression that ended; `checks` are the exactness check's, empty where none was made."""

    def __init__(
        self,
        job: VerticalJob,
        results: Mapping[str, VerticalResult],
        seconds: float,
        checks: tuple[StepCheck, ...] = (),
    ) -> None:
        super().__init__(job, results, seconds)
        self.job, self.checks = job, checks

    @property
    def epochs(self) -> list[EpochFacts]:
        """Every epoch in order, the epochs of the resumed run first; an epoch ends when it ends for the narrator."""
        narrator = self.narrator
        if narrator is None:
            return []
        bounds: dict[int, dict[str, float]] = {}
        for name in self.job.settings.parties:
            for one in self.results[name].epochs if name in self.results else ():
                if one.record.gradient_error_bound is not None:
                    bounds.setdefault(one.record.epoch, {})[name] = one.record.gradient_error_bound
        losses = () if narrator.resumed is None else narrator.resumed.losses
        earlier = [
            EpochFacts(epoch=number, loss=loss, gradient_error_bound={}, seconds=None)
            for number, loss in enumerate(losses, 1)
        ]
        return earlier + [
            EpochFacts(
                epoch=one.record.epoch,
                loss=one.record.loss,
                gradient_error_bound=bounds.get(one.record.epoch, {}),
                seconds=one.seconds,
            )
            for one in narrator.epochs
        ]
