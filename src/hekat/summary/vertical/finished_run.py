"""A run on columns that ended, as the results of its roles tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from hekat.job.vertical.columns_job import ColumnsJob
from hekat.summary.vertical.role_result import ColumnsResult, Match

R = TypeVar("R", bound=ColumnsResult)


class FinishedColumnsRun(Generic[R]):
    """The results of a run's roles by name, of all of them or of those that are known here; `seconds` of the whole."""

    def __init__(self, job: ColumnsJob, results: Mapping[str, R], seconds: float) -> None:
        self.columns_job, self.results, self.seconds = job, results, seconds

    @property
    def guest(self) -> R | None:
        """The guest's result, None where it is not known here."""
        return self.results.get(self.columns_job.settings.guest)

    @property
    def narrator(self) -> R | None:
        """The role whose clock times the parts of the session: the guest, else the first host known here."""
        parties = self.columns_job.settings.parties
        return next((self.results[name] for name in parties if name in self.results), None)

    @property
    def matches(self) -> tuple[Match, ...]:
        """How many rows all parties have: of the training rows, then of the test rows."""
        return () if self.narrator is None else self.narrator.matches
