"""A role that ends delivers what is left, however slow the way; a peer that draws it out holds no role."""

from __future__ import annotations

import itertools
from threading import Condition

import pytest
from tests.channel.mailbox.fake_relay import DELAY_S, LIMIT_S, FakeRelay, Faults, shorten_pauses

from hekat.channel.mailbox import last_words, pair

ROLES = ("a", "b")


def test_what_still_gets_through_when_a_role_finishes_is_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the last model over a slow link, to peers that receive it after its sender has returned."""
    shorten_pauses(monkeypatch)
    monkeypatch.setattr(last_words, "LAST_WORDS_S", 10 * DELAY_S)
    monkeypatch.setattr(last_words, "SLOWEST_BYTES_A_SECOND", 1)
    monkeypatch.setattr(pair, "PARCEL_BYTES", 1)  # a message a parcel
    relay = FakeRelay(Faults(delay=1.0))
    a, b = relay.add_all(ROLES)
    count = 40
    for number in range(count):
        a.send("b", f"part-{number}", b"%d" % number)
    assert a.finish() == ()
    got = [b.receive("a", f"part-{number}", timeout_s=LIMIT_S) for number in range(count)]
    assert got == [b"%d" % number for number in range(count)]


def test_a_peer_that_is_out_of_reach_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_pauses(monkeypatch)
    monkeypatch.setattr(last_words, "LAST_WORDS_S", 10 * DELAY_S)
    relay = FakeRelay()
    a, _ = relay.add_all(ROLES)
    relay.cut.add("b")
    a.send("b", "part", b"1")
    assert a.finish() == ("b",)


def test_a_peer_that_takes_one_message_now_and_then_holds_nobody_up() -> None:
    lacks = itertools.count(1_000_000, -1)
    with (changed := Condition()):
        left = last_words.wait_until_told(changed, lambda: {"b": next(lacks)}, 2 * DELAY_S, byte_count=0)
    assert left["b"] > 0
