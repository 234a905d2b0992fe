"""The role of the aggregator: it adds updates it cannot read, has no key that opens them, and keeps one accumulator.

1. receive every party's schema and model; refuse parties whose columns or models differ; tell all to start
2. receive the public key (paillier), or agree on the first upload's number, pass on the draw of members, and hear of
   earlier releases (lattice)
3. serve the standardiser's four sums, and scaffold's one
4. each round: add the updates as they arrive, return the sum
5. check that all parties report the same model, and stop when they do
6. where rows are held out, serve one sum more: the validation of the model that training ended with

The parties then compare their models without it. A run that stopped there is resumed for that alone: 1, 2, no sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.codec import daciq_alpha
from hekat.data import check_same_schema
from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.messages import ReadyMessage, StartMessage
from hekat.protocol.horizontal.model_identity import ModelIdentity, check_same_model
from hekat.protocol.horizontal.settings import KEY_TIMEOUT_S, MIN_ALPHA, HorizontalSettings
from hekat.protocol.horizontal.slot_ceiling import most_slots
from hekat.protocol.horizontal.start_up import needs_everybody
from hekat.protocol.horizontal.training.control_variates import ROW_COUNT_STEP
from hekat.protocol.horizontal.training.standardise import STANDARDISE_STEPS
from hekat.protocol.horizontal.training.validation import FINAL_STEP
from hekat.protocol.secure_sum.masked.aggregator import MaskedSummation
from hekat.protocol.secure_sum.masked.draw_members import pass_on_draw
from hekat.protocol.secure_sum.masked.group_parties import GroupParties, receive_bound_groups
from hekat.protocol.secure_sum.masked.messages import UploadCounterMessage
from hekat.protocol.secure_sum.masked.opening.opening_schemes import needs_draw
from hekat.protocol.secure_sum.masked.upload_state import first_upload_number
from hekat.protocol.secure_sum.message_checks import check_ranges
from hekat.protocol.secure_sum.messages import ClipMessage, RangeMessage, RoundAgreedMessage, RoundEndMessage
from hekat.protocol.secure_sum.paillier.aggregator import PaillierSummation
from hekat.protocol.secure_sum.paillier.messages import PublicKeyMessage
from hekat.protocol.secure_sum.plain.aggregator import PlainSummation
from hekat.protocol.secure_sum.roster import Roster
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import PublicKey
from hekat.wire import from_bytes

Summation = PaillierSummation | PlainSummation | MaskedSummation


@dataclass(frozen=True)
class AggregatorRun:
    """What the machine gives the aggregator; `rounds_done` above 0 resumes. `step_timeout_s`: as for any message.

    `rounds_finished`: the stop rule ended the rounds before. `is_validated`: the last validation was made before, and
    is not served again.
    """

    stopwatch: Stopwatch
    rounds_done: int = 0
    step_timeout_s: float | None = None
    rounds_finished: bool = False
    is_validated: bool = False


def run_aggregator(channel: RecordedChannel, settings: HorizontalSettings, run: AggregatorRun) -> None:
    """Serve one run to its end. The aggregator learns sizes, times, and what its ledger lists; nothing else."""
    roster = Roster(channel, settings)
    with needs_everybody():
        announced = _gather_parties(channel, settings)
        summation = make_summation(channel, settings, roster, run)
        if isinstance(summation, MaskedSummation):
            summation.bound_slots(most_slots(settings, announced.tensors, len(announced.columns)))
    fresh = run.rounds_done == 0
    if fresh and settings.training.standardise:
        for step in STANDARDISE_STEPS:
            summation.serve(step)
    if fresh and settings.training.algorithm == "scaffold":
        summation.serve(ROW_COUNT_STEP)
    last = run.rounds_done if run.rounds_finished else settings.training.round_count
    for number in range(run.rounds_done + 1, last + 1):
        step = f"round-{number}"
        if settings.protection != "none":
            serve_bounds(roster, settings, summation, step, first=fresh and number == 1)
        summation.serve(step)
        if finish_round(roster, step):
            break
    if settings.validation.hold_out and not run.is_validated:
        summation.serve(FINAL_STEP)
    if isinstance(summation, MaskedSummation):
        summation.finish()


def _gather_parties(channel: RecordedChannel, settings: HorizontalSettings) -> ReadyMessage:
    """What all parties announce alike: columns and the model."""
    ready = {party: channel.receive(party, "ready", ReadyMessage) for party in settings.parties}
    check_same_schema({party: message.columns for party, message in ready.items()})
    first = settings.parties[0]
    for party in settings.parties[1:]:
        if ready[party].schema != ready[first].schema:
            raise InputError(
                f"parties {first} and {party} do not have the same kind of labels or rows",
                expected=f"labels as at {first}, and rows as there, dense or sparse",
                got="another kind",
                cure="load every table with the job's classes (or numbers for a regression) and the job's sparse",
            )
    check_same_model(
        settings.model.name,
        {
            party: ModelIdentity(message.model_code, tuple(message.tensors), message.model_start)
            for party, message in ready.items()
        },
    )
    for party in settings.parties:
        channel.send(party, "start", StartMessage(party_count=len(settings.parties)))
    return ready[first]


def make_summation(
    channel: RecordedChannel, settings: HorizontalSettings, roster: Roster, run: AggregatorRun
) -> Summation:
    """What adds under the settings' protection, once keys and numbers are told; the other side of `join_sums`."""
    stopwatch = run.stopwatch
    if settings.protection == "none":
        return PlainSummation(channel, settings, stopwatch)
    if settings.protection == "lattice":
        next_numbers = {
            party: channel.receive(party, "upload-counter", UploadCounterMessage).next_number
            for party in settings.parties
        }
        number = first_upload_number(next_numbers)
        members = pass_on_draw(channel, settings) if needs_draw(settings) else None
        groups = GroupParties(roster, receive_bound_groups(channel, settings, roster, run.rounds_done, members))
        return MaskedSummation(
            channel, settings, roster, stopwatch, groups, number, members=members, step_timeout_s=run.step_timeout_s
        )
    message = channel.receive(settings.leader, "public-key", PublicKeyMessage, timeout_s=KEY_TIMEOUT_S)
    return PaillierSummation(channel, settings, stopwatch, from_bytes(message.public_key, PublicKey))


def serve_bounds(roster: Roster, settings: HorizontalSettings, summation: Summation, step: str, *, first: bool) -> None:
    """What the clipping policy asks for before the step's sum; `first` where its bounds begin anew."""
    codec = settings.codec
    if codec.clipping == "adaptive" and first and codec.alpha is None:
        summation.serve(f"{step}/exponents")
    if codec.clipping != "daciq":
        return
    if isinstance(summation, MaskedSummation):
        summation.begin(step)
    found = roster.receive_alike(
        f"{step}/range",
        RangeMessage,
        lambda message: tuple(message.sizes.tolist()),
        f"its ranges in {step} are of other tensors than most parties'",
        lambda party, message: check_ranges(message, party, step),
        among=summation.parties_in(step),
    )
    roster.check_enough(step, 1)
    ranges = list(found.values())
    minimum = np.min([message.minimum for message in ranges], axis=0)
    maximum = np.max([message.maximum for message in ranges], axis=0)
    sizes = ranges[0].sizes
    alphas = [
        daciq_alpha(
            float(low),
            float(high),
            int(size),
            len(ranges),
            codec.value_bits,
            fixed_alpha=max(abs(float(low)), abs(float(high)), MIN_ALPHA),
        )
        for low, high, size in zip(minimum, maximum, sizes, strict=True)
    ]
    roster.send_to_all(f"{step}/clip", ClipMessage(alpha=np.array(alphas)))


def finish_round(roster: Roster, step: str) -> bool:
    """Whether the parties, all of which hold the same model after the step, say that it was the last one."""
    ends = roster.receive_from_all(f"{step}/end", RoundEndMessage)
    roster.check_enough(step, 1)
    groups: dict[tuple[bytes, bool], list[str]] = {}
    for party, end in ends.items():
        groups.setdefault((end.model_digest, end.finished), []).append(party)
    if len(groups) > 1:
        described = " | ".join(", ".join(group) for group in groups.values())
        raise ProtocolError(
            f"parties hold different models after {step}",
            expected="one model at all parties",
            got=f"{len(groups)} different ones: {described}",
            cure="run the same release and job file everywhere, and resume from the last checkpoint",
        )
    roster.send_to_all(f"{step}/agreed", RoundAgreedMessage(party_count=len(ends)))
    return next(iter(ends.values())).finished
