"""Everything public about one training of a split network, checked as a whole when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

from hekat.errors import JobError
from hekat.protocol.vertical.job_settings import check_choice, check_parties, check_task_classes, refuse_setting
from hekat.protocol.vertical.label_privacy import check_epsilon
from hekat.protocol.vertical_network.network_settings import BY_RULE, NetworkShape, NetworkTraining, rule_rate
from hekat.protocol.vertical_network.sealed.settings_rules import RULED_RATE, check_sealed
from hekat.protocol.vertical_network.sealed.settings_rules import TRAINING as SEALED_TRAINING

Task = Literal["binary", "multiclass", "regression"]
Protection = Literal["lattice", "none"]
HostBottom = Literal["frozen", "source", "trained"]
TASKS: tuple[str, ...] = get_args(Task)
PROTECTIONS: tuple[str, ...] = get_args(Protection)
HOST_BOTTOMS: tuple[str, ...] = get_args(HostBottom)
SHARED, GUEST_LAYER, SEALED = "shared", "guest_layer", "sealed"
FORMS = (SHARED, GUEST_LAYER, SEALED)
ROTATION_ACCEPTED: Final = "the guest may learn my columns but for a rotation"
LABELS_ACCEPTED: Final = "the host may learn labels"
SLOPES_ACCEPTED: Final = "hosts may learn columns of the guest and of each other"


def usual_host_bottom(form: str) -> HostBottom:
    """What a host puts before the interactive layer where nobody says so."""
    return "source" if form == SEALED else "frozen"


def usual_training(form: str) -> NetworkTraining:
    """How a network of `form` trains where nobody says so."""
    return SEALED_TRAINING if form == SEALED else NetworkTraining()


@dataclass(frozen=True)
class VerticalNetworkSettings:
    """One training of a split network: who holds labels (`guest`), who holds other columns (`hosts`), what protects it.

    `classes` None means a regression. `host_bottom` says what a host puts before the interactive layer: a fixed map of
    its columns ("frozen"), the columns themselves ("source"), or a network that trains ("trained"), to which gradients
    open. Protection `none` sends everything in the clear, for a comparison on public data; its numbers are
    `lattice`'s to within a unit for each truncation.

    `form` "shared" leaves a host's weights in shares; "guest_layer" is FATE's form, to compare: the guest holds them
    under noise of the host, learns the outputs of each host by themselves, and bottoms of hosts train. "sealed" leaves
    all weights, activations and slopes in shares of guest and one host, and opens the mean loss of an epoch alone: a
    network of `network.units` squares and a linear unit on the columns themselves (host_bottom "source"), for two
    classes.

    `label_privacy` is the epsilon of randomised response: each label is replaced once with known odds. Without it
    `trained` needs `labels_accepted`, the words LABELS_ACCEPTED. `rotation_accepted` are the words ROTATION_ACCEPTED:
    outputs of the interactive layer open to the guest, and over the steps they tell it as much of each host; form
    "sealed" opens none and needs no such words.
    `trained` needs `slopes_accepted` as well, the words SLOPES_ACCEPTED: a row's slopes follow from the columns of all
    parties, and label privacy is of labels alone.

    Raises JobError with the cure.
    """

    guest: str
    hosts: tuple[str, ...]
    task: Task = "binary"
    classes: tuple[str, ...] | None = None
    form: str = SHARED
    protection: Protection = "lattice"
    host_bottom: HostBottom = "frozen"
    network: NetworkShape = field(default_factory=NetworkShape)
    training: NetworkTraining = field(default_factory=NetworkTraining)
    label_privacy: float | None = None
    rotation_accepted: str | None = None
    labels_accepted: str | None = None
    slopes_accepted: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hosts", tuple(self.hosts))
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
        for name, value, known in (
            ("model.task", self.task, TASKS),
            ("protection.form", self.form, FORMS),
            ("protection.host_bottom", self.host_bottom, HOST_BOTTOMS),
        ):
            check_choice(name, value, known)
        if str(self.protection) == "paillier":
            raise JobError(
                "protection.kind cannot be used for a split network",
                expected=" or ".join(map(repr, PROTECTIONS)),
                got="'paillier'",
                cure="use 'lattice': its products take a thirtieth of the time",
            )
        check_choice("protection.kind", self.protection, PROTECTIONS)
        _check_parties(self)
        check_task_classes(self.task, self.classes)
        check_epsilon(self.label_privacy, self.classes)
        _check_form(self)
        _check_waivers(self)
        if self.training.shared_rate == BY_RULE:
            features = sum(self.network.width_of(host) for host in self.hosts)
            rate = RULED_RATE if self.form == SEALED else rule_rate(features, is_regression=self.classes is None)
            object.__setattr__(self, "training", replace(self.training, shared_rate=rate))
        self.training.rate_units(self.training.batch_rows)

    @property
    def parties(self) -> tuple[str, ...]:
        """The guest, then the hosts."""
        return (self.guest, *self.hosts)

    @property
    def everyone(self) -> tuple[str, ...]:
        """All roles; each of them holds rows."""
        return self.parties

    @property
    def output_count(self) -> int:
        """K, the outputs of the top: one, or one for each class of three or more."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)


def _check_parties(settings: VerticalNetworkSettings) -> None:
    check_parties(settings.hosts, settings.parties)
    strangers = sorted(settings.network.host_widths.keys() - set(settings.hosts))
    if strangers:
        refuse_setting("network.host_widths", f"names among {', '.join(settings.hosts)}", ", ".join(strangers))


def _check_form(settings: VerticalNetworkSettings) -> None:
    if settings.form == SEALED:
        check_sealed(
            settings.network,
            settings.training,
            host_count=len(settings.hosts),
            task=settings.task,
            host_bottom=settings.host_bottom,
            label_privacy=settings.label_privacy,
        )
    if settings.form == GUEST_LAYER and settings.host_bottom != "trained":
        raise JobError(
            "protection.form 'guest_layer' is FATE's form, in which bottoms of hosts train",
            expected="protection.host_bottom = 'trained', with what it needs",
            got=f"{settings.host_bottom!r}",
            cure="use protection.form = 'shared', which is faster and opens less",
        )


def _check_waivers(settings: VerticalNetworkSettings) -> None:
    for key, words, known in (
        ("column_leak.accepted", settings.rotation_accepted, ROTATION_ACCEPTED),
        ("label_leak.accepted", settings.labels_accepted, LABELS_ACCEPTED),
        ("slope_leak.accepted", settings.slopes_accepted, SLOPES_ACCEPTED),
    ):
        if words not in (None, known):
            refuse_setting(key, f"the words {known!r}, or no such line", "other words")
    if settings.rotation_accepted is None and settings.form != SEALED:
        raise JobError(
            "a split network tells the guest each host's features, but for a rotation",
            expected=f"column_leak.accepted = {ROTATION_ACCEPTED!r} in the job, and at each host's site",
            got="no such line",
            cure="write the line where hosts agree, or set protection.form = 'sealed', which opens no outputs",
        )
    if settings.host_bottom == "trained" and settings.label_privacy is None and settings.labels_accepted is None:
        raise JobError(
            "a host whose bottom trains reads the labels off its gradients",
            expected=f"label_privacy.epsilon, or label_leak.accepted = {LABELS_ACCEPTED!r}",
            got="neither",
            cure="set label_privacy.epsilon, or protection.host_bottom = 'frozen', which opens nothing to hosts",
        )
    if settings.host_bottom == "trained" and settings.slopes_accepted is None:
        raise JobError(
            "slopes of a host's bottom tell it something of the columns of all other parties",
            expected=f"slope_leak.accepted = {SLOPES_ACCEPTED!r} in the job, and at each site",
            got="no such line",
            cure="write the line where all agree, or set protection.host_bottom = 'frozen': it opens nothing to hosts",
        )
