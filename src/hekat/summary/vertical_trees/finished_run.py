"""A training of trees that ended, as the results of its roles tell it."""

from __future__ import annotations

from collections.abc import Mapping

from hekat.job.vertical_trees.job_file import TreesJob
from hekat.summary.trees.shape import IterationFacts
from hekat.summary.vertical.finished_run import FinishedColumnsRun
from hekat.summary.vertical_trees.role_result import TreesResult


class FinishedTreesRun(FinishedColumnsRun[TreesResult]):
    """The results of a run's roles by name."""

    def __init__(self, job: TreesJob, results: Mapping[str, TreesResult], seconds: float) -> None:
        super().__init__(job, results, seconds)
        self.job = job

    @property
    def iterations(self) -> list[IterationFacts]:
        """Every iteration in order, the iterations of the resumed run first; one ends when it ends for the narrator."""
        narrator = self.narrator
        if narrator is None:
            return []
        resumed = narrator.resumed
        losses = () if resumed is None else resumed.losses
        # A run that began with the trees of another has no losses of those.
        first = 1 if resumed is None else resumed.epochs_done - len(losses) + 1
        earlier = [
            IterationFacts(iteration=number, loss=loss, validation_loss=None, seconds=None)
            for number, loss in enumerate(losses, first)
        ]
        return earlier + [
            IterationFacts(
                iteration=one.record.iteration,
                loss=one.record.loss,
                validation_loss=one.record.validation_loss,
                seconds=one.seconds,
            )
            for one in narrator.iterations
        ]
