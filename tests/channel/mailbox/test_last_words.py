"""A role that ends delivers what is left, however slow the way; a peer that draws it out holds no role."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from threading import Condition

import pytest
from tests.channel.mailbox.fake_relay import DELAY_S, LIMIT_S, FakeRelay, Faults, shorten_pauses

from hekat.channel import PartyKey
from hekat.channel.dropout_notice import sign_dropout
from hekat.channel.mailbox import last_words, mailbox_channel, pair
from hekat.errors import ChannelError, HekatError, PartyStoppedError, ProtocolError

ROLES = ("a", "b")


def test_what_still_gets_through_when_a_role_finishes_is_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the last model over a slow link, to peers that receive it after its sender has returned."""
    shorten_pauses(monkeypatch)
    monkeypatch.setattr(mailbox_channel, "LAST_WORDS_S", 10 * DELAY_S)
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
    monkeypatch.setattr(mailbox_channel, "LAST_WORDS_S", 10 * DELAY_S)
    relay = FakeRelay()
    a, _ = relay.add_all(ROLES)
    relay.cut.add("b")
    a.send("b", "part", b"1")
    assert a.finish() == ("b",)


@pytest.mark.parametrize("is_in_reach", [True, False])
def test_a_peer_that_was_expelled_is_told_so_by_a_role_that_ends_at_once(
    monkeypatch: pytest.MonkeyPatch, is_in_reach: bool
) -> None:
    """It would wait for a role that has ended; where it is out of reach, nobody waits for it."""
    shorten_pauses(monkeypatch)
    monkeypatch.setattr(mailbox_channel, "LAST_WORDS_S", 1000.0)
    relay = FakeRelay(Faults(delay=1.0))
    hub, b = relay.add_all(("hub", "b"), may_be_lost=("b",), lost_after_s=1000.0)
    hub.send("b", "first", b"1")
    while hub._carriers.reach_of("b").failing_since is not None:
        pass
    if not is_in_reach:
        relay.cut.add("b")
    hub.send("b", "second", b"2")  # under way when the role ends
    if not is_in_reach:
        while hub._carriers.reach_of("b").failing_since is None:
            pass
    hub.expel("b", "too late", sign_dropout(PartyKey.generate(), bytes(32), "hub", "b", "too late"))
    assert hub.fail(ProtocolError("too few parties are left")) == ()
    if is_in_reach:
        with pytest.raises(PartyStoppedError, match="too late"):
            b.receive("hub", "sum", timeout_s=LIMIT_S)


def test_a_peer_that_takes_one_message_now_and_then_holds_nobody_up_for_longer_than_its_own_bytes_take() -> None:
    lacks = itertools.count(1_000_000, -1)
    with (changed := Condition()):
        words = last_words.LastWords(changed)
        waiting = {"a": 1 << 40, "b": 1 << 10}  # the bytes of another buy it no time
        assert words.deliver(lambda: {"b": next(lacks)}, waiting, 2 * DELAY_S) == ("b",)


def test_an_end_under_way_is_cut_short_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the engine aborts a job whose role says its last words to peers that are gone."""
    shorten_pauses(monkeypatch)
    relay = FakeRelay()
    a, _ = relay.add_all(ROLES, lost_after_s=1000.0)
    monkeypatch.setattr(mailbox_channel, "LAST_WORDS_S", 1000.0)
    relay.cut.add("b")
    a.send("b", "part", b"1")
    with ThreadPoolExecutor(1) as pool:
        finishing = pool.submit(a.finish)
        while not a.last_words.has_begun:
            pass
        assert a.fail(HekatError("the engine's word"), DELAY_S) == ("b",)
        assert finishing.result(LIMIT_S) == ("b",)
    # The role had ended well by then.
    with pytest.raises(ChannelError, match="the end of 'a' is closed; expected no call"):
        a.receive("b", "part", timeout_s=LIMIT_S)


@pytest.mark.parametrize("step", [-1, 1], ids=["takes one now and then", "lacks more and more"])
def test_no_peer_holds_a_role_for_longer_than_the_cap(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    monkeypatch.setattr(last_words, "MOST_S", 2 * DELAY_S if step < 0 else 1000.0)
    lacks = itertools.count(1_000_000, step)
    with (changed := Condition()):
        words = last_words.LastWords(changed)
        limit_s = 1000.0 if step < 0 else 2 * DELAY_S
        assert words.deliver(lambda: {"b": next(lacks)}, {"b": 1 << 40}, limit_s) == ("b",)
