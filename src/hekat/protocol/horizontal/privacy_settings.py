"""A job's settings of differential privacy: whose part is bounded, how far, and the noise that every sum bears."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hekat.codec.clip import FloatArray
from hekat.first_few import first_few
from hekat.ledger.privacy.records import NoiseRecord
from hekat.privacy.accounting import Neighbours, NoisedSum, Release, fit_to_lane
from hekat.protocol.loss_verdict import NOISE_STDS
from hekat.protocol.noise_claim import check_noise_claim, colluders_of, noise_of
from hekat.protocol.setting_checks import check_choice, refuse_setting

Unit = Literal["row", "party"]
Batches = Literal["all", "poisson-secret"]

UNITS = ("row", "party")
BATCHES = ("all", "poisson-secret")
# A loss clipped to [0, L] is one value more of the noised vector, of norm C / 4: it costs 3 % more noise for the rest.
LOSS_SHARE = 0.25
NOISED_BITS = 24
"""Bits of a noised value in a sum, unless a job says otherwise."""


@dataclass(frozen=True)
class PrivacySettings:
    """What a job promises of its sums, all of it public.

    `unit`: whose term is bounded by the L2 norm `clip`: a row's gradient, or a party's whole update. `noise` is the
    multiplier z, or follows from the `epsilon` wanted for all rounds at `delta`. `divisor`: what a sum is divided by in
    place of its weights; None: the parties of a round (`unit` "party"). `colluders`: t_c, parties that may read the sum
    together, each knowing its own noise; None: all but two of the fewest in a sum. `batches`
    "poisson-secret": each row is in a round by a secret coin of chance `sampling`. `alpha`: the bound of one value of a
    party's sum; None: clip times its share of the divisor. `loss_bound`: the loss of a row, or of a party, is cut there
    before it is noised. `moments`: a public mean and spread of columns, by name, in place of the parties' own.
    """

    unit: Unit
    clip: float
    delta: float
    noise: float | None = None
    epsilon: float | None = None
    divisor: int | None = None
    colluders: int | None = None
    batches: Batches = "all"
    sampling: float = 1.0
    neighbours: Neighbours = "zero-out"
    alpha: float | None = None
    loss_bound: float = 4.0
    moments: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("privacy.unit", self.unit, UNITS)
        check_choice("privacy.batches", self.batches, BATCHES)
        check_noise_claim(self, ("clip", "loss_bound", "noise", "epsilon", "divisor", "alpha"))
        if self.divisor is None and self.unit == "row":
            expected = "a public number of rows, about as many as are in a round: weights are secret and not used"
            refuse_setting("privacy.divisor", expected, "nothing")
        self._check_sampling()
        for column, (mean, spread) in self.moments.items():
            if not (math.isfinite(mean) and math.isfinite(spread) and spread > 0):
                refuse_setting(f"privacy.moments.{column}", "[mean, spread], spread above 0", [mean, spread])

    def _check_sampling(self) -> None:
        if self.batches == "all":
            if self.sampling != 1:
                refuse_setting(
                    "privacy.sampling",
                    "nothing, since privacy.batches is 'all': public batches bring nothing",
                    "a rate",
                )
            return
        if self.unit != "row":
            refuse_setting(
                "privacy.batches", "'all', since the unit is a party: everybody knows who is in a round", self.batches
            )
        if not 0 < self.sampling < 1:
            refuse_setting(
                "privacy.sampling", "a chance above 0, below 1, for each row to be in a round", self.sampling
            )

    def moments_of(self, columns: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Mean and spread of each column: 0 and 1 of one that `moments` do not name. Raises InputError."""
        unknown = sorted(set(self.moments) - set(columns))
        if unknown:
            expected = "columns of the table"
            refuse_setting("privacy.moments", expected, first_few([f"no column {name!r}" for name in unknown], 5))
        pairs = [self.moments.get(name, (0.0, 1.0)) for name in columns]
        return np.array([mean for mean, _ in pairs]), np.array([spread for _, spread in pairs])

    def honest(self, least_parties: int) -> int:
        """h: the parties whose noise the claim counts, of the fewest in a sum. Raises InputError."""
        colluders = self.colluders_of(least_parties)
        if not 1 <= colluders < least_parties:
            refuse_setting(
                "privacy.colluders",
                f"1 (a party by itself) to {least_parties - 1}: a sum may have as few as {least_parties} parties",
                colluders,
            )
        return least_parties - colluders

    def colluders_of(self, least_parties: int) -> int:
        """t_c."""
        return colluders_of(self, least_parties)

    def fit(
        self, clip: float, *, value_count: int, noise: float, least_parties: int, party_count: int, lane_bits: int
    ) -> NoisedSum:
        """The noised sum of `value_count` values, whose norm `clip` bounds, of up to `party_count` parties.

        Raises InputError where the lanes cannot hold the noise, and where the coalition leaves nobody.
        """
        share = max(1.0, (self.divisor or 1) / party_count) if self.unit == "row" else 1.0
        return fit_to_lane(
            clip=clip,
            alpha=self.clip * share if self.alpha is None else self.alpha,
            value_count=value_count,
            noise=noise,
            honest=self.honest(least_parties),
            party_count=party_count,
            lane_bits=lane_bits,
        )


@dataclass(frozen=True)
class PrivacyPlan:
    """A job's privacy once the model's size is known; made by `plan_privacy`.

    `mechanism` is the noised sum of a round; `claimed` its release against the claim's coalition, `at_one` against one
    party by itself.
    """

    settings: PrivacySettings
    mechanism: NoisedSum
    divisor: int
    colluders: int
    claimed: Release
    at_one: Release

    def describe(self) -> NoiseRecord:
        """What the ledger says of it. All sums of a job with noise bear it."""
        least = self.mechanism.honest + self.colluders
        return NoiseRecord.of(self.mechanism, self.settings, least=least, every_sum=True)

    @property
    def loss_unit(self) -> float:
        """What a noised value of the loss is multiplied by to be a loss."""
        return self.settings.loss_bound / (LOSS_SHARE * self.settings.clip)

    @property
    def largest_loss(self) -> float:
        """The largest magnitude of a round's noised loss: what full lanes of all parties hold."""
        lane = (1 << (self.mechanism.lane_bits - 1)) - 1
        return self._loss_of(self.mechanism.party_count * lane)

    def loss_std(self, losses: Sequence[float] = ()) -> float:
        """The standard deviation of a round's loss by noise and by coins, read off public numbers alone.

        A round's loss is l = (sum_i B_i c_i + noise) / D with rows' losses c_i in [0, L], secret coins B_i of chance q
        and the public divisor D. With v the variance of the noise in l, where no party is lost, and m the mean of l,

            Var l = v + q (1 - q) / D^2 sum c_i^2 <= v + a m,   a = (1 - q) L / D,

        since c_i^2 <= L c_i and q sum c_i = D m. Rows whose losses are 0 and L reach the bound, whatever their number,
        so that without reading rows nothing smaller holds. What is known of m are the released losses, each within k
        of its own deviations s: m <= l + k s. The largest s with s^2 = v + a (l + k s) is

            s = k a / 2 + sqrt((k a / 2)^2 + v + a l).

        Args:
            losses: Released losses of rounds; the highest counts, from 0. None of them: m is L, the most
                where D is the number of rows that coins choose in the mean.

        Returns:
            s, at k = NOISE_STDS. v has the noise of all parties and the rounding of each, of 1/4 level^2 at most.
        """
        terms = self.mechanism.party_count * (self.mechanism.std**2 + 0.25)
        variance = self._loss_of(math.sqrt(terms)) ** 2
        per_loss = (1 - self.settings.sampling) * self.settings.loss_bound / self.divisor
        if not losses:
            return math.sqrt(variance + per_loss * self.settings.loss_bound)
        half = NOISE_STDS * per_loss / 2
        return half + math.sqrt(half**2 + variance + per_loss * max(0.0, *losses))

    def _loss_of(self, levels: float) -> float:
        return levels * self.mechanism.granularity / self.divisor * self.loss_unit


def plan_privacy(
    privacy: PrivacySettings,
    *,
    value_count: int,
    least_parties: int,
    party_count: int,
    rounds: int,
    lane_bits: int,
) -> PrivacyPlan:
    """The noise of a job whose rounds sum `value_count` values of `least_parties` to `party_count` parties.

    Raises InputError where the lanes cannot hold the noise, the coalition leaves nobody, or no noise keeps to the
    epsilon that is wanted.
    """
    privacy.honest(least_parties)  # refused before an epsilon is looked for
    divisor = party_count if privacy.divisor is None else privacy.divisor
    count = value_count + 1  # the loss
    noise = noise_of(privacy, rounds=rounds, value_count=count, party_count=party_count, sampling=privacy.sampling)
    mechanism = privacy.fit(
        privacy.clip * math.hypot(1.0, LOSS_SHARE),
        value_count=count,
        noise=noise,
        least_parties=least_parties,
        party_count=party_count,
        lane_bits=lane_bits,
    )
    return PrivacyPlan(
        settings=privacy,
        mechanism=mechanism,
        divisor=divisor,
        colluders=privacy.colluders_of(least_parties),
        claimed=Release.of(mechanism, noise, privacy.sampling),
        at_one=Release.of(mechanism, mechanism.noise_against(1, least_parties), privacy.sampling),
    )
