"""Protections without signed agreements: an aggregator that sends one party another sum is found at the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hekat.errors import ModelsDifferError, PartyStoppedError, ProtocolError
from hekat.protocol.horizontal.aggregator import AggregatorRun, run_aggregator
from hekat.protocol.horizontal.party import run_party
from hekat.protocol.horizontal.settings import TrainingSettings
from hekat.protocol.secure_sum import party_side
from hekat.protocol.secure_sum.agreement.final_model import ModelTrail
from hekat.protocol.secure_sum.agreement.messages import FinalModelMessage, RoundEndMessage
from hekat.protocol.secure_sum.paillier.messages import SumMessage, UpdateMessage
from hekat.protocol.secure_sum.plain.messages import PlainMeanMessage
from hekat.protocol.secure_sum.settings import CodecSettings
from hekat.protocol.stopwatch import Stopwatch
from hekat.scheme.paillier import Ciphertexts, add_many
from hekat.wire import from_bytes, to_bytes

TWO_ROUNDS = TrainingSettings(algorithm="fedsgd", round_count=2, batch_rows=0, standardise=False)
VICTIM = "c"


class Equivocating:
    """An aggregator that sends the victim another sum in `step`, and takes all models for the same.

    Under `paillier` that is the first party's ciphertexts times the number of parties: count lane and ranges fit.
    """

    def __init__(self, channel, public_key, step: str) -> None:
        self._channel, self._key, self._step = channel, public_key, step
        self._first: Ciphertexts | None = None

    def __getattr__(self, name: str):
        return getattr(self._channel, name)

    def receive(self, sender, step, message_type, timeout_s=None):
        return self.receive_digested(sender, step, message_type, timeout_s)[0]

    def receive_digested(self, sender, step, message_type, timeout_s=None):
        message, digest = self._channel.receive_digested(sender, step, message_type, timeout_s)
        if isinstance(message, UpdateMessage) and sender == "a":
            self._first = from_bytes(message.ciphertexts, Ciphertexts, public_key=self._key)
        if isinstance(message, RoundEndMessage):
            message = replace(message, model_digest=bytes(32))
        return message, digest

    def send(self, to, step, message):
        if to == VICTIM and step == f"{self._step}/sum":
            if isinstance(message, PlainMeanMessage):
                message = replace(message, values=message.values + 1e-9)
            if isinstance(message, SumMessage):
                message = replace(message, ciphertexts=to_bytes(add_many([self._first] * 3)))
        return self._channel.send(to, step, message)


@pytest.fixture
def equivocate(rehearse, tables_of, settings_of, key_pair):
    """`equivocate(protection, step)` makes a run of such an aggregator."""

    def make(protection: str, step: str):
        codec = CodecSettings(clipping="fixed", alpha=4.0)
        settings = settings_of(training=TWO_ROUNDS, codec=codec, protection=protection)
        tables = {name: replace(table, features=table.features / 1000) for name, table in tables_of(1).items()}
        rehearsal = rehearse(settings, tables, exactness_check=False)

        def play(channel):
            run_aggregator(Equivocating(channel, key_pair.public, step), settings, AggregatorRun(Stopwatch()))

        rehearsal.stand_ins = {"hub": play}
        return rehearsal

    return make


@pytest.mark.quick_values
@pytest.mark.parametrize("protection", ["paillier", "none"])
@pytest.mark.parametrize("step", ["round-1", "round-2"])
def test_without_the_comparison_other_sums_pass_silently(protection, step, equivocate, monkeypatch) -> None:
    ended_with: dict[str, bytes] = {}

    def compare(channel, settings, digest, **others):
        ended_with[channel.party] = digest
        return ()

    monkeypatch.setattr(party_side, "compare_final_models", compare)
    equivocate(protection, step).run()
    assert ended_with["a"] == ended_with["b"] != ended_with[VICTIM]


@pytest.mark.parametrize("protection", ["paillier", "none"])
@pytest.mark.parametrize("step", ["round-1", "round-2"])
def test_other_sums_at_one_party_end_the_run_before_there_is_a_model(protection, step, equivocate) -> None:
    with pytest.raises(PartyStoppedError, match="do not end with the same model") as stopped:
        equivocate(protection, step).run()
    assert isinstance(stopped.value.__cause__, ModelsDifferError)
    assert "or one of these parties says what is not so" in str(stopped.value)


class ThereAndBack(Equivocating):
    """After round 1 the victim has another model; after round 2 it has the same as all others, to the last bit."""

    def send(self, to, step, message):
        if isinstance(message, PlainMeanMessage):
            first = (to == VICTIM) == (step == "round-1/sum")
            message = replace(message, values=np.full(message.values.shape, 1.0 if first else 2.0))
        return self._channel.send(to, step, message)


@pytest.mark.parametrize("compares_the_way", [True, False])
def test_models_that_only_differed_on_the_way_are_found_too(
    compares_the_way, rehearse, tables_of, settings_of, monkeypatch
) -> None:
    if not compares_the_way:
        monkeypatch.setattr(ModelTrail, "add", lambda trail, digest: None)
    settings = settings_of(training=TWO_ROUNDS, protection="none")
    rehearsal = rehearse(settings, tables_of(1), exactness_check=False)

    def play(channel):
        run_aggregator(ThereAndBack(channel, None, "never"), settings, AggregatorRun(Stopwatch()))

    rehearsal.stand_ins = {"hub": play}
    if not compares_the_way:
        rehearsal.run()
        return
    with pytest.raises(PartyStoppedError, match="do not end with the same model"):
        rehearsal.run()


@pytest.mark.parametrize("protection", ["paillier", "none"])
def test_a_digest_without_its_signature_ends_a_run_that_bears_no_loss(
    protection, rehearse, tables_of, settings_of
) -> None:
    settings = settings_of(training=replace(TWO_ROUNDS, round_count=1), protection=protection)
    rehearsal = rehearse(settings, tables_of(1), exactness_check=False)

    class Unsigned:
        def __init__(self, channel) -> None:
            self._channel = channel

        def __getattr__(self, name: str):
            return getattr(self._channel, name)

        def send(self, to, step, message):
            if isinstance(message, FinalModelMessage):
                message = replace(message, signature=np.random.default_rng(1).bytes(64))
            return self._channel.send(to, step, message)

    def play(channel):
        return run_party(Unsigned(channel), rehearsal.tables["b"], settings, rehearsal._party_run("b", channel, None))

    rehearsal.stand_ins = {"b": play}
    with pytest.raises(PartyStoppedError, match="party b did not sign the digest of its final model") as stopped:
        rehearsal.run()
    assert isinstance(stopped.value.__cause__, ProtocolError)
