"""A horizontal run that ended, as the results of its roles tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.training_state import RoundRecord
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.exactness_check import BoundCheck
from hekat.summary.horizontal.role_result import RoleResult, TrainedFacts
from hekat.summary.horizontal.traffic import SumTraffic


@dataclass(frozen=True)
class Dropout:
    """A party that dropped out on the way, while the others went on: in which step, and why."""

    party: str
    step: str
    reason: str


@dataclass(frozen=True)
class FinishedRun:
    """The results of a run's roles by name, of all of them or of those that are known here.

    `seconds` are of the whole run. `checks` are the exactness check's, None where none was made. `resumed_after` is the
    round after which the run was resumed, None where it began anew; `releases` of Hekat trained what was resumed.
    """

    settings: HorizontalSettings
    results: Mapping[str, RoleResult]
    seconds: float
    dropouts: tuple[Dropout, ...] = ()
    checks: tuple[BoundCheck, ...] | None = None
    resumed_after: int | None = None
    releases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "plain" if self.settings.protection == "none" else "encrypted"

    @property
    def finisher(self) -> RoleResult | None:
        """The first party known here that reached the end: every such party saw the same rounds."""
        found = (self.results[party] for party in self.settings.parties if party in self.results)
        return next((result for result in found if result.trained is not None), None)

    @property
    def trained(self) -> TrainedFacts:
        """What training ended with; nothing where no party is known here."""
        trained = None if self.finisher is None else self.finisher.trained
        return trained or TrainedFacts(0, (), {}, {}, 0)

    @property
    def records(self) -> tuple[RoundRecord, ...]:
        return () if self.finisher is None else self.finisher.records

    @property
    def metrics(self) -> tuple[dict[str, float], ...]:
        """The metrics of each record."""
        return () if self.finisher is None else self.finisher.metrics

    @property
    def packing(self) -> Packing | None:
        return next((one.packing for one in self.results.values() if one.packing is not None), None)

    @property
    def sum_traffic(self) -> SumTraffic | None:
        """What the last round's sum took at the first party that was in it and is left."""
        parties = (self.results[party] for party in self.settings.parties if party in self.results)
        return next((one.sum_traffic for one in parties if one.sum_traffic is not None), None)

    @property
    def members(self) -> tuple[str, ...] | None:
        return next((one.members for one in self.results.values() if one.members is not None), None)
