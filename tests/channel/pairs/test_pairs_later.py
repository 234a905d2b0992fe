"""A session that gives each pair its keys before its first message: what is refused, and what is gone in the end."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hekat.channel import PartyKey, sealing
from hekat.channel.canonical import decode_fields, encode_fields
from hekat.channel.pair_key import PairKey
from hekat.channel.sealing import CONFIRM_STEP, HELLO_STEP, PAIR_STEP
from hekat.channel.session import check_confirmed_to_all, confirm_pair, confirm_to_all
from hekat.channel.session_key import OVERHEAD_BYTES, SessionKey
from hekat.errors import ChannelError, ChannelTimeoutError, SealError

Change = Callable[[str, str, bytes], bytes]


@dataclass
class Relay:
    """What stands between the parties and may change all that they send; `sent` is (sender, receiver, step, bytes)."""

    change: dict[str, Change] = field(default_factory=dict)
    sent: list[tuple[str, str, str, bytes]] = field(default_factory=list)

    def wrap(self, party: str, end: Any) -> Any:
        return _RelayedEnd(self, party, end)

    def steps(self, *without: str) -> list[tuple[str, str, str]]:
        return [one[:3] for one in self.sent if one[2] not in without]

    def pair_key(self, sender: str, receiver: str) -> bytes:
        """What gave that direction its key."""
        return next(data for *pair, step, data in self.sent if pair == [sender, receiver] and step == PAIR_STEP)


@dataclass
class _RelayedEnd:
    relay: Relay
    name: str
    end: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.end, name)

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        changed = self.relay.change.get(self.name, lambda to, step, data: data)(to, step, payload)
        self.relay.sent.append((self.name, to, step, changed))
        self.end.send(to, step, changed, timeout_s=timeout_s)


def open_later(make_trio: Any, relay: Relay) -> Any:
    trio = make_trio(open_sessions=False, wrap=relay.wrap)
    in_turns(trio, lambda sealed: sealed.open_session(pairs_later=True))
    return trio


def in_turns(trio: Any, act: Callable[[Any], Any]) -> list[Any]:
    """What each party's act gave; a party that waits for one that failed is woken, and the failure is raised."""

    def act_one(name: str) -> Any:
        try:
            return act(trio.sealed[name])
        except ChannelError as error:
            trio.raw[name]._hub.stop(name, error)
            raise

    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(act_one, name) for name in "abc"]
    failed = [one.exception() for one in done if isinstance(one.exception(), SealError)]
    if failed:
        raise failed[0]
    return [one.result() for one in done]


@pytest.fixture
def relay() -> Relay:
    return Relay()


@pytest.fixture
def later(make_trio: Any, relay: Relay) -> Any:
    """Three parties in a session that gave nobody a pair key yet."""
    return open_later(make_trio, relay)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[PairKey]:
    made: list[PairKey] = []
    generate = PairKey.generate
    monkeypatch.setattr(PairKey, "generate", lambda: made.append(generate()) or made[-1])
    return made


# --- what is sent -----------------------------------------------------------------------------------------------------


def test_a_session_opens_without_pair_keys_and_a_direction_gets_its_own_before_its_first_message(
    make_trio, relay: Relay, drawn: list[PairKey]
) -> None:
    trio = open_later(make_trio, relay)
    a, b, c = trio.sealed.values()
    assert len({a.session_id, b.session_id, c.session_id}) == 1
    assert drawn == []
    assert {step for *_, step in relay.steps()} == {HELLO_STEP, CONFIRM_STEP}
    for payload in (b"1", b"2"):
        a.send("b", "step", payload)
    assert relay.steps(HELLO_STEP, CONFIRM_STEP) == [("a", "b", PAIR_STEP), ("a", "b", "step"), ("a", "b", "step")]
    assert [b.receive("a", "step") for _ in "12"] == [b"1", b"2"]
    b.send("a", "answer", b"3")
    assert a.receive("b", "answer") == b"3"
    assert len(drawn) == 2
    assert {bytes(a._session.sending["b"]._raw), bytes(a._session.receiving["b"]._raw)}.isdisjoint({bytes(32)})


def test_what_is_said_before_the_others_confirmed_brings_its_key(make_trio, relay: Relay) -> None:
    trio = make_trio(open_sessions=False, wrap=relay.wrap)

    def act(sealed: Any) -> Any:
        early = (lambda: sealed.send("b", "early", b"word")) if sealed.party == "a" else lambda: None
        sealed.open_session(pairs_later=True, before_confirmed=early)
        return sealed.receive("a", "early") if sealed.party == "b" else None

    assert in_turns(trio, act)[1] == b"word"


def test_one_confirmation_serves_all_receivers_and_carries_no_key(later, relay: Relay) -> None:
    said = {(sender, data) for sender, _, step, data in relay.sent if step == CONFIRM_STEP}
    assert len(said) == 3
    assert all(len(data) < OVERHEAD_BYTES for _, data in said)


# --- hostile beginnings -----------------------------------------------------------------------------------------------


def replaying(relay: Relay, step: str) -> Change:
    """Replays to b what was sent to it in that step of an earlier session."""
    (old,) = (data for sender, to, of, data in relay.sent if (sender, to, of) == ("a", "b", step))
    return lambda to, of, data: old if (to, of) == ("b", step) else data


def test_a_replayed_hello_or_confirmation_opens_no_session(make_trio, later, relay: Relay) -> None:
    for step in (HELLO_STEP, CONFIRM_STEP):
        with pytest.raises(SealError, match="is in another session"):
            open_later(make_trio, Relay({"a": replaying(relay, step)}))


def test_a_confirmation_of_another_form_or_signer_is_refused(make_trio, party_keys) -> None:
    def of_a(data: bytes) -> bytes:
        # b's word under a's key: what a relay has that passes on a's word as b's.
        return encode_fields(party_keys["a"].sign("hekat/session-confirmed-to-all/3", bytes(32), b"b"))

    for change, match in ((of_a, "'b' is in another session"), (lambda data: data[:-1], "malformed confirmation")):
        relay = Relay({"b": lambda to, step, data, change=change: change(data) if step == CONFIRM_STEP else data})
        with pytest.raises(SealError, match=match):
            open_later(make_trio, relay)


def test_a_confirmation_says_session_sender_and_signer(party_keys) -> None:
    """Reflected to who said it, or passed on as another one's, it does not hold."""
    said = confirm_to_all(party_keys["a"], bytes(32), "a")
    check_confirmed_to_all(said, bytes(32), "a", party_keys["a"].public)
    for session, sender, signer in ((bytes(31) + b"1", "a", "a"), (bytes(32), "b", "a"), (bytes(32), "a", "b")):
        with pytest.raises(SealError, match="is in another session"):
            check_confirmed_to_all(said, session, sender, party_keys[signer].public)


def refused_key(later: Any, relay: Relay, change: Callable[[bytes], bytes], match: str) -> None:
    """b refuses a's first message, whose key the relay changed, and gives nothing of it away."""
    relay.change["a"] = lambda to, step, data: change(data) if step == PAIR_STEP else data
    later.sealed["a"].send("b", "step", b"secret")
    with pytest.raises(SealError, match=match):
        later.sealed["b"].receive("a", "step")
    assert "a" not in later.sealed["b"]._session.receiving


def test_a_key_of_garbage_is_refused(later, relay: Relay) -> None:
    refused_key(later, relay, lambda data: b"GET / HTTP/1.1", "malformed confirmation of 'a'")


def test_a_key_with_a_flipped_bit_is_refused(later, relay: Relay) -> None:
    def flip(data: bytes) -> bytes:
        return data[:50] + bytes([data[50] ^ 1]) + data[51:]

    refused_key(later, relay, flip, "'a' is in another session")


def test_a_key_that_its_sender_signed_and_that_does_not_open_is_refused(later, relay: Relay) -> None:
    """a itself is hostile: what it signs was sealed to nobody, or to another one's session key."""
    session, key = later.sealed["a"].session_id, later.keys["a"]
    sealed = PairKey.generate().seal_to(SessionKey().public, session, "a", "b")
    refused_key(later, relay, lambda data: confirm_pair(key, session, "a", "b", sealed), "does not open")


def test_a_key_of_a_signer_that_is_not_pinned_is_refused(later, relay: Relay) -> None:
    session, stranger = later.sealed["a"].session_id, PartyKey.generate()

    def sign(data: bytes) -> bytes:
        return confirm_pair(stranger, session, "a", "b", decode_fields(data, 2, "")[0])

    refused_key(later, relay, sign, "'a' is in another session")


def test_a_key_of_another_session_is_refused(make_trio, later, relay: Relay) -> None:
    later.sealed["a"].send("b", "step", b"old")
    old, again = relay.pair_key("a", "b"), Relay()
    refused_key(open_later(make_trio, again), again, lambda data: old, "'a' is in another session")


def test_a_key_for_another_receiver_is_refused(later, relay: Relay) -> None:
    later.sealed["a"].send("c", "step", b"for c")
    for_c = relay.pair_key("a", "c")
    refused_key(later, relay, lambda data: for_c, "'a' is in another session")


def test_a_key_that_is_reflected_is_refused(later, relay: Relay) -> None:
    """What b gave a comes back to b as if a had given it."""
    later.sealed["b"].send("a", "step", b"of b")
    of_b = relay.pair_key("b", "a")
    refused_key(later, relay, lambda data: of_b, "'a' is in another session")


def test_a_message_before_its_key_is_refused_and_the_right_order_is_still_taken(later, relay: Relay) -> None:
    a, b, hub = later.sealed["a"], later.sealed["b"], later.raw
    a.send("b", "step", b"first")
    key, message = hub["b"].receive("a", PAIR_STEP), hub["b"].receive("a", "step")
    later.put("a", "b", "step", message)
    with pytest.raises(SealError, match="came without the key of its pair"):
        b.receive("a", "step")
    later.put("a", "b", PAIR_STEP, key)
    later.put("a", "b", "step", message)
    assert b.receive("a", "step") == b"first"


def test_a_second_message_before_the_first_is_refused_and_takes_no_key(later) -> None:
    a, b = later.sealed["a"], later.sealed["b"]
    a.send("b", "step", b"first")
    first, second = later.take("a", "b", "step"), later.sent("a", "b", "step", b"second")
    later.put("a", "b", "step", second)
    with pytest.raises(SealError, match="was reordered, or one before it is missing"):
        b.receive("a", "step")
    assert "a" not in b._session.receiving
    later.put("a", "b", "step", first)
    assert b.receive("a", "step") == b"first"


def test_a_first_message_or_key_that_comes_twice_changes_nothing(later, relay: Relay) -> None:
    a, b = later.sealed["a"], later.sealed["b"]
    a.send("b", "step", b"first")
    message = later.take("a", "b", "step")
    for step, data in ((PAIR_STEP, relay.pair_key("a", "b")), ("step", message), ("step", message)):
        later.put("a", "b", step, data)
    assert b.receive("a", "step") == b"first"
    with pytest.raises(SealError, match="was replayed"):
        b.receive("a", "step")
    a.send("b", "step", b"second")
    assert b.receive("a", "step") == b"second"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(st.data())
def test_a_mutated_key_yields_nothing_but_a_seal_error(later, data: st.DataObject) -> None:
    a, b = later.sealed["a"], later.sealed["b"]
    sealed = bytearray(a._session.give("b"))
    if data.draw(st.booleans()):
        sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del sealed[data.draw(st.integers(0, len(sealed) - 1)) :]
    with pytest.raises(SealError):
        b._session.take("a", bytes(sealed))


# --- the end of all beginnings ----------------------------------------------------------------------------------------


def settle(trio: Any, **partners: str) -> None:
    in_turns(trio, lambda sealed: sealed.settle_pairs(partners[sealed.party], partners[sealed.party]))


def test_once_settled_partners_talk_and_nobody_else_begins(later, relay: Relay) -> None:
    a, b, c = later.sealed.values()
    a.send("b", "step", b"before")
    settle(later, a="b", b="ac", c="b")
    given = [(sender, to) for sender, to, step in relay.steps() if step == PAIR_STEP]
    assert sorted(given) == [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    assert b.receive("a", "step") == b"before"
    b.send("c", "step", b"after")
    assert c.receive("b", "step") == b"after"
    with pytest.raises(SealError, match=r"no pair key between 'a' and 'c'.*who talks with whom"):
        a.send("c", "step", b"never")


def test_once_settled_a_first_message_of_anybody_else_is_refused(later, relay: Relay) -> None:
    a, _, c = later.sealed.values()
    a.send("c", "step", b"too late")
    settle_b_and_c = {"b": "c", "c": "b"}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: later.sealed[name].settle_pairs(settle_b_and_c[name], settle_b_and_c[name]), "bc"))
    with pytest.raises(SealError, match="no pair key between 'c' and 'a'"):
        c.receive("a", "step")


def test_who_is_not_named_in_turn_is_missed(later) -> None:
    with pytest.raises(ChannelTimeoutError, match=r"'hekat/pair-key'"):
        later.sealed["a"].settle_pairs("b", "b", timeout_s=1e-3)


def test_session_keys_stay_until_all_settled_and_are_gone_then(make_trio, relay: Relay, monkeypatch) -> None:
    made: list[weakref.ref[SessionKey]] = []

    class WatchedKey(SessionKey):
        def __init__(self) -> None:
            super().__init__()
            made.append(weakref.ref(self))

    monkeypatch.setattr(sealing, "SessionKey", WatchedKey)
    trio = open_later(make_trio, relay)
    gc.collect()
    assert all(key() is not None for key in made)
    settle(trio, a="bc", b="ac", c="ab")
    gc.collect()
    assert [key() for key in made] == [None] * 3


def test_what_settled_ends_hold_opens_nothing_of_before(later, relay: Relay) -> None:
    """Forward secrecy: with all that both ends hold now, no key that was given opens, and no message."""
    a, b = later.sealed["a"], later.sealed["b"]
    data = later.sent("a", "b", "step", b"the patient is 47 years old")
    later.put("a", "b", "step", data)
    assert b.receive("a", "step") == b"the patient is 47 years old"
    settle(later, a="bc", b="ac", c="ab")
    given_key = relay.pair_key("a", "b")
    for session in (a._session, b._session):
        with pytest.raises(SealError, match="no pair key"):
            session.take("a", given_key)
        for key in (*session.sending.values(), *session.receiving.values()):
            with pytest.raises(SealError, match="does not open"):
                sealing.parse_frame(data).open(key)


def test_closing_wipes_keys_however_they_came(later, drawn: list[PairKey]) -> None:
    a, b = later.sealed["a"], later.sealed["b"]
    a.send("b", "step", b"x")
    b.receive("a", "step")
    taken = b._session.receiving["a"]
    a.close()
    b.close()
    for key in (*drawn, taken):
        with pytest.raises(SealError, match="wiped"):
            key.message_key(bytes(32))


def test_a_key_whose_sending_failed_is_wiped_and_the_next_one_is_another(later, relay: Relay, drawn) -> None:
    def fail(to: str, step: str, data: bytes) -> bytes:
        raise ChannelTimeoutError("no room")

    relay.change["a"] = fail
    with pytest.raises(ChannelTimeoutError):
        later.sealed["a"].send("b", "step", b"x")
    with pytest.raises(SealError, match="wiped"):
        drawn[0].message_key(bytes(32))
    relay.change.clear()
    later.sealed["a"].send("b", "step", b"x")
    assert later.sealed["b"].receive("a", "step") == b"x"


def test_a_session_that_began_with_all_keys_has_nothing_to_settle(make_trio, relay: Relay) -> None:
    trio = make_trio(wrap=relay.wrap)
    count = len(relay.sent)
    settle(trio, a="bc", b="ac", c="ab")
    assert len(relay.sent) == count
    assert PAIR_STEP not in {step for *_, step in relay.steps()}
