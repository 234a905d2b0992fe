"""Which layer refuses altered bytes: the seal what others altered, the checksum what no seal covers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hekat.channel import InProcessHub, PartyKey, SealedChannel
from hekat.errors import SealError, WireCorruptError, WireError, WireKindError
from hekat.ledger import Ledger, RecordedChannel
from hekat.ledger.chain import verify_ledger
from hekat.ledger.recorded_channel import UNREADABLE
from hekat.wire import from_bytes, to_bytes
from hekat.wire.frame import CHECKSUM_BYTES, write_frame

KEYS = {name: PartyKey.generate() for name in "ab"}


class OnTheWay:
    """The end of `a`, which hands on what it is told to in place of what is sent."""

    def __init__(self, end) -> None:
        self._end, self.alter = end, lambda data: data

    def send(self, to: str, step: str, payload: bytes, *, timeout_s: float | None = None) -> None:
        self._end.send(to, step, self.alter(payload), timeout_s=timeout_s)

    def __getattr__(self, name: str):
        return getattr(self._end, name)


def make_ends(*, seals: bool):
    """(what `a` sends with, what lies between, `b` recorded)."""
    hub = InProcessHub(("a", "b"), timeout_s=20)
    way = OnTheWay(hub.channel("a"))
    ends = {"a": way, "b": hub.channel("b")}
    if seals:
        ends = {
            name: SealedChannel(
                end,
                KEYS[name],
                {other: key.public for other, key in KEYS.items()},
                run_id="run",
                protocol="test",
                job_digest=bytes(32),
            )
            for name, end in ends.items()
        }
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda end: end.open_session(), ends.values()))
    return ends["a"], way, RecordedChannel(ends["b"], Ledger(None, "b", KEYS["b"], bytes(32)))


def flip(data: bytes, at: int) -> bytes:
    altered = bytearray(data)
    altered[at] ^= 1
    return bytes(altered)


def last_kind(channel: RecordedChannel) -> str:
    return verify_ledger(channel.ledger.data, KEYS["b"].public).entries[-1].kind


def test_where_nothing_seals_the_checksum_is_held(message_types) -> None:
    update = message_types["update"]
    sender, _, receiver = make_ends(seals=False)
    payload = to_bytes(update(b"12345", 7))
    sender.send("b", "step", flip(payload, payload.index(b"12345")))
    with pytest.raises(WireCorruptError, match="checksum"):
        receiver.receive("a", "step", update)
    assert last_kind(receiver) == UNREADABLE


@pytest.mark.parametrize("at", [0, 20, 200, -100, -1])
def test_what_is_altered_on_the_way_is_refused_by_the_seal(message_types, at: int) -> None:
    update = message_types["update"]
    sender, way, receiver = make_ends(seals=True)
    way.alter = lambda data: flip(data, at)
    sender.send("b", "step", to_bytes(update(b"1" * 300, 7)))
    with pytest.raises(SealError):
        receiver.receive("a", "step", update)
    assert last_kind(receiver) == ""


def test_what_the_sender_sealed_is_read_with_whatever_checksum_it_wrote(message_types) -> None:
    update = message_types["update"]
    sender, _, receiver = make_ends(seals=True)
    sent = update(b"12345", 7)
    other = flip(to_bytes(sent), -1)
    sender.send("b", "step", other)
    assert receiver.receive("a", "step", update) == sent
    with pytest.raises(WireCorruptError, match="checksum"):
        from_bytes(other, update)


@pytest.mark.parametrize(
    "damage",
    [
        lambda payload: payload[:-1],
        lambda payload: payload + b"x",
        lambda payload: flip(payload, 0),
        lambda payload: flip(payload, 4),
        lambda payload: flip(payload, payload.index(b"update")),
        # 7 in two bytes, where one does.
        lambda payload: write_frame("ledger-tests/update", 1, body_of(payload)[:-1] + b"\xcc\x07"),
    ],
)
def test_what_the_sender_sealed_is_held_to_all_else(message_types, damage) -> None:
    update = message_types["update"]
    sender, _, receiver = make_ends(seals=True)
    sender.send("b", "step", damage(to_bytes(update(b"12345", 7))))
    with pytest.raises(WireError):
        receiver.receive("a", "step", update)
    assert last_kind(receiver) == UNREADABLE


def body_of(payload: bytes) -> bytes:
    return payload[payload.index(b"update") + len(b"update") + 10 : -CHECKSUM_BYTES]


def test_another_message_than_the_awaited_one_is_refused_out_of_a_seal(message_types) -> None:
    sender, _, receiver = make_ends(seals=True)
    sender.send("b", "step", to_bytes(message_types["key"](b"12345")))
    with pytest.raises(WireKindError):
        receiver.receive("a", "step", message_types["update"])
