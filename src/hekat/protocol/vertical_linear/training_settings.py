"""How the weights of a vertical regression move, and at which scales numbers stand."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Final

from hekat.errors import JobError
from hekat.model import make_optimiser
from hekat.protocol.setting_checks import MAX_SEED, is_whole
from hekat.protocol.vertical.job_settings import refuse_setting
from hekat.protocol.vertical_linear.mixing import rate_by_rule

OPTIMISERS_OF_FORMS: Mapping[str, tuple[str, ...]] = {
    "shared_weights": ("sgd", "momentum"),
    "arbiter": ("sgd", "momentum", "adam", "rmsprop"),
}
LEAST_LIMIT_SPREADS = 0.5
LEAST_FEATURE_BITS = 8
BY_RULE: Final = -1
"""Stands for `epochs`, `batch_rows` and `calibration_rows` that a job leaves to a rule. No count is negative, and a job
cannot say it: `number_or_rule` refuses numbers below 0."""
DEFAULT_BATCH_ROWS, RULED_BATCH_ROWS = 1024, 8192
RULED_BATCH_ROWS_OF_SHARES = 32_768
"""The same in form `shared_weights`: a step over all rows comes to their minimum, a step over a batch only near it."""
RULED_CALIBRATION_ROWS = 2000
DEFAULT_EPOCHS, RULED_EPOCHS_OF_NUMBERS = 10, 30
DEFAULT_RATE, RULED_MOMENTUM = 0.1, 0.4


@dataclass(frozen=True)
class FixedPoint:
    """The scales of integers that stand for numbers: features at 2^-feature_bits, scores and residuals at
    2^-value_bits. Raises JobError for bits out of their range."""

    feature_bits: int = 16
    value_bits: int = 32

    def __post_init__(self) -> None:
        for name, bits, most in (("feature_bits", self.feature_bits, 30), ("value_bits", self.value_bits, 40)):
            if not is_whole(bits) or not LEAST_FEATURE_BITS <= bits <= most:
                refuse_setting(f"fixed_point.{name}", f"{LEAST_FEATURE_BITS} to {most}", bits)


@dataclass(frozen=True)
class TrainingRules:
    """What LinearTraining takes by rule where columns are mixed; VerticalLinearSettings knows form and task."""

    batch_rows: int = RULED_BATCH_ROWS
    epochs: int = DEFAULT_EPOCHS

    @classmethod
    def of(cls, *, in_shares: bool, of_numbers: bool) -> TrainingRules:
        """The rules of form `shared_weights` or `arbiter`, for a regression or for classes."""
        return cls(
            batch_rows=RULED_BATCH_ROWS_OF_SHARES if in_shares else RULED_BATCH_ROWS,
            epochs=RULED_EPOCHS_OF_NUMBERS if of_numbers else DEFAULT_EPOCHS,
        )


@dataclass(frozen=True)
class LinearTraining:
    """How the weights move; VerticalLinearSettings checks it with its form.

    `learning_rate` 0 means by rule: each party mixes its columns (`mixing`), and the step follows from the number of
    parties. It is resolved when VerticalLinearSettings is made, which sets `mixes_columns`; optimisers and penalties
    that the rule does not fit get DEFAULT_RATE. `batch_rows` 0 puts all rows into one batch; BY_RULE becomes
    the form's ruled number with mixed columns, else DEFAULT_BATCH_ROWS. `limit_spreads` says how many spreads a
    standardised feature may lie from its mean (0: no limit; None: as `VerticalLinearSettings.limit_spreads` says).
    `patience`, `min_improvement` and `stop_at_loss` end training early by the losses of epochs (0: off), and so does
    `stop_when_settled` (None: where columns are mixed and `patience` is off). `epochs` BY_RULE becomes
    RULED_EPOCHS_OF_NUMBERS for a regression with mixed columns, else DEFAULT_EPOCHS. `calibration_rows` is how
    many training rows the guest learns the scores of, as `VerticalLinearSettings.calibration_rows` says, and `reweight`
    whether weights then move to the log loss of these rows, as `VerticalLinearSettings.reweights` says.
    """

    epochs: int = BY_RULE
    batch_rows: int = BY_RULE
    learning_rate: float = 0.0
    optimiser: str = "sgd"
    optimiser_settings: Mapping[str, float] = field(default_factory=dict)
    l1: float = 0.0
    l2: float = 0.0
    standardise: bool = True
    limit_spreads: float | None = None
    patience: int = 0
    min_improvement: float = 0.0
    stop_at_loss: float = 0.0
    seed: int = 1
    mixes_columns: bool = False
    calibration_rows: int = BY_RULE
    reweight: bool | None = None
    stop_when_settled: bool | None = None

    def resolved(self, score_factor: float, party_count: int, rules: TrainingRules = TrainingRules()) -> LinearTraining:
        """The same with every number that is left to a rule."""
        training = self
        if training.learning_rate == 0:
            is_plain = training.optimiser == "sgd" and not training.optimiser_settings
            fits = training.optimiser in ("sgd", "momentum") and not training.l1 and not training.l2
            rate = rate_by_rule(score_factor, party_count) if fits else DEFAULT_RATE
            training = replace(training, learning_rate=rate, mixes_columns=fits)
            if fits and is_plain:
                training = replace(training, optimiser="momentum", optimiser_settings={"momentum": RULED_MOMENTUM})
        if training.batch_rows == BY_RULE:
            rows = rules.batch_rows if training.mixes_columns else DEFAULT_BATCH_ROWS
            training = replace(training, batch_rows=rows)
        if training.epochs == BY_RULE:
            training = replace(training, epochs=rules.epochs if training.mixes_columns else DEFAULT_EPOCHS)
        return training

    @property
    def stops_when_settled(self) -> bool:
        """Whether training ends once its loss has settled, before the last of its epochs."""
        said = self.stop_when_settled
        return self.mixes_columns and not self.patience if said is None else said

    def fitting_probabilities(self, guest: str, receivers: Collection[str]) -> LinearTraining:
        """The same where the guest alone receives scores, who alone can use fitted probabilities; else by rule none are
        fitted. Raises JobError where the job asks for scores of training rows at a guest that receives none."""
        if self.calibration_rows > 0 and guest not in receivers:
            raise JobError(
                "training.calibration_rows tells scores to a guest that is to receive none",
                expected=f"{guest!r} among the receivers of predictions, or calibration_rows = 0",
                got=f"receivers {', '.join(receivers)}",
                cure="leave out calibration_rows, or add the guest to prediction.receivers",
            )
        if self.calibration_rows != BY_RULE or set(receivers) == {guest}:
            return self
        return replace(self, calibration_rows=0)

    def without_mixing(self) -> LinearTraining:
        """What a resolved training was in releases before columns were mixed, for runs that such a release began."""
        is_ruled = dict(self.optimiser_settings) == {"momentum": RULED_MOMENTUM}
        ruled = (RULED_BATCH_ROWS, RULED_BATCH_ROWS_OF_SHARES)
        return replace(
            self,
            learning_rate=DEFAULT_RATE,
            mixes_columns=False,
            batch_rows=DEFAULT_BATCH_ROWS if self.batch_rows in ruled else self.batch_rows,
            optimiser="sgd" if is_ruled else self.optimiser,
            optimiser_settings={} if is_ruled else self.optimiser_settings,
        )


def check_training(training: LinearTraining, form: str) -> None:
    """Raise JobError for values out of their range, and for an optimiser or penalty that `form` cannot compute."""
    if training.optimiser not in OPTIMISERS_OF_FORMS[form]:
        known = OPTIMISERS_OF_FORMS[form]
        elsewhere = training.optimiser in OPTIMISERS_OF_FORMS["arbiter"]
        raise JobError(
            f"training.optimiser cannot be used in form '{form}'",
            expected=" or ".join(repr(name) for name in known),
            got=repr(training.optimiser),
            cure="it needs each party's own gradient, which this form shows to nobody: choose another, or "
            "protection.form = 'arbiter'"
            if elsewhere
            else "choose one of these",
        )
    if form == "shared_weights" and training.l1:
        raise JobError(
            "training.l1 cannot be used in form 'shared_weights'",
            expected="l1 = 0: the sign of a weight is not linear in its shares",
            got="an l1 above 0",
            cure="use l2, or protection.form = 'arbiter'",
        )
    for name, value, least in (
        ("epochs", training.epochs, 1),
        ("batch_rows", training.batch_rows, 0),
        ("patience", training.patience, 0),
        ("seed", training.seed, 0),
        ("calibration_rows", training.calibration_rows, BY_RULE),
    ):
        if not is_whole(value) or not least <= value <= MAX_SEED:
            refuse_setting(f"training.{name}", f"a whole number of {least} or more", value)
    for name, number in (
        ("l1", training.l1),
        ("l2", training.l2),
        ("min_improvement", training.min_improvement),
        ("stop_at_loss", training.stop_at_loss),
    ):
        if not isinstance(number, Real) or not (math.isfinite(number) and number >= 0):
            refuse_setting(f"training.{name}", "a finite number >= 0", number)
    _check_limit(training)
    if "learning_rate" in training.optimiser_settings:
        raise JobError(
            "training.optimiser_settings says the learning rate again",
            expected="it in training.learning_rate alone",
            got="learning_rate in both",
            cure="move it to training.learning_rate",
        )
    make_optimiser(training.optimiser, learning_rate=training.learning_rate, **training.optimiser_settings)


def _check_limit(training: LinearTraining) -> None:
    limit = training.limit_spreads
    if limit is None:
        return
    if not isinstance(limit, Real) or not (limit == 0 or LEAST_LIMIT_SPREADS <= limit < math.inf):
        refuse_setting("training.limit_spreads", f"0 (no limit), or {LEAST_LIMIT_SPREADS} spreads and more", limit)
    if limit and not training.standardise:
        raise JobError(
            "training.limit_spreads needs standardised columns",
            expected="training.standardise = true",
            got="false",
            cure="set training.standardise = true, or leave limit_spreads out",
        )


def number_or_rule(key: str, number: int | None, least: int = 0) -> int:
    """The setting `key` of LinearTraining for that number; None: BY_RULE. Raises JobError for one below `least`."""
    if number is not None and (not is_whole(number) or number < least):
        refuse_setting(f"training.{key}", f"a whole number of {least} or more", number)
    return BY_RULE if number is None else number
