"""The role of a party: it has rows and labels, and opens sums of updates together with the others.

    1. tell the aggregator the table's schema; wait for all parties
    2. lattice: the first party gives all a key for digests (sealed); say which upload numbers are used, draw the
       committee's members with the others, and tell earlier releases
       paillier: the leader makes the key pair, gives it to the parties (sealed) and the public half to the aggregator
    3. agree on what fills empty cells, and on the standardiser, from encrypted sums
    4. each round: local update, scale, clip, quantise, mask or encrypt; open the sum; the same server step
    5. compare model digests; go on or stop together

Source: BatchCrypt (ATC 2020), Algorithm 1, with weights kept at the parties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from hekat.data import Table, check_has_labels, schema_digest
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.messages import ReadyMessage, StartMessage
from hekat.protocol.horizontal.model_identity import identify_model
from hekat.protocol.horizontal.settings import HorizontalSettings, check_row_count
from hekat.protocol.horizontal.sums_ahead import plan_sums
from hekat.protocol.horizontal.training.loop import LocalRun, TrainingState, digest_model, train
from hekat.protocol.secure_sum.agreement.message_checks import refuse_answer
from hekat.protocol.secure_sum.cost.packing import Packing
from hekat.protocol.secure_sum.exactness_check import ExactnessCheck
from hekat.protocol.secure_sum.masked.upload_state import UploadState
from hekat.protocol.secure_sum.start_up import join_sums, needs_everybody
from hekat.protocol.secure_sum.sum_run import PartySumRun
from hekat.scheme.paillier import KeyPair


@dataclass(frozen=True)
class PartyRun:
    """What the machine gives a party's role; none of it changes what is sent. All but `local` as in `PartySumRun`."""

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
    with needs_everybody():
        _announce(channel, table, settings, run.local)
        aggregation, digest_key = join_sums(channel, settings.sums, run.for_sums(settings))
    try:
        return train(aggregation, table, settings, replace(run.local, digest_key=digest_key), party=channel.party)
    finally:
        aggregation.close()


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
    if start.party_count != len(settings.parties):
        expected = f"{len(settings.parties)} parties, as in the job"
        refuse_answer(settings.aggregator, "start", expected, f"{start.party_count}")
