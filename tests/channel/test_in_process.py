"""The in-process hub, beside the rules of every channel: memory, and finding out at once that nothing can come."""

from __future__ import annotations

import math
import threading

import pytest

from hekat.channel import Channel, InProcessHub, run_parties
from hekat.errors import ChannelError, ChannelTimeoutError, InputError, PartyStoppedError


def test_time_out_names_the_awaited_party_and_step_and_what_did_come() -> None:
    hub = InProcessHub(("a", "b"))
    hub.channel("b").send("a", "another step", b"")
    with pytest.raises(ChannelTimeoutError, match=r"'b' in step 'update 3'.*0\.01 s.*'another step'"):
        hub.channel("a").receive("b", "update 3", timeout_s=0.01)


@pytest.mark.parametrize("parties", [(), ("a", "a"), ("a", "")])
def test_party_names_are_checked(parties: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="part"):
        InProcessHub(parties)


def test_a_hub_without_room_and_a_strange_party_are_refused() -> None:
    with pytest.raises(InputError, match="max_waiting_bytes"):
        InProcessHub(("a",), max_waiting_bytes=0)
    with pytest.raises(InputError, match="one of: a, b"):
        InProcessHub(("a", "b")).channel("c")


def test_a_call_may_give_its_wait_for_room_a_time_of_its_own() -> None:
    hub = InProcessHub(("a", "b"), 3600.0, max_waiting_bytes=1)
    a = hub.channel("a")
    a.send("b", "first", b"12", timeout_s=1e-3)
    with pytest.raises(ChannelTimeoutError, match=r"within 0.001 s"):
        a.send("b", "next", b"3", timeout_s=1e-3)
    with pytest.raises(InputError, match="not a time-out"):
        a.send("b", "next", b"3", timeout_s=0.0)


def test_a_sender_waits_for_room_until_its_time_is_over() -> None:
    hub = InProcessHub(("a", "b"), timeout_s=0.01, max_waiting_bytes=10)
    a = hub.channel("a")
    a.send("b", "large", bytes(100))  # alone: may be larger than the bound
    with pytest.raises(ChannelTimeoutError, match=r"no room at 'b'.*'next'"):
        a.send("b", "next", b"1")
    assert len(hub.channel("b").receive("a", "large")) == 100
    a.send("b", "next", b"1")


def test_a_step_that_cannot_get_past_the_waiting_ones_is_an_error_at_once() -> None:
    hub = InProcessHub(("a", "b"), timeout_s=math.inf, max_waiting_bytes=1)
    errors: list[BaseException] = []

    def fill() -> None:
        try:
            hub.channel("a").send("b", "one", b"1")
            hub.channel("a").send("b", "two", b"2")
        except PartyStoppedError as error:
            errors.append(error)

    sender = threading.Thread(target=fill)
    sender.start()
    with pytest.raises(ChannelError, match=r"'two' of 'a', which can never come.*unread from 'a': 'one'") as caught:
        hub.channel("b").receive("a", "two")
    hub.stop("b", caught.value)
    sender.join()
    assert len(errors) == 1


def test_the_earliest_time_out_passes_at_once_when_every_party_waits() -> None:
    def waits_for_ever(channel: Channel) -> None:
        channel.receive("b", "from b", timeout_s=math.inf)

    def waits_an_hour(channel: Channel) -> None:
        channel.receive("a", "from a", timeout_s=3600)

    with pytest.raises(PartyStoppedError, match="party 'b' stopped in step 'from a'") as caught:
        run_parties({"a": waits_for_ever, "b": waits_an_hour}, timeout_s=60)
    assert isinstance(caught.value.__cause__, ChannelTimeoutError)
    assert "every party waits: 'a' for 'b' in 'from b', 'b' for 'a' in 'from a'" in str(caught.value.__cause__)


def test_a_party_that_expects_a_time_out_goes_on_after_a_stalemate() -> None:
    def patient(channel: Channel) -> bytes:
        return channel.receive("b", "late", timeout_s=math.inf)

    def gives_up_then_sends(channel: Channel) -> str:
        with pytest.raises(ChannelTimeoutError):
            channel.receive("a", "never", timeout_s=3600)
        channel.send("a", "late", b"x")
        return "sent"

    assert run_parties({"a": patient, "b": gives_up_then_sends}) == {"a": b"x", "b": "sent"}


def test_both_senders_full_is_a_stalemate_not_a_hang() -> None:
    hub = InProcessHub(("a", "b"), timeout_s=math.inf, max_waiting_bytes=1)
    outcomes: dict[str, str] = {}

    def overfill(party: str, peer: str) -> None:
        channel = hub.channel(party)
        channel.send(peer, "1", b"1")
        try:
            channel.send(peer, "2", b"2")
        except ChannelError as error:
            outcomes[party] = type(error).__name__
            hub.stop(party, error)

    threads = [threading.Thread(target=overfill, args=pair) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes.values()) == ["ChannelTimeoutError", "PartyStoppedError"]
