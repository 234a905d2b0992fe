"""Releases that a party did not ask for: members send none for a false request, and a stray one is read past."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.protocol.secure_sum.masked.runs.conftest import Meddler

from hekat.errors import ChannelTimeoutError, PartyStoppedError
from hekat.ledger import RecordedChannel
from hekat.protocol.secure_sum.masked.leg import MAX_RELEASES
from hekat.protocol.secure_sum.masked.messages import OpenedMessage, OutcomeMessage, ReleaseMessage, SumBeginMessage
from hekat.protocol.secure_sum.masked.opening.party_opening import PartyOpening

VICTIM, MEMBERS = "a", "bc"


class Releases:
    """How often each member sent each release to the victim; `lie_once`: the first one of b is wrong."""

    def __init__(self, *, lie_once: bool = False) -> None:
        self.sent: dict[tuple[str, str], int] = {}
        self._lie_once = lie_once

    def meddle(self, channel: RecordedChannel) -> Meddler:
        def outgoing(to, step, message):
            if to == VICTIM and isinstance(message, ReleaseMessage):
                lies, self._lie_once = self._lie_once and channel.party == "b", self._lie_once and channel.party != "b"
                self.sent[channel.party, step] = self.sent.get((channel.party, step), 0) + 1
                message = replace(message, content=bytes(len(message.content))) if lies else message
            return [(step, message)]

        return Meddler(channel, outgoing)

    @property
    def meddlers(self):
        return dict.fromkeys(MEMBERS, self.meddle)


@pytest.fixture
def three(masked_settings):
    """Three parties and two rounds; of three members none may be wrong."""
    settings = masked_settings(3)
    return replace(settings, training=replace(settings.training, round_count=2))


def asking(signature_of):
    """Has b release for the victim once more before each outcome, with `signature_of(step)`: None for no request."""

    def changed(to, step, message):
        if not isinstance(message, OutcomeMessage) or to != "b" or not message.stands:
            return None
        signature = signature_of(step)
        if signature is None:
            return None
        return [(step, OutcomeMessage(stands=False, again={VICTIM: signature})), (step, message)]

    return changed


def went_well(played) -> None:
    rehearsal, _, error = played
    assert error is None
    assert rehearsal.lost == []
    assert [record.party_count for record in rehearsal.records] == [3, 3]
    assert rehearsal.not_compared == {}


@pytest.mark.parametrize(
    "signature", [b"", b"x", bytes(64), bytes(range(64))], ids=["none", "short", "zeros", "forged"]
)
def test_a_request_that_the_party_did_not_sign_brings_it_nothing(signature, play, three, tmp_path) -> None:
    releases = Releases()
    went_well(play(asking(lambda step: signature), settings=three, meddlers=releases.meddlers, ledger_folder=tmp_path))
    assert set(releases.sent.values()) == {1}
    assert "not released once more: a signed no such request" in (tmp_path / "b.jsonl").read_text()


def test_a_request_that_another_party_signed_brings_it_nothing(play, three, monkeypatch) -> None:
    """c, which works with the aggregator, signs for itself what the victim should have signed."""
    signed: dict[str, bytes] = {}
    release = PartyOpening.release

    def sign_too(self, leg, included):
        if self._channel.party == "c":
            signed[leg.name("outcome")] = self.sign_not_opened(included, 0)
        return release(self, leg, included)

    monkeypatch.setattr(PartyOpening, "release", sign_too)
    releases = Releases()
    went_well(play(asking(signed.__getitem__), settings=three, meddlers=releases.meddlers))
    assert len(signed) == 2
    assert set(releases.sent.values()) == {1}


@pytest.mark.parametrize("again", ["in the same round", "in another round"])
def test_a_request_brings_one_release_and_not_another_one_later(again, play, three) -> None:
    """The victim asks once, in the first round, and the aggregator shows its word to b a second time."""
    words: list[bytes] = []
    releases = Releases(lie_once=True)

    def take(sender, step, message):
        if isinstance(message, OpenedMessage) and not message.opened:
            assert sender == VICTIM
            words.append(message.signature)
        return None

    def signature_of(step):
        return words[0] if ("round-1" in step) == (again == "in the same round") else None

    went_well(play(asking(signature_of), take=take, settings=three, meddlers=releases.meddlers))
    assert len(words) == 1
    assert {count for (_, step), count in releases.sent.items() if "round-1" in step} == {2}
    assert {count for (_, step), count in releases.sent.items() if "round-2" in step} == {1}


def test_a_request_of_another_session_brings_nothing(play, three, tmp_path) -> None:
    """Number, step and attempt are the same, in a run of the same job with states that were put back."""
    words: list[bytes] = []

    def take(sender, step, message):
        if isinstance(message, OpenedMessage) and not message.opened:
            words.append(message.signature)
        return None

    first = Releases(lie_once=True)
    went_well(
        play(lambda *m: None, take=take, settings=three, meddlers=first.meddlers, state_folder=tmp_path / "first")
    )
    second = Releases()
    played = play(
        asking(lambda step: words[0]), settings=three, meddlers=second.meddlers, state_folder=tmp_path / "second"
    )
    went_well(played)
    assert len(words) == 1
    assert set(first.sent) == set(second.sent)
    assert set(second.sent.values()) == {1}


# --- what comes all the same -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3])
def test_a_release_that_came_too_often_is_read_past(count, play, three, tmp_path) -> None:
    """Shares, later releases and the final model of that member are taken as ever; both ledgers hold all of them."""

    def changed(to, step, message):
        more = count if isinstance(message, ReleaseMessage) and to == VICTIM else 0
        return [(step, message)] * (1 + more)

    went_well(play(changed, role="b", settings=three, ledger_folder=tmp_path))
    for name, direction, peer in (("b", "sent", VICTIM), (VICTIM, "received", "b")):
        entries = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        passed = [
            entry
            for entry in entries
            if entry.get("kind") == "horizontal/release" and (entry["direction"], entry["peer"]) == (direction, peer)
        ]
        assert len(passed) == 2 * (1 + count)


def test_releases_without_end_hold_nobody(play, three) -> None:
    """A party takes nothing more of a member that sent it more than an honest one can: of three, none may be missed."""

    def changed(to, step, message):
        floods = isinstance(message, ReleaseMessage) and to == VICTIM and "round-1" in step
        return [(step, message)] * (2 + MAX_RELEASES if floods else 1)

    _, _, error = play(changed, role="b", settings=three)
    assert isinstance(error, PartyStoppedError)
    assert f"got none that did at {VICTIM}" in str(error)


def test_a_hidden_release_makes_no_later_message_of_its_member_unreadable(play, masked_settings) -> None:
    """The aggregator says to one party that b did not release, and has the run go on without it there."""
    settings = masked_settings(5)
    settings = replace(settings, training=replace(settings.training, round_count=2))

    def changed(to, step, message):
        if isinstance(message, SumBeginMessage) and to == VICTIM:
            return replace(message, released=[name for name in message.released if name != "b"])
        return None

    rehearsal, _, error = play(changed, settings=settings)
    assert error is None
    assert rehearsal.lost == []
    assert [record.party_count for record in rehearsal.records] == [5, 5]
    assert rehearsal.not_compared == {}


class Impatient(Meddler):
    """A role that gives up its wait for b's release of `step` a moment before it comes."""

    def __init__(self, channel: RecordedChannel, step: str) -> None:
        super().__init__(channel)
        self._step = step

    def receive_digested(self, sender, step, message_type, timeout_s=None):
        if sender == "b" and message_type is ReleaseMessage and self._step in step:
            self._step = "never again"
            raise ChannelTimeoutError("a rehearsed delay")
        return super().receive_digested(sender, step, message_type, timeout_s)


@pytest.mark.parametrize("step", ["round-1/", "round-2/"])
def test_a_release_that_came_too_late_is_asked_for_once_more_and_costs_nobody_the_run(step, play, three) -> None:
    """Between the late release and the second one b's share for the next round is read, in round 1."""
    releases = Releases()
    meddlers = {**releases.meddlers, VICTIM: lambda channel: Impatient(channel, step)}
    went_well(play(lambda *m: None, settings=three, meddlers=meddlers))
    assert {count for (_, sent), count in releases.sent.items() if step in sent} == {2}
