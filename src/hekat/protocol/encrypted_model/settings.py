"""Everything public about one training on an encrypted model, checked as a whole when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from hekat.errors import PolicyError
from hekat.protocol.encrypted_model.training_settings import EncryptedTraining, check_training
from hekat.protocol.role_names import check_role_name
from hekat.protocol.setting_checks import check_choice, refuse_setting

Task = Literal["logistic", "linear"]
Protection = Literal["lattice", "paillier", "none"]
TASKS: tuple[str, ...] = get_args(Task)
PROTECTIONS: tuple[str, ...] = get_args(Protection)
LEAST_HOSTS = 2


@dataclass(frozen=True)
class EncryptedModelSettings:
    """One training: who holds rows (`hosts`), who the key (`arbiter`), who adds (`aggregator`), who gets the model.

    `owner` is one of the hosts, or a role of its own, which may have rows to judge the model by and needs none.
    `classes` None means a regression. `key_bits` is the size of the arbiter's key under protection `paillier`; the ring
    of `lattice` is always the same. Protection `none` sends everything in the clear, for comparisons on public data.
    Two hosts train with `allow_two_parties` alone: each has the other's rows, means and spreads by subtraction.
    Raises InputError, PolicyError with the cure.
    """

    hosts: tuple[str, ...]
    arbiter: str
    aggregator: str
    owner: str
    task: Task = "logistic"
    classes: tuple[str, ...] | None = None
    protection: Protection = "lattice"
    key_bits: int = 3072
    allow_two_parties: bool = False
    training: EncryptedTraining = field(default_factory=EncryptedTraining)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        check_choice("model.name", self.task, TASKS)
        check_choice("protection.kind", self.protection, PROTECTIONS)
        _check_roles(self)
        _check_classes(self)
        if isinstance(self.key_bits, bool) or self.key_bits < 2048 or self.key_bits % 64:
            refuse_setting("protection.key_bits", "2048 or more, a multiple of 64", self.key_bits)
        check_training(self.training)
        _check_two_hosts(self)

    @property
    def owner_is_host(self) -> bool:
        """Whether the owner has rows that it trains on."""
        return self.owner in self.hosts

    @property
    def everyone(self) -> tuple[str, ...]:
        """All roles, each once: the hosts, the owner where it is none of them, the aggregator, the arbiter."""
        apart = () if self.owner_is_host else (self.owner,)
        return (*self.hosts, *apart, self.aggregator, self.arbiter)

    @property
    def target_count(self) -> int:
        """K, the number of weight vectors trained side by side: one, or one for each class of three or more."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)


def _check_roles(settings: EncryptedModelSettings) -> None:
    if len(settings.hosts) < LEAST_HOSTS:
        refuse_setting("hosts", f"{LEAST_HOSTS} or more: a sum over one host is its own", len(settings.hosts))
    for name in settings.everyone:
        check_role_name(name)
    if settings.aggregator == settings.owner:
        refuse_setting(
            "owner",
            "another role than the aggregator, which would read the model of every round",
            repr(settings.owner),
        )
    everyone = settings.everyone
    repeated = sorted({name for name in everyone if everyone.count(name) > 1})
    if repeated:
        refuse_setting(
            "hosts, arbiter, aggregator and owner",
            "a different name for each; the owner alone may be a host too: arbiter and any other role read the model",
            ", ".join(map(repr, repeated)),
        )


def _check_two_hosts(settings: EncryptedModelSettings) -> None:
    """Raise PolicyError where two hosts would read more of each other than both have accepted."""
    if len(settings.hosts) > 2:
        return
    if not settings.allow_two_parties:
        raise PolicyError(
            "two hosts learn each other's row count, means and spreads from the sums of both",
            expected="at least 3 hosts",
            got="2",
            cure="add a host, or say allow_two_parties = true (hekat init: --allow-two-parties) if both accept that",
        )
    if settings.owner_is_host and settings.training.report_every:
        raise PolicyError(
            "an owner that is one of two hosts would read the other's products of columns from models on the way",
            expected="training.report_every = 0, an owner that trains on no rows, or at least 3 hosts",
            got=f"training.report_every = {settings.training.report_every}, and {settings.owner!r} is one of 2 hosts",
            cure="set training.report_every = 0: the last model alone does not tell them",
        )


def _check_classes(settings: EncryptedModelSettings) -> None:
    classes = settings.classes
    if settings.task == "linear" and classes is not None:
        refuse_setting("classes", "none for a linear regression", f"{len(classes)} classes")
    if settings.task == "logistic" and (classes is None or len(classes) < 2):
        refuse_setting("classes", "2 classes or more for a logistic regression", f"{len(classes or ())}")
    if classes is not None and len(set(classes)) != len(classes):
        refuse_setting("classes", "each class once", "one that repeats")
