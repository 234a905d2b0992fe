"""A ledger's line is the canonical JSON of what it says, whatever its texts hold."""

import dataclasses
import hashlib

import pytest

from hekat.ledger.entry import NO_PREVIOUS, FieldRecord, LedgerEntry, canonical_json, entry_from_line

ODD = 'Zürich "7" \\ / é \U0001f511'


@pytest.mark.parametrize(
    "entry",
    [
        LedgerEntry(0, "2026-01-01", "opened", "ab", NO_PREVIOUS, facts={"party": ODD, "format": "x", "a": ""}),
        LedgerEntry(7, "t", "note", "ab", "cd", step=ODD, fields=(FieldRecord(ODD, "public", "", 0),)),
        LedgerEntry(
            2**40,
            "t",
            "sent",
            "ab",
            "cd",
            ODD,
            "round-1",
            "horizontal/ready",
            2**33,
            "ef",
            (FieldRecord("a", "disclosed", ODD, 3), FieldRecord("b", "sealed", "why", 2**50)),
        ),
    ],
)
def test_a_line_is_canonical_json_with_the_hash_of_the_rest(entry):
    content = {item.name: getattr(entry, item.name) for item in dataclasses.fields(entry)}
    content["fields"] = [
        {"name": one.name, "class": one.disclosure_class, "explanation": one.explanation, "bytes": one.byte_count}
        for one in entry.fields
    ]
    # The rest, as it is hashed: without a comma where the hash stands in the line.
    before = canonical_json({name: value for name, value in content.items() if name < "hash"})
    after = canonical_json({name: value for name, value in content.items() if name > "hash"})
    assert entry.hash == hashlib.sha256(before[:-1] + b"," + after[1:]).hexdigest()
    assert entry.to_line() == canonical_json({**content, "hash": entry.hash}) + b"\n"
    assert entry_from_line(entry.to_line()[:-1], 1) == entry
