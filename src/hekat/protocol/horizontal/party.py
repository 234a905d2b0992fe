"""The role of a party: it has rows and labels, and with the others it opens sums of updates.

    1. tell the aggregator the table's schema; wait until everybody is there
    2. lattice: the first party gives all a key for digests (sealed); say which upload numbers are used up, draw the
       committee's members with the others, and say what was released for before
       paillier: the leader makes the key pair, gives it to the parties (sealed) and the public half to the aggregator
    3. agree on the standardiser, from encrypted sums
    4. each round: local update, scale, clip, quantise, mask or encrypt; open the sum; the same server step
    5. compare model digests; go on or stop together

Source: BatchCrypt (ATC 2020), Algorithm 1, with weights kept at the parties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hekat.data import Table, check_has_labels, schema_digest
from hekat.engine.select import get_engine
from hekat.engine.tenancy import PLAIN_TABLES
from hekat.errors import KeyRefusedError, StateError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.messages import ReadyMessage, StartMessage
from hekat.protocol.horizontal.model_identity import identify_model
from hekat.protocol.horizontal.settings import KEY_TIMEOUT_S, HorizontalSettings, check_row_count
from hekat.protocol.horizontal.start_up import needs_everybody
from hekat.protocol.horizontal.training.loop import LocalRun, TrainingState, digest_model, train
from hekat.protocol.secure_sum.aggregation import Aggregation
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked.checked_sum import CHECKS_SUMS
from hekat.protocol.secure_sum.masked.draw_members import PartyDraw
from hekat.protocol.secure_sum.masked.group_parties import keep_to_record, openers_of, tell_released_groups
from hekat.protocol.secure_sum.masked.messages import RunSecretsMessage, UploadCounterMessage
from hekat.protocol.secure_sum.masked.opening.opening_schemes import make_opening_scheme, needs_draw
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening
from hekat.protocol.secure_sum.masked.party import MaskedAggregation
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.message_checks import check_party_count
from hekat.protocol.secure_sum.paillier.messages import PublicKeyMessage, SharedSecretsMessage
from hekat.protocol.secure_sum.paillier.party import PaillierAggregation
from hekat.protocol.secure_sum.plain.party import PlainAggregation
from hekat.protocol.secure_sum.run_keys import check_run_key, draw_run_key
from hekat.scheme.paillier import KeyPair, PrivateKey, generate_keys
from hekat.wire import from_bytes, to_bytes


@dataclass(frozen=True)
class PartyRun:
    """What the machine gives a party's role; none of it changes what is sent. `key_pair` is for the leader only.

    `upload_state` is what protection `lattice` keeps on disk; `aggregator_timeout_s` how long the party waits for the
    aggregator (None: as for anybody); `before` as in MaskedAggregation. `accept_members` raises where this site forms
    no committee with the members that were drawn, `on_members` is told them. `names_are_keys`: the job names party
    keys, so it was begun by a release that draws members.
    """

    local: LocalRun
    key_pair: KeyPair | None = field(default=None, repr=False)
    exactness_check: ExactnessCheck | None = None
    on_packing: Callable[[Packing], None] = lambda packing: None
    upload_state: UploadState | None = None
    aggregator_timeout_s: float | None = None
    before: Callable[[str, str], None] = lambda step, part: None
    accept_members: Callable[[tuple[str, ...]], None] = lambda members: None
    on_members: Callable[[tuple[str, ...]], None] = lambda members: None
    names_are_keys: bool = False


def run_party(channel: RecordedChannel, table: Table, settings: HorizontalSettings, run: PartyRun) -> TrainingState:
    """Train with the others; returns the state that all parties share at the end."""
    check_has_labels(replace(table, name=f"party {channel.party}"))
    check_row_count(channel.party, len(table), settings)
    with needs_everybody():
        _announce(channel, table, settings, run.local)
        aggregation, digest_key = join_sums(channel, settings, run)
    return train(aggregation, table, settings, replace(run.local, digest_key=digest_key), party=channel.party)


def join_sums(channel: RecordedChannel, settings: HorizontalSettings, run: PartyRun) -> tuple[Aggregation, bytes]:
    """This party's side of the sums, and the key of model digests, once keys are shared and upload numbers told."""
    if settings.protection == "lattice":
        return _join_lattice(channel, settings, run)
    if settings.protection == "paillier":
        if get_engine().single_tenant:
            channel.ledger.note("setup", f"randomiser tables: {PLAIN_TABLES}", "public")
        private_key, digest_key = _share_keys(channel, settings, run)
        stopwatch = run.local.stopwatch
        paillier = PaillierAggregation(channel, settings, private_key, stopwatch, run.exactness_check, run.on_packing)
        return paillier, digest_key
    channel.ledger.note("setup", "protection is NONE: the aggregator sees every update", "disclosed")
    return PlainAggregation(channel, settings, run.local.stopwatch), b""


def _join_lattice(
    channel: RecordedChannel, settings: HorizontalSettings, run: PartyRun
) -> tuple[MaskedAggregation, bytes]:
    if run.upload_state is None:
        raise StateError(
            f"party {channel.party} keeps no upload numbers",
            expected="a durable counter and release record",
            cure="give the party a state folder",
        )
    resumed = run.local.resume_from
    rounds_done = 0 if resumed is None else resumed.rounds_done
    keep_to_record(channel, settings, run.upload_state, rounds_done)
    digest_key, shared_key = _share_run_secrets(channel, settings)
    next_number = run.upload_state.uploads.next_value
    channel.send(settings.aggregator, "upload-counter", UploadCounterMessage(next_number=next_number))
    scheme = make_opening_scheme(settings, shared_key, _find_members(channel, settings, run, run.upload_state))
    channel.ledger.note("setup", scheme.describe(), "public")
    if settings.check_sum:
        channel.ledger.note("setup", CHECKS_SUMS, "public")
    if channel.party in openers_of(scheme, settings):
        tell_released_groups(channel, settings, run.upload_state, rounds_done)
    opening = PartyOpening(
        channel, settings, scheme, run.upload_state, run.local.stopwatch, aggregator_timeout_s=run.aggregator_timeout_s
    )
    aggregation = MaskedAggregation(
        channel,
        settings,
        opening,
        run.upload_state.uploads,
        run.local.stopwatch,
        digest_key=digest_key,
        model_digest=b"" if resumed is None else digest_model(resumed, digest_key),
        aggregator_timeout_s=run.aggregator_timeout_s,
        exactness_check=run.exactness_check,
        on_packing=run.on_packing,
        before=run.before,
    )
    return aggregation, digest_key


def _find_members(
    channel: RecordedChannel, settings: HorizontalSettings, run: PartyRun, state: UploadState
) -> tuple[str, ...] | None:
    """The members that all parties drew for the job; None where a committee is all parties, or there is none."""
    members = None
    if needs_draw(settings):
        draw = PartyDraw(
            channel,
            settings,
            state,
            resumed=run.local.resume_from is not None,
            may_be_older=not run.names_are_keys,
            aggregator_timeout_s=run.aggregator_timeout_s,
        )
        members = draw.run(run.accept_members)
        run.on_members(members)
    return members


def _share_run_secrets(channel: RecordedChannel, settings: HorizontalSettings) -> tuple[bytes, bytes]:
    """(digest key, shared key) from the first party; the shared key is empty unless opening is `shared`."""
    if channel.party != settings.leader:
        received = channel.receive(settings.leader, "run-secrets", RunSecretsMessage)
        return (
            check_run_key(received.digest_key, "digest key", settings),
            check_run_key(received.shared_key, "shared key", settings, wanted=settings.opening == "shared"),
        )
    shared_key = draw_run_key() if settings.opening == "shared" else b""
    message = RunSecretsMessage(digest_key=draw_run_key(), shared_key=shared_key)
    for party in settings.parties[1:]:
        channel.send(party, "run-secrets", message)
    return message.digest_key, message.shared_key


def _announce(channel: RecordedChannel, table: Table, settings: HorizontalSettings, run: LocalRun) -> None:
    model = run.model_for(settings, table.features.shape[1])
    identity = identify_model(model, run.model_code, settings.model.seed)
    message = ReadyMessage(
        schema=schema_digest(table),
        columns=list(table.feature_names),
        model_code=identity.code,
        tensors=list(identity.tensors),
        model_start=identity.start,
    )
    channel.send(settings.aggregator, "ready", message)
    start = channel.receive(settings.aggregator, "start", StartMessage)
    check_party_count(start.party_count, settings.aggregator, "start", settings)


def _share_keys(channel: RecordedChannel, settings: HorizontalSettings, run: PartyRun) -> tuple[PrivateKey, bytes]:
    if channel.party != settings.leader:
        shared = channel.receive(settings.leader, "shared-secrets", SharedSecretsMessage, timeout_s=KEY_TIMEOUT_S)
        private_key = from_bytes(shared.private_key, PrivateKey)
        _check_key(private_key, settings)
        return private_key, check_run_key(shared.digest_key, "digest key", settings)
    with run.local.stopwatch.measure("keys"):
        pair = run.key_pair or generate_keys(settings.key_bits)
    _check_key(pair.private, settings)
    channel.ledger.note("keys", f"made a Paillier key of {settings.key_bits} bits, shared with all parties", "public")
    digest_key = draw_run_key()
    for party in settings.parties[1:]:
        message = SharedSecretsMessage(private_key=to_bytes(pair.private), digest_key=digest_key)
        channel.send(party, "shared-secrets", message)
    channel.send(settings.aggregator, "public-key", PublicKeyMessage(public_key=to_bytes(pair.public)))
    return pair.private, digest_key


def _check_key(key: PrivateKey, settings: HorizontalSettings) -> None:
    if key.public.bits != settings.key_bits:
        raise KeyRefusedError(
            "the leader's key is not the job's",
            expected=f"{settings.key_bits} bits",
            got=f"{key.public.bits} bits",
            cure="make a key of the job's size, or let the leader make it",
        )
