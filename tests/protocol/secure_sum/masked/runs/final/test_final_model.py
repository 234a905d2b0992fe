"""The last sum sent to parties is not one: nobody but the parties can tell, and they do, before there is a model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.errors import ChannelError, ModelsDifferError, PartyStoppedError, ProtocolError
from hekat.protocol.horizontal.validation_settings import ValidationSettings
from hekat.protocol.secure_sum import party_side
from hekat.protocol.secure_sum.agreement.final_model import FINAL_MODEL_STEP, ModelTrail
from hekat.protocol.secure_sum.agreement.messages import FinalModelMessage, RoundEndMessage
from hekat.protocol.secure_sum.masked.messages import SumBlockMessage, UploadMessage
from hekat.run.rows.different_models import says_models_differ
from hekat.scheme.lattice import SETS

VICTIM = "c"


class OtherLastSum:
    """An aggregator that sends the victim a sum of `step` whose lane `lane` is a level higher, and hides that."""

    def __init__(self, step: str, lane: int = -1) -> None:
        self._step, self._lane, self._lane_count = step, lane, 0

    def take(self, sender, step, message):
        if isinstance(message, UploadMessage):
            self._lane_count = message.lane_count
        return replace(message, model_digest=bytes(32)) if isinstance(message, RoundEndMessage) else None

    def change(self, to, step, message):
        if not isinstance(message, SumBlockMessage) or to != VICTIM or not step.startswith(f"{self._step}/"):
            return None
        form = SETS["A16-16"].form
        bits, dropped = form.sum_field_bits[0], form.sum_dropped_bits
        # The count lane comes first, so the value of that number lies in the lane after it.
        lane, index = divmod(self._lane % self._lane_count + 1, form.last_used(self._lane_count))
        whole = int.from_bytes(message.written, "little")
        old = whole >> (bits * index) & ((1 << bits) - 1)
        added = form.delta << (form.slot_bits * lane)
        new = (((old << dropped) + added) % form.ring.modulus + (1 << dropped >> 1)) >> dropped
        return SumBlockMessage((whole + (new - old << (bits * index))).to_bytes(len(message.written), "little"))


LAST_SUMS = {
    "the last round's": ("round-1", {}),
    "the validation of the final model": ("validation/final", {"validation": ValidationSettings(hold_out=0.3)}),
}


@pytest.fixture(params=LAST_SUMS)
def last_sum(request, masked_settings):
    """(what plays the aggregator, settings)"""
    step, others = LAST_SUMS[request.param]
    # Of validation's counters the first digit is that of the weight's: the second is of a counter of rows.
    return OtherLastSum(step, lane=1 if "validation" in step else -1), masked_settings(5, **others)


def test_without_the_comparison_another_last_sum_passes_silently(last_sum, play, monkeypatch) -> None:
    ended_with: dict[str, bytes] = {}

    def compare(channel, settings, digest, **others):
        ended_with[channel.party] = digest
        return ()

    monkeypatch.setattr(party_side, "compare_final_models", compare)
    other, settings = last_sum
    rehearsal, _, error = play(other.change, take=other.take, settings=settings, exactness_check=False)
    assert error is None
    assert rehearsal.lost == []
    assert [len({ended_with[name] for name in names}) for names in ("abde", "abcde")] == [1, 2]


def test_another_last_sum_ends_the_run_at_both_before_there_is_a_model(last_sum, play, tmp_path) -> None:
    other, settings = last_sum
    rehearsal, watch, error = play(
        other.change, take=other.take, settings=settings, exactness_check=False, ledger_folder=tmp_path
    )
    assert isinstance(error.__cause__, ModelsDifferError)
    assert "do not end with the same model" in str(error)
    assert "the aggregator sent parties different sums, or one of these parties says what is not so" in str(error)
    assert "hub" not in str(error), "which of them it was cannot be told"
    found = {name: (tmp_path / f"{name}.jsonl").read_text() for name in "abcde"}
    assert "another final model at a, b, d, e" in found[VICTIM]
    for name in "abde":
        assert f"another final model at {VICTIM}" in found[name]
    assert watch.senders_of(FinalModelMessage) == [], "the aggregator has no part in it"
    assert rehearsal.lost == []


def test_models_that_are_the_same_are_compared_by_all_with_all(play, masked_settings, tmp_path) -> None:
    rehearsal, _, error = play(lambda *message: None, settings=masked_settings(5), ledger_folder=tmp_path)
    assert error is None
    assert rehearsal.not_compared == {}
    for name in "abcde":
        lines = [line for line in (tmp_path / f"{name}.jsonl").read_text().splitlines() if FINAL_MODEL_STEP in line]
        assert len(lines) == 8, "one to and one from each other"


# --- losses ----------------------------------------------------------------------------------------------------------


def leaves(*, before_it_sends: bool):
    """A party that is lost at the comparison; one that has told its digest to all first is not missed."""

    def outgoing(to, step, message):
        if isinstance(message, FinalModelMessage) and before_it_sends:
            raise ChannelError("left before the comparison")
        return [(step, message)]

    def incoming(sender, step, message):
        if isinstance(message, FinalModelMessage):
            raise ChannelError("left in the comparison")
        return message

    return {"outgoing": outgoing, "incoming": incoming}


@pytest.mark.parametrize("before_it_sends", [True, False])
def test_a_party_that_is_lost_at_the_end_fails_nobody(
    before_it_sends, rehearse_masked, meddle, expect_step, tmp_path
) -> None:
    meddlers = {"d": meddle(**leaves(before_it_sends=before_it_sends))}
    rehearsal = rehearse_masked(meddlers=meddlers, ledger_folder=tmp_path)
    expect_step(rehearsal.run(), "abcde")
    assert rehearsal.lost_names == ["d"]
    missed = dict.fromkeys("abce", ("d",)) if before_it_sends else {}
    assert rehearsal.not_compared == missed
    said = "the final model was not compared with d" in (tmp_path / "a.jsonl").read_text()
    assert said is before_it_sends


def test_a_model_that_nobody_else_confirms_is_none(rehearse_masked, masked_settings, meddle) -> None:
    meddlers = dict.fromkeys("bc", meddle(**leaves(before_it_sends=True)))
    rehearsal = rehearse_masked(masked_settings(3), meddlers=meddlers)
    with pytest.raises(PartyStoppedError, match="the final model of a could be compared with nobody"):
        rehearsal.run()
    assert rehearsal.lost_names[-1] == "a"


# --- parties that lie ------------------------------------------------------------------------------------------------


class Lying:
    """A party that tells `victim` another digest, and signs it unless it is to be unsigned."""

    def __init__(self, channel, victim: str, *, signed: bool) -> None:
        self._channel, self._victim, self._signed = channel, victim, signed

    def __getattr__(self, name: str):
        return getattr(self._channel, name)

    def send(self, to, step, message, timeout_s=None):
        if isinstance(message, FinalModelMessage) and to == self._victim:
            digest = bytes(32)
            signature = self._channel.sign("hekat/horizontal/final-model/1", digest)
            message = FinalModelMessage(digest, signature if self._signed else message.signature)
        return self._channel.send(to, step, message, timeout_s)


def test_a_party_that_says_another_digest_is_not_believed_more_than_the_aggregator(play, masked_settings) -> None:
    lying = {"d": lambda channel: Lying(channel, "b", signed=True)}
    _, _, error = play(lambda *message: None, settings=masked_settings(5), meddlers=lying)
    assert isinstance(error.__cause__, ModelsDifferError)
    assert error.party == "b"
    assert "b and d do not end with the same model" in str(error)


def test_a_digest_that_is_not_signed_is_none(play, masked_settings) -> None:
    lying = {"d": lambda channel: Lying(channel, "b", signed=False)}
    rehearsal, _, error = play(lambda *message: None, settings=masked_settings(5), meddlers=lying)
    assert error is None
    assert rehearsal.not_compared == {"b": ("d",)}


def test_a_digest_tells_models_totals_and_their_order_apart() -> None:
    def trail(*models: bytes, end: bytes = b"end", totals: bytes = b"totals") -> bytes:
        made = ModelTrail(b"key")
        for model in models:
            made.add(model)
        return made.end_with(end, totals)

    digests = [
        trail(b"1", b"2"),
        trail(b"2", b"1"),
        trail(b"12"),
        trail(b"1", b"2", end=b"other"),
        trail(b"1", b"2", totals=b"other"),
        trail(b"1", b"2", end=b"endtotals", totals=b""),
    ]
    assert len(set(digests)) == len(digests)
    assert trail(b"1", b"2") == digests[0]


def test_errors_of_the_comparison_are_protocol_errors() -> None:
    assert issubclass(ModelsDifferError, ProtocolError)
    assert ModelsDifferError.ends_run


def test_another_model_after_a_round_ends_the_run_although_nobody_awaits_the_answer(play, masked_settings) -> None:
    """Parties have saved the round by then: whoever looks at the error leaves that checkpoint alone."""

    def changed(to, step, message):
        return replace(message, model_digest=bytes(32)) if isinstance(message, RoundEndMessage) else None

    _, _, error = play(changed, role="b", settings=masked_settings(5))
    assert isinstance(error, PartyStoppedError)
    assert isinstance(error.__cause__, ModelsDifferError)
    assert says_models_differ(error)
    assert "parties hold different models after round-1" in str(error)
    assert "a, c, d, e | b" in str(error)
