"""Everything public about one vertical regression, checked whole when it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Literal, get_args

from hekat.errors import JobError
from hekat.model import make_optimiser
from hekat.protocol.vertical_linear.shared_weights.factors import check_factors, check_last_factors

Form = Literal["shared_weights", "arbiter"]
Task = Literal["logistic", "linear"]
Protection = Literal["paillier", "lattice", "none"]
FORMS: tuple[str, ...] = get_args(Form)
TASKS: tuple[str, ...] = get_args(Task)
PROTECTIONS: tuple[str, ...] = get_args(Protection)
OPTIMISERS_OF_FORMS: Mapping[str, tuple[str, ...]] = {
    "shared_weights": ("sgd", "momentum"),
    "arbiter": ("sgd", "momentum", "adam", "rmsprop"),
}
PROTECTIONS_OF_FORMS: Mapping[str, tuple[str, ...]] = {
    "shared_weights": ("paillier", "none"),
    "arbiter": PROTECTIONS,
}
LEAK_ACCEPTED = "hosts may learn labels"
COLUMN_LEAK_ACCEPTED = "the guest may learn columns of hosts"
MAX_SEED = 2**63 - 1
LEAST_LIMIT_SPREADS = 0.5
ARBITER_LIMIT_SPREADS = 3.0
"""The limit of form `arbiter` where a job names none: a value far out would tell its own row's residual."""


@dataclass(frozen=True)
class FixedPoint:
    """Scales of the integers that stand for numbers: features at 2^-feature_bits, scores and residuals at
    2^-value_bits."""

    feature_bits: int = 16
    value_bits: int = 32

    def __post_init__(self) -> None:
        for name, bits, most in (("feature_bits", self.feature_bits, 30), ("value_bits", self.value_bits, 40)):
            if not _is_whole(bits) or not 8 <= bits <= most:
                _refuse(f"fixed_point.{name}", f"8 to {most}", bits)


@dataclass(frozen=True)
class LinearTraining:
    """How the weights move. `batch_rows` 0: all rows in one batch. `limit_spreads` keeps standardised features
    within so many spreads of their mean (0: off; None: as VerticalLinearSettings.limit_spreads says). `patience`,
    `min_improvement` and `stop_at_loss` end training early by the epochs' losses (0: off)."""

    epochs: int = 10
    batch_rows: int = 1024
    learning_rate: float = 0.1
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


@dataclass(frozen=True)
class VerticalLinearSettings:
    """One vertical regression: who holds labels (`guest`), who holds other columns (`hosts`), and how it is protected.

    `form` None takes `shared_weights` for one host without an arbiter, `arbiter` where an arbiter is named. `classes`
    None: a regression. `protection` `lattice` is for form `arbiter` alone, and its ring is always the same; `key_bits`
    is of Paillier keys. `none` sends everything in the clear, for a comparison on public data.
    `label_leak_accepted` is the sentence LEAK_ACCEPTED where the job waives the label-leak rule, `column_leak_accepted`
    COLUMN_LEAK_ACCEPTED where it waives the same of hosts' columns.
    Raises JobError with the cure.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if self.form is None:
            object.__setattr__(self, "form", "shared_weights" if self.arbiter is None else "arbiter")
        _check_choice("protection.form", str(self.form), FORMS)
        _check_choice("protection.kind", self.protection, PROTECTIONS)
        _check_choice("model.name", self.task, TASKS)
        _check_parties(self)
        _check_protection(self.protection, str(self.form))
        _check_classes(self)
        for key, said, words in (
            ("label_leak", self.label_leak_accepted, LEAK_ACCEPTED),
            ("column_leak", self.column_leak_accepted, COLUMN_LEAK_ACCEPTED),
        ):
            if said not in (None, words):
                _refuse(f"{key}.accepted", f"the words {words!r}, or no such line", "other words")
        if not _is_whole(self.key_bits) or self.key_bits < 2048 or self.key_bits % 64:
            _refuse("protection.key_bits", "2048 or more, a multiple of 64", self.key_bits)
        _check_training(self.training, str(self.form))
        if self.form == "shared_weights":
            check_factors(self.training, self.fixed_point.value_bits)
            # An epoch has one batch at least; how many more follows from the common rows, once these are found.
            check_last_factors(self.training, batch_count=1)

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts: all that hold rows."""
        return (self.guest, *self.hosts)

    @property
    def everyone(self) -> tuple[str, ...]:
        return (*self.parties, *(() if self.arbiter is None else (self.arbiter,)))

    @property
    def column_count(self) -> int:
        """How many weight vectors are trained side by side (K): one, or one for each of three classes or more."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    @property
    def limit_spreads(self) -> float:
        """Standardised features stay within so many spreads of their mean; 0: no limit."""
        said = self.training.limit_spreads
        if said is not None:
            return said
        return ARBITER_LIMIT_SPREADS if self.form == "arbiter" and self.training.standardise else 0.0


def _check_parties(settings: VerticalLinearSettings) -> None:
    everyone = settings.everyone
    if not settings.hosts:
        _refuse("hosts", "one host or more, each with columns of its own", "none")
    repeated = sorted({name for name in everyone if everyone.count(name) > 1})
    if repeated:
        _refuse("guest, hosts and arbiter", "a different name for each", ", ".join(repeated))
    if settings.form == "shared_weights":
        if len(settings.hosts) > 1:
            raise JobError(
                "shared_weights is for two parties",
                expected="one guest and one host",
                got=f"{len(settings.hosts)} hosts",
                cure="name an arbiter and set protection.form = 'arbiter', or leave out hosts",
            )
        if settings.arbiter is not None:
            raise JobError(
                "shared_weights has no arbiter",
                expected="a guest and a host only",
                got=f"arbiter = {settings.arbiter!r}",
                cure="remove the arbiter, or set protection.form = 'arbiter'",
            )
    elif settings.arbiter is None:
        raise JobError(
            "form 'arbiter' names no arbiter",
            expected="a role that holds no rows and opens masked gradients",
            got="no arbiter",
            cure="add arbiter = 'NAME', or use protection.form = 'shared_weights' with one host",
        )


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
        _refuse("classes", "none for a linear regression", f"{len(classes)} classes")
    if settings.task == "logistic" and (classes is None or len(classes) < 2):
        _refuse("classes", "2 classes or more for a logistic regression", f"{len(classes or ())}")
    if classes is not None and len(set(classes)) != len(classes):
        _refuse("classes", "each class once", "one that repeats")


def _check_training(training: LinearTraining, form: str) -> None:
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
    ):
        if not _is_whole(value) or not least <= value <= MAX_SEED:
            _refuse(f"training.{name}", f"a whole number of {least} or more", value)
    for name, number in (
        ("l1", training.l1),
        ("l2", training.l2),
        ("min_improvement", training.min_improvement),
        ("stop_at_loss", training.stop_at_loss),
    ):
        if not isinstance(number, Real) or not (math.isfinite(number) and number >= 0):
            _refuse(f"training.{name}", "a finite number >= 0", number)
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
        _refuse("training.limit_spreads", f"0 (no limit), or {LEAST_LIMIT_SPREADS} spreads and more", limit)
    if limit and not training.standardise:
        raise JobError(
            "training.limit_spreads needs standardised columns",
            expected="training.standardise = true",
            got="false",
            cure="set training.standardise = true, or leave limit_spreads out",
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        _refuse(name, " or ".join(repr(one) for one in known), repr(value))


def _refuse(name: str, expected: str, got: object) -> None:
    raise JobError(f"{name} refused", expected=expected, got=str(got), cure=f"correct {name} in the job")
