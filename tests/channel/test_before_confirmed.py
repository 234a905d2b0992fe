"""What a party says along with its confirmation: read once the session is open, and by nobody where it never opens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from tests.channel.test_session import Relay

from hekat.channel import sealing
from hekat.channel.pair_key import PairKey
from hekat.channel.sealing import CONFIRM_STEP, HELLO_STEP
from hekat.errors import ChannelError, SealError

LIMIT_S = 60.0
EARLY = b"said before the others confirmed"


@pytest.fixture
def pair_keys(monkeypatch) -> list[PairKey]:
    """Every key that a session draws."""
    made: list[PairKey] = []
    generate = PairKey.generate

    def note() -> PairKey:
        made.append(generate())
        return made[-1]

    monkeypatch.setattr(sealing.PairKey, "generate", note)
    return made


def open_all(trio) -> dict[str, object]:
    """As `test_session.open_all`, where a says something early to both others, and nobody stops it before it has."""
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


def test_it_is_the_first_message_of_the_session(make_trio) -> None:
    sent: list[str] = []

    def note(to: str, step: str, payload: bytes) -> bytes:
        sent.append(step)
        return payload

    trio = make_trio(open_sessions=False, wrap=lambda party, end: Relay(end, note) if party == "a" else end)
    assert len(set(open_all(trio).values())) == 1
    trio.sealed["a"].send("b", "later", b"2")
    assert sent == [HELLO_STEP] * 2 + [CONFIRM_STEP] * 2 + ["early"] * 2 + ["later"]
    assert trio.sealed["b"].receive("a", "early") == EARLY
    assert trio.sealed["b"].receive("a", "later") == b"2"
    assert trio.sealed["c"].receive("a", "early") == EARLY


def test_where_a_hello_was_replayed_nobody_opens_it_and_no_session_opens(make_trio, pair_keys) -> None:
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
    outcomes = open_all(trio)
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


def test_who_fails_while_saying_it_opens_no_session(make_trio, pair_keys) -> None:
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
