"""Ledgers of a run of many roles are compressed at its end, and read as they are; other bytes are refused."""

from __future__ import annotations

import gzip
import json
import stat
from pathlib import Path

import pytest

from hekat.cli.main import main
from hekat.errors import LedgerError
from hekat.ledger import audit, ledger_files
from hekat.ledger.ledger_files import find_ledgers, name_of_ledger, pack_ledgers, read_ledger


@pytest.fixture
def folder(run, tmp_path: Path) -> Path:
    """A run of two roles."""
    place = tmp_path / "ledger"
    place.mkdir()
    for name, data in run.data.items():
        (place / f"{name}.jsonl").write_bytes(data)
    return place


@pytest.fixture
def packed(folder, monkeypatch) -> Path:
    monkeypatch.setattr(ledger_files, "MOST_UNPACKED", 1)
    pack_ledgers(folder)
    return folder


def test_ledgers_of_few_roles_stay_as_they_are(folder) -> None:
    pack_ledgers(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["client.jsonl", "server.jsonl"]


def test_those_of_many_are_small_and_hold_the_same(packed, run) -> None:
    assert [path.name for path in find_ledgers(packed)] == ["client.jsonl.gz", "server.jsonl.gz"]
    for path in find_ledgers(packed):
        data = run.data[name_of_ledger(path)]
        assert read_ledger(path) == read_ledger(packed / f"{name_of_ledger(path)}.jsonl") == data
        assert path.stat().st_size < len(data) / 3
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert audit(packed / "client.jsonl", run.keys["client"].public).signed


def test_the_audit_command_reads_them(packed, run, tmp_path, capsys) -> None:
    (tmp_path / "parties.json").write_text(json.dumps({name: key.public.text for name, key in run.keys.items()}))
    assert main(["audit", str(tmp_path), "--party", "client"]) == 0
    assert main(["audit", str(packed / "client.jsonl.gz"), "--parties", str(tmp_path / "parties.json")]) == 0
    assert "What client learned" in capsys.readouterr().out


def test_a_ledger_that_the_disk_does_not_take_stays_whole(folder, monkeypatch, run) -> None:
    monkeypatch.setattr(ledger_files, "MOST_UNPACKED", 1)

    def refuse(path, data, **others):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger_files, "replace_file", refuse)
    pack_ledgers(folder)
    assert {name_of_ledger(path): read_ledger(path) for path in find_ledgers(folder)} == run.data


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-3],
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: data + b"more",
        lambda data: b"{}\n",
        lambda data: gzip.compress(bytes(64 << 20)),
    ],
    ids=["cut", "flipped", "longer", "not compressed", "far too much"],
)
def test_other_bytes_are_refused(packed, run, change) -> None:
    path = packed / "client.jsonl.gz"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(LedgerError, match="does not hold"):
        audit(path, run.keys["client"].public)
