"""Writing a ledger: new files only, whole lines, signed at the end, nothing of a message's content."""

from __future__ import annotations

import errno
import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from hekat.channel import PartyKey
from hekat.errors import InputError, LedgerError, StateError
from hekat.ledger import Ledger, audit, audit_bytes
from hekat.ledger.entry import FieldRecord
from hekat.wire import Disclosure

SESSION = bytes(range(32))
KEY = PartyKey.generate()


def record(ledger: Ledger, payload: bytes = b"payload") -> None:
    field = FieldRecord.of("values", Disclosure("disclosed", "everything"), len(payload))
    ledger.record("sent", "b", "step", "kind", [field], payload)


def lines_of(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


def test_a_file_holds_what_memory_holds(tmp_path: Path) -> None:
    clock = iter(datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=second) for second in (0, 1, 2, 0, 1, 2))
    written = []
    for path in (tmp_path / "ledger.jsonl", None):
        with Ledger(path, "a", KEY, SESSION, run_id="r", protocol="p", clock=lambda: next(clock)) as ledger:
            record(ledger)
        written.append(path.read_bytes() if path else ledger.data)
    assert written[0] == written[1]
    assert (tmp_path / "ledger.jsonl").stat().st_mode & 0o777 == 0o600


def test_the_lines_say_what_passed() -> None:
    zone = timezone(timedelta(hours=2))
    ledger = Ledger(
        None, "a", KEY, SESSION, run_id="r", protocol="p", clock=lambda: datetime(2030, 1, 1, 2, tzinfo=zone)
    )
    record(ledger)
    ledger.note("later", "chose alpha", "public")
    ledger.close("stop rule")
    opened, sent, note, closed, tail = lines_of(ledger.data)
    assert opened["facts"] == {
        "format": "hekat-ledger/1", "party": "a", "run": "r", "protocol": "p", "key": KEY.public.text
    }  # fmt: skip
    assert sent["time"] == "2030-01-01T00:00:00.000000+00:00"
    assert (sent["direction"], sent["peer"], sent["step"], sent["kind"]) == ("sent", "b", "step", "kind")
    assert sent["payload_bytes"] == 7
    assert sent["payload_sha256"] == "239f59ed55e737c77147cf55ad0c1b030b6d7ee748a7426952f9b852d5a935e5"
    assert sent["fields"] == [{"name": "values", "class": "disclosed", "explanation": "everything", "bytes": 7}]
    assert sent["previous"] == opened["hash"]
    assert sent["session"] == SESSION.hex()
    assert (note["direction"], note["step"], note["fields"][0]["name"]) == ("note", "later", "chose alpha")
    assert closed["facts"] == {"reason": "stop rule"}
    assert (tail["entry_count"], tail["last_hash"]) == (4, closed["hash"])


def test_every_line_is_in_the_file_when_its_call_returns(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, "a", KEY, SESSION)
    for count in range(2, 6):
        record(ledger)
        assert len(path.read_bytes().splitlines()) == count == ledger.entry_count


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text("old")
    with pytest.raises(StateError, match="never overwritten"):
        Ledger(path, "a", KEY, SESSION)
    assert path.read_text() == "old"


def test_a_missing_folder_is_a_state_error(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot be written"):
        Ledger(tmp_path / "missing" / "ledger.jsonl", "a", KEY, SESSION)


def test_a_full_disk_leaves_whole_lines_and_can_be_closed_later(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path, "a", KEY, SESSION)
    record(ledger)
    before = path.read_bytes()
    real_write = os.write

    def full_after_ten_bytes(descriptor: int, data: bytes) -> int:
        if len(data) <= 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real_write(descriptor, data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full_after_ten_bytes)
    with pytest.raises(StateError, match=r"No space left.*free disk space"):
        record(ledger)
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "write", real_write)
    record(ledger)
    ledger.close()
    assert audit(path, KEY.public).entry_count == 4


def test_short_writes_are_continued(tmp_path: Path, monkeypatch) -> None:
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real_write(descriptor, data[:7]))
    with Ledger(tmp_path / "ledger.jsonl", "a", KEY, SESSION) as ledger:
        record(ledger)
    monkeypatch.undo()
    assert audit(tmp_path / "ledger.jsonl", KEY.public).signed


def test_a_disk_that_is_full_from_the_start_leaves_no_file(tmp_path: Path, monkeypatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StateError):
        Ledger(tmp_path / "ledger.jsonl", "a", KEY, SESSION)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_ledger_takes_no_more_and_closes_once() -> None:
    ledger = Ledger(None, "a", KEY, SESSION)
    ledger.close()
    data = ledger.data
    ledger.close("again")
    assert ledger.data == data
    with pytest.raises(LedgerError, match="closed"):
        record(ledger)


def test_a_run_that_fails_is_signed_with_its_reason() -> None:
    ledger = Ledger(None, "a", KEY, SESSION)
    with pytest.raises(ValueError, match="secret"), ledger:
        raise ValueError("secret 4711")
    report = audit_bytes(ledger.data, KEY.public)
    assert (report.signed, report.reason) == (True, "stopped: ValueError")


@pytest.mark.parametrize(
    ("party", "session", "run_id"),
    [("", SESSION, "r"), ("a", b"short", "r"), ("a", "x" * 32, "r"), ("a", SESSION, "\n")],
)
def test_bad_settings_are_refused(party: str, session: bytes, run_id: str) -> None:
    with pytest.raises(InputError):
        Ledger(None, party, KEY, session, run_id=run_id)


def test_bad_notes_are_refused() -> None:
    ledger = Ledger(None, "a", KEY, SESSION)
    with pytest.raises(InputError, match="public, disclosed"):
        ledger.note("step", "what", "secret")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="step"):
        ledger.note("", "what", "public")
    assert ledger.entry_count == 1


@pytest.mark.parametrize("what", ["\x1b[2J", "two\nlines", "x" * (2 << 20)], ids=["escape", "newline", "long"])
def test_what_could_not_be_read_back_is_not_written(what: str) -> None:
    ledger = Ledger(None, "a", KEY, SESSION)
    with pytest.raises(InputError, match="could not be read back"):
        ledger.note("step", what, "public")
    ledger.close()
    assert audit_bytes(ledger.data, KEY.public).entry_count == 2


def test_descriptions_over_several_lines_become_one() -> None:
    assert FieldRecord.of("f", Disclosure("disclosed", "one\n    two"), 0).explanation == "one two"


def test_only_a_ledger_in_memory_gives_its_data(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in a file"):
        _ = Ledger(tmp_path / "ledger.jsonl", "a", KEY, SESSION).data
