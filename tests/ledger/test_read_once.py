"""What one process' roles are all told is read once; each role records it, and altered bytes are read anew."""

from __future__ import annotations

import dataclasses
import typing

import numpy as np
import pytest

import hekat.protocol.horizontal
import hekat.protocol.secure_sum.masked.messages
import hekat.protocol.vertical_linear  # noqa: F401  # all message types are known once their modules are
from hekat.channel import PartyKey
from hekat.errors import WireError
from hekat.ledger import Ledger, RecordedChannel, recorded_channel
from hekat.ledger.chain import verify_ledger
from hekat.protocol.secure_sum.masked.messages import DrawsMessage
from hekat.wire import disclosure_of, from_bytes, to_bytes
from hekat.wire.kinds import _by_class
from hekat.wire.message import _SPEC_NAME, spec_of


class Line:
    parties = ("hub", "a", "b")

    def __init__(self, party: str, payload: bytes) -> None:
        self.party, self.payload = party, payload

    def receive(self, sender: str, step: str, *, timeout_s: float | None = None) -> bytes:
        return bytes(bytearray(self.payload))


def receive_at(party: str, payload: bytes):
    key = PartyKey.generate()
    with Ledger(None, party, key, bytes(32)) as ledger:
        channel = RecordedChannel(Line(party, payload), ledger)
        try:
            told = channel.receive("hub", "draw", DrawsMessage)
        except WireError as error:
            told = error
    return told, verify_ledger(ledger.data, key.public).entries[1]


def test_roles_share_what_the_same_bytes_hold_and_record_it_each(monkeypatch) -> None:
    read: list[bytes] = []
    monkeypatch.setattr(
        recorded_channel, "from_bytes", lambda data, kind, **how: (read.append(data), from_bytes(data, kind, **how))[1]
    )
    sent = DrawsMessage({"a": b"one", "b": b"two"}, {"a": b"x" * 64, "b": b"y" * 64})
    (first, at_a), (second, at_b) = (receive_at(party, to_bytes(sent)) for party in "ab")
    assert first is second
    assert first == sent
    assert len(read) == 1
    assert at_a.fields == at_b.fields
    assert at_a.payload_sha256 == at_b.payload_sha256
    changed = receive_at("b", to_bytes(DrawsMessage({"a": b"one", "b": b"TWO"}, sent.signatures)))[0]
    assert changed.values["b"] == b"TWO"
    assert first.values["b"] == b"two"


def test_bytes_that_are_no_message_are_refused_at_every_role() -> None:
    payload = to_bytes(DrawsMessage({"a": b"one"}, {"a": b"x" * 64}))[:-1]
    for party in "ab":
        told, entry = receive_at(party, payload)
        assert isinstance(told, WireError)
        assert entry.kind == recorded_channel.UNREADABLE


SHARED = [cls for cls in _by_class if _SPEC_NAME in vars(cls) and spec_of(cls).read_once]


@pytest.mark.parametrize("kind", SHARED, ids=lambda kind: kind.__name__)
def test_no_secret_and_no_array_is_shared(kind) -> None:
    assert {disclosure.kind for disclosure in disclosure_of(kind).values()} <= {"public", "disclosed"}
    hints = typing.get_type_hints(kind)
    assert not any(np.ndarray.__name__ in str(hints[field.name]) for field in dataclasses.fields(kind))


def test_there_are_such_messages() -> None:
    assert DrawsMessage in SHARED
