"""The start-up of protection `lattice`, at a party and at the aggregator.

1. the first party gives all others a key for model digests, sealed (and for opening `shared` the key of all secrets)
2. every party tells the least upload number that it has not used; the aggregator begins with the largest of these
3. where there are more parties than members, all draw the committee's members (`draw_members`)
4. every opener says for which parties it released in earlier runs; such groups are bound to these parties
5. all who will talk with each other have keys for it (`settle_partners`)
"""

from __future__ import annotations

from hekat.errors import StateError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.aggregator import MaskedSummation
from hekat.protocol.secure_sum.masked.checked_sum import CHECKS_SUMS
from hekat.protocol.secure_sum.masked.draw_members import PartyDraw, pass_on_draw
from hekat.protocol.secure_sum.masked.group.group_parties import (
    GroupParties,
    keep_to_record,
    openers_of,
    receive_bound_groups,
    tell_released_groups,
)
from hekat.protocol.secure_sum.masked.messages import UploadCounterMessage
from hekat.protocol.secure_sum.masked.opening.opening_schemes import make_opening_scheme, needs_draw
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening
from hekat.protocol.secure_sum.masked.party import MaskedAggregation
from hekat.protocol.secure_sum.masked.release_key import ReleaseKey
from hekat.protocol.secure_sum.masked.run_secrets import share_run_secrets
from hekat.protocol.secure_sum.masked.upload_state import UploadState, first_upload_number
from hekat.protocol.secure_sum.partners import settle_partners
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.secure_sum.settings import SumSettings
from hekat.protocol.secure_sum.sum_run import AggregatorSumRun, PartySumRun


def join_masked(channel: RecordedChannel, settings: SumSettings, run: PartySumRun) -> tuple[MaskedAggregation, bytes]:
    """A party's side, and the key of model digests. Raises StateError without a state folder."""
    if run.upload_state is None:
        raise StateError(
            f"party {channel.party} keeps no upload numbers",
            expected="a durable counter and release record",
            cure="give the party a state folder",
        )
    keep_to_record(channel, settings, run.upload_state, run.plan)
    secrets = share_run_secrets(channel, settings, run.told_secrets)
    next_number = run.upload_state.uploads.next_value
    channel.send(settings.aggregator, "upload-counter", UploadCounterMessage(next_number=next_number))
    scheme = make_opening_scheme(settings, secrets.shared_key, _find_members(channel, settings, run, run.upload_state))
    channel.ledger.note("setup", scheme.describe(), "public")
    if settings.check_sum:
        channel.ledger.note("setup", CHECKS_SUMS, "public")
    if channel.party in openers_of(scheme, settings):
        tell_released_groups(channel, settings, run.upload_state, run.plan)
    settle_partners(channel, settings, scheme.members, timeout_s=run.aggregator_timeout_s)
    opening = PartyOpening(
        channel,
        settings,
        scheme,
        run.upload_state,
        run.stopwatch,
        release_key=ReleaseKey(secrets.release_key) if secrets.release_key else None,
        aggregator_timeout_s=run.aggregator_timeout_s,
    )
    aggregation = MaskedAggregation(
        channel,
        settings,
        opening,
        run.upload_state.uploads,
        run.stopwatch,
        digest_key=secrets.digest_key,
        model_digest=b"" if run.digest_start is None else run.digest_start(secrets.digest_key),
        aggregator_timeout_s=run.aggregator_timeout_s,
        exactness_check=run.exactness_check,
        on_packing=run.on_packing,
        before=run.before,
    )
    return aggregation, secrets.digest_key


def start_masked(
    channel: RecordedChannel, settings: SumSettings, roster: Roster, run: AggregatorSumRun
) -> MaskedSummation:
    """The aggregator's side."""
    next_numbers = {
        party: channel.receive(party, "upload-counter", UploadCounterMessage).next_number for party in settings.parties
    }
    number = first_upload_number(next_numbers)
    members = pass_on_draw(channel, settings) if needs_draw(settings) else None
    if members is not None:
        run.on_members(members)
    groups = GroupParties(roster, receive_bound_groups(channel, settings, roster, run.plan, members))
    settle_partners(channel, settings, members, timeout_s=run.step_timeout_s)
    return MaskedSummation(
        channel, settings, roster, run.stopwatch, groups, number, members=members, step_timeout_s=run.step_timeout_s
    )


def _find_members(
    channel: RecordedChannel, settings: SumSettings, run: PartySumRun, state: UploadState
) -> tuple[str, ...] | None:
    """The members that all parties drew for the job; None where a committee is all parties, or there is none."""
    members = None
    if needs_draw(settings):
        draw = PartyDraw(
            channel,
            settings,
            state,
            run.plan,
            resumed=run.digest_start is not None,
            may_be_older=not run.names_are_keys,
            aggregator_timeout_s=run.aggregator_timeout_s,
        )
        members = draw.run(run.accept_members)
        run.on_members(members)
    return members
