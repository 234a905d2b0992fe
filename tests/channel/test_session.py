"""Opening a session: pinned keys, equal jobs, fresh nonces, and hellos that nobody can exchange."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hekat.channel import Channel, InProcessHub, PartyKey, SealedChannel, run_parties, sealing
from hekat.channel.canonical import decode_fields, encode_fields
from hekat.channel.pair_key import PairKey
from hekat.channel.sealing import CONFIRM_STEP, HELLO_STEP
from hekat.channel.session import make_hello, read_hello, session_id_of
from hekat.channel.session_key import SessionKey
from hekat.errors import ChannelError, InputError, PartyLostError, PartyStoppedError, SealError

JOB = bytes(range(32))
LIMIT_S = 60.0
EARLY = b"said before the others confirmed"


class Relay:
    """A man in the middle at one party's end: `change(to, step, payload)` gives what is sent instead."""

    def __init__(self, end, change) -> None:
        self._end = end
        self._change = change

    def __getattr__(self, name: str):
        return getattr(self._end, name)

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        self._end.send(to, step, self._change(to, step, payload), timeout_s=timeout_s)


def open_all(trio) -> dict[str, object]:
    """What each party's open_session gave or raised; a party that waits for one that has left is woken."""

    def open_one(name: str) -> object:
        try:
            return trio.sealed[name].open_session()
        except ChannelError as error:
            trio.raw[name]._hub.stop(name, error)
            return error

    with ThreadPoolExecutor(3) as pool:
        return dict(zip("abc", pool.map(open_one, "abc"), strict=True))


def errors_of(trio) -> list[str]:
    return [str(outcome) for outcome in open_all(trio).values() if isinstance(outcome, SealError)]


def test_all_agree_on_an_id_and_no_two_sessions_share_one(make_trio) -> None:
    ids = {make_trio().sealed["a"].session_id for _ in range(3)}
    assert len(ids) == 3
    assert {len(session_id) for session_id in ids} == {32}


def test_the_id_depends_on_every_nonce_every_name_and_the_job(party_keys) -> None:
    def hello(party: str, job: bytes = JOB):
        return make_hello(party_keys["a"], party, "r", "p", job, SessionKey().public)

    first, second, third = hello("a"), hello("b"), hello("c")
    base = session_id_of([first, second])
    assert session_id_of([second, first]) == base
    others = [[first, hello("b")], [hello("a"), second], [first, third], [first], [first, second, third]]
    assert base not in [session_id_of(hellos) for hellos in others]


def test_different_jobs_name_who_differs(make_trio) -> None:
    trio = make_trio(open_sessions=False, c={"job_digest": bytes(32)})
    found = errors_of(trio)
    assert found
    assert all("the parties were given different jobs" in text for text in found)
    assert any("another job at 'c'" in text or "another job at 'a', 'b'" in text for text in found)


@pytest.mark.parametrize(
    ("changes", "pattern"), [({"run_id": "run-2"}, "another run"), ({"protocol": "x"}, "protocol")]
)
def test_another_run_or_protocol_is_refused(make_trio, changes, pattern) -> None:
    found = errors_of(make_trio(open_sessions=False, c=changes))
    assert found
    assert all(pattern in text for text in found)


def test_a_replayed_hello_is_refused(make_trio) -> None:
    """The relay gives b the hello of a from an earlier session: signed by a, but not fresh."""
    old: list[bytes] = []

    def record(to: str, step: str, payload: bytes) -> bytes:
        if step == HELLO_STEP:
            old.append(payload)
        return payload

    make_trio(wrap=lambda party, end: Relay(end, record) if party == "a" else end)

    def replay(to: str, step: str, payload: bytes) -> bytes:
        return old[0] if step == HELLO_STEP and to == "b" else payload

    trio = make_trio(open_sessions=False, wrap=lambda party, end: Relay(end, replay) if party == "a" else end)
    found = errors_of(trio)
    assert found
    assert all("is in another session" in text for text in found)


def test_an_altered_hello_is_refused(make_trio) -> None:
    def flip(to: str, step: str, payload: bytes) -> bytes:
        changed = bytearray(payload)
        if step == HELLO_STEP:
            changed[-100] ^= 1  # in the session key
        return bytes(changed)

    trio = make_trio(open_sessions=False, wrap=lambda party, end: Relay(end, flip) if party == "a" else end)
    assert any("hello of 'a' was altered" in text for text in errors_of(trio))


def test_a_hello_signed_by_a_key_that_is_not_pinned_is_refused(make_trio) -> None:
    stranger = PartyKey.generate()

    def impersonate(to: str, step: str, payload: bytes) -> bytes:
        hello = make_hello(stranger, "a", "run-1", "test", JOB, SessionKey().public)
        return hello.encode(stranger) if step == HELLO_STEP else payload

    trio = make_trio(open_sessions=False, wrap=lambda party, end: Relay(end, impersonate) if party == "a" else end)
    assert any("wrong signer" in text and stranger.fingerprint in text for text in errors_of(trio))


def test_a_hello_of_another_party_is_refused(party_keys) -> None:
    hello = make_hello(party_keys["a"], "a", "r", "p", JOB, SessionKey().public)
    data = make_hello(party_keys["b"], "c", "r", "p", JOB, SessionKey().public).encode(party_keys["b"])
    with pytest.raises(SealError, match="another party; expected 'b'; got 'c'"):
        read_hello(data, "b", party_keys["b"].public, hello)


def test_an_altered_confirmation_is_refused(make_trio) -> None:
    """Neither the signature nor the sealed key can be exchanged: both are signed, with the session."""
    key, signature = PairKey.generate(), bytes(64)

    def replace_signature(to: str, step: str, payload: bytes) -> bytes:
        sealed_key, _ = decode_fields(payload, 2, "confirmation") if step == CONFIRM_STEP else (b"", b"")
        return encode_fields(sealed_key, signature) if step == CONFIRM_STEP else payload

    def replace_key(to: str, step: str, payload: bytes) -> bytes:
        if step != CONFIRM_STEP:
            return payload
        other = key.seal_to(SessionKey().public, bytes(32), "a", to)
        return encode_fields(other, decode_fields(payload, 2, "confirmation")[1])

    for change in (replace_signature, replace_key):
        trio = make_trio(
            open_sessions=False,
            wrap=lambda party, end, change=change: Relay(end, change) if party == "a" else end,
        )
        assert any("'a' is in another session" in text for text in errors_of(trio))


def test_a_confirmation_of_another_form_is_refused(make_trio) -> None:
    def cut(to: str, step: str, payload: bytes) -> bytes:
        return payload[:-1] if step == CONFIRM_STEP else payload

    trio = make_trio(open_sessions=False, wrap=lambda party, end: Relay(end, cut) if party == "a" else end)
    assert any("malformed confirmation of 'a'" in text for text in errors_of(trio))


def test_sealing_keys_are_gone_once_pair_keys_are_there(make_trio, monkeypatch) -> None:
    made: list[weakref.ref[SessionKey]] = []

    class WatchedKey(SessionKey):
        def __init__(self) -> None:
            super().__init__()
            made.append(weakref.ref(self))

    monkeypatch.setattr(sealing, "SessionKey", WatchedKey)
    trio = make_trio()
    gc.collect()
    assert len(made) == len(trio.sealed)
    assert [key() for key in made] == [None] * len(made)


def test_a_hello_of_another_version_is_refused_however_it_is_signed(party_keys) -> None:
    """The signer's own word for an older version opens no session of this one: nobody is talked down to it."""
    mine = make_hello(party_keys["a"], "a", "r", "p", JOB, SessionKey().public)
    hello = make_hello(party_keys["b"], "b", "r", "p", JOB, SessionKey().public)
    _, *fields, _ = decode_fields(hello.encode(party_keys["b"]), 9, "hello")
    for version in "12":
        label = f"hekat/hello/{version}"
        older = encode_fields(label.encode(), *fields, party_keys["b"].sign(label, *fields))
        with pytest.raises(SealError, match=r"another version.*this release, version 3.*one release of Hekat at every"):
            read_hello(older, "b", party_keys["b"].public, mine)
    relabelled = encode_fields(b"hekat/hello/3", *fields, party_keys["b"].sign("hekat/hello/2", *fields))
    with pytest.raises(SealError, match="was altered"):
        read_hello(relabelled, "b", party_keys["b"].public, mine)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_mutated_hellos_yield_nothing_but_a_seal_error(party_keys, data: st.DataObject) -> None:
    mine = make_hello(party_keys["a"], "a", "r", "p", JOB, SessionKey().public)
    encoded = make_hello(party_keys["b"], "b", "r", "p", JOB, SessionKey().public).encode(party_keys["b"])
    assert read_hello(encoded, "b", party_keys["b"].public, mine).party == "b"
    mutated = bytearray(encoded)
    if data.draw(st.booleans()):
        mutated[data.draw(st.integers(0, len(mutated) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del mutated[data.draw(st.integers(0, len(mutated) - 1)) :]
    with pytest.raises(SealError):
        read_hello(bytes(mutated), "b", party_keys["b"].public, mine)


def test_a_session_opens_once(trio) -> None:
    with pytest.raises(SealError, match="open already"):
        trio.sealed["a"].open_session()


def make_sealed(party_keys, pinned) -> SealedChannel:
    channel = InProcessHub(("a", "b", "c")).channel("a")
    return SealedChannel(channel, party_keys["a"], pinned, run_id="r", protocol="p", job_digest=JOB)


def test_pinned_keys_must_be_there_differ_and_fit_our_own(party_keys) -> None:
    a, b, c = (party_keys[name].public for name in "abc")
    assert make_sealed(party_keys, {"b": b, "c": c}).party == "a"
    for pinned, pattern in (
        ({"b": b}, "none for 'c'"),
        ({"b": b, "c": b}, "'b' and 'c' are pinned to one key"),
        ({"b": a, "c": c}, "'a' and 'b' are pinned to one key"),
        ({"a": b, "b": b, "c": c}, "'a' is pinned to another key"),
    ):
        with pytest.raises(SealError, match=pattern):
            make_sealed(party_keys, pinned)


@pytest.mark.parametrize("with_hello", [False, True])
def test_a_party_lost_before_the_session_is_open_ends_the_run_in_its_name(party_keys, with_hello: bool) -> None:
    told: dict[str, str] = {}
    lost: list[PartyLostError] = []
    pinned = {name: key.public for name, key in party_keys.items()}

    def role(channel: Channel) -> None:
        sealed = SealedChannel(channel, party_keys[channel.party], pinned, run_id="r", protocol="p", job_digest=JOB)
        if channel.party == "b":
            if with_hello:
                mine = make_hello(party_keys["b"], "b", "r", "p", JOB, SessionKey().public)
                for name in "ac":
                    channel.send(name, HELLO_STEP, mine.encode(party_keys["b"]))
            raise InputError("label missing in row 17")
        try:
            sealed.open_session()
        except PartyStoppedError as error:
            told[channel.party] = str(error)
            raise

    step = HELLO_STEP if with_hello else r"start \(no message yet\)"
    with pytest.raises(PartyStoppedError, match=rf"'b' stopped in step '{step}': label missing in row 17") as caught:
        run_parties(dict.fromkeys(party_keys, role), may_be_lost="abc", timeout_s=20, on_lost=lost.append)
    assert isinstance(caught.value.__cause__, InputError)
    assert caught.value.party == "b"
    assert [error.party for error in lost] == ["b"]
    assert set(told) == {"a", "c"}
    assert all("'b'" in text and "InputError" in text and "row 17" not in text for text in told.values())
    assert any("the session cannot be opened without all parties: party 'b' was lost" in text for text in told.values())


def test_a_party_expelled_before_the_session_is_open_ends_the_run_in_its_name(party_keys) -> None:
    pinned = {name: key.public for name, key in party_keys.items()}

    def role(channel: Channel) -> None:
        if channel.party == "a":
            channel.expel("b", "not today")
        sealed = SealedChannel(channel, party_keys[channel.party], pinned, run_id="r", protocol="p", job_digest=JOB)
        sealed.open_session()

    with pytest.raises(
        PartyStoppedError, match=r"without all parties: party 'b' was lost.*'a' gave up on it: not tod"
    ) as e:
        run_parties(dict.fromkeys(party_keys, role), may_be_lost="bc", timeout_s=20)
    assert e.value.party == "b"


@pytest.fixture
def pair_keys(monkeypatch) -> list[PairKey]:
    """Every key that a session draws."""
    made: list[PairKey] = []
    generate = PairKey.generate

    def note() -> PairKey:
        made.append(generate())
        return made[-1]

    monkeypatch.setattr(PairKey, "generate", note)
    return made


def open_all_with_words(trio) -> dict[str, object]:
    """As `open_all`, where a says something early to both others, and nobody stops it before it has."""
    has_said = Event()

    def say() -> None:
        for name in "bc":
            trio.sealed["a"].send(name, "early", EARLY)
        has_said.set()

    def open_one(name: str) -> object:
        try:
            return trio.sealed[name].open_session(before_confirmed=say if name == "a" else lambda: None)
        except ChannelError as error:
            has_said.wait(LIMIT_S)
            trio.raw[name]._hub.stop(name, error)
            return error

    with ThreadPoolExecutor(3) as pool:
        return dict(zip("abc", pool.map(open_one, "abc"), strict=True))


def test_what_is_said_before_confirmed_is_the_first_message_of_the_session(make_trio) -> None:
    sent: list[str] = []

    def note(to: str, step: str, payload: bytes) -> bytes:
        sent.append(step)
        return payload

    trio = make_trio(open_sessions=False, wrap=lambda party, end: Relay(end, note) if party == "a" else end)
    assert len(set(open_all_with_words(trio).values())) == 1
    trio.sealed["a"].send("b", "later", b"2")
    assert sent == [HELLO_STEP] * 2 + [CONFIRM_STEP] * 2 + ["early"] * 2 + ["later"]
    assert trio.sealed["b"].receive("a", "early") == EARLY
    assert trio.sealed["b"].receive("a", "later") == b"2"
    assert trio.sealed["c"].receive("a", "early") == EARLY


def test_where_a_hello_was_replayed_nobody_opens_what_was_said_and_no_session_opens(make_trio, pair_keys) -> None:
    """The relay gives a the hello of b from an earlier session, whose sealing key b no longer has."""
    old: list[bytes] = []

    def record(to: str, step: str, payload: bytes) -> bytes:
        old.extend([payload] if step == HELLO_STEP and to == "a" else [])
        return payload

    make_trio(wrap=lambda party, end: Relay(end, record) if party == "b" else end)
    pair_keys.clear()
    caught: list[bytes] = []

    def replay(to: str, step: str, payload: bytes) -> bytes:
        return old[0] if step == HELLO_STEP and to == "a" else payload

    def catch(to: str, step: str, payload: bytes) -> bytes:
        caught.extend([payload] if step == "early" else [])
        return payload

    changes = {"a": catch, "b": replay}
    trio = make_trio(
        open_sessions=False, wrap=lambda party, end: Relay(end, changes[party]) if party in changes else end
    )
    outcomes = open_all_with_words(trio)
    assert all(isinstance(outcome, ChannelError) for outcome in outcomes.values()), outcomes
    assert any("is in another session" in str(outcome) for outcome in outcomes.values())
    assert len(caught) == 2  # it left, to b and c
    assert not any(EARLY in data for data in caught)
    with pytest.raises(SealError, match="no session is open"):
        trio.sealed["a"].send("c", "early", b"again")
    # What it was sealed with is gone at all that drew a key.
    for key in pair_keys:
        with pytest.raises(SealError, match="wiped"):
            key.message_key(bytes(32))


def test_who_fails_before_the_others_confirmed_opens_no_session(make_trio, pair_keys) -> None:
    trio = make_trio(open_sessions=False)

    def open_one(name: str) -> object:
        try:
            return trio.sealed[name].open_session(before_confirmed=lambda: int("no number") and None)
        except (ValueError, ChannelError) as error:
            trio.raw[name]._hub.stop(name, error)
            return error

    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(open_one, "abc"))
    assert any(isinstance(outcome, ValueError) for outcome in outcomes)
    for sealed in trio.sealed.values():
        with pytest.raises(SealError, match="no session is open"):
            sealed.session_id  # noqa: B018
    for key in pair_keys:
        with pytest.raises(SealError, match="wiped"):
            key.message_key(bytes(32))
