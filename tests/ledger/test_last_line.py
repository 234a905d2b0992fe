"""A ledger's last line has one spelling, and its lines count from 0: both are said by the line that is wrong."""

from __future__ import annotations

import json

import pytest

from hekat.errors import LedgerError
from hekat.ledger import audit_bytes
from hekat.ledger.entry import LedgerEntry, entry_from_line


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda tail: tail | {"party": "somebody"},
        lambda tail: tail | {"session": "00" * 32},
        lambda tail: tail | {"entry_count": tail["entry_count"] - 1},
        lambda tail: tail | {"last_hash": "00" * 32},
        lambda tail: tail | {"signature": tail["signature"].upper()},
        lambda tail: tail | {"more": "that nobody signed"},
        lambda tail: {"signature": tail["signature"]},
    ],
    ids=["party", "session", "count", "hash", "capitals", "more", "signature alone"],
)
def test_a_last_line_that_says_something_else_is_found_though_its_signature_holds(run, change) -> None:
    """What is verified is what was counted here; whoever reads the line itself must not be told otherwise."""
    *lines, last = lines_of(run.data["client"])
    text = json.dumps(change(json.loads(last)), sort_keys=True, separators=(",", ":"))
    with pytest.raises(LedgerError, match=r"line 11;.*the signature line of 10 entries"):
        audit_bytes(b"".join(lines) + text.encode() + b"\n", run.keys["client"].public)


def test_a_line_whose_number_is_not_its_place_is_found_though_the_chain_holds(run) -> None:
    """As its owner could write it, who makes every hash right."""
    lines = lines_of(run.data["client"])[:4]
    audit_bytes(b"".join(lines), run.keys["client"].public)
    entry = entry_from_line(lines[3].rstrip(b"\n"), 4)
    values = {name: getattr(entry, name) for name in entry.__dataclass_fields__}
    lines[3] = LedgerEntry(**(values | {"index": 7})).to_line()
    with pytest.raises(LedgerError, match=r"line 4;.*entry 3; got entry 7"):
        audit_bytes(b"".join(lines), run.keys["client"].public)
