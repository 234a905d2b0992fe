"""Messages that may stay unread: a later one is read all the same, and nothing lost or altered is passed over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hekat.channel import InProcessChannel
from hekat.channel.sealed_message import parse_frame, seal_payload
from hekat.errors import ChannelTimeoutError, HekatError, InputError, PartyLostError, SealError

AT_MOST = 3


@pytest.fixture
def passed(trio) -> list[tuple[str, bytes]]:
    """What b read past of a's steps "extra-1" and "extra-2"."""
    found: list[tuple[str, bytes]] = []
    for step in ("extra-1", "extra-2"):
        trio.sealed["b"].allow_unread("a", step, lambda payload, step=step: found.append((step, payload)), AT_MOST)
    return found


def send(trio, *steps: str) -> None:
    for index, step in enumerate(steps):
        trio.sealed["a"].send("b", step, f"{index}".encode())


@pytest.mark.parametrize(
    "steps",
    [
        ("extra-1",),
        ("extra-1", "extra-1", "extra-1"),
        ("extra-1", "extra-2"),
        ("extra-1", "extra-1", "extra-1", "extra-2", "extra-2", "extra-2"),
    ],
)
def test_a_later_message_is_read_and_those_before_it_are_handed_over_in_their_order(steps, trio, passed) -> None:
    send(trio, *steps, "step", "step")
    b = trio.sealed["b"]
    assert b.receive("a", "step") == f"{len(steps)}".encode()
    assert passed == [(step, f"{index}".encode()) for index, step in enumerate(steps)]
    assert b.receive("a", "step") == f"{len(steps) + 1}".encode()


def test_what_is_read_in_its_turn_is_not_read_past(trio, passed) -> None:
    send(trio, "extra-1", "step", "extra-2", "step")
    b = trio.sealed["b"]
    assert [b.receive("a", step) for step in ("extra-1", "step", "extra-2", "step")] == [b"0", b"1", b"2", b"3"]
    assert passed == []


@pytest.mark.parametrize(
    "steps", [("extra-2", "extra-1"), ("extra-2", "extra-1", "extra-2"), ("extra-2", "step", "extra-1")]
)
def test_a_sender_that_goes_back_to_an_earlier_step_is_refused(steps, trio, passed) -> None:
    """b looks in "extra-1" first: nothing is kept of a sender that does not keep to the order of steps."""
    send(trio, *steps, "step")
    with pytest.raises(SealError, match="reordered, or one before it is missing"):
        trio.sealed["b"].receive("a", "step")


def test_a_lost_message_is_still_missed(trio, passed) -> None:
    trio.sent("a", "b", "extra-1", b"lost on the way")
    send(trio, "extra-1", "step")
    with pytest.raises(SealError, match="reordered, or one before it is missing"):
        trio.sealed["b"].receive("a", "step")
    assert passed == []


def test_an_altered_one_is_refused(trio, passed) -> None:
    data = trio.sent("a", "b", "extra-1", b"altered")
    trio.put("a", "b", "extra-1", data[:-1] + bytes([data[-1] ^ 1]))
    send(trio, "step")
    with pytest.raises(SealError, match="altered"):
        trio.sealed["b"].receive("a", "step")
    assert passed == []


def test_a_step_that_is_not_named_is_not_passed_over(trio, passed) -> None:
    send(trio, "other", "step")
    with pytest.raises(SealError, match="reordered, or one before it is missing"):
        trio.sealed["b"].receive("a", "step")


def test_once_a_step_is_read_the_ones_before_it_are_over(trio, passed) -> None:
    b = trio.sealed["b"]
    send(trio, "extra-2", "extra-1", "step")
    assert b.receive("a", "extra-2") == b"0"
    with pytest.raises(SealError, match="reordered, or one before it is missing"):
        b.receive("a", "step")
    assert list(b._unread["a"]) == ["extra-2"], "nothing grows with the rounds of a run"


def test_nobody_waits_for_what_may_stay_unread(trio, passed) -> None:
    with pytest.raises(ChannelTimeoutError):
        trio.sealed["b"].receive("a", "step", timeout_s=1e-9)
    send(trio, "step")
    assert trio.sealed["b"].receive("a", "step") == b"0"


@pytest.mark.parametrize("sender", ["b", "nobody"])
def test_only_peers_are_named(sender, trio) -> None:
    with pytest.raises(InputError, match="no such peer"):
        trio.sealed["b"].allow_unread(sender, "step", print, AT_MOST)


# --- what a hostile sender can have its receiver do ------------------------------------------------------------------


def put_far_off(trio, step: str) -> None:
    """a signs its next message as its thousandth."""
    header = parse_frame(trio.sent("a", "b", step, b"far off")).header
    sending = trio.sealed["a"]._session.sending["b"]
    trio.put("a", "b", step, seal_payload(b"far off", replace(header, sequence=1000), trio.keys["a"], sending))


def test_a_sender_that_floods_a_step_is_refused_after_as_many_as_may_come(trio, passed) -> None:
    """Each message would be the next one, and the one that b asked for never: one call would not end."""
    send(trio, *["extra-1"] * (AT_MOST + 20))
    put_far_off(trio, "step")
    with pytest.raises(SealError, match=r"'extra-1' came unread once too often.*at most 3"):
        trio.sealed["b"].receive("a", "step")
    assert passed == [("extra-1", f"{index}".encode()) for index in range(AT_MOST)]
    send(trio, "step")
    with pytest.raises(SealError, match="once too often"):
        trio.sealed["b"].receive("a", "step")


def test_a_number_far_off_with_nothing_to_read_past_is_refused(trio, passed) -> None:
    put_far_off(trio, "step")
    with pytest.raises(SealError, match="reordered, or one before it is missing"):
        trio.sealed["b"].receive("a", "step")
    assert passed == []


class Counted:
    """b's end of the hub, whose receives are counted."""

    def __init__(self, end: InProcessChannel) -> None:
        self._end, self.count = end, 0

    def __getattr__(self, name: str):
        return getattr(self._end, name)

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        self.count += 1
        return self._end.receive(sender, step, timeout_s=timeout_s)


def test_steps_that_are_only_ever_read_past_do_not_add_up(make_trio) -> None:
    """As at a party to which the aggregator says in every round that a member did not release."""
    ends: dict[str, Counted] = {}
    trio = make_trio(wrap=lambda party, end: ends.setdefault(party, Counted(end)))
    b, found = trio.sealed["b"], []
    for number in range(50):
        b.allow_unread("a", f"round-{number}/release", found.append, AT_MOST)
        send(trio, f"round-{number}/release", "step")
        before = ends["b"].count
        assert b.receive("a", "step") == b"1"
        assert ends["b"].count - before <= 4
    assert len(found) == 50
    assert list(b._unread["a"]) == ["round-49/release"]


def test_a_party_that_fails_names_the_step_that_it_was_in(make_trio) -> None:
    """And not one that it read past: what it signs and what it is told of with would not be the same."""
    hubs = []
    trio = make_trio(wrap=lambda party, end: hubs.append(end._hub) or end, may_be_lost=frozenset("b"))
    b = trio.sealed["b"]
    b.allow_unread("a", "extra-1", print, AT_MOST)
    send(trio, "extra-1", "step")
    assert b.receive("a", "step") == b"1"
    failure = HekatError("a rehearsed failure")
    with pytest.raises(HekatError), b:
        raise failure
    hubs[0].fail("b", failure)
    with pytest.raises(PartyLostError, match="lost in step 'step'") as told:
        trio.sealed["c"].receive("b", "more")
    assert (told.value.step, told.value.notice.step) == ("step", "step")
