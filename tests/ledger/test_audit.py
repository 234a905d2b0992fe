"""Auditing: whatever is done to a ledger is found and named by its line, and its answers are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hekat.channel import PartyKey
from hekat.errors import LedgerError
from hekat.ledger import Ledger, audit, audit_bytes, reconcile
from hekat.ledger.entry import LedgerEntry, entry_from_line
from hekat.ledger.text_table import format_bytes

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def audit_client(run, lines: list[bytes]):
    return audit_bytes(b"".join(lines), run.keys["client"].public)


def test_a_whole_ledger_is_signed_and_closed(run, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(run.data["client"])
    report = audit(path, run.keys["client"].public)
    assert (report.party, report.run_id, report.protocol, report.signed) == ("client", "run-1", "test", True)
    assert report.reason == "finished"
    # opened, key, 3 * (update, mean), note, closed
    assert report.entry_count == 10


def test_the_answers_of_both_sides(run) -> None:
    client = audit_bytes(run.data["client"], run.keys["client"].public)
    server = audit_bytes(run.data["server"], run.keys["server"].public)
    rows = [(r.disclosure_class, r.peer, r.step, r.field, r.message_count, r.byte_count) for r in server.learned]
    assert rows == [
        ("sealed", "client", "key", "private_key", 1, 16),
        ("ciphertext", "client", "round-*/update", "values", 3, 48),
        ("public", "client", "round-*/update", "round_number", 3, 24),
    ]
    assert [(r.field, r.explanation) for r in client.learned] == [("mean", "the mean of the updates"), ("names", "")]
    assert [r.field for r in client.given] == ["private_key", "values", "round_number"]
    passed = client.passed[0]
    assert (passed.peer, passed.sent_count, passed.received_count) == ("server", 4, 3)
    assert passed.sent_bytes == server.passed[0].received_bytes
    assert [(n.what, n.explanation, n.count) for n in client.notes] == [("the model is public", "the model", 1)]


def test_the_text_and_the_json_say_it(run) -> None:
    report = audit_bytes(run.data["server"], run.keys["server"].public)
    text = report.to_text()
    assert "What server learned" in text
    assert "nothing without: all parties" in text
    assert "closed (finished) and signed by key " + run.keys["server"].fingerprint in text
    content = json.loads(report.to_json())
    assert content["learned"][0]["explanation"] == "the key that all parties share"
    assert content["signed"] is True
    assert content["notes"][0]["count"] == 1


@SHARED
@given(st.data())
def test_a_flipped_bit_anywhere_is_found_and_named_by_line(run, data: st.DataObject) -> None:
    original = run.data["client"]
    position = data.draw(st.integers(0, len(original) - 1))
    mutated = bytearray(original)
    mutated[position] ^= 1 << data.draw(st.integers(0, 7))
    line_number = original[:position].count(b"\n") + 1
    with pytest.raises(LedgerError) as caught:
        audit_bytes(bytes(mutated), run.keys["client"].public)
    # A newline made of another byte splits a line, one destroyed joins two: still the same line is named.
    assert f"line {line_number};" in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize("bit", range(8))
def test_every_flipped_bit_is_found_and_named_by_line(run, bit: int) -> None:
    original = run.data["client"]
    for position in range(len(original)):
        mutated = bytearray(original)
        mutated[position] ^= 1 << bit
        with pytest.raises(LedgerError, match=f"line {original[:position].count(10) + 1};"):
            audit_bytes(bytes(mutated), run.keys["client"].public)


def test_a_ledger_that_would_steer_the_terminal_is_refused(run) -> None:
    lines = lines_of(run.data["client"])
    lines[2] = rewritten(lines[2], peer="\x1b[2J")
    with pytest.raises(LedgerError, match="line 3;") as caught:
        audit_client(run, lines)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("index", range(10))
def test_a_removed_line_is_found(run, index: int) -> None:
    lines = lines_of(run.data["client"])
    del lines[index]
    with pytest.raises(LedgerError, match=f"line {index + 1};"):
        audit_client(run, lines)


@pytest.mark.parametrize("index", range(10))
def test_a_repeated_line_is_found(run, index: int) -> None:
    lines = lines_of(run.data["client"])
    lines.insert(index, lines[index])
    with pytest.raises(LedgerError, match=f"line {index + 2};"):
        audit_client(run, lines)


@pytest.mark.parametrize("index", range(9))
def test_exchanged_lines_are_found(run, index: int) -> None:
    lines = lines_of(run.data["client"])
    lines[index], lines[index + 1] = lines[index + 1], lines[index]
    with pytest.raises(LedgerError, match=f"line {index + 1};"):
        audit_client(run, lines)


def rewritten(line: bytes, **changes: object) -> bytes:
    """The line with other contents and its own hash made right."""
    entry = entry_from_line(line.rstrip(b"\n"), 1)
    values = {name: getattr(entry, name) for name in entry.__dataclass_fields__}
    return LedgerEntry(**(values | changes)).to_line()


def test_an_edited_line_with_its_hash_made_right_is_found_at_the_next(run) -> None:
    lines = lines_of(run.data["client"])
    lines[2] = rewritten(lines[2], peer="somebody")
    with pytest.raises(LedgerError, match=r"line 4;.*exchanged"):
        audit_client(run, lines)


def test_a_ledger_rewritten_from_a_line_on_fails_at_the_signature(run) -> None:
    lines = lines_of(run.data["client"])
    lines[2] = rewritten(lines[2], payload_bytes=1)
    for index in range(3, 10):
        previous = entry_from_line(lines[index - 1].rstrip(b"\n"), index).hash
        lines[index] = rewritten(lines[index], previous=previous)
    with pytest.raises(LedgerError, match="line 11;"):
        audit_client(run, lines)
    tail = json.loads(lines[10])
    tail["last_hash"] = entry_from_line(lines[9].rstrip(b"\n"), 10).hash
    lines[10] = json.dumps(tail, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    with pytest.raises(LedgerError, match=r"line 11;.*does not hold"):
        audit_client(run, lines)


def test_lines_of_another_ledger_are_found(run) -> None:
    lines, others = lines_of(run.data["client"]), lines_of(run.data["server"])
    lines[4] = others[4]
    with pytest.raises(LedgerError, match="line 5;"):
        audit_client(run, lines)


@pytest.mark.parametrize(
    ("index", "changes", "pattern"),
    [
        (0, {"direction": "note"}, "line 1;.*opening line"),
        (0, {"facts": {}}, "line 1;.*opening line"),
        (1, {"session": "00"}, "line 2;.*another ledger"),
        (1, {"direction": "opened"}, "line 2;.*another ledger"),
    ],
)
def test_entries_out_of_place_are_found(run, index: int, changes: dict, pattern: str) -> None:
    lines = lines_of(run.data["client"])
    lines[index] = rewritten(lines[index], **changes)
    with pytest.raises(LedgerError, match=pattern):
        audit_client(run, lines)


def test_another_format_of_ledger_is_refused(run) -> None:
    lines = lines_of(run.data["client"])
    facts = {**json.loads(lines[0])["facts"], "format": "hekat-ledger/2"}
    lines[0] = rewritten(lines[0], facts=facts)
    with pytest.raises(LedgerError, match=r"line 1;.*expected hekat-ledger/1"):
        audit_client(run, lines)


@pytest.mark.parametrize("kept", range(1, 11))
def test_a_ledger_cut_at_a_line_is_reported_as_not_signed(run, kept: int) -> None:
    report = audit_client(run, lines_of(run.data["client"])[:kept])
    assert not report.signed
    assert report.entry_count == kept
    assert "NOT SIGNED" in report.to_text()


def test_a_ledger_cut_inside_a_line_is_named(run) -> None:
    with pytest.raises(LedgerError, match=r"line 11;.*cut off"):
        audit_bytes(run.data["client"][:-1], run.keys["client"].public)


@pytest.mark.parametrize(
    ("data", "pattern"),
    [
        (b"", "empty"),
        (b"\n", "line 1;"),
        (b"{}\n", "line 1;"),
        (b"[" * 100_000 + b"\n", "line 1;"),
        (b"x" * (2 << 20) + b"\n", "line 1;"),
        (b'{"a":NaN}\n', "line 1;"),
        (b"\xff\n", "line 1;"),
    ],
    ids=["empty", "newline", "object", "deep", "long", "nan", "binary"],
)
def test_other_files_are_refused(data: bytes, pattern: str) -> None:
    with pytest.raises(LedgerError, match=pattern):
        audit_bytes(data, PartyKey.generate().public)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_as_a_ledger_error(data: bytes) -> None:
    with pytest.raises(LedgerError):
        audit_bytes(data, KEY.public)


KEY = PartyKey.generate()


def test_lines_after_the_signature_are_found(run) -> None:
    lines = lines_of(run.data["client"])
    with pytest.raises(LedgerError, match=r"line 12;.*more lines"):
        audit_client(run, [*lines, lines[-1]])


def test_another_key_is_refused(run) -> None:
    with pytest.raises(LedgerError, match="not under the given key"):
        audit_bytes(run.data["client"], run.keys["server"].public)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be read"):
        audit(tmp_path / "missing", KEY.public)


def test_two_true_ledgers_agree(run) -> None:
    reports = [audit_bytes(run.data[name], run.keys[name].public) for name in ("client", "server")]
    result = reconcile(*reports)
    assert result.agrees
    assert (result.agreed_count, result.unsigned) == (7, ())
    assert json.loads(result.to_json())["agrees"] is True
    assert "7 messages agree, 0 disagreements" in result.to_text()


def write_ledger(party: str, messages: list[tuple[str, str, str, bytes]], session: bytes = bytes(32)):
    key = PartyKey.generate()
    with Ledger(None, party, key, session) as ledger:
        for direction, peer, step, payload in messages:
            ledger.record(direction, peer, step, "kind", [], payload)
    return audit_bytes(ledger.data, key.public)


def test_every_disagreement_is_listed() -> None:
    a = write_ledger(
        "a",
        [
            ("sent", "b", "1", b"same"),
            ("sent", "b", "2", b"as a says"),
            ("sent", "b", "3", b"lost"),
            ("sent", "c", "4", b"to c"),
            ("received", "b", "5", b"invented"),
        ],
    )
    b = write_ledger("b", [("received", "a", "1", b"same"), ("received", "a", "2", b"as b says")])
    result = reconcile(a, b)
    assert (result.agrees, result.agreed_count, len(result.disagreements)) == (False, 1, 3)
    differs, lost, invented = result.disagreements
    assert "a to b, step '2', message 1: sent kind of 9 bytes" in differs
    assert "(line 3), received kind of 9 bytes" in differs
    assert lost == "a to b, step '3': sent (line 4) and never received"
    assert invented == "b to a, step '5': received (line 6) and never sent"
    assert invented in result.to_text()


def test_ledgers_that_cannot_be_compared_are_refused() -> None:
    a = write_ledger("a", [])
    with pytest.raises(LedgerError, match="one party"):
        reconcile(a, write_ledger("a", []))
    with pytest.raises(LedgerError, match="two sessions"):
        reconcile(a, write_ledger("b", [], bytes([1]) * 32))


def test_an_unsigned_ledger_is_named_in_the_reconciliation(run) -> None:
    client = audit_client(run, lines_of(run.data["client"])[:-1])
    result = reconcile(client, audit_bytes(run.data["server"], run.keys["server"].public))
    assert result.unsigned == ("client",)
    assert "ledger of client is not signed" in result.to_text()


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"), (10**15, "1000.0 TB")],
)
def test_byte_counts_read_well(count: int, text: str) -> None:
    assert format_bytes(count) == text
