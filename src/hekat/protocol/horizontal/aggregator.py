"""The role of the aggregator: it adds ciphertexts, has no private key, and keeps one accumulator however many parties.

1. receive every party's schema; refuse parties whose columns differ; tell all to start
2. receive the public key
3. serve the standardiser's four sums
4. each round: add the updates as they arrive, return the sum
5. check that all parties report the same model, and stop when they do
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hekat.codec import daciq_alpha
from hekat.data import check_same_schema
from hekat.engine.limbs import ints_from_limbs
from hekat.errors import InputError, ProtocolError
from hekat.ledger import RecordedChannel
from hekat.protocol.horizontal.counters import plain_counters
from hekat.protocol.horizontal.messages import (
    ClipMessage,
    PlainMeanMessage,
    PlainUpdateMessage,
    PublicKeyMessage,
    RangeMessage,
    ReadyMessage,
    RoundAgreedMessage,
    RoundEndMessage,
    StartMessage,
    SumMessage,
    UpdateMessage,
)
from hekat.protocol.horizontal.received import check_ciphertexts, check_plain_update, check_ranges
from hekat.protocol.horizontal.settings import KEY_TIMEOUT_S, MIN_ALPHA, HorizontalSettings
from hekat.protocol.horizontal.standardise import STANDARDISE_STEPS
from hekat.protocol.horizontal.stopwatch import Stopwatch
from hekat.scheme.paillier import Ciphertexts, PublicKey, add
from hekat.wire import from_bytes, to_bytes


@dataclass(frozen=True)
class AggregatorRun:
    """What the machine gives the aggregator; `rounds_done` above 0 resumes."""

    stopwatch: Stopwatch
    rounds_done: int = 0


def run_aggregator(channel: RecordedChannel, settings: HorizontalSettings, run: AggregatorRun) -> None:
    """Serve one run to its end. The aggregator learns sizes, times, and what its ledger lists; nothing else."""
    _gather_parties(channel, settings)
    summation = _make_summation(channel, settings, run.stopwatch)
    fresh = run.rounds_done == 0
    if fresh and settings.training.standardise:
        for step in STANDARDISE_STEPS:
            summation.serve(step)
    for number in range(run.rounds_done + 1, settings.training.round_count + 1):
        step = f"round-{number}"
        if settings.protection == "paillier":
            _serve_bounds(channel, settings, summation, step, first=fresh and number == 1)
        summation.serve(step)
        finished = _finish_round(channel, settings, step)
        if finished:
            return


def _gather_parties(channel: RecordedChannel, settings: HorizontalSettings) -> None:
    ready = {party: channel.receive(party, "ready", ReadyMessage) for party in settings.parties}
    check_same_schema({party: message.columns for party, message in ready.items()})
    first = settings.parties[0]
    for party in settings.parties[1:]:
        if ready[party].schema != ready[first].schema:
            raise InputError(
                f"parties {first} and {party} do not have the same kind of labels",
                expected=f"labels as at {first}",
                got="another kind",
                cure="give every party the job's classes, or numbers for a regression",
            )
    for party in settings.parties:
        channel.send(party, "start", StartMessage(party_count=len(settings.parties)))


def _make_summation(channel: RecordedChannel, settings: HorizontalSettings, stopwatch: Stopwatch) -> Summation:
    if settings.protection == "none":
        return PlainSummation(channel, settings, stopwatch)
    message = channel.receive(settings.leader, "public-key", PublicKeyMessage, timeout_s=KEY_TIMEOUT_S)
    return EncryptedSummation(channel, settings, stopwatch, from_bytes(message.public_key, PublicKey))


class EncryptedSummation:
    """Adds ciphertexts under the parties' public key as they arrive."""

    def __init__(
        self, channel: RecordedChannel, settings: HorizontalSettings, stopwatch: Stopwatch, key: PublicKey
    ) -> None:
        self._channel, self._settings, self._stopwatch, self._key = channel, settings, stopwatch, key

    def serve(self, step: str) -> None:
        total: Ciphertexts | None = None
        for party in self._settings.parties:
            update = self._channel.receive(party, f"{step}/update", UpdateMessage)
            with self._stopwatch.measure("aggregate"):
                ciphertexts = from_bytes(update.ciphertexts, Ciphertexts, public_key=self._key)
                check_ciphertexts(ciphertexts, party, step, total)
                total = ciphertexts if total is None else add(total, ciphertexts)
        if total is None:
            raise InputError("a sum over no parties", expected="at least 2 parties", got="0")
        with self._stopwatch.measure("aggregate"):
            message = SumMessage(ciphertexts=to_bytes(total), addend_count=len(self._settings.parties))
        for party in self._settings.parties:
            self._channel.send(party, f"{step}/sum", message)


class PlainSummation:
    """The weighted mean of updates in the clear: protection `none`."""

    def __init__(self, channel: RecordedChannel, settings: HorizontalSettings, stopwatch: Stopwatch) -> None:
        self._channel, self._settings, self._stopwatch = channel, settings, stopwatch

    def serve(self, step: str) -> None:
        updates = [
            self._channel.receive(party, f"{step}/update", PlainUpdateMessage) for party in self._settings.parties
        ]
        with self._stopwatch.measure("aggregate"):
            for party, update in zip(self._settings.parties, updates, strict=True):
                check_plain_update(update, party, step, updates[0], self._settings.weight_max)
            weight_sum = sum(update.weight for update in updates)
            values = sum((u.values * u.weight for u in updates), np.zeros_like(updates[0].values)) / weight_sum
            counters = [sum(column) for column in zip(*(ints_from_limbs(u.counters) for u in updates), strict=True)]
            message = PlainMeanMessage(values=values, weight_sum=weight_sum, counters=plain_counters(counters))
        for party in self._settings.parties:
            self._channel.send(party, f"{step}/sum", message)


Summation = EncryptedSummation | PlainSummation


def _serve_bounds(
    channel: RecordedChannel, settings: HorizontalSettings, summation: Summation, step: str, *, first: bool
) -> None:
    codec = settings.codec
    if codec.clipping == "adaptive" and first and codec.alpha is None:
        summation.serve(f"{step}/exponents")
    if codec.clipping != "daciq":
        return
    ranges = [channel.receive(party, f"{step}/range", RangeMessage) for party in settings.parties]
    for party, message in zip(settings.parties, ranges, strict=True):
        check_ranges(message, party, step, ranges[0])
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
    for party in settings.parties:
        channel.send(party, f"{step}/clip", ClipMessage(alpha=np.array(alphas)))


def _finish_round(channel: RecordedChannel, settings: HorizontalSettings, step: str) -> bool:
    ends = {party: channel.receive(party, f"{step}/end", RoundEndMessage) for party in settings.parties}
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
    for party in settings.parties:
        channel.send(party, f"{step}/agreed", RoundAgreedMessage(party_count=len(ends)))
    return next(iter(ends.values())).finished
