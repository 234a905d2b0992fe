"""Parties upload at once and are read in turn, in one step's time for all of one upload, at most three times a step."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from hekat.errors import BoundError, ProtocolError
from hekat.protocol.horizontal.settings import ModelSettings
from hekat.protocol.secure_sum import timeouts
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked import slot_stream
from hekat.protocol.secure_sum.masked.leg import MAX_UPLOADS
from hekat.protocol.secure_sum.masked.messages import (
    DealtMessage,
    MaskedBlockMessage,
    OpenedMessage,
    StatementMessage,
)


@pytest.fixture
def three_blocks(masked_settings, monkeypatch):
    """Settings of five parties whose uploads take three blocks of one chunk each."""
    monkeypatch.setattr(slot_stream, "BLOCK_SLOTS", 1)
    return masked_settings(5, model=ModelSettings("mlp", hidden=(2000,), seed=4))


def test_all_parties_upload_at_once_and_are_read_one_after_the_other(play, three_blocks, meddle) -> None:
    """No party waits for another one's upload: the blocks of all are there before the last party's are read."""
    sent: list[str] = []
    sent_before: list[int] = []

    def note(party):
        def outgoing(to, step, message):
            sent.extend([party] if isinstance(message, MaskedBlockMessage) else [])
            return [(step, message)]

        return meddle(outgoing)

    def take(sender, step, message):
        if isinstance(message, MaskedBlockMessage):
            sent_before.append(len(sent))

    rehearsal, watch, error = play(
        lambda *message: None, take=take, meddlers={party: note(party) for party in "abcde"}, settings=three_blocks
    )
    assert error is None
    assert watch.senders_of(MaskedBlockMessage) == [party for party in "abcde" for _ in range(3)]
    assert sent_before[-1] == 15
    assert not any("turn" in step for _, step, _ in watch.received)
    assert rehearsal.lost_names == []


def test_a_block_waits_for_room_as_long_as_the_aggregator_may_read_the_others(
    rehearse_masked, three_blocks, meddle
) -> None:
    """A step's time would be too short for the last party, and it would be given up for the slowness of the others."""
    waits: dict[type, set[float | None]] = {}

    class Timed:
        def __init__(self, channel):
            self._channel = channel

        def __getattr__(self, name):
            return getattr(self._channel, name)

        def send(self, to, step, message, timeout_s=None):
            waits.setdefault(type(message), set()).add(timeout_s)
            return self._channel.send(to, step, message, timeout_s)

    rehearse_masked(three_blocks, meddlers={"e": Timed}, timeout_s=20.0).run()
    assert waits[MaskedBlockMessage] == {timeouts.aggregator_timeout_of(20.0, 5)}
    assert waits[DealtMessage] == {None}


def test_a_party_that_trickles_is_given_up_and_the_others_finish(
    play, three_blocks, meddle, monkeypatch, roles_apart
) -> None:
    """Its second block is due in what the first one left of a step's time, not in a step's time of its own."""
    clock = [1000.0]
    monkeypatch.setattr(timeouts, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    given_up = threading.Event()
    waited: list[bool] = []
    sent: list[str] = []

    def trickle(to, step, message):
        if isinstance(message, MaskedBlockMessage):
            sent.append(step)
            if len(sent) == 2:
                waited.append(given_up.wait(10.0))
        return [(step, message)]

    def take(sender, step, message):
        if isinstance(message, MaskedBlockMessage) and sender == "b":
            clock[0] += 1000.0
        if isinstance(message, MaskedBlockMessage) and sender == "c":
            given_up.set()

    rehearsal, watch, error = play(
        lambda *message: None, take=take, meddlers={"b": meddle(trickle)}, settings=three_blocks
    )
    assert error is None
    assert waited == [True]
    assert rehearsal.lost_names == ["b"]
    assert "b" not in watch.senders_of(StatementMessage)
    assert sorted(watch.opened_at) == list("acde")
    assert [record.party_count for record in rehearsal.records] == [4]


@pytest.mark.parametrize("opening", ["committee", "authority"])
def test_a_fourth_upload_of_a_step_finds_no_party(opening, play, masked_settings, lie_in_releases, monkeypatch) -> None:
    """The aggregator would try for ever; releases never fit together, so that no party has seen a sum."""
    monkeypatch.setattr(masked_aggregator, "MAX_UPLOADS", 40)

    lie_in_releases({*"abcde", "notary"}, lambda content, index: b"\xff\x7f" * (len(content) // 2))
    rehearsal, watch, error = play(lambda *message: None, settings=masked_settings(5, opening))
    assert error is not None
    assert MAX_UPLOADS == 3
    assert watch.opened_at == []
    assert watch.senders_of(OpenedMessage) == list("abcde") * 3
    assert watch.senders_of(DealtMessage) == list("abcde") * 3
    assert rehearsal.records == []
    assert {type(lost.__cause__) for lost in rehearsal.lost} <= {ProtocolError, BoundError}
    states = {name: state.uploads.next_value for name, state in rehearsal.upload_states.items() if name != "notary"}
    assert states == dict.fromkeys("abcde", 3)
