"""What a job of trees across rows promises of every sum, and the noise that keeps it.

With public splits only the sums of derivatives in leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hekat.errors import InputError
from hekat.first_few import first_few
from hekat.ledger.privacy.records import NoiseRecord
from hekat.model.trees import ColumnBins, TreeTraining
from hekat.privacy.accounting import Neighbours, Release, epsilon_of
from hekat.privacy.accounting.leaf_sums import LEVELS, sensitivity_of_leaves
from hekat.privacy.accounting.mechanism import LEAST_STD
from hekat.privacy.noise import DiscreteGaussian
from hekat.protocol.horizontal_trees.binning.agree_on_bins import INDICATOR_EDGES
from hekat.protocol.noise_claim import check_noise_claim, colluders_of, noise_of, refuse_exact
from hekat.protocol.secure_sum.integer_sums import MOST_MAGNITUDE
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.setting_checks import refuse_setting

SHRINKING_STDS = 3.0
"""A leaf's sum of second derivatives is added to by so many standard deviations of the noise: leaves whose rows are
fewer than the noise are worth little, and would otherwise carry noise into scores."""
_USED = ("max_iter", "learning_rate", "max_depth", "l2_regularization", "max_bins", "seed")


@dataclass(frozen=True)
class TreesPrivacy:
    """Row-level differential privacy of trees, all of it public.

    `noise` is the multiplier z of a sum, or follows from the `epsilon` wanted for all iterations at `delta`.
    `colluders`: t_c, parties that may join the reader of the sums, each knowing its own noise; None: all but two of the
    fewest in a sum. `bounds`: by column of numbers, the public range that its splits are drawn in; columns of 0 and 1
    that the job makes of categories need none.
    """

    delta: float
    noise: float | None = None
    epsilon: float | None = None
    colluders: int | None = None
    neighbours: Neighbours = "zero-out"
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_noise_claim(self)
        for column, (low, high) in self.bounds.items():
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                refuse_setting(f"privacy.bounds.{column}", "[low, high], the first below the second", [low, high])

    def honest(self, least: int) -> int:
        """h: the parties whose noise the claim counts, of the `least` in a sum. Raises InputError."""
        colluders = self.colluders_of(least)
        if not 1 <= colluders < least:
            expected = f"1 (the reader of the sums) to {least - 1}: a sum may have as few as {least} parties"
            refuse_setting("privacy.colluders", expected, colluders)
        return least - colluders

    def colluders_of(self, least: int) -> int:
        """t_c."""
        return colluders_of(self, least)

    def public_bins(self, names: Sequence[str], indicators: Sequence[str], max_bins: int) -> tuple[ColumnBins, ...]:
        """Bins of even width between each column's bounds. Raises InputError for a column without bounds."""
        unknown = [f"no column {name!r} of numbers" for name in self.bounds if name not in set(names) - set(indicators)]
        if unknown:
            refuse_setting("privacy.bounds", "columns of numbers in the tables", first_few(sorted(unknown), 5))
        missing = [repr(name) for name in names if name not in indicators and name not in self.bounds]
        if missing:
            raise InputError(
                "columns without public bounds",
                expected="under [privacy.bounds] a line NAME = [low, high] for every column of numbers: bins that "
                "follow from rows would tell of them",
                got=f"none for {first_few(missing, 5)}",
                cure="give bounds that are known without a look at the rows, or ignore the columns in the job",
            )
        return tuple(
            ColumnBins(np.array(INDICATOR_EDGES)) if name in indicators else _even_bins(*self.bounds[name], max_bins)
            for name in names
        )


def _even_bins(low: float, high: float, max_bins: int) -> ColumnBins:
    step = high / max_bins - low / max_bins
    edges = [low + number * step for number in range(1, max_bins)]
    return ColumnBins(np.unique(edges))


@dataclass(frozen=True)
class LeafNoise:
    """The noise of each party in each sum of leaves; made by `plan_leaf_noise`.

    `law` and `sensitivity` are in levels. `claimed` is an iteration's release against the claim's coalition, `at_one`
    against the reader alone. `total_std` is of the sum of all parties' noise, in derivatives. `maximum` bounds a
    party's numbers.
    """

    law: DiscreteGaussian
    claimed: Release
    at_one: Release
    honest: int
    colluders: int
    total_std: float
    maximum: int
    sensitivity: float

    def describe(self, privacy: TreesPrivacy) -> NoiseRecord:
        """What the ledger says of it. All sums of a job with noise are sums of leaves."""
        one = self.claimed
        return NoiseRecord(
            unit="row",
            neighbours=privacy.neighbours,
            delta=privacy.delta,
            noise=one.noise,
            noise_at_one=self.at_one.noise,
            sampling=one.sampling,
            colluders=self.colluders,
            least_parties=self.honest + self.colluders,
            party_count=one.party_count,
            value_count=one.value_count,
            sensitivity=self.sensitivity,
            std=one.std,
            levels=None,
            every_sum=True,
        )

    def epsilon(self, iterations: int, privacy: TreesPrivacy, *, at_one: bool = False) -> float:
        """What so many iterations are proved to keep to, at the job's delta."""
        return epsilon_of({self.at_one if at_one else self.claimed: iterations}, privacy.delta, privacy.neighbours)


def plan_leaf_noise(
    privacy: TreesPrivacy, training: TreeTraining, sums: SumSettings, *, tree_count: int, weight_max: int
) -> LeafNoise:
    """The noise of a training of `tree_count` trees an iteration.

    Raises InputError where the coalition leaves nobody, no noise keeps to the wanted epsilon, noise is too small to be
    a Gaussian, or a party's sums do not fit beside it.
    """
    least, party_count = least_parties(sums), len(sums.parties)
    honest = privacy.honest(least)
    value_count = 2 * tree_count * 2**training.max_depth
    noise = noise_of(privacy, rounds=training.max_iter, value_count=value_count, party_count=party_count)
    sensitivity = sensitivity_of_leaves(tree_count)
    std = noise * sensitivity / math.sqrt(honest)
    if std < LEAST_STD:
        refuse_setting("privacy.noise", f"{LEAST_STD * math.sqrt(honest) / sensitivity:.3g} or more", noise)
    law = DiscreteGaussian.of_at_least(Fraction(std) ** 2)
    maximum = weight_max * LEVELS + law.limit
    if maximum > MOST_MAGNITUDE:
        raise InputError(
            "sums of leaves do not fit beside their noise",
            expected=f"weight_max times {LEVELS} and ten standard deviations up to {MOST_MAGNITUDE:,}",
            got=f"weight_max {weight_max:,}, noise {noise:.4g}",
            cure="lower weight_max, the bound on the rows of a party, or raise privacy.epsilon",
        )
    alone = std * math.sqrt(least - 1) / sensitivity
    shape = (1.0, value_count, party_count, std)
    return LeafNoise(
        law=law,
        claimed=Release(noise, *shape),
        at_one=Release(alone, *shape),
        honest=honest,
        colluders=privacy.colluders_of(least),
        total_std=std * math.sqrt(party_count) / LEVELS,
        maximum=maximum,
        sensitivity=sensitivity,
    )


def check_only_noised(training: TreeTraining, *, classes: bool, hold_out: float, check_sum: bool) -> None:
    """Raise InputError for what would open without noise, and for settings that random trees have no use for."""
    if not classes:
        refuse_exact("classes", "two classes or more: a regression's gradients have no bound", "none")
    if hold_out:
        refuse_exact("validation.hold_out", "nothing: its counts are exact; test_data is measured at home", hold_out)
    if training.early_stopping:
        refuse_exact("training.early_stopping", "false: losses of held-out rows are exact", "true")
    if check_sum:
        refuse_exact("protection.check_sum", "false: one process would see every update", "true")
    default = TreeTraining()
    for name in TreeTraining.__dataclass_fields__:
        value = getattr(training, name)
        if name not in _USED and value != getattr(default, name):
            refuse_exact(f"training.{name}", "no such line: splits are drawn without a look at rows", value)
