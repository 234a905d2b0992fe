"""Messages are recorded as they pass: before they leave, before they are used, unreadable ones too."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from hekat.channel import Channel, InProcessHub, PartyKey, SealedChannel, run_parties
from hekat.errors import (
    ChannelTimeoutError,
    InputError,
    PartyLostError,
    PartyStoppedError,
    PolicyError,
    StateError,
    WireError,
)
from hekat.ledger import Ledger, RecordedChannel, audit_bytes
from hekat.ledger.recorded_channel import content_bytes

KEY = PartyKey.generate()


def make_pair(path: Path | None = None, **hub_settings) -> tuple[RecordedChannel, RecordedChannel]:
    hub = InProcessHub(("a", "b"), **hub_settings)
    ends = (
        RecordedChannel(hub.channel(name), Ledger(path if name == "a" else None, name, KEY, bytes(32))) for name in "ab"
    )
    first, second = ends
    return first, second


def test_a_message_passes_and_both_ledgers_hold_it(message_types) -> None:
    a, b = make_pair()
    sent = message_types["update"](b"12345", 7)
    a.send("b", "step", sent)
    assert b.receive("a", "step", message_types["update"]) == sent
    for channel, direction, peer in ((a, "sent", "b"), (b, "received", "a")):
        entry = audit_bytes(channel.ledger.data, KEY.public).entries[1]
        assert (entry.direction, entry.peer, entry.step, entry.kind) == (direction, peer, "step", "ledger-tests/update")
        assert [(f.name, f.disclosure_class, f.explanation, f.byte_count) for f in entry.fields] == [
            ("values", "ciphertext", "all parties", 5),
            ("round_number", "public", "", 8),
        ]
    assert (a.party, a.parties) == ("a", ("a", "b"))


def test_no_content_and_no_secret_is_in_a_ledger(run) -> None:
    for data in run.data.values():
        assert b"SECRET" not in data
        assert b"12345" not in data


def test_sealed_fields_leave_only_through_a_sealed_channel(message_types) -> None:
    a, _ = make_pair()
    with pytest.raises(PolicyError, match=r"sealed channel.*private_key.*InProcessChannel"):
        a.send("b", "step", message_types["key"](b"secret"))
    assert a.ledger.entry_count == 1


def test_what_is_no_message_is_refused_and_not_recorded(message_types) -> None:
    a, _ = make_pair()
    with pytest.raises(InputError):
        a.send("b", "step", b"bytes")
    with pytest.raises(InputError):
        a.send("b", "step", message_types["update"]("no bytes", 7))
    with pytest.raises(InputError):
        a.receive("b", "step", bytes)
    assert a.ledger.entry_count == 1


def test_nothing_leaves_that_the_ledger_does_not_hold(message_types, tmp_path: Path, monkeypatch) -> None:
    a, b = make_pair(tmp_path / "ledger.jsonl")

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StateError, match="nothing is sent"):
        a.send("b", "step", message_types["update"](b"1", 1))
    with pytest.raises(ChannelTimeoutError):
        b.receive("a", "step", message_types["update"], timeout_s=0.01)


def test_a_message_that_was_not_handed_over_is_noted(message_types) -> None:
    a, _ = make_pair(timeout_s=0.01, max_waiting_bytes=1)
    a.send("b", "step", message_types["update"](b"1", 1))
    with pytest.raises(ChannelTimeoutError):
        a.send("b", "step", message_types["update"](b"1", 1))
    note = audit_bytes(a.ledger.data, KEY.public).notes[0]
    assert "was not handed over (ChannelTimeoutError)" in note.what


def test_giving_up_on_a_party_is_noted_and_done(message_types) -> None:
    a, b = make_pair(may_be_lost=frozenset("b"))
    a.expel("b", "a share that does not fit")
    (note,) = audit_bytes(a.ledger.data, KEY.public).notes
    assert (note.step, note.what) == ("expel", "gave up on 'b'")
    assert (note.disclosure_class, note.explanation) == ("disclosed", "told to all parties: a share that does not fit")
    with pytest.raises(PartyStoppedError, match=r"'a' gave up on party 'b'.*a share that does not fit"):
        b.receive("a", "step", message_types["update"])
    with pytest.raises(PartyLostError):
        a.send("b", "step", message_types["update"](b"1", 1))
    assert "was not handed over (PartyLostError)" in audit_bytes(a.ledger.data, KEY.public).notes[1].what


def test_a_reason_that_quotes_what_the_party_sent_is_noted_in_print() -> None:
    a, _ = make_pair(may_be_lost=frozenset("b"))
    a.expel("b", "two\nlines and \x1b[2J")
    (note,) = audit_bytes(a.ledger.data, KEY.public).notes
    assert note.explanation == "told to all parties: two?lines and ?[2J"


def test_giving_up_on_a_party_that_may_not_be_lost_is_noted_as_refused() -> None:
    a, _ = make_pair()
    with pytest.raises(InputError, match="may not be lost"):
        a.expel("b", "because")
    notes = audit_bytes(a.ledger.data, KEY.public).notes
    assert [note.what for note in notes] == ["gave up on 'b'", "giving up on 'b', noted last, was refused (InputError)"]


def test_a_malformed_expulsion_is_refused_and_not_noted() -> None:
    a, _ = make_pair(may_be_lost=frozenset("b"))
    for party, reason in (("nobody", "because"), ("a", "because"), ("b", "")):
        with pytest.raises(InputError):
            a.expel(party, reason)
    assert a.ledger.entry_count == 1


def test_nobody_is_given_up_on_that_the_ledger_does_not_hold(tmp_path: Path, monkeypatch, message_types) -> None:
    a, b = make_pair(tmp_path / "ledger.jsonl", may_be_lost=frozenset("b"))

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StateError, match="cannot be written"):
        a.expel("b", "because")
    b.send("a", "step", message_types["update"](b"1", 1))


def test_session_and_signatures_are_those_of_the_sealed_channel() -> None:
    keys = {name: PartyKey.generate() for name in "ab"}
    pinned = {name: key.public for name, key in keys.items()}

    def role(channel: Channel) -> bytes:
        key = keys[channel.party]
        sealed = SealedChannel(channel, key, pinned, run_id="r", protocol="p", job_digest=bytes(32))
        session_id = sealed.open_session()
        recorded = RecordedChannel(sealed, Ledger(None, channel.party, key, session_id))
        assert recorded.session_id == session_id
        signature = recorded.sign("upload", b"1", b"2")
        assert sealed.verify(channel.party, signature, "upload", b"1", b"2")
        assert recorded.verify(channel.party, signature, "upload", b"1", b"2")
        assert not recorded.verify(channel.party, signature, "upload", b"1")
        return session_id

    results = run_parties(dict.fromkeys(keys, role), timeout_s=20)
    assert results["a"] == results["b"]


def test_sessions_and_signatures_need_a_sealed_channel() -> None:
    a, _ = make_pair()
    for call in (lambda: a.session_id, lambda: a.sign("upload"), lambda: a.verify("b", b"", "upload")):
        with pytest.raises(PolicyError, match="needs a sealed channel; expected a SealedChannel; got InProcessChannel"):
            call()


def test_an_unreadable_message_is_recorded_and_refused(message_types) -> None:
    a, b = make_pair()
    a.channel.send("b", "garbage", b"no message at all")
    a.send("b", "other kind", message_types["update"](b"1", 1))
    for step in ("garbage", "other kind"):
        with pytest.raises(WireError):
            b.receive("a", step, message_types["mean"])
    entries = audit_bytes(b.ledger.data, KEY.public).entries[1:]
    assert [(entry.kind, entry.fields[0].disclosure_class) for entry in entries] == [("unreadable", "disclosed")] * 2


def test_a_ledger_of_another_party_is_refused() -> None:
    with pytest.raises(PolicyError, match="another party"):
        RecordedChannel(InProcessHub(("a", "b")).channel("a"), Ledger(None, "b", KEY, bytes(32)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"abc", 3),
        ("é", 2),
        (True, 1),
        (7, 8),
        (0.5, 8),
        (np.zeros((2, 3), np.float32), 24),
        ([1, "ab"], 10),
        ({"k": b"xy"}, 3),
    ],
)
def test_sizes_of_contents(value: object, expected: int) -> None:
    assert content_bytes(value) == expected
