"""The role of a party: it has rows and labels, and grows the same trees as all others from sums of histograms.

1. tell the aggregator the columns, and how trees are grown; wait for all parties
2. keys of the sums, as in any training on sums
3. agree on bins, from sums of counts; on the start, from sums of labels
4. each iteration: sum the histograms of each level and choose its splits; sum gradients by leaf; tell the
   aggregator after each sum whether another level follows, and after the last one a digest of the model
5. sum the losses of the final model
6. compare the final model with every other party
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from hekat.data import Table, schema_digest
from hekat.errors import PolicyError
from hekat.ledger import RecordedChannel
from hekat.ledger.privacy.records import PrivacyRecord
from hekat.protocol.horizontal.messages import ReadyMessage, StartMessage
from hekat.protocol.horizontal_trees.private.training import train_privately
from hekat.protocol.horizontal_trees.settings import HorizontalTreesSettings
from hekat.protocol.horizontal_trees.state import TreesState, digest_trees
from hekat.protocol.horizontal_trees.sums_ahead import plan_sums
from hekat.protocol.horizontal_trees.training import LocalRun, check_rows, train
from hekat.protocol.secure_sum.agreement.message_checks import refuse_answer
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.start_up import join_sums, needs_everybody
from hekat.protocol.secure_sum.sum_run import PartySumRun
from hekat.scheme.paillier import KeyPair

MODEL_NAME = "boosted trees"


@dataclass(frozen=True)
class PartyRun:
    """What the machine gives a party's role; none of it changes what is sent. All but `local` as in `PartySumRun`."""

    local: LocalRun
    key_pair: KeyPair | None = field(default=None, repr=False)
    upload_state: UploadState | None = None
    aggregator_timeout_s: float | None = None
    before: Callable[[str, str], None] = lambda step, part: None
    accept_members: Callable[[tuple[str, ...]], None] = lambda members: None
    on_members: Callable[[tuple[str, ...]], None] = lambda members: None
    names_are_keys: bool = False

    def for_sums(self, settings: HorizontalTreesSettings) -> PartySumRun:
        """The part that the party's side of the sums needs."""
        resumed = self.local.resume_from
        return PartySumRun(
            stopwatch=self.local.stopwatch,
            plan=plan_sums(settings, 0 if resumed is None else resumed.iterations_done),
            digest_start=None if resumed is None else partial(digest_trees, resumed),
            key_pair=self.key_pair,
            upload_state=self.upload_state,
            aggregator_timeout_s=self.aggregator_timeout_s,
            before=self.before,
            accept_members=self.accept_members,
            on_members=self.on_members,
            names_are_keys=self.names_are_keys,
        )


def run_party(channel: RecordedChannel, table: Table, settings: HorizontalTreesSettings, run: PartyRun) -> TreesState:
    """Train with the others; returns the state that all parties share at the end."""
    check_rows(replace(table, name=f"party {channel.party}"), settings)
    check_row_count(channel.party, len(table), settings)
    if settings.privacy is not None:
        settings.privacy.public_bins(table.feature_names, table.indicators, settings.training.max_bins)
    with needs_everybody():
        _tell_ready(channel, settings, announce(table, settings, run.local.resume_from))
        aggregation, digest_key = join_sums(channel, settings.sums, run.for_sums(settings))

    def note(step: str, what: str) -> None:
        channel.ledger.note(step, what, "disclosed")

    def record(noted: PrivacyRecord, step: str) -> None:
        noted.write(channel.ledger, step)

    local = replace(run.local, digest_key=digest_key, note=note, record=record)
    try:
        if settings.privacy is not None:
            return train_privately(aggregation, table, settings, local)
        return train(aggregation, table, settings, local, party=channel.party)
    finally:
        aggregation.close()


def check_row_count(party: str, row_count: int, settings: HorizontalTreesSettings) -> None:
    """Raise PolicyError where a party has more rows than the public bound on them."""
    if row_count > settings.weight_max:
        raise PolicyError(
            f"party {party} has more rows than the job's weight_max",
            expected=f"at most {settings.weight_max:,} rows",
            got=f"{row_count:,} rows",
            cure="raise weight_max in the job (it is public: choose a bound that tells little)",
        )


def announce(table: Table, settings: HorizontalTreesSettings, resumed: TreesState | None = None) -> ReadyMessage:
    """What the aggregator is told: columns, how trees are grown, and how many iterations were made before."""
    facts = asdict(settings.training)
    if settings.privacy is not None:
        facts["privacy"] = asdict(settings.privacy)
    described = json.dumps(facts, sort_keys=True).encode()
    done = 0 if resumed is None else resumed.iterations_done
    return ReadyMessage(
        schema=schema_digest(table, list(table.feature_names)),
        columns=list(table.feature_names),
        model_code="",
        tensors=[f"trees, {settings.class_count} classes, {len(table.indicator_places)} columns of 0 and 1"],
        model_start=hashlib.sha256(described + done.to_bytes(8, "little")).hexdigest(),
    )


def _tell_ready(channel: RecordedChannel, settings: HorizontalTreesSettings, message: ReadyMessage) -> None:
    channel.send(settings.aggregator, "ready", message)
    start = channel.receive(settings.aggregator, "start", StartMessage)
    if start.party_count != len(settings.parties):
        expected = f"{len(settings.parties)} parties, as in the job"
        refuse_answer(settings.aggregator, "start", expected, f"{start.party_count}")
