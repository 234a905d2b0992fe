"""Mailboxes over a network with every fault: each message once, in order, and words of an end signed."""

from __future__ import annotations

import threading

import pytest
from tests.channel.mailbox.fake_relay import FAULTS, LIMIT_S, FakeRelay

from hekat.channel import PartyKey, SealedChannel
from hekat.channel.dropout_notice import sign_dropout
from hekat.channel.mailbox.departures import write_notice
from hekat.channel.mailbox.parcel import Item, Parcel, decode_parcel
from hekat.errors import (
    AlteredSumError,
    ChannelTimeoutError,
    HekatError,
    InputError,
    PartyLostError,
    PartyStoppedError,
    ProtocolError,
    SealError,
)


@pytest.mark.quick_values
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(3))
def test_every_message_comes_once_and_in_order(fault: str, seed: int) -> None:
    relay = FakeRelay(FAULTS[fault], seed)
    mailboxes = relay.add_all(("a", "b", "c"))
    count = 30
    found: dict[str, dict[str, list[bytes]]] = {}

    def talk(end) -> None:
        peers = [peer for peer in end.parties if peer != end.party]
        for index in range(count):
            for peer in peers:
                end.send(peer, f"step {index % 3}", f"{end.party}{index}".encode())
        found[end.party] = {peer: [end.receive(peer, f"step {index % 3}") for index in range(count)] for peer in peers}

    _play([lambda end=end: talk(end) for end in mailboxes])
    for party, heard in found.items():
        assert heard == {peer: [f"{peer}{index}".encode() for index in range(count)] for peer in "abc" if peer != party}
    assert all(not box.messages for end in mailboxes for box in end._inboxes.values())


def test_a_peer_that_comes_back_in_time_has_missed_nothing() -> None:
    relay = FakeRelay()
    a, b = relay.add_all(("a", "b"))
    a.send("b", "first", b"1")
    assert b.receive("a", "first") == b"1"
    relay.cut.add("b")
    a.send("b", "second", b"2")
    threading.Timer(0.2, lambda: relay.cut.discard("b")).start()
    assert b.receive("a", "second") == b"2"


def test_a_peer_out_of_reach_is_a_time_out_that_says_so() -> None:
    relay = FakeRelay()
    a, b = relay.add_all(("a", "b"), lost_after_s=0.2)
    a.send("b", "first", b"1")
    assert b.receive("a", "first") == b"1"
    relay.cut.add("b")
    with pytest.raises(ChannelTimeoutError, match="nothing delivered to 'b'"):
        a.receive("b", "answer")


def test_a_process_started_again_is_no_party_of_the_run() -> None:
    relay = FakeRelay()
    a, b = relay.add_all(("a", "b"), lost_after_s=0.2)
    a.send("b", "first", b"1")
    assert b.receive("a", "first") == b"1"
    relay.add("b", ("a", "b"))
    a.send("b", "second", b"2")
    with pytest.raises(ChannelTimeoutError, match="nothing delivered to 'b'"):
        a.receive("b", "answer")


# --- sessions, and words that end them ---------------------------------------------------------------------


@pytest.fixture
def sealed_trio():
    """Makes a relay, and the open sessions of hub, b and c over it, where b and c may be lost."""

    def make(**relay_settings):
        names = ("hub", "b", "c")
        relay = FakeRelay(**relay_settings)
        ends = relay.add_all(names, may_be_lost=("b", "c"))
        keys = {name: PartyKey.generate() for name in names}
        public = {name: key.public for name, key in keys.items()}
        sealed = {
            end.party: SealedChannel(
                end, keys[end.party], public, run_id="run-1", protocol="test", job_digest=bytes(32)
            )
            for end in ends
        }
        _play([channel.open_session for channel in sealed.values()])
        return relay, sealed

    return make


def test_who_is_given_up_on_and_all_others_hear_it_signed(sealed_trio) -> None:
    _, sealed = sealed_trio()
    sealed["hub"].expel("b", "too late")
    with pytest.raises(PartyStoppedError, match=r"'hub' gave up on party 'b'.*too late"):
        sealed["b"].receive("hub", "sum", timeout_s=LIMIT_S)
    with pytest.raises(PartyLostError, match="'hub' gave up on it: too late"):
        sealed["c"].receive("b", "share", timeout_s=LIMIT_S)
    with pytest.raises(PartyLostError):
        sealed["hub"].send("b", "more", b"")


def test_a_party_gives_up_on_nobody(sealed_trio) -> None:
    _, sealed = sealed_trio()
    with pytest.raises(InputError, match="'b' cannot give up on party 'c'"):
        sealed["b"].expel("c", "revenge")


def test_a_party_that_raises_is_lost_by_its_own_signed_word_and_its_words_stay(sealed_trio) -> None:
    relay, sealed = sealed_trio()
    error = ValueError("4711 is a secret")
    sealed["b"].note_saved("checkpoint of round 3")
    with pytest.raises(ValueError, match="4711"), sealed["b"]:
        raise error
    assert relay.mailboxes["b"].fail(error) == ()
    with pytest.raises(PartyLostError, match=r"'b' was lost.*\(ValueError\)") as told:
        sealed["c"].receive("b", "share", timeout_s=LIMIT_S)
    assert told.value.notice.saved == "checkpoint of round 3"
    assert not any(b"4711" in parcel for parcel in relay.seen)


def test_the_end_of_a_role_that_may_not_be_lost_names_whom_it_lost_before(sealed_trio) -> None:
    relay, sealed = sealed_trio()
    sealed["hub"].note_saved("checkpoint of round 2")
    sealed["hub"].expel("b", "too late")
    with pytest.raises(ProtocolError), sealed["hub"]:
        raise ProtocolError("too few parties are left")
    relay.mailboxes["hub"].fail(ProtocolError(""))
    with pytest.raises(PartyStoppedError, match=r"'hub' stopped .*after the loss of 'b' \(ProtocolError\)") as told:
        sealed["c"].receive("hub", "sum", timeout_s=LIMIT_S)
    assert told.value.saved == "checkpoint of round 2"


def test_an_error_that_ends_the_run_ends_it_for_all(sealed_trio) -> None:
    relay, sealed = sealed_trio()
    with pytest.raises(AlteredSumError), sealed["b"]:
        raise AlteredSumError("of what it saw")
    relay.mailboxes["b"].fail(AlteredSumError(""))
    with pytest.raises(PartyStoppedError, match=r"'b' stopped .*\(AlteredSumError\)"):
        sealed["c"].receive("hub", "sum", timeout_s=LIMIT_S)


def test_who_has_finished_is_awaited_no_longer_and_said_so_itself(sealed_trio) -> None:
    relay, sealed = sealed_trio()
    with sealed["b"]:
        sealed["b"].send("c", "last", b"1")
    assert relay.mailboxes["b"].finish() == ()
    assert sealed["c"].receive("b", "last", timeout_s=LIMIT_S) == b"1"
    with pytest.raises(PartyStoppedError, match=r"'b' has finished: it sends no step 'more'"):
        sealed["c"].receive("b", "more", timeout_s=LIMIT_S)


@pytest.mark.parametrize("kind", ["left", "finished", "expelled"])
@pytest.mark.parametrize("key", ["another key", "another session", "no word"])
def test_the_attack_a_relay_says_in_anothers_name_that_somebody_left(sealed_trio, kind: str, key: str) -> None:
    """It drops what b sends, and puts a word of its own in its place: c is told of a forgery, or of nobody's word."""
    relay, sealed = sealed_trio()
    sender, reason = ("hub", "it is slow") if kind == "expelled" else ("b", "finished" if kind == "finished" else "E")
    session = bytes(32) if key == "another session" else sealed["c"].session_id
    signer = PartyKey.generate()
    word = b"" if key == "no word" else write_notice(sign_dropout(signer, session, sender, "b", reason))

    def forge(parcel: bytes) -> bytes:
        old = decode_parcel(parcel)
        items = [Item(item.sequence, kind, item.step, word) for item in old.items]
        return Parcel(old.run_id, old.sender, old.receiver, old.instance, items).encode()

    relay.change = lambda sent_by, to, parcel: forge(parcel) if (sent_by, to) == (sender, "c") else parcel
    sealed[sender].send("c", "share", b"1")
    with pytest.raises(HekatError) as told:
        sealed["c"].receive("b", "share", timeout_s=0.5)
    if key == "no word":
        assert "without a signed word" in str(told.value) or isinstance(told.value, ChannelTimeoutError)
    else:
        assert isinstance(told.value, SealError)
        assert f"in the name of {sender!r}" in str(told.value)


def _play(roles) -> None:
    failures: list[BaseException] = []

    def play(role) -> None:
        try:
            role()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=play, args=(role,), daemon=True) for role in roles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads)
