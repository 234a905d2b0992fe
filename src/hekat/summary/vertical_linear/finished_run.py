"""A vertical run that ended, as the results of its roles tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hekat.job.vertical_linear.job_file import VerticalJob
from hekat.protocol.vertical_linear.exactness_check import StepCheck
from hekat.summary.vertical_linear.role_result import VerticalResult
from hekat.summary.vertical_linear.summary_shape import EpochFacts


@dataclass(frozen=True)
class FinishedVerticalRun:
    """The results of a run's roles by name, of all of them or of those that are known here.

    `seconds` are of the whole run; `checks` the exactness check's, empty where none was made.
    """

    job: VerticalJob
    results: Mapping[str, VerticalResult]
    seconds: float
    checks: tuple[StepCheck, ...] = ()

    @property
    def guest(self) -> VerticalResult | None:
        """The guest's result, None where it is not known here."""
        return self.results.get(self.job.settings.guest)

    @property
    def narrator(self) -> VerticalResult | None:
        """The role whose clock times the parts of the session: the guest, else the first host known here."""
        return next((self.results[name] for name in self.job.settings.parties if name in self.results), None)

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
