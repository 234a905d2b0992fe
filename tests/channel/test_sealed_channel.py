"""A sealed channel as its party uses it: what it counts and measures, when it refuses, and what it loses of nobody."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hekat.channel import Channel, InProcessHub, SealedChannel, run_parties
from hekat.channel.pair_key import KEY_BYTES, SALT_BYTES, TAG_BYTES
from hekat.channel.sealed_message import (
    parse_frame,
)
from hekat.channel.traffic import group_of, group_over_rounds
from hekat.errors import ChannelError, InputError, PartyLostError, PartyStoppedError, SealError


def sent_bytes(channel: SealedChannel) -> int:
    """Sealed bytes handed to the channel below so far, hellos included."""
    return sum(count.sent_bytes for count in channel.traffic.values())


def test_sealed_bytes_are_counted_by_peer_and_step(trio) -> None:
    a, b = trio.sealed["a"], trio.sealed["b"]
    opened_bytes = sent_bytes(a)
    a.send("b", "step", bytes(100))
    b.receive("a", "step")
    sent, received = a.traffic["b", "step"], b.traffic["a", "step"]
    assert (sent.sent_count, sent.received_count) == (1, 0)
    assert sent.sent_bytes == received.received_bytes == sent_bytes(a) - opened_bytes
    assert 100 + 2 * TAG_BYTES + SALT_BYTES < sent.sent_bytes < 500
    all_received = sum(count.received_bytes for c in trio.sealed.values() for count in c.traffic.values())
    assert sum(map(sent_bytes, trio.sealed.values())) == all_received


def test_a_channel_that_tells_no_rounds_apart_counts_them_as_one(make_trio) -> None:
    trio = make_trio(a={"counts_rounds": False})
    for step in ("round-1/upload-1/block", "round-2/upload-4/block", "round-2/end"):
        trio.sealed["a"].send("b", step, b"")
        trio.sealed["b"].receive("a", step)
    assert {step for peer, step in trio.sealed["a"].traffic if peer == "b" and step.startswith("round")} == {
        "round-0/upload-0/block",
        "round-0/end",
    }
    assert trio.sealed["a"].traffic["b", "round-0/upload-0/block"].sent_count == 2
    assert len([step for peer, step in trio.sealed["b"].traffic if peer == "a" and step.startswith("round")]) == 3


def test_sealing_and_opening_are_measured_and_waiting_is_not(make_trio) -> None:
    entered: list[str] = []

    @contextmanager
    def measure(step: str) -> Iterator[None]:
        entered.append(f"{step} begins")
        yield
        entered.append(f"{step} ends")

    waiting = EndThatNotes(entered)
    trio = make_trio(wrap=waiting.wrap, a={"measure": measure}, b={"measure": measure})
    entered.clear()
    trio.sealed["a"].send("b", "step", b"payload")
    trio.sealed["b"].receive("a", "step")
    assert entered == ["send begins", "send ends", "handed over", "waits", "open begins", "open ends"]


class EndThatNotes:
    """Ends of the channel below that note when they are used."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def wrap(self, party: str, end: Channel) -> Channel:
        notes = self._notes

        class End:
            def __getattr__(self, name: str) -> Any:
                return getattr(end, name)

            def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
                notes.append("handed over")
                end.send(to, step, payload, timeout_s=timeout_s)

            def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
                notes.append("waits")
                return end.receive(sender, step, timeout_s=timeout_s)

        return End()


def test_without_a_session_nothing_is_sent_or_read(make_trio) -> None:
    closed = make_trio(open_sessions=False).sealed["a"]
    opened = make_trio().sealed["a"]
    opened.close()
    for channel in (closed, opened):
        with pytest.raises(SealError, match="no session is open"):
            channel.send("b", "step", b"")
        with pytest.raises(SealError, match="no session is open"):
            channel.receive("b", "step")


def test_a_with_block_drops_the_keys_and_writes_zeros_over_them(trio) -> None:
    with trio.sealed["a"] as channel:
        session = channel._session
        held = [key._raw for key in (*session.sending.values(), *session.receiving.values())]
        assert len({bytes(raw) for raw in held}) == len(held) == 4
    assert channel._session is None
    assert all(raw == bytes(KEY_BYTES) for raw in held)


def test_it_is_a_channel_and_shows_no_secrets(trio) -> None:
    assert isinstance(trio.sealed["a"], Channel)
    assert repr(trio.sealed["a"]) == "SealedChannel('a' of a, b, c; open)"


@pytest.mark.parametrize(
    "changes",
    [{"job_digest": b"short"}, {"run_id": ""}, {"protocol": "\n"}, {"chunk_bytes": 0}, {"chunk_bytes": 2**27}],
)
def test_bad_settings_are_refused(party_keys, changes) -> None:
    values = {"run_id": "r", "protocol": "p", "job_digest": bytes(32)} | changes
    with pytest.raises(InputError):
        SealedChannel(InProcessHub(("a",)).channel("a"), party_keys["a"], {}, **values)


def test_whole_runs_work_sealed(party_keys) -> None:
    pinned = {name: key.public for name, key in party_keys.items()}
    digest = hashlib.sha256(b"job").digest()
    payload = bytes(9 << 20)  # two chunks of the default size

    def role(channel: Channel) -> int:
        with SealedChannel(
            channel, party_keys[channel.party], pinned, run_id="r", protocol="p", job_digest=digest
        ) as sealed:
            sealed.open_session()
            if sealed.party == "a":
                return sum(len(sealed.receive(peer, "update")) for peer in ("b", "c"))
            sealed.send("a", "update", payload)
            return 0

    assert run_parties(dict.fromkeys(party_keys, role))["a"] == 2 * len(payload)


def test_a_failing_send_never_reuses_a_sequence_number(make_trio) -> None:
    class Failing:
        def __init__(self, end) -> None:
            self.end = end
            self.fail = False

        def __getattr__(self, name: str):
            return getattr(self.end, name)

        def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
            if self.fail:
                self.seen = payload
                raise ChannelError("relay gone")
            self.end.send(to, step, payload, timeout_s=timeout_s)

    relay = {}

    def wrap(party, end):
        relay[party] = Failing(end)
        return relay[party]

    trio = make_trio(wrap=wrap)
    relay["a"].fail = True
    with pytest.raises(ChannelError, match="relay gone"):
        trio.sealed["a"].send("b", "step", b"1")
    relay["a"].fail = False
    assert parse_frame(relay["a"].seen).header.sequence == 0
    assert parse_frame(trio.sent("a", "b", "step", b"2")).header.sequence == 1


def test_a_send_to_a_lost_party_uses_up_its_number_and_no_other_partys(make_trio) -> None:
    relayed: list[bytes] = []

    class Noting:
        def __init__(self, end) -> None:
            self.end = end

        def __getattr__(self, name: str):
            return getattr(self.end, name)

        def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
            relayed.append(payload)
            self.end.send(to, step, payload, timeout_s=timeout_s)

    trio = make_trio(wrap=lambda party, end: Noting(end) if party == "a" else end, may_be_lost=frozenset("c"))
    a, b = trio.sealed["a"], trio.sealed["b"]
    relayed.clear()
    a.send("b", "step", b"0")
    b.expel("c", "too late")
    before = sent_bytes(a)
    for _ in range(2):
        with pytest.raises(PartyLostError, match="'c' was lost"):
            a.send("c", "step", b"for c")
    assert sent_bytes(a) == before  # nothing was handed over
    a.send("b", "step", b"1")
    headers = [parse_frame(data).header for data in relayed]
    assert [(header.receiver, header.sequence) for header in headers] == [("b", 0), ("c", 0), ("c", 1), ("b", 1)]
    assert [b.receive("a", "step") for _ in range(2)] == [b"0", b"1"]


def test_what_a_lost_party_sealed_opens_in_its_order(make_trio) -> None:
    trio = make_trio(may_be_lost=frozenset("c"))
    for payload in (b"1", b"2"):
        trio.sealed["c"].send("b", "step", payload)
    trio.sealed["a"].expel("c", "too late")
    b = trio.sealed["b"]
    assert [b.receive("c", "step") for _ in range(2)] == [b"1", b"2"]
    with pytest.raises(PartyLostError, match=r"'c' was lost in step 'step' \('a' gave up on it: too late\)"):
        b.receive("c", "step")
    with pytest.raises(PartyStoppedError, match="'a' gave up on party 'c'"):
        trio.sealed["c"].send("b", "step", b"3")


@pytest.mark.parametrize(
    ("step", "group"),
    [
        ("hello", "hello"),
        ("round-3/end", "round-3/end"),
        ("round-3/upload-7/block", "round-3/upload-7"),
        ("round-3/exponents/upload-6/share", "round-3/exponents/upload-6"),
    ],
)
def test_traffic_is_counted_by_groups_of_steps_so_that_many_rounds_take_little_memory(step: str, group: str) -> None:
    assert group_of(step) == group


@pytest.mark.parametrize(
    ("step", "group"),
    [
        ("hello", "hello"),
        ("round-3/end", "round-0/end"),
        ("round-31/upload-70/block", "round-0/upload-0/block"),
        ("epoch-3/batch-2/gradient", "epoch-0/batch-0/gradient"),
    ],
)
def test_over_all_rounds_a_step_is_counted_once(step: str, group: str) -> None:
    assert group_over_rounds(step) == group
