"""Each party uploads in its turn, in one step's time for all of it, and at most three times a step."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hekat.errors import ProtocolError
from hekat.protocol.horizontal.settings import ModelSettings
from hekat.protocol.secure_sum import timeouts
from hekat.protocol.secure_sum.masked import aggregator as masked_aggregator
from hekat.protocol.secure_sum.masked import party as masked_party
from hekat.protocol.secure_sum.masked.leg import MAX_UPLOADS
from hekat.protocol.secure_sum.masked.messages import (
    DealtMessage,
    MaskedBlockMessage,
    OpenedMessage,
    OutcomeMessage,
    StatementMessage,
    TurnMessage,
)


@pytest.fixture
def three_blocks(masked_settings, monkeypatch):
    """Settings of five parties whose uploads take three blocks of one chunk each."""
    for module in (masked_party, masked_aggregator):
        monkeypatch.setattr(module, "BLOCK_SLOTS", 1)
    return masked_settings(5, model=ModelSettings("mlp", hidden=(2000,), seed=4))


def test_parties_upload_one_after_the_other(play, three_blocks) -> None:
    turns: list[str] = []

    def changed(to, step, message):
        turns.extend([to] if isinstance(message, TurnMessage) else [])

    def take(sender, step, message):
        if isinstance(message, MaskedBlockMessage):
            assert turns[-1] == sender

    rehearsal, watch, error = play(changed, take=take, settings=three_blocks)
    assert error is None
    assert turns == list("abcde")
    assert watch.senders_of(MaskedBlockMessage) == [party for party in "abcde" for _ in range(3)]
    assert rehearsal.lost_names == []


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


@pytest.mark.parametrize("more", [1, -1, -3, 2**40])
def test_a_turn_of_another_number_of_blocks_is_refused(more, play, three_blocks) -> None:
    def changed(to, step, message):
        return TurnMessage(message.block_count + more) if isinstance(message, TurnMessage) and to == "b" else None

    rehearsal, watch, error = play(changed, settings=three_blocks)
    assert error is None
    assert rehearsal.lost_names == ["b"]
    assert isinstance(rehearsal.lost[0].__cause__, ProtocolError)
    assert "the aggregator awaits another upload in round-1" in rehearsal.reasons
    assert "b" not in watch.senders_of(MaskedBlockMessage)
    assert [record.party_count for record in rehearsal.records] == [4]


@pytest.mark.parametrize("opening", ["committee", "authority", "shared"])
def test_a_fourth_upload_of_a_step_finds_no_party(opening, play, masked_settings, monkeypatch) -> None:
    """The aggregator would try for ever, whatever the parties say of a sum that opens at all of them."""
    monkeypatch.setattr(masked_aggregator, "MAX_UPLOADS", 40)

    def changed(to, step, message):
        return OutcomeMessage(stands=False) if isinstance(message, OutcomeMessage) else None

    def taken(sender, step, message):
        return replace(message, opened=False) if isinstance(message, OpenedMessage) else None

    rehearsal, watch, error = play(changed, take=taken, settings=masked_settings(5, opening))
    assert error is not None
    assert MAX_UPLOADS == 3
    assert watch.senders_of(OpenedMessage) == list("abcde") * 3
    assert watch.senders_of(DealtMessage) == list("abcde") * 3
    assert rehearsal.records == []
    assert {type(lost.__cause__) for lost in rehearsal.lost} == {ProtocolError}
    states = {name: state.uploads.next_value for name, state in rehearsal.upload_states.items() if name != "notary"}
    assert states == dict.fromkeys("abcde", 3)
