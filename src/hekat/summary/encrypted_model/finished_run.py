"""A training on an encrypted model that ended, as the results of its roles tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hekat.job.encrypted_model.job_file import EncryptedModelJob
from hekat.summary.encrypted_model.role_result import EncryptedModelResult, OwnedModel
from hekat.summary.encrypted_model.summary_shape import RoundFacts


@dataclass(frozen=True)
class FinishedEncryptedModelRun:
    """The results of a run's roles by name, of all of them or of those that are known here; `seconds` are of the whole
    run."""

    job: EncryptedModelJob
    results: Mapping[str, EncryptedModelResult]
    seconds: float

    @property
    def is_plain(self) -> bool:
        return self.job.settings.protection == "none"

    @property
    def owned(self) -> OwnedModel | None:
        """What the owner ended with; None where its result is not known here."""
        found = self.results.get(self.job.settings.owner)
        return None if found is None else found.owned

    @property
    def narrator(self) -> EncryptedModelResult | None:
        """The role whose rounds are told: the aggregator, or the first one known here that saw rounds."""
        settings = self.job.settings
        first = self.results.get(settings.aggregator)
        if first is not None and first.rounds:
            return first
        return next((one for one in self.results.values() if one.rounds), first)

    @property
    def rounds(self) -> list[RoundFacts]:
        """Every round in order; those before a resumed run have no seconds."""
        narrator = self.narrator
        if narrator is None:
            return []
        earlier = [RoundFacts(round=number, seconds=None) for number in range(1, (narrator.resumed_after or 0) + 1)]
        return [*earlier, *(RoundFacts(round=one.number, seconds=one.seconds) for one in narrator.rounds)]

    @property
    def resumed_after(self) -> int | None:
        """The round after which the run was resumed; None where it began anew."""
        return next((one.resumed_after for one in self.results.values() if one.resumed_after is not None), None)
