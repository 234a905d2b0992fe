"""What every party and the aggregator agree on before the first round, checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from hekat.errors import InputError, PolicyError
from hekat.model import LINEAR_MODELS, MODEL_NAMES, NETWORKS
from hekat.protocol.horizontal.privacy_settings import PrivacyPlan, PrivacySettings, plan_privacy
from hekat.protocol.horizontal.selective_settings import SelectiveSettings
from hekat.protocol.horizontal.training.algorithms.local_steps import DEFAULT_PROXIMAL_MU
from hekat.protocol.horizontal.training.algorithms.registry import ALGORITHMS
from hekat.protocol.horizontal.validation_settings import ValidationSettings, check_validation
from hekat.protocol.noise_claim import check_delta, refuse_exact
from hekat.protocol.secure_sum.index_sets.settings import KeepBy, KeepSettings, check_keep
from hekat.protocol.secure_sum.masked.opening.opening_schemes import least_parties
from hekat.protocol.secure_sum.settings import CodecSettings, Opening, Protection, SumSettings
from hekat.protocol.setting_checks import MAX_SEED, check_choice, refuse_setting

Algorithm = Literal["fedsgd", "fedavg", "fedprox", "scaffold", "lbfgs"]

MAX_LAYER_SIZE = 2**20
# Times 1 / rows. Of linear models with classes scikit-learn's C = 1; a network has more weights to learn rows by heart,
# of a regression by labels of spread 1.
PENALTY_OF_LINEAR_MODELS, PENALTY_OF_NETWORKS = 1, 10
# A mean loss beyond this is divergence, not training: the run stops and says so. Half the square of a label of one
# billion is still below it.
MAX_LOSS = 2**60
# (setting, least, most): a larger number is a mistake, which this check finds before a run begins.
_COUNTS = (
    ("round_count", 1, 10**6),
    ("local_epochs", 1, 10**6),
    ("batch_rows", 0, 2**40),
    ("patience", 0, 10**6),
)


@dataclass(frozen=True)
class ModelSettings:
    """Which model, by name; `hidden` only for `mlp`; `l2` is the penalty's factor lambda in loss + lambda/2 |w|^2.

    `l2` None: under `lbfgs` for classes 1 / (rows of all parties), as scikit-learn's C = 1; of a network 10 times that,
    and of one that predicts numbers too where labels are standardised; else 0.

    `parameters` are shell patterns of the tensors that are trained and sent; the others stay at their first value. No
    pattern means all tensors.
    """

    name: str = "logistic"
    hidden: tuple[int, ...] = ()
    l2: float | None = None
    seed: int = 0
    parameters: tuple[str, ...] = ()

    @property
    def own_l2(self) -> float:
        """The penalty's factor that the model itself has."""
        return self.l2 or 0.0


@dataclass(frozen=True)
class TrainingSettings:
    """The algorithm and its numbers; `batch_rows` 0 means all rows; patience 0 means no early stop.

    `learning_rate` belongs to local steps, under `fedsgd` to the server step; `proximal_mu` belongs to `fedprox`;
    `stop_at_loss` ends training once the loss is no more than that, 0 never does; with `error_feedback` a party adds
    what clipping and rounding took from its update to its next one. A party sends the share `keep` of the trained
    weights' values in a round, the ones on which the parties agree by `keep_by`; what it does not send it adds to its
    next update.
    In each round ceil(`participation` * parties) of the parties train. A sum of fewer than `min_parties` updates is not
    opened; 0 leaves that to the protection.
    """

    algorithm: Algorithm = "fedavg"
    round_count: int = 20
    local_epochs: int = 1
    batch_rows: int = 32
    learning_rate: float = 0.1
    optimiser: str = "sgd"
    optimiser_settings: Mapping[str, float] = field(default_factory=dict)
    standardise: bool = True
    patience: int = 0
    min_improvement: float = 1e-4
    seed: int = 0
    participation: float = 1.0
    min_parties: int = 0
    proximal_mu: float = DEFAULT_PROXIMAL_MU
    stop_at_loss: float = 0.0
    error_feedback: bool = False
    keep: float = 1.0
    keep_by: KeepBy = "vote"

    @property
    def kept(self) -> KeepSettings:
        """Which part of an update is sent."""
        return KeepSettings(self.keep, self.keep_by)

    @property
    def averages_changes(self) -> bool:
        """Whether the parties average changes of the weights after local steps, and not gradients."""
        return ALGORITHMS[self.algorithm].averages_changes

    @property
    def steps_before_rounds(self) -> tuple[str, ...]:
        """The sums that the algorithm needs before the first round."""
        return ALGORITHMS[self.algorithm].steps_before_rounds

    @property
    def searches_line(self) -> bool:
        """Whether the common step looks for a lower loss, and rate, batches and optimiser have no effect."""
        return ALGORITHMS[self.algorithm].searches_line

    @property
    def has_control(self) -> bool:
        """Whether parties keep control variates, and send their changes beside the updates."""
        return ALGORITHMS[self.algorithm].has_control

    @property
    def keeps_own_state(self) -> bool:
        """Whether a party carries tensors of its own from round to round."""
        return self.has_control or self.feeds_back

    @property
    def feeds_back(self) -> bool:
        """Whether a party adds to its next update what its last one lost on the way."""
        return self.error_feedback or self.kept.is_on


@dataclass(frozen=True)
class HorizontalSettings:
    """Everything public about one horizontal run: the fields of `SumSettings`, and what is trained on the sums.

    `classes` are the labels' names in order; None: a regression. `fills` are the rules by which the rows of all parties
    say what fills empty cells of columns: "mean", "median", "most_frequent". `found` are the columns whose categories
    the parties find together. `privacy` None: sums are exact. `selective` masks only a part
    of every update; None: all of it.
    """

    parties: tuple[str, ...]
    aggregator: str
    classes: tuple[str, ...] | None
    weight_max: int
    protection: Protection = "lattice"
    opening: Opening = "committee"
    authority: str | None = None
    key_bits: int = 3072
    model: ModelSettings = field(default_factory=ModelSettings)
    codec: CodecSettings = field(default_factory=CodecSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)
    allow_two_parties: bool = False
    check_sum: bool = False
    fills: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    privacy: PrivacySettings | None = None
    selective: SelectiveSettings | None = None

    def __post_init__(self) -> None:
        check_keep(self.training.kept, share_name="training.keep", by_name="training.keep_by")
        codec = self.sums.codec
        _check_training(self.training)
        check_validation(self.validation, self.classes)
        _check_error_feedback(self.training, codec)
        if codec.max_norm and self.training.has_control:
            refuse_setting(
                "codec.max_norm", "0 with scaffold, whose control variates travel beside updates", codec.max_norm
            )
        if self.selective is not None and self.protection != "lattice":
            refuse_setting("protection.masked", "nothing, since protection.kind is not 'lattice'", "a part of 1")
        if self.training.kept.is_on and self.training.has_control:
            expected = "1.0 with scaffold, whose control variates need the whole change"
            refuse_setting("training.keep", expected, self.training.keep)
        if self.training.kept.is_on and self.selective is not None:
            expected = "1 where training.keep leaves values at home: what is sent of them is masked whole"
            refuse_setting("protection.masked", expected, "a part of 1")
        if self.validation.folds:
            _check_all_parties(self)
        if self.model.own_l2 < 0 or not math.isfinite(self.model.own_l2):
            refuse_setting("model.l2", "a finite number >= 0", self.model.own_l2)
        if self.privacy is not None:
            _check_privacy(self, self.privacy)
        if self.training.searches_line:
            _check_line_search(self)
        if not all(1 <= size <= MAX_LAYER_SIZE for size in self.model.hidden):
            refuse_setting("model.hidden", f"layers of 1 to {MAX_LAYER_SIZE}", list(self.model.hidden))
        for name, seed in (("model.seed", self.model.seed), ("training.seed", self.training.seed)):
            if not 0 <= seed <= MAX_SEED:
                refuse_setting(name, f"a whole number from 0 to {MAX_SEED}", seed)

    @cached_property
    def sums(self) -> SumSettings:
        """The settings of the run's sums. Raises as `SumSettings`."""
        # Noised levels are made for their lane: nobody asks for bounds of values.
        codec = self.codec if self.privacy is None else replace(self.codec, clipping="fixed", alpha=1.0)
        return SumSettings(
            parties=self.parties,
            aggregator=self.aggregator,
            weight_max=self.weight_max,
            protection=self.protection,
            opening=self.opening,
            authority=self.authority,
            key_bits=self.key_bits,
            codec=codec,
            allow_two_parties=self.allow_two_parties,
            check_sum=self.check_sum,
            participation=self.training.participation,
            min_parties=len(self.parties) if self.validation.folds else self.training.min_parties,
            keep=self.training.kept,
        )

    def plan_privacy(self, value_count: int) -> PrivacyPlan | None:
        """The noise of rounds that sum so many values of a model; None where sums are exact. Raises as the plan."""
        if self.privacy is None:
            return None
        return plan_privacy(
            self.privacy,
            value_count=value_count,
            least_parties=least_parties(self.sums, self.sample_size),
            party_count=self.sample_size,
            rounds=self.training.round_count,
            lane_bits=self.codec.value_bits,
        )

    @property
    def is_linear(self) -> bool:
        """Whether the model is linear and all of it is trained: then a Gram matrix bounds its loss' curvature."""
        return self.model.name in LINEAR_MODELS and not self.model.parameters

    @property
    def standardises_labels(self) -> bool:
        """Whether the model learns labels of mean 0 and spread 1: a network of Hekat's that predicts numbers."""
        return self.classes is None and self.training.standardise and self.model.name in NETWORKS

    @property
    def penalty_by_rows(self) -> int:
        """The penalty that the common step adds since the job names none, times the rows of all parties; 0: none."""
        if not self.training.searches_line or self.model.l2 is not None:
            return 0
        if self.classes is None and not self.standardises_labels:
            return 0
        return PENALTY_OF_NETWORKS if self.model.name in NETWORKS else PENALTY_OF_LINEAR_MODELS

    @property
    def leader(self) -> str:
        """The party that makes the key pair: the first one named."""
        return self.sums.leader

    @property
    def everyone(self) -> tuple[str, ...]:
        """Every role: the parties, the aggregator, and the key authority where there is one."""
        return self.sums.everyone

    @property
    def sample_size(self) -> int:
        """|S|: how many parties train in a round."""
        return self.sums.sample_size

    @property
    def score_count(self) -> int:
        """The most counters of scores that a validation has."""
        return 2 * self.validation.bins * len(self.classes) if self.validation.is_on and self.classes else 0

    @property
    def bears_dropouts(self) -> bool:
        """Whether rounds go on without a party that drops out."""
        return self.sums.bears_dropouts


def check_row_count(party: str, row_count: int, settings: HorizontalSettings) -> None:
    """Raise PolicyError where a party has more rows than the public bound on its weight."""
    if row_count > settings.weight_max:
        raise PolicyError(
            f"party {party} has more rows than the job's weight_max",
            expected=f"at most {settings.weight_max:,} rows",
            got=f"{row_count:,} rows",
            cure="raise weight_max in the job (it is public: choose a bound that tells little)",
        )


def _check_training(training: TrainingSettings) -> None:
    check_choice("training.algorithm", training.algorithm, tuple(ALGORITHMS))
    for name, least, most in _COUNTS:
        if not least <= getattr(training, name) <= most:
            shown = "rounds" if name == "round_count" else name
            refuse_setting(f"training.{shown}", f"a whole number from {least} to {most}", getattr(training, name))
    if not (math.isfinite(training.learning_rate) and training.learning_rate > 0):
        refuse_setting("training.learning_rate", "a finite number above 0", training.learning_rate)
    for name in ("min_improvement", "proximal_mu", "stop_at_loss"):
        if not (math.isfinite(getattr(training, name)) and getattr(training, name) >= 0):
            refuse_setting(f"training.{name}", "a finite number >= 0", getattr(training, name))
    ALGORITHMS[training.algorithm].check(training)


def _check_privacy(settings: HorizontalSettings, privacy: PrivacySettings) -> None:
    """Refuse what sums without noise, or carries a unit's part beyond its clip into another round."""
    training, sums = settings.training, settings.sums
    if settings.protection != "lattice" or settings.opening != "committee":
        found = settings.protection if settings.protection != "lattice" else f"lattice, opened by {settings.opening}"
        lattice = "'lattice' with opening 'committee': elsewhere somebody can see one update, with a share of the noise"
        refuse_exact("protection.kind", lattice, found)
    fits = ("fedsgd",) if privacy.unit == "row" else ("fedsgd", "fedavg", "fedprox")
    if training.algorithm not in fits:
        why = (
            "of rows, one sum a round of their gradients"
            if privacy.unit == "row"
            else "without states of a party's own"
        )
        refuse_exact("training.algorithm", f"{' or '.join(map(repr, fits))}: {why}", repr(training.algorithm))
    exact: tuple[tuple[str, object, str], ...] = (
        ("training.standardise", training.standardise, "false; privacy.moments takes a public mean and spread"),
        ("protection.masked", settings.selective and "a part", "1: the mean map that chooses a part is exact"),
        ("training.error_feedback", training.error_feedback, "false: it sends what was clipped in a later round"),
        (
            "training.keep",
            training.keep if training.kept.is_on else None,
            "1.0: what stays at home reaches a later round beyond its clip",
        ),
        ("validation.hold_out", settings.validation.hold_out, "nothing: its counts are exact"),
        ("validation.folds", settings.validation.folds, "nothing: each fold trains once more, and is measured exactly"),
        ("columns", ", ".join(settings.fills), "a fixed fill: what rows of all parties say is exact"),
        ("columns", ", ".join(settings.found), "listed categories: those that are found together are exact"),
    )
    for name, got, expected in exact:
        if got:
            refuse_exact(name, expected, got)
    default = CodecSettings()
    for name in ("rounding", "clipping", "alpha", "target_clipped_fraction", "layout", "max_norm"):
        if getattr(settings.codec, name) != getattr(default, name):
            shown = getattr(settings.codec, name)
            refuse_exact(f"codec.{name}", "nothing: [privacy] says how values are cut and rounded", shown)
    if privacy.unit == "row" and training.batch_rows not in (0, TrainingSettings().batch_rows):
        refuse_exact(
            "training.batch_rows", "nothing: privacy.batches says which rows are in a round", training.batch_rows
        )
    least = least_parties(sums, settings.sample_size)
    privacy.honest(least)
    if privacy.unit == "party":
        check_delta(privacy.delta, len(settings.parties), f"the {len(settings.parties)} parties")


def _check_line_search(settings: HorizontalSettings) -> None:
    """Refuse what has no effect under `lbfgs`, or breaks it: losses over other rows each round, rounding of updates."""
    training, codec = settings.training, settings.codec
    if settings.model.name not in MODEL_NAMES:
        refuse_setting("training.algorithm", "'fedavg' for a model of your own, whose loss can be random", "'lbfgs'")
    if training.participation != 1:
        refuse_setting("training.participation", "1.0, since lbfgs compares losses over the same rows", "less")
    default, no_codec = TrainingSettings(), CodecSettings()
    of_local_steps = ("local_epochs", "batch_rows", "learning_rate", "optimiser", "optimiser_settings")
    for name in (*of_local_steps, "error_feedback", "keep"):
        _refuse_under_lbfgs(f"training.{name}", getattr(training, name), getattr(default, name))
    for name in ("clipping", "alpha", "target_clipped_fraction", "max_norm"):
        _refuse_under_lbfgs(f"codec.{name}", getattr(codec, name), getattr(no_codec, name))


def _check_all_parties(settings: HorizontalSettings) -> None:
    """Refuse fewer parties in a sum than all: each row is in all folds but one, so that sums over folds, with a party
    and without it, would tell that party's part."""
    training, count = settings.training, len(settings.parties)
    if training.participation != 1:
        refuse_setting("training.participation", "1.0, since validation.folds takes every party in each sum", "less")
    if training.min_parties not in (0, count):
        expected = f"0 or {count}, since validation.folds takes every party in each sum"
        refuse_setting("training.min_parties", expected, training.min_parties)


def _refuse_under_lbfgs(name: str, value: object, default: object) -> None:
    if value != default:
        raise InputError(
            f"setting {name} has no effect",
            expected="another training.algorithm, such as 'fedavg'",
            got="'lbfgs', which takes gradients of all rows, unclipped, and finds its own rate",
            cure=f"remove {name}, or choose fedavg",
        )


def _check_error_feedback(training: TrainingSettings, codec: CodecSettings) -> None:
    """Refuse error feedback on stochastic rounding: the party does not know what the rounding took."""
    if training.error_feedback and codec.rounding == "stochastic":
        raise InputError(
            "setting training.error_feedback has no effect on stochastic rounding, which is right on average already",
            expected="codec.rounding = 'nearest'",
            got="'stochastic'",
            cure="remove training.error_feedback, or choose codec.rounding = 'nearest'",
        )
