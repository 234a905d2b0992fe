"""Trees across rows that ended, as the results of the run's roles tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hekat.job.horizontal_trees.job_file import RowTreesJob
from hekat.summary.horizontal.finished_run import Dropout
from hekat.summary.horizontal_trees.role_result import GrownFacts, RowTreesResult
from hekat.summary.trees.shape import IterationFacts


@dataclass(frozen=True)
class FinishedRowTreesRun:
    """The results of a run's roles by name, of all of them or of those that are known here.

    `seconds` are of the whole run. `resumed_after` is the iteration after which the run was resumed, None where it
    began anew.
    """

    job: RowTreesJob
    results: Mapping[str, RowTreesResult]
    seconds: float
    dropouts: tuple[Dropout, ...] = ()
    resumed_after: int | None = None

    @property
    def is_plain(self) -> bool:
        return self.job.settings.protection == "none"

    @property
    def finisher(self) -> RowTreesResult | None:
        """The first party known here that reached the end: every such party saw the same iterations."""
        found = (self.results[party] for party in self.job.settings.parties if party in self.results)
        return next((result for result in found if result.grown is not None), None)

    @property
    def grown(self) -> GrownFacts:
        """What training ended with; nothing where no party is known here."""
        grown = None if self.finisher is None else self.finisher.grown
        return grown or GrownFacts(0, (), (), {}, {}, (), ())

    @property
    def members(self) -> tuple[str, ...] | None:
        return next((one.members for one in self.results.values() if one.members is not None), None)

    @property
    def iterations(self) -> list[IterationFacts]:
        """Every iteration in order, with the losses after it; those before a resumed run have no seconds."""
        if self.finisher is None:
            return []
        seconds = {one.iteration: one.seconds for one in self.finisher.iterations}
        grown = self.grown
        return [
            IterationFacts(
                iteration=number,
                loss=_at(grown.losses, number),
                validation_loss=_at(grown.validation_losses, number),
                seconds=seconds.get(number),
            )
            for number in range(1, grown.iterations_done + 1)
        ]


def _at(losses: tuple[float, ...], number: int) -> float | None:
    """The loss after so many iterations."""
    return losses[number] if number < len(losses) else None
