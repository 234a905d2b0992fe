"""What a round of a job will cost: bytes and seconds by role, under its own protection and those that it could have.

Bytes are counted from the messages themselves. Seconds are counts of operations times what this machine takes for each,
as in FLBooster (ICDE 2023), Eqs. 10 to 14: n values in ceil(n / lanes) ciphertexts (Eqs. 11, 13), each at the
processor's time for an operation (Eq. 10, without the way to a GPU and back: this release has none).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any

from hekat.cost.calibrate import SealSeconds, SumSeconds, calibrate_seal, calibrate_sum
from hekat.cost.maps import MapCost, cost_of_maps
from hekat.cost.rehearsed_training import RoundSums, rehearse_seconds, rehearse_sums
from hekat.engine.tenancy import declare_tenancy
from hekat.errors import HekatError
from hekat.job.horizontal.job_file import PROTOCOL
from hekat.protocol.horizontal.selective_settings import MASK_GROUP
from hekat.protocol.horizontal.settings import HorizontalSettings
from hekat.protocol.horizontal.training.validation import fold_group
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.cost.recorded_sums import SumShape
from hekat.protocol.secure_sum.cost.round_bytes import (
    RoleBytes,
    bytes_by_role,
    messages_of_round_end,
    messages_of_sum,
    packing_of,
)
from hekat.protocol.secure_sum.cost.sent_message import Sent
from hekat.protocol.secure_sum.masked.cost import SecretsSoFar, form_of, parameters_of
from hekat.protocol.secure_sum.masked.group.group_secret import shares_secrets
from hekat.protocol.secure_sum.masked.opening.committee import say_members
from hekat.protocol.secure_sum.masked.opening.opening_schemes import make_opening_scheme, members_for_sizes, needs_draw
from hekat.protocol.secure_sum.participation import Participation
from hekat.run.horizontal.load_inputs import HorizontalInputs
from hekat.scheme.lattice import LatticeParameters
from hekat.scheme.paillier import PrivateKey

# A run's folder is named so; the name's length is in every seal.
RUN_ID = "20250101T000000Z-000000"


@dataclass(frozen=True)
class NetworkLink:
    """What joins a role to the others: bits a second and seconds on the way; None where nobody said."""

    bandwidth_bits_s: float
    latency_s: float = 0.0

    def seconds(self, role: RoleBytes) -> float:
        """All bytes one after the other, and one time on the way for each step in which the role receives."""
        return 8 * (role.sent_bytes + role.received_bytes) / self.bandwidth_bits_s + self.latency_s * role.waits


@dataclass(frozen=True)
class RoleCost:
    """One role's round. `seconds` by step; `transfer_s` is None where no line was given."""

    role: str
    trains: bool
    traffic: RoleBytes
    seconds: Mapping[str, float]
    transfer_s: float | None = None

    @property
    def total_s(self) -> float:
        """Seconds of work, the line apart."""
        return sum(self.seconds.values())


@dataclass(frozen=True)
class ProtectionCost:
    """A round under one protection; `first_bytes` and `last_bytes` are of all sums before and after the rounds."""

    protection: str
    detail: str
    roles: tuple[RoleCost, ...]
    packing: Packing | None
    first_bytes: int
    last_bytes: int
    value_count: int
    beside_bytes: int = 0
    """What the other rounds of the run send more than `round_bytes` each, or less."""

    @property
    def round_bytes(self) -> int:
        """What all roles send in the round."""
        return sum(role.traffic.sent_bytes for role in self.roles)


@dataclass(frozen=True)
class HorizontalCost:
    """Costs of round `number`, the last one of a training; the job's own protection is first. `round_count` are the
    rounds of all trainings together: one, and one for each fold of a cross-validation."""

    number: int
    round_count: int
    value_count: int
    costs: tuple[ProtectionCost, ...]
    maps: MapCost | None = None
    """Sensitivity maps, where the job masks a part of every update."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Protections that the site allows and the job's other settings do not, with the reason."""

    def to_json(self) -> dict[str, Any]:
        """Everything as plain tables."""
        costs = []
        for cost in self.costs:
            roles = [
                {
                    "role": role.role,
                    "trains": role.trains,
                    **asdict(role.traffic),
                    "seconds": dict(role.seconds),
                    "transfer_s": role.transfer_s,
                }
                for role in cost.roles
            ]
            packing = None if cost.packing is None else asdict(cost.packing)
            costs.append(
                {
                    "protection": cost.protection,
                    "detail": cost.detail,
                    "roles": roles,
                    "packing": packing,
                    "round_bytes": cost.round_bytes,
                    "first_bytes": cost.first_bytes,
                    "last_bytes": cost.last_bytes,
                    "run_bytes": cost.first_bytes
                    + self.round_count * cost.round_bytes
                    + cost.last_bytes
                    + cost.beside_bytes,
                }
            )
        return {
            "round": self.number,
            "rounds": self.round_count,
            "update_values": self.value_count,
            "float32_bytes": 4 * self.value_count,
            "maps": None if self.maps is None else asdict(self.maps),
            "protections": costs,
            "left_out": dict(self.left_out),
        }


def cost_of_job(inputs: HorizontalInputs, link: NetworkLink | None = None) -> HorizontalCost:
    """The costs of a prepared job's last round on this machine; nothing is sent or written. Takes some seconds.

    Raises a HekatError where a party cannot train: its labels, its model or its numbers are not fit for it.
    """
    settings = inputs.job.settings
    with declare_tenancy(inputs.site.machine.single_tenant):
        rehearsed = {party: rehearse_seconds(inputs, party) for party in settings.parties}
        train_s = {party: found.train for party, found in rehearsed.items()}
        maps = cost_of_maps(inputs, {party: found.map for party, found in rehearsed.items()})
        seal = calibrate_seal()
        costs: list[ProtectionCost] = []
        left_out: dict[str, str] = {}
        for protection in _protections(inputs):
            try:
                costs.append(_cost(inputs, _under(settings, protection), train_s, seal, link))
            except HekatError as error:
                if protection == settings.protection:
                    raise
                left_out[protection] = error.what
    number = settings.training.round_count
    trainings = 1 + settings.validation.folds
    return HorizontalCost(number, trainings * number, costs[0].value_count, tuple(costs), maps, left_out)


def _protections(inputs: HorizontalInputs) -> list[str]:
    own = inputs.job.settings.protection
    return [own, *(name for name in inputs.site.policy.protections if name != own)]


def _under(settings: HorizontalSettings, protection: str) -> HorizontalSettings:
    """The job under another protection, whose own settings are at their defaults."""
    if protection == settings.protection:
        return settings
    codec = replace(settings.codec, layout="balanced")
    others = {"authority": None, "opening": "committee", "check_sum": False, "selective": None}
    return replace(settings, protection=protection, codec=codec, **others)  # type: ignore[arg-type]


@dataclass(frozen=True)
class PlannedSum:
    """One sum before it is made: its form, its upload's number, and the sets whose secrets its group has."""

    shape: SumShape
    upload_number: int
    held: tuple[LatticeParameters, ...]


@dataclass(frozen=True)
class RoundPlan:
    """A round before it is played: its sums, the update's last, and who trains; `sums` are all of the run."""

    planned: tuple[PlannedSum, ...]
    uploaders: tuple[str, ...]
    sums: RoundSums

    @property
    def shape(self) -> SumShape:
        """The form of the sum of updates."""
        return self.planned[-1].shape

    @property
    def upload_number(self) -> int:
        """The largest of the round."""
        return max(one.upload_number for one in self.planned)

    def messages(self, settings: HorizontalSettings) -> Iterator[Sent]:
        """Every message of the round, while nobody is lost."""
        for one in self.planned:
            yield from messages_of_sum(settings.sums, one.shape, self.uploaders, one.upload_number, one.held)
        yield from messages_of_round_end(settings.sums, self.shape.step)


def plan_round(inputs: HorizontalInputs, settings: HorizontalSettings) -> RoundPlan:
    """The last round of the job under these settings, in a run that is not resumed."""
    sums = rehearse_sums(inputs, settings)
    number, every = settings.training.round_count, settings.validation.every
    samples = Participation(settings.sums, inputs.job.digest)
    secrets = SecretsSoFar(settings.sums)
    last = sums.all_of_round(number, every)
    first = sums.of_round(1, every)
    # Votes of the first round are among the sums before it, where it is not the last round as well.
    earlier = (*sums.before, first) if number > 1 else sums.before[: len(sums.before) - (len(last) - 1)]
    for shape in earlier:
        secrets.take(shape, len(samples.parties_in(shape.step)))
    if number > 2:
        second = _plan(secrets, sums.all_of_round(2, every), len(samples.parties_in("round-2")))
        secrets.skip((number - 3) * len({one.upload_number for one in second}))
    secrets.skip(len(sums.of_mask) * len(_refreshes(settings)))
    uploaders = samples.parties_in(last[-1].step)
    return RoundPlan(_plan(secrets, last, len(uploaders)), uploaders, sums)


def _plan(secrets: SecretsSoFar, shapes: Sequence[SumShape], uploader_count: int) -> tuple[PlannedSum, ...]:
    return tuple(PlannedSum(shape, *secrets.take(shape, uploader_count)) for shape in shapes)


def _cost(
    inputs: HorizontalInputs,
    settings: HorizontalSettings,
    train_s: Mapping[str, float],
    seal: SealSeconds,
    link: NetworkLink | None,
) -> ProtectionCost:
    plan = plan_round(inputs, settings)
    shape, uploaders = plan.shape, plan.uploaders
    traffic = _traffic(settings, plan.messages(settings))
    key = inputs.key_pair.private if inputs.key_pair is not None and settings.protection == "paillier" else None
    seconds = _seconds_of_sums(settings, plan, key)
    roles = tuple(
        RoleCost(
            role,
            role in uploaders,
            traffic[role],
            _seconds_of(role, settings, uploaders, seconds, seal, train_s, traffic[role]),
            None if link is None else link.seconds(traffic[role]),
        )
        for role in settings.everyone
    )
    samples = Participation(settings.sums, inputs.job.digest)
    return ProtectionCost(
        settings.protection,
        _detail(settings, shape, len(uploaders)),
        roles,
        packing_of(settings.sums, shape, len(uploaders)),
        _bytes_of(settings, plan.sums.before, samples, SecretsSoFar(settings.sums)),
        _bytes_of(settings, plan.sums.after, samples, SecretsSoFar(settings.sums, plan.upload_number + 1)),
        shape.value_count,
        _naming_bytes(settings)
        - _saved_bytes(settings, plan)
        + _refresh_bytes(settings, plan, samples)
        - _votes_bytes(settings, plan),
    )


def _seconds_of_sums(settings: HorizontalSettings, plan: RoundPlan, key: PrivateKey | None) -> SumSeconds:
    """Of all sums of the round together; a further sum of a group needs no secret of its own."""
    total = SumSeconds()
    for one in plan.planned:
        found = calibrate_sum(settings, one.shape, plan.uploaders, key)
        if one.held and form_of(settings.sums, one.shape, len(plan.uploaders), one.held).parameters in one.held:
            found = replace(found, deal=0.0, check=0.0, release=0.0, open=0.0)
        total = SumSeconds(*(a + b for a, b in zip(astuple(total), astuple(found), strict=True)))
    return total


def _naming_bytes(settings: HorizontalSettings) -> int:
    """What every round but the last, which is counted, takes to name the next one to all parties and an authority."""
    if settings.protection != "lattice" or settings.training.kept.votes:
        return 0
    told = len(settings.parties) + (settings.authority is not None)
    # Rounds of a fold are one group.
    folds = 0 if shares_secrets(settings.sums) else settings.validation.folds
    groups = ["", *(f"{fold_group(fold)}/" for fold in range(1, folds + 1))]
    later = range(2, settings.training.round_count + 1)
    # Ahead of a new mask a round names nothing.
    unnamed = told * sum(len(f"round-{number}") for number in _refreshes(settings))
    return told * sum(len(f"{group}round-{number}") for group in groups for number in later) - unnamed


def _refresh_bytes(settings: HorizontalSettings, plan: RoundPlan, samples: Participation) -> int:
    """What it takes to agree on masks after the first one, for a part of every update."""
    refreshes = _refreshes(settings)
    if not refreshes or settings.selective is None:
        return 0
    group = settings.selective.group_before(refreshes[-1])
    shapes = [shape.at(shape.step.replace(MASK_GROUP, group, 1)) for shape in plan.sums.of_mask]
    return len(refreshes) * _bytes_of(settings, shapes, samples, SecretsSoFar(settings.sums, plan.upload_number))


def _refreshes(settings: HorizontalSettings) -> list[int]:
    """The rounds after the first one that begin with a new mask."""
    selective, last = settings.selective, settings.training.round_count
    return [number for number in range(2, last + 1) if selective is not None and selective.is_due(number)]


def _saved_bytes(settings: HorizontalSettings, plan: RoundPlan) -> int:
    """What the rounds of folds send less than the last one: but for its first, each is a further sum of a group."""
    folds, rounds = settings.validation.folds, settings.training.round_count
    if not folds or not shares_secrets(settings.sums):
        return 0
    secrets, count = SecretsSoFar(settings.sums, plan.upload_number), len(plan.uploaders)
    shapes = [one.shape.at(f"{fold_group(folds)}/{one.shape.step}") for one in plan.planned]
    first = replace(plan, planned=_plan(secrets, shapes, count))
    further = replace(plan, planned=_plan(secrets, shapes, count))
    last_bytes, first_bytes, further_bytes = (
        sum(role.sent_bytes for role in _traffic(settings, each.messages(settings)).values())
        for each in (plan, first, further)
    )
    return folds * (rounds * last_bytes - first_bytes - (rounds - 1) * further_bytes)


def _votes_bytes(settings: HorizontalSettings, plan: RoundPlan) -> int:
    """What the sums of votes of first rounds send: they are among the sums before or after the rounds, too."""
    folds, count = settings.validation.folds, len(plan.uploaders)
    votes = plan.planned[:-1]
    if not votes:
        return 0
    of_fold = [one.shape.at(f"{fold_group(max(1, folds))}/{one.shape.step}") for one in votes]
    in_fold = _plan(SecretsSoFar(settings.sums, plan.upload_number), of_fold, count)
    messages = [
        sent
        for one in (*votes, *(folds * in_fold))
        for sent in messages_of_sum(settings.sums, one.shape, plan.uploaders, one.upload_number, one.held)
    ]
    return sum(role.sent_bytes for role in _traffic(settings, messages).values())


def _traffic(settings: HorizontalSettings, messages: Iterable[Sent]) -> dict[str, RoleBytes]:
    return bytes_by_role(messages, settings.everyone, run_id=RUN_ID, protocol=PROTOCOL)


def _bytes_of(
    settings: HorizontalSettings, shapes: Sequence[SumShape], samples: Participation, secrets: SecretsSoFar
) -> int:
    """What all roles send for sums that end no round."""
    total = 0
    for shape in shapes:
        uploaders = samples.parties_in(shape.step)
        messages = messages_of_sum(settings.sums, shape, uploaders, *secrets.take(shape, len(uploaders)))
        total += sum(role.sent_bytes for role in _traffic(settings, messages).values())
    return total


def _seconds_of(
    role: str,
    settings: HorizontalSettings,
    uploaders: Sequence[str],
    one: SumSeconds,
    seal: SealSeconds,
    train_s: Mapping[str, float],
    traffic: RoleBytes,
) -> dict[str, float]:
    """A role's seconds by step: what the sum takes of it, its signatures, and sealing and opening its messages."""
    count = len(uploaders)
    is_lattice = settings.protection == "lattice"
    members = make_opening_scheme(settings.sums, members=members_for_sizes(settings.sums)).members if is_lattice else ()
    seconds = {
        "seal": traffic.sent_count * seal.seal
        + traffic.sent_bytes * seal.seal_byte
        + traffic.received_count * seal.open
        + traffic.received_bytes * seal.open_byte
    }
    opening = 0.0
    if role == settings.aggregator:
        seconds["aggregate"] = count * one.add + one.write
        if is_lattice:
            opening += (2 * count + len(members)) * seal.verify
    elif role in settings.parties:
        seconds |= {"decrypt": one.decrypt, "decode": one.decode}
        opening += one.open + (count * seal.verify if is_lattice else 0.0)
        if settings.check_sum:
            seconds["check"] = one.products * (2 if role in uploaders else 1) + count * seal.verify
        if role in uploaders:
            seconds |= {"train": train_s[role], "encode": one.encode, "encrypt": one.encrypt}
            opening += one.deal + (2 * seal.sign if is_lattice else 0.0)
    if role in members:
        opening += count * (one.check + seal.verify) + one.release + seal.sign
    return seconds | ({"shares": opening} if is_lattice else {})


def _detail(settings: HorizontalSettings, shape: SumShape, uploader_count: int) -> str:
    if settings.protection == "lattice":
        name = parameters_of(settings.sums, shape, uploader_count).name
        found = f"set {name}, opening {settings.opening}"
        if settings.selective is not None:
            found += f"; {settings.selective.in_words}"
        if not needs_draw(settings.sums):
            return found
        return f"{found}: {say_members(settings.parties)} (here the first named stand for them)"
    if settings.protection == "paillier":
        return f"a key of {settings.key_bits} bits"
    return "nothing is encrypted"
