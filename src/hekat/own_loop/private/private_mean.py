"""A party's side of noised means: its part bounded and noised, the opened sum read, and releases counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hekat.errors import InputError
from hekat.ledger import RecordedChannel
from hekat.ledger.privacy.records import ChargeRecord, NoiseRecord, finite
from hekat.own_loop.private.loop_budgets import RowsBudget
from hekat.privacy.accounting import NoisedSum, Release, epsilon_of
from hekat.privacy.clipped_rows import ClippedRows, as_array
from hekat.privacy.noised_levels import clip_factors, noised_levels
from hekat.privacy.norm import norm_of
from hekat.protocol.horizontal.privacy_settings import NOISED_BITS, PrivacySettings
from hekat.protocol.horizontal.training.private.sum_check import check_noised_sum, most_terms
from hekat.protocol.noise_claim import check_delta
from hekat.protocol.secure_sum.integer_sums import IntegerSums
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.protocol.secure_sum.settings import SumSettings

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PrivateMean:
    """A noised mean, the same at all parties, and what all noised means of the loop so far tell of one row or party.

    Attributes:
        mean: by name, float64: the noised sum over the divisor.
        epsilon: proved at `delta` of all calls so far, against whoever gets the means, `colluders` parties together.
        epsilon_at_one: the same against one party by itself.
        delta: the chance by which that may fail.
    """

    mean: dict[str, FloatArray] = field(repr=False)
    epsilon: float
    epsilon_at_one: float
    delta: float


@dataclass
class PrivateMeans:
    """The noised means of one party's loop."""

    settings: SumSettings
    channel: RecordedChannel
    budget: RowsBudget | None = None
    claimed: dict[Release, int] = field(default_factory=dict)
    at_one: dict[Release, int] = field(default_factory=dict)
    promise: tuple[str, str, float] | None = None
    """Unit, neighbours and delta of the first call: losses of others do not add up."""
    most_rows: int = 0
    """The most rows of the party in one call so far, refused ones too: a smaller batch is of the same table."""
    cost: tuple[float, float] = (0.0, 0.0)
    """Epsilon of all calls charged so far: against the claim's coalition, and against one party by itself."""

    def plan(
        self, part: ClippedRows | Mapping[str, Any], privacy: PrivacySettings
    ) -> tuple[NoisedSum, dict[str, FloatArray]]:
        """The mechanism for this party's part, and the part, bounded. Raises InputError."""
        settings = self.settings
        if settings.protection != "lattice" or settings.opening != "committee":
            raise InputError(
                "noised means need sums that nobody sees a part of",
                expected="protection 'lattice' with opening 'committee'",
                got=f"{settings.protection}, {settings.opening}",
                cure="take the default protection",
            )
        promise = (privacy.unit, privacy.neighbours, privacy.delta)
        if self.promise not in (None, promise):
            raise InputError(
                "noised means of one loop promise one thing",
                expected="the unit, neighbours and delta of the first call",
                got="others",
                cure="keep to them, or begin another loop and add its epsilon",
            )
        least = least_parties(settings)
        if self.budget is not None:
            self.budget.check(privacy, least)
        values = self._bounded(part, privacy)
        self._check_delta(part, privacy)
        count = sum(each.size for each in values.values())
        mechanism = privacy.fit(
            privacy.clip,
            value_count=count,
            noise=privacy.noise or 0.0,
            least_parties=least,
            party_count=len(settings.parties),
            lane_bits=NOISED_BITS,
        )
        self.promise = promise
        return mechanism, values

    def _check_delta(self, part: ClippedRows | Mapping[str, Any], privacy: PrivacySettings) -> None:
        """Raise InputError for a delta by which one of the rows that this party called with at once, or of the parties,
        may show whole; PolicyError for one of the site's budget."""
        if isinstance(part, ClippedRows):
            self.most_rows = max(self.most_rows, part.row_count)
            count, whose = self.most_rows, "the rows of this party's largest call"
        else:
            count, whose = len(self.settings.parties), "the parties"
        check_delta(privacy.delta, count, whose)
        if self.budget is not None:
            self.budget.check_delta(count, whose)

    def _bounded(self, part: ClippedRows | Mapping[str, Any], privacy: PrivacySettings) -> dict[str, FloatArray]:
        if isinstance(part, ClippedRows) != (privacy.unit == "row"):
            raise InputError(
                "the part is not of the unit that is protected",
                expected="hekat.privacy.clip_rows(...) for rows, a mapping of names to arrays for a party",
                got="rows" if isinstance(part, ClippedRows) else "arrays",
                cure="clip row gradients with clip_rows, or set unit='party'",
            )
        if isinstance(part, ClippedRows):
            if part.clip != privacy.clip:
                raise InputError(
                    "rows were clipped to another norm", expected=f"{privacy.clip:g}", got=f"{part.clip:g}"
                )
            if part.row_count > self.settings.weight_max:
                raise InputError(
                    "more rows in a noised mean than every party judges the sum by",
                    expected=f"weight_max = {self.settings.weight_max:,} rows at most",
                    got="more",
                    cure="a larger weight_max (public) is an argument of hekat.federate",
                )
            return dict(part.sums)
        values = {name: as_array(each) for name, each in part.items()}
        factor = float(clip_factors(np.array([norm_of(values)]), privacy.clip)[0])
        return {name: factor * each if factor else np.zeros(each.shape) for name, each in values.items()}

    def levels(self, mechanism: NoisedSum, values: Mapping[str, FloatArray]) -> dict[str, IntArray]:
        """The part with fresh noise."""
        return {name: noised_levels(each, mechanism) for name, each in values.items()}

    def check_ahead(self, mechanism: NoisedSum, number: int) -> None:
        """Raise BudgetError where the site's budget has not that much left; nothing is charged."""
        if self.budget is not None:
            self.budget.check_ahead(number, Release.of(mechanism, mechanism.noise))

    def charge(self, mechanism: NoisedSum, privacy: PrivacySettings, number: int, step: str) -> None:
        """Charge the call's sum, which has not left yet, at the site's budget and in the ledger. Raises BudgetError."""
        claimed = Release.of(mechanism, mechanism.noise)
        least, ledger = least_parties(self.settings), self.channel.ledger
        at_one = replace(claimed, noise=mechanism.noise_against(1, least))
        spent = None if self.budget is None else self.budget.charge(self.channel.session_id, number, claimed)
        for counts, one in ((self.claimed, claimed), (self.at_one, at_one)):
            counts[one] = counts.get(one, 0) + 1
        NoiseRecord.of(mechanism, privacy, least=least, every_sum=False).write(ledger)
        total, limit = (None, None) if spent is None else (finite(spent.epsilon), spent.limit)
        epsilon, epsilon_at_one = (
            epsilon_of(counts, privacy.delta, privacy.neighbours) for counts in (self.claimed, self.at_one)
        )
        self.cost = epsilon, epsilon_at_one
        count = sum(self.claimed.values())
        ChargeRecord(count, finite(epsilon), finite(epsilon_at_one), total, limit).write(ledger, step)

    def read(self, step: str, found: IntegerSums, mechanism: NoisedSum, privacy: PrivacySettings) -> PrivateMean:
        """The mean of the opened sums of a call that was charged, with the loss of all calls so far.

        Raises LongSumError, as every party does, for a sum that honest parts and noise do not make.
        """
        check_noised_sum(step, found, mechanism, most_terms(privacy, self.settings.weight_max))
        divisor = len(self.settings.parties) if privacy.divisor is None else privacy.divisor
        unit = mechanism.granularity / divisor
        return PrivateMean(
            {name: np.asarray(unit * levels) for name, levels in found.tensors.items()},
            *self.cost,
            privacy.delta,
        )
