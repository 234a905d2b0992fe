"""The role of a party: it has rows and labels, and opens sums of updates together with the others.

    1. tell the aggregator the table's schema; wait for all parties
    2. lattice: the first party gives all a key for digests (sealed); say which upload numbers are used, draw the
       committee's members with the others, and tell earlier releases
       paillier: the leader makes the key pair, gives it to the parties (sealed) and the public half to the aggregator
       where parties find categories together: from one sum; tell the aggregator the rest of 1
    3. agree on what fills empty cells, and on the standardiser, from encrypted sums
    4. each round: local update, scale, clip, quantise, mask or encrypt; open the sum; the same server step
    5. compare model digests; go on or stop together

Source: BatchCrypt (ATC 2020), Algorithm 1, with weights kept at the parties.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from hekat.data import Table, check_has_labels, schema_digest
from hekat.data.columns.found import Vocabulary
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.categories.agree_on_categories import agree_on_categories
from hekat.protocol.horizontal.categories.announced_columns import announced_columns
from hekat.protocol.horizontal.messages import SETTLED_STEP, ReadyMessage, StartMessage
from hekat.protocol.horizontal.model_identity import identify_model
from hekat.protocol.horizontal.settings import HorizontalSettings, check_row_count
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.horizontal.training.local_run import LocalRun
from hekat.protocol.horizontal.training.loop import train
from hekat.protocol.horizontal.training.training_state import TrainingState, digest_model
from hekat.protocol.secure_sum.agreement.message_checks import refuse_answer
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.index_sets.settings import KEEP
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.start_up import join_sums, needs_everybody
from hekat.protocol.secure_sum.sum_run import PartySumRun
from hekat.scheme.paillier import KeyPair

_CATEGORIES_LABEL = b"hekat/categories/seed/1"


@dataclass(frozen=True)
class PartyRun:
    """What the machine gives a party's role; none of it changes what is sent. All but `local` as in `PartySumRun`.

    `settle` gives the table and the local run once the parties found categories together; `run_party` is given a table
    with open categories then.
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
    settle: Callable[[Vocabulary], tuple[Table, LocalRun]] | None = None

    def for_sums(self, settings: HorizontalSettings) -> PartySumRun:
        """The part that the party's side of the sums needs."""
        resumed = self.local.resume_from
        return PartySumRun(
            stopwatch=self.local.stopwatch,
            plan=plan_sums(settings, 0 if resumed is None else resumed.rounds_done),
            digest_start=None if resumed is None else partial(digest_model, resumed),
            key_pair=self.key_pair,
            exactness_check=self.exactness_check,
            on_packing=self.on_packing,
            upload_state=self.upload_state,
            aggregator_timeout_s=self.aggregator_timeout_s,
            before=self.before,
            accept_members=self.accept_members,
            on_members=self.on_members,
            names_are_keys=self.names_are_keys,
        )


def run_party(channel: RecordedChannel, table: Table, settings: HorizontalSettings, run: PartyRun) -> TrainingState:
    """Train with the others; returns the state that all parties share at the end."""
    check_has_labels(replace(table, name=f"party {channel.party}"))
    check_row_count(channel.party, len(table), settings)
    local = run.local
    finds = bool(settings.found) and local.resume_from is None
    with needs_everybody():
        announced = _announce_source(table) if finds else _announce(table, settings, local)
        _tell_ready(channel, settings, announced)
        aggregation, digest_key = join_sums(channel, settings.sums, run.for_sums(settings))
    try:
        if finds:
            # Where the job finds categories there are both.
            assert run.settle is not None
            assert table.open_categories is not None
            offers = table.open_categories.offers
            with needs_everybody():
                # The aggregator knows the session, and without the parties' key no place of a text in their table.
                seed = hmac.digest(digest_key, _CATEGORIES_LABEL + channel.session_id, "sha256")
                vocabulary = agree_on_categories(aggregation, offers, settings.found, seed)
                table, local = run.settle(vocabulary)
                channel.send(settings.aggregator, SETTLED_STEP, _announce(table, settings, local))
        kept = settings.training.kept
        if kept.is_on:
            channel.ledger.note(KEEP, kept.describe(), "disclosed" if kept.votes else "public")
        job_digest = channel.job_digest if kept.is_on else b""
        local = replace(
            local,
            digest_key=digest_key,
            job_digest=job_digest,
            record=lambda record, step: record.write(channel.ledger, step),
        )
        return train(aggregation, table, settings, local, party=channel.party)
    finally:
        aggregation.close()


def _announce(table: Table, settings: HorizontalSettings, run: LocalRun) -> ReadyMessage:
    """What the aggregator is told of the table and the model."""
    model = run.model_for(settings, table.features.shape[1])
    identity = identify_model(model, run.model_code, settings.model.seed)
    columns = announced_columns(table.feature_names, run.vocabulary)
    return ReadyMessage(
        schema=schema_digest(table, columns),
        columns=columns,
        model_code=identity.code,
        tensors=list(identity.tensors),
        model_start=identity.start,
    )


def _announce_source(table: Table) -> ReadyMessage:
    """The same before there is a model: the columns of the table as it was read."""
    assert table.open_categories is not None  # as in `run_party`
    columns = list(table.open_categories.columns)
    return ReadyMessage(schema_digest(table, columns), columns, model_code="", tensors=[], model_start="")


def _tell_ready(channel: RecordedChannel, settings: HorizontalSettings, message: ReadyMessage) -> None:
    channel.send(settings.aggregator, "ready", message)
    start = channel.receive(settings.aggregator, "start", StartMessage)
    if start.party_count != len(settings.parties):
        expected = f"{len(settings.parties)} parties, as in the job"
        refuse_answer(settings.aggregator, "start", expected, f"{start.party_count}")
