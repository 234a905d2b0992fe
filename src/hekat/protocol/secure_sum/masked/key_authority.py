"""The role of the key authority: it holds no data and no model, and opens each sum of updates once, for the parties.

1. tell the aggregator for which parties it has released in earlier runs
2. the aggregator begins an upload; every party sends the authority the seed of its secret, sealed
3. check each seed against its signed digest
4. the aggregator states whose uploads are included: check it, note it durably, give the sum of their secrets to all,
   by the aggregator and sealed under a key that it lacks; or that there is no such upload: forget the seeds
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hekat.errors import StateError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.checked_sum import receive_commitment
from hekat.protocol.secure_sum.masked.group.group_parties import keep_to_record, tell_released_groups
from hekat.protocol.secure_sum.masked.leg import AUTHORITY_STEP, Leg, check_participants
from hekat.protocol.secure_sum.masked.messages import BeginMessage, IncludedMessage
from hekat.protocol.secure_sum.masked.opening.included import check_included
from hekat.protocol.secure_sum.masked.opening.member import Member
from hekat.protocol.secure_sum.masked.opening.opening_schemes import make_opening_scheme
from hekat.protocol.secure_sum.masked.opening.party_opening import included_set_of
from hekat.protocol.secure_sum.masked.release_key import ReleaseKey
from hekat.protocol.secure_sum.masked.run_secrets import receive_release_key
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.participation import participation_of
from hekat.protocol.secure_sum.partners import settle_partners
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.start_up import needs_everybody
from hekat.protocol.secure_sum.sum_plan import SumPlan
from hekat.protocol.stopwatch import Stopwatch


@dataclass(frozen=True)
class AuthorityRun:
    """What the machine gives the authority; `aggregator_timeout_s` is how long it waits for the aggregator."""

    stopwatch: Stopwatch
    plan: SumPlan
    upload_state: UploadState | None
    aggregator_timeout_s: float | None = None


def run_authority(channel: RecordedChannel, settings: SumSettings, run: AuthorityRun) -> None:
    """Serve one run to its end. The authority could open every single update; it opens sums, by the same rules.

    Raises StateError without a record, PolicyError where the record forbids the job.
    """
    if run.upload_state is None:
        raise StateError(
            "the key authority keeps no record of releases", expected="a state folder", cure="give the authority one"
        )
    keep_to_record(channel, settings, run.upload_state, run.plan)
    with needs_everybody():
        release_key = ReleaseKey(receive_release_key(channel, settings))
        tell_released_groups(channel, settings, run.upload_state, run.plan)
        settle_partners(channel, settings, timeout_s=run.aggregator_timeout_s)
    member = Member(
        channel,
        settings,
        make_opening_scheme(settings),
        release_key,
        run.upload_state,
        run.stopwatch,
        aggregator_timeout_s=run.aggregator_timeout_s,
    )
    try:
        _serve(channel, settings, run, member, release_key)
    finally:
        release_key.wipe()


def _serve(
    channel: RecordedChannel, settings: SumSettings, run: AuthorityRun, member: Member, release_key: ReleaseKey
) -> None:
    participation = participation_of(channel, settings)
    ahead: _Dealt | None = None
    while True:
        dealt = ahead or _receive_dealt(channel, settings, run, member)
        if dealt is None:
            return
        leg, ahead = dealt.leg, None
        stated = channel.receive(
            settings.aggregator, leg.name("included"), IncludedMessage, timeout_s=run.aggregator_timeout_s
        )
        if not stated.upload_digests:
            member.drop()
            continue
        context = replace(leg.dealing_context(channel.session_id, dealt.set_name), agreement=stated.agreement)
        commitment = b""
        if settings.check_sum:
            commitment = receive_commitment(channel, settings.aggregator, leg, run.aggregator_timeout_s)
        included = included_set_of(context, stated, commitment)
        parties, least = participation.parties_in(leg.step), participation.least_in(leg.step)
        check_included(included, context, parties, least, channel.find_unsigned, member.share_digests(leg))
        release_key.begin(included)
        member.release(leg, included)
        release_key.forget()
        if stated.next_step:
            ahead = _receive_dealt(channel, settings, run, member)


@dataclass(frozen=True)
class _Dealt:
    """An upload whose seeds are here."""

    leg: Leg
    set_name: str


def _receive_dealt(channel: RecordedChannel, settings: SumSettings, run: AuthorityRun, member: Member) -> _Dealt | None:
    """The next upload that begins, its seeds checked; None at the end of the run."""
    begin = channel.receive(settings.aggregator, AUTHORITY_STEP, BeginMessage, timeout_s=run.aggregator_timeout_s)
    if not begin.step:
        return None
    leg = Leg(begin.step, begin.number, tuple(begin.participants))
    # The participants receive what opens the sum: were the aggregator one of them, it would read every update.
    check_participants(leg, settings)
    return _Dealt(leg, member.check_dealt(leg))
