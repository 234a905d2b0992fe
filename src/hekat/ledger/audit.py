"""Answers from a verified ledger: what did this party learn, from whom, in which step, and what left it?"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hekat.channel.party_key import PartyPublicKey
from hekat.errors import LedgerError
from hekat.ledger.chain import VerifiedLedger, verify_ledger
from hekat.ledger.condense import SPREAD, CondensedRow, condense
from hekat.ledger.disclosed import Disclosed
from hekat.ledger.entry import LedgerEntry
from hekat.ledger.ledger_files import read_ledger
from hekat.ledger.privacy.reckon import PrivacyAudit, reckon_privacy
from hekat.ledger.privacy.records import NOTED
from hekat.ledger.privacy.say import say_privacy
from hekat.ledger.text_table import format_bytes, format_table

# What matters most to a reader first.
_CLASS_ORDER = {"disclosed": 0, "sealed": 1, "ciphertext": 2, "public": 3}
_DIGITS = re.compile(r"\d+")
# Of more peers a table gives the number; the JSON of an audit has every name.
_MOST_NAMES = 7


@dataclass(frozen=True)
class Passed:
    """Messages between this party and one peer, and their wire bytes before sealing."""

    peer: str
    sent_count: int
    sent_bytes: int
    received_count: int
    received_bytes: int


@dataclass(frozen=True)
class Note:
    """A fact that was no message, and how often it was noted."""

    step: str
    what: str
    disclosure_class: str
    explanation: str
    count: int


@dataclass(frozen=True)
class AuditReport:
    """What a party's ledger says. `signed`: the ledger was closed and the party's signature holds.

    `learned` is what was received, `given` what was sent; both with the most telling classes first. `privacy` is what
    it says of differential privacy, None where that is nothing.
    """

    party: str
    run_id: str
    protocol: str
    session: str
    key_fingerprint: str
    signed: bool
    reason: str
    entry_count: int
    learned: tuple[Disclosed, ...]
    given: tuple[Disclosed, ...]
    passed: tuple[Passed, ...]
    notes: tuple[Note, ...]
    privacy: PrivacyAudit | None
    entries: tuple[LedgerEntry, ...] = field(repr=False)

    @property
    def state(self) -> str:
        """One sentence on whether the ledger is whole."""
        if self.signed:
            return f"closed ({self.reason}) and signed by key {self.key_fingerprint}"
        return "NOT SIGNED: the run was killed, or lines are missing at the end; the lines that are there hold together"

    def to_text(self) -> str:
        """The answers as tables."""
        sections = [
            f"Ledger of {self.party}: run {self.run_id}, protocol {self.protocol}, {self.entry_count} entries\n"
            f"{self.state}\nsession {self.session}",
            f"What {self.party} learned\n" + _disclosed_table(self.learned, "from"),
            f"What left {self.party}\n" + _disclosed_table(self.given, "to"),
            "Messages (bytes before sealing)\n"
            + format_table(
                ["peer", "sent", "bytes", "received", "bytes"],
                [
                    _cells(
                        p.peer,
                        p.sent_count,
                        format_bytes(p.sent_bytes),
                        p.received_count,
                        format_bytes(p.received_bytes),
                    )
                    for p in self.passed
                ],
                right_aligned={1, 2, 3, 4},
            ),
        ]
        if self.privacy is not None:
            sections.append("Differential privacy\n" + say_privacy(self.privacy))
        if self.notes:
            rows = [_cells(n.step, n.disclosure_class, n.count, n.what, n.explanation) for n in self.notes]
            table = format_table(["step", "class", "times", "what", "explanation"], rows, right_aligned={2})
            sections.append("Noted\n" + table)
        return "\n\n".join(sections) + "\n"

    def to_json(self) -> str:
        """The same as one JSON object, without the single entries."""
        content = {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "entries"}
        for name in ("learned", "given", "passed", "notes"):
            content[name] = [dataclasses.asdict(row) for row in content[name]]
        if self.privacy is not None:
            content["privacy"] = dataclasses.asdict(self.privacy)
        return json.dumps(content, indent=2)


def audit(path: Path, public_key: PartyPublicKey) -> AuditReport:
    """Verify a ledger against its owner's public key and sum it up.

    Args:
        path: the ledger, such as runs/<id>/ledger/north.jsonl, or its compressed form.
        public_key: the owner's, which you pinned.

    Returns:
        Whether it is signed, what its owner sent and received, by step, and what that disclosed.

    Raises:
        LedgerError: the ledger does not hold, or claims an epsilon that does not follow from its noise and releases (by
            the line), or cannot be read.
        InputError: the ledger claims an epsilon, and dp-accounting is not installed.

    Examples:
        >>> report = audit(ledger_file, public_key)
        >>> report.party
        'north'
    """
    try:
        data = read_ledger(Path(path))
    except OSError as error:
        raise LedgerError(
            f"the ledger {path} cannot be read",
            got=error.strerror or type(error).__name__,
            cure="give the path of a ledger.jsonl that a run wrote",
        ) from error
    return audit_bytes(data, public_key)


def audit_bytes(data: bytes, public_key: PartyPublicKey) -> AuditReport:
    """As `audit`, for a ledger's bytes.

    Args:
        data: the whole ledger.
        public_key: the owner's, which you pinned.

    Returns:
        As `audit`.

    Raises:
        LedgerError, InputError: as `audit`.

    Examples:
        >>> audit_bytes(ledger_file.read_bytes(), public_key).party
        'north'
    """
    return summarise(verify_ledger(data, public_key), public_key)


def summarise(ledger: VerifiedLedger, public_key: PartyPublicKey) -> AuditReport:
    """The report of a verified ledger. Raises as `audit`."""
    received = [entry for entry in ledger.entries if entry.direction == "received"]
    sent = [entry for entry in ledger.entries if entry.direction == "sent"]
    return AuditReport(
        party=ledger.facts["party"],
        run_id=ledger.facts["run"],
        protocol=ledger.facts["protocol"],
        session=ledger.entries[0].session,
        key_fingerprint=public_key.fingerprint,
        signed=ledger.signed,
        reason=ledger.reason,
        entry_count=len(ledger.entries),
        learned=_sum_fields(received),
        given=_sum_fields(sent),
        passed=_sum_peers(sent, received),
        notes=_sum_notes(entry for entry in ledger.entries if entry.direction == "note"),
        privacy=reckon_privacy(ledger.entries),
        entries=ledger.entries,
    )


def step_pattern(step: str) -> str:
    """The step with its numbers as "*", so that the rounds of a run are one row."""
    return _DIGITS.sub("*", step)


def _sum_fields(entries: Iterable[LedgerEntry]) -> tuple[Disclosed, ...]:
    sums: dict[Disclosed, list[int]] = {}
    for entry in entries:
        step = step_pattern(entry.step)
        for record in entry.fields:
            row = Disclosed(
                entry.peer, step, entry.kind, record.name, record.disclosure_class, record.explanation, 0, 0
            )
            total = sums.setdefault(row, [0, 0])
            total[0] += 1
            total[1] += record.byte_count
    rows = [dataclasses.replace(row, message_count=count, byte_count=size) for row, (count, size) in sums.items()]
    # The sort is stable: within a class, rows stay in the order of the run.
    return tuple(sorted(rows, key=lambda row: _CLASS_ORDER[row.disclosure_class]))


def _sum_peers(sent: list[LedgerEntry], received: list[LedgerEntry]) -> tuple[Passed, ...]:
    sums: dict[str, list[int]] = {}
    for entries, place in ((sent, 0), (received, 2)):
        for entry in entries:
            total = sums.setdefault(entry.peer, [0, 0, 0, 0])
            total[place] += 1
            total[place + 1] += entry.payload_bytes
    return tuple(Passed(peer, *total) for peer, total in sums.items())


def _sum_notes(entries: Iterable[LedgerEntry]) -> tuple[Note, ...]:
    counts: dict[tuple[str, str, str, str], int] = {}
    for entry in entries:
        for record in entry.fields:
            if record.name in NOTED:
                continue
            key = (step_pattern(entry.step), record.name, record.disclosure_class, record.explanation)
            counts[key] = counts.get(key, 0) + 1
    return tuple(Note(*key, count=count) for key, count in counts.items())


def _disclosed_table(rows: tuple[Disclosed, ...], peer_title: str) -> str:
    condensed = condense(rows)
    table = format_table(
        ["class", peer_title, "step", "message", "fields", "messages", "bytes", "what it tells"],
        [
            _cells(
                row.disclosure_class,
                _name_peers(row.peers),
                ", ".join(row.steps),
                row.kind,
                ", ".join(row.fields),
                row.message_count,
                format_bytes(row.byte_count),
                _tell(row),
            )
            for row in condensed.rows
        ],
        right_aligned={5, 6},
    )
    legend = f"\n  {SPREAD} stands for each of: {', '.join(condensed.spread)}" if condensed.spread else ""
    return table + legend


def _name_peers(peers: tuple[str, ...]) -> str:
    return ", ".join(peers) if len(peers) <= _MOST_NAMES else f"{len(peers)} parties"


def _cells(*values: str | int) -> list[str]:
    return [str(value) for value in values]


def _tell(row: CondensedRow) -> str:
    match row.disclosure_class:
        case "ciphertext":
            return f"nothing without: {row.explanation}"
        case "public":
            return "nothing the job does not state"
        case _:
            return row.explanation
