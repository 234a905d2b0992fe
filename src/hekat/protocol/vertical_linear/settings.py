"""Everything public about one vertical regression, checked as a whole when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from hekat.errors import JobError
from hekat.protocol.setting_checks import is_whole
from hekat.protocol.vertical.job_settings import check_choice, check_different, check_parties, refuse_setting
from hekat.protocol.vertical.label_privacy import check_epsilon
from hekat.protocol.vertical_linear.shared_weights.factors import check_factors, check_last_factors
from hekat.protocol.vertical_linear.training_settings import (
    BY_RULE,
    RULED_CALIBRATION_ROWS,
    FixedPoint,
    LinearTraining,
    TrainingRules,
    check_training,
)

Form = Literal["shared_weights", "arbiter"]
Task = Literal["logistic", "linear"]
Protection = Literal["paillier", "lattice", "none"]
FORMS: tuple[str, ...] = get_args(Form)
TASKS: tuple[str, ...] = get_args(Task)
PROTECTIONS: tuple[str, ...] = get_args(Protection)
PROTECTIONS_OF_FORMS: Mapping[str, tuple[str, ...]] = {
    "shared_weights": ("paillier", "none"),
    "arbiter": PROTECTIONS,
}
LEAK_ACCEPTED = "hosts may learn labels"
COLUMN_LEAK_ACCEPTED = "the guest may learn columns of hosts"
DEFAULT_LIMIT_SPREADS = 3.0
"""The limit where a job names none, in form `arbiter`, where a value far from 0 would tell the residual of its row, and
in form `shared_weights` where classes are trained by rule: long tails pull the minimum of the Taylor loss, which grows
with the square of a score. In a regression without an arbiter a tail may be what the target follows."""
SCORE_FACTORS: Mapping[Task, float] = {"logistic": 0.25, "linear": 1.0}
"""The factor of a score in its residual, by task."""


@dataclass(frozen=True)
class VerticalLinearSettings:
    """One vertical regression: who holds labels (`guest`), who holds other columns (`hosts`), and how it is protected.

    `form` None means `arbiter` where an arbiter is named, else `shared_weights`. `share_holders` are the two parties
    that hold shares in that form; None: the guest and the first host. `classes` None means a regression. `protection`
    `lattice` is for form `arbiter` alone, and its ring is always the same; `key_bits` is the size of Paillier keys.
    Protection `none` sends everything in the clear, for a comparison on public data.

    `label_leak_accepted` is the sentence LEAK_ACCEPTED where the job waives the rules on what hosts learn of labels;
    `column_leak_accepted` is COLUMN_LEAK_ACCEPTED where it waives the rules on what the guest learns of hosts' columns.
    `label_privacy` is the epsilon of randomised response: each label is replaced once with known odds, and training
    sees no other. Raises JobError with the cure.
    """

    guest: str
    hosts: tuple[str, ...]
    form: Form | None = None
    arbiter: str | None = None
    task: Task = "logistic"
    classes: tuple[str, ...] | None = None
    key_bits: int = 3072
    protection: Protection = "paillier"
    training: LinearTraining = field(default_factory=LinearTraining)
    fixed_point: FixedPoint = field(default_factory=FixedPoint)
    label_leak_accepted: str | None = None
    column_leak_accepted: str | None = None
    share_holders: tuple[str, ...] | None = None
    label_privacy: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if self.share_holders is not None:
            object.__setattr__(self, "share_holders", tuple(self.share_holders))
        if self.form is None:
            object.__setattr__(self, "form", "shared_weights" if self.arbiter is None else "arbiter")
        check_choice("protection.form", str(self.form), FORMS)
        check_choice("protection.kind", self.protection, PROTECTIONS)
        check_choice("model.name", self.task, TASKS)
        _check_parties(self)
        _check_holders(self)
        factor = SCORE_FACTORS[self.task]
        rules = TrainingRules.of(in_shares=self.form == "shared_weights", of_numbers=self.task == "linear")
        training = self.training.resolved(factor, len(self.parties), rules)
        object.__setattr__(self, "training", training)
        _check_protection(self.protection, str(self.form))
        _check_classes(self)
        check_epsilon(self.label_privacy, self.classes)
        for key, said, words in (
            ("label_leak", self.label_leak_accepted, LEAK_ACCEPTED),
            ("column_leak", self.column_leak_accepted, COLUMN_LEAK_ACCEPTED),
        ):
            if said not in (None, words):
                refuse_setting(f"{key}.accepted", f"the words {words!r}, or no such line", "other words")
        if not is_whole(self.key_bits) or self.key_bits < 2048 or self.key_bits % 64:
            refuse_setting("protection.key_bits", "2048 or more, a multiple of 64", self.key_bits)
        check_training(self.training, str(self.form))
        if self.task == "linear" and self.training.calibration_rows > 0:
            refuse_setting("training.calibration_rows", "none for a regression", self.training.calibration_rows)
        _check_reweight(self)
        if self.form == "shared_weights":
            check_factors(self.training, self.fixed_point.value_bits)
            # An epoch has one batch at least; the number of batches is known once the common rows are found.
            check_last_factors(self.training, batch_count=1)

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts: the roles that hold rows."""
        return (self.guest, *self.hosts)

    @property
    def everyone(self) -> tuple[str, ...]:
        """All roles: the parties, then the arbiter where there is one."""
        return (*self.parties, *(() if self.arbiter is None else (self.arbiter,)))

    @property
    def holders(self) -> tuple[str, str]:
        """The two parties that hold shares in form `shared_weights`, in the order of parties."""
        if self.share_holders is None:
            return (self.guest, self.hosts[0])
        first, second = (name for name in self.parties if name in self.share_holders)
        return (first, second)

    @property
    def quiet_parties(self) -> tuple[str, ...]:
        """The parties that hold no shares in form `shared_weights`; none of two parties."""
        return tuple(name for name in self.parties if name not in self.holders)

    @property
    def column_count(self) -> int:
        """K, the number of weight vectors trained side by side: one, or one for each class of three or more."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    @property
    def calibration_rows(self) -> int:
        """Of how many training rows at most the guest learns the scores, to fit its probabilities to labels."""
        said = self.training.calibration_rows
        if said != BY_RULE:
            return said
        # With an arbiter and one host, a score tells the host's part of it; with quiet parties the two holders together
        # learn each one's part, of rows that the limit on batches keeps from them.
        is_ruled = self.form == "shared_weights" and self.training.mixes_columns and self.task == "logistic"
        return RULED_CALIBRATION_ROWS if is_ruled and not self.quiet_parties else 0

    @property
    def reweights(self) -> bool:
        """Whether weights move to the log loss of the rows that the guest learns the scores of; by rule wherever they
        can."""
        said = self.training.reweight
        return self.can_reweight if said is None else said

    @property
    def can_reweight(self) -> bool:
        """Whether the parties could re-weight at all."""
        between_two = self.form == "shared_weights" and not self.quiet_parties
        return between_two and self.training.mixes_columns and self.calibration_rows > 0

    @property
    def score_openings(self) -> int:
        """How often the guest learns scores of these rows at most: again after re-weighting."""
        return 2 if self.reweights else 1

    @property
    def limit_spreads(self) -> float:
        """How many spreads a standardised feature may lie from its mean; 0: no limit."""
        said = self.training.limit_spreads
        if said is not None:
            return said
        if not self.training.standardise:
            return 0.0
        is_ruled = self.training.mixes_columns and self.task == "logistic"
        return DEFAULT_LIMIT_SPREADS if self.form == "arbiter" or is_ruled else 0.0


def _check_parties(settings: VerticalLinearSettings) -> None:
    check_parties(settings.hosts, settings.everyone, "guest, hosts and arbiter")
    if settings.form == "shared_weights":
        if settings.arbiter is not None:
            raise JobError(
                "shared_weights has no arbiter",
                expected="a guest and hosts only",
                got=f"arbiter = {settings.arbiter!r}",
                cure="remove the arbiter, or set protection.form = 'arbiter'",
            )
    elif settings.arbiter is None:
        raise JobError(
            "form 'arbiter' names no arbiter",
            expected="a role that holds no rows and opens masked gradients",
            got="no arbiter",
            cure="add arbiter = 'NAME', or use protection.form = 'shared_weights'",
        )


def _check_holders(settings: VerticalLinearSettings) -> None:
    """Raise JobError for holders that are not two of the parties, or in the form that has none."""
    chosen = settings.share_holders
    if chosen is None:
        return
    if settings.form != "shared_weights":
        raise JobError(
            "share_holders belongs to another form",
            expected="protection.form = 'shared_weights'",
            got=f"protection.form = {settings.form!r}",
            cure="remove share_holders, or remove the arbiter",
        )
    if len(chosen) != 2 or len(set(chosen)) != 2 or not set(chosen) <= set(settings.parties):
        refuse_setting("share_holders", f"two of {', '.join(settings.parties)}", ", ".join(chosen) or "nobody")


def _check_protection(protection: str, form: str) -> None:
    known = PROTECTIONS_OF_FORMS[form]
    if protection not in known:
        raise JobError(
            f"protection.kind cannot be used in form '{form}'",
            expected=" or ".join(repr(name) for name in known),
            got=repr(protection),
            cure="this form's products need the two parties' shares under Paillier: use protection.kind = 'paillier', "
            "or name an arbiter and set protection.form = 'arbiter'",
        )


def _check_classes(settings: VerticalLinearSettings) -> None:
    classes = settings.classes
    if settings.task == "linear" and classes is not None:
        refuse_setting("classes", "none for a linear regression", f"{len(classes)} classes")
    if settings.task == "logistic" and (classes is None or len(classes) < 2):
        refuse_setting("classes", "2 classes or more for a logistic regression", f"{len(classes or ())}")
    check_different(classes)


def _check_reweight(settings: VerticalLinearSettings) -> None:
    """Raise JobError for a job that asks to re-weight where nothing could be."""
    if settings.training.reweight and not settings.can_reweight:
        refuse_setting(
            "training.reweight",
            "false, or two parties in form 'shared_weights' with a step by rule and calibration_rows above 0",
            "true",
        )
