"""The parties that each group of sums is bound to, by sums of this run and by releases in earlier runs.

Members open no second set of parties in a group, ever. A run that is resumed therefore goes through such a group with
the parties that its members say they released for, and asks for no other set: members without a record would note that
one, and neither would then find members enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.messages import ReleasedGroupsMessage
from hekat.protocol.secure_sum.masked.opening.opening_scheme import OpeningScheme
from hekat.protocol.secure_sum.masked.opening.opening_schemes import make_opening_scheme
from hekat.protocol.secure_sum.masked.opening.release_record import OTHER_SUMS_ACCEPTED
from hekat.protocol.secure_sum.masked.opening.upload_context import group_of
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.participation import Participation, participation_of
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.sum_plan import SumPlan, samples_ahead

RELEASED_STEP = "released-groups"
WITH_RUN = (
    "the record of releases lies with the run: another run knows nothing of these sums, and whoever has both may "
    "subtract them"
)


def keep_to_record(channel: RecordedChannel, settings: SumSettings, state: UploadState, plan: SumPlan) -> None:
    """Hold the job against earlier sums of this role's rows, and note in the ledger what the record does not forbid.

    Call it before anything of the rows leaves. Raises PolicyError as `UploadState.check`.
    """
    if state.with_run:
        channel.ledger.note(RELEASED_STEP, WITH_RUN, "disclosed")
    told = state.check(samples_ahead(plan, participation_of(channel, settings)))
    if told:
        channel.ledger.note(RELEASED_STEP, f"by its operator's word: {told}; {OTHER_SUMS_ACCEPTED}", "disclosed")


def openers_of(scheme: OpeningScheme, settings: SumSettings) -> tuple[str, ...]:
    """The roles that keep a record of releases: the members, or all parties where each opens sums by itself."""
    return scheme.members or settings.parties


def tell_released_groups(channel: RecordedChannel, settings: SumSettings, state: UploadState, plan: SumPlan) -> None:
    """An opener tells the aggregator, before the first sum, for which parties it released in groups ahead."""
    message = ReleasedGroupsMessage(state.left_out(plan.ahead))
    channel.send(settings.aggregator, RELEASED_STEP, message)


def receive_bound_groups(
    channel: RecordedChannel,
    settings: SumSettings,
    roster: Roster,
    plan: SumPlan,
    members: Sequence[str] | None = None,
) -> dict[str, tuple[str, ...]]:
    """By group, the parties that it is bound to by what members released in earlier runs.

    `members` are those that were drawn, None where all parties are.

    The aggregator gives up a member whose claim cannot be true, and notes a claim that differs from most. Raises
    ProtocolError where the key authority makes such a claim, or too few are left that can release for the same parties.
    """
    scheme = make_opening_scheme(settings, members=members)
    participation = participation_of(channel, settings)
    told = {}
    for member in openers_of(scheme, settings):
        message = channel.receive(member, RELEASED_STEP, ReleasedGroupsMessage)
        try:
            check_released_groups(message, member, plan, participation)
        except InputError as error:
            if member == settings.authority:
                raise ProtocolError("the key authority cannot open", got=str(error), cure="ask its operator") from error
            roster.expel(member, f"of its earlier releases: {error}")
        else:
            told[member] = message
    bound = choose_parties(told, participation, scheme.quorum)
    for member, message in told.items():
        for group, names in message.left_out.items():
            if set(names) != set(participation.parties_in(group)) - set(bound[group]):
                channel.ledger.note(RELEASED_STEP, f"{member} says of {group}: {_describe(names)}", "public")
    return bound


def check_released_groups(
    message: ReleasedGroupsMessage,
    member: str,
    plan: SumPlan,
    participation: Participation,
) -> None:
    """Raise InputError for a claim that cannot be true: sets that are too small, or without the member itself.

    In a round whose sample the member is not in, no set holds it.
    """
    if not set(plan.ahead).issuperset(message.left_out):
        raise InputError("it names a group that is none", expected="groups that are ahead", got="another")
    for group, names in message.left_out.items():
        parties = participation.parties_in(group)
        spare, others = len(parties) - participation.least_in(group), set(parties) - {member}
        if len(names) > spare or len(set(names)) != len(names) or not set(names) <= others:
            raise InputError(
                f"it cannot have released so in {group}",
                expected=f"at most {spare} other parties left out, none of them twice",
                got=f"{len(names)} names",
            )


def choose_parties(
    told: Mapping[str, ReleasedGroupsMessage], participation: Participation, quorum: int
) -> dict[str, tuple[str, ...]]:
    """For every group that a member has released in: the parties for which most members can still release.

    A member can, if these parties include it and it has released for the same ones or not at all. A tie goes to the set
    that more members claim, then to the larger one. Raises ProtocolError where for no set as many as `quorum` members
    (0: as many as a sum needs parties) can: to ask all the same would bind members that have not released yet to a set
    that may be a lie.
    """
    bound = {}
    for group in sorted({group for message in told.values() for group in message.left_out}):
        claims = {
            name: frozenset(message.left_out[group]) for name, message in told.items() if group in message.left_out
        }
        able = {
            left_out: sum(claims.get(name, left_out) == left_out for name in told if name not in left_out)
            for left_out in sorted(set(claims.values()), key=sorted)
        }
        said = Counter(claims.values())
        best = max(able, key=lambda left_out: (able[left_out], said[left_out], -len(left_out)))
        needed = quorum or participation.least_in(group)
        if able[best] < needed:
            raise ProtocolError(
                f"those who open sums have released in {group} for different parties",
                expected=f"{needed} that released for the same ones, or for none yet",
                got="; ".join(f"{name}: {_describe(left_out)}" for name, left_out in claims.items()),
                cure="find out which of them say what they have released for; where all do, their operators may allow "
                "a new job on the same rows: docs/explanation/security.md",
            )
        bound[group] = tuple(party for party in participation.parties_in(group) if party not in best)
    return bound


def _describe(left_out: Iterable[str]) -> str:
    return f"all but {', '.join(names)}" if (names := sorted(left_out)) else "all"


class GroupParties:
    """The aggregator's account of bound groups. What is bound stays bound."""

    def __init__(self, roster: Roster, bound: Mapping[str, Collection[str]]) -> None:
        """`bound`: by group, the parties that members released for in earlier runs."""
        self._roster = roster
        self._bound = {group: frozenset(parties) for group, parties in bound.items()}

    def begin(self, step: str, parties: Iterable[str]) -> None:
        """Go on only with those `parties` due to upload to which the step's group is bound."""
        group = group_of(step)
        bound = self._bound.get(group)
        if bound is None:
            return
        for party in parties:
            if party not in bound:
                self._roster.expel(
                    party,
                    f"{group} was released for without its update in an earlier run, and opens with no other parties; "
                    "it takes part again in a run that is resumed after that",
                )

    def check(self, step: str) -> None:
        """Raise ProtocolError where a party of the step's group dropped out: a sum without it would tell its part."""
        group = group_of(step)
        gone = self._bound.get(group, frozenset()) - set(self._roster.parties)
        if gone:
            raise ProtocolError(
                f"a party is lost in the middle of {group!r}",
                expected="the same parties in all its sums, whose difference is somebody's update",
                got=f"lost: {self._roster.describe_lost(sorted(gone))}",
                cure="resume from the last checkpoint, or begin again, once they are back: a new session begins",
            )

    def bind(self, step: str, parties: Iterable[str]) -> None:
        """From now on the step's group has these parties; call it before members are asked to release."""
        bound = frozenset(parties)
        # Where no round has a sample, the same parties round after round: one set for all.
        last = next(reversed(self._bound.values()), None)
        self._bound.setdefault(group_of(step), last if last == bound else bound)
