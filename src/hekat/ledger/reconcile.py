"""Compares two parties' ledgers: whatever one says it sent, the other must say it received, and the reverse.

A message that did not arrive is told apart: where its sender noted that it was not handed over, it counts as not sent,
and where one of the two stopped before the end, the last messages may have been on their way.
"""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from dataclasses import dataclass, field

from hekat.errors import LedgerError
from hekat.ledger.audit import AuditReport
from hekat.ledger.entry import LedgerEntry
from hekat.ledger.ledger import STOPPED
from hekat.ledger.recorded_channel import NOT_HANDED_OVER


@dataclass(frozen=True)
class Reconciliation:
    """How many messages both ledgers hold alike, every point on which they do not agree, and what was on its way."""

    party_a: str
    party_b: str
    session: str
    agreed_count: int
    disagreements: tuple[str, ...]
    unsigned: tuple[str, ...]
    on_their_way: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether nothing differs. Says nothing about ledgers that are not signed: see `unsigned`."""
        return not self.disagreements

    def to_text(self) -> str:
        """One line on the result, then one for each disagreement."""
        lines = [
            f"Ledgers of {self.party_a} and {self.party_b}, session {self.session}: "
            f"{self.agreed_count} messages agree, {len(self.disagreements)} disagreements"
        ]
        lines += [f"  ledger of {party} is not signed: messages may be missing at its end" for party in self.unsigned]
        lines += [f"  {text}" for text in self.disagreements]
        lines += [f"  on its way when one of them stopped: {text}" for text in self.on_their_way]
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """The same as one JSON object."""
        return json.dumps({**dataclasses.asdict(self), "agrees": self.agrees}, indent=2)


def reconcile(report_a: AuditReport, report_b: AuditReport) -> Reconciliation:
    """Match what each of two parties sent with what the other received, in order, by step, kind and digest.

    Args:
        report_a: of one party.
        report_b: of another one of the same session.

    Returns:
        What agrees, what differs, and what was on its way when one of them left.

    Raises:
        LedgerError: the ledgers are of one party, or of two sessions, so that there is nothing to compare.

    Examples:
        >>> north, south = (audit(file, key) for file, key in two_ledgers)
        >>> reconcile(north, south).agrees
        True
    """
    if report_a.party == report_b.party:
        raise LedgerError(
            "two ledgers of one party", expected="ledgers of two parties", got=f"{report_a.party!r} twice"
        )
    if report_a.session != report_b.session:
        raise LedgerError(
            "ledgers of two sessions",
            expected=f"session {report_a.session[:16]}... of {report_a.party!r}",
            got=f"session {report_b.session[:16]}... of {report_b.party!r}",
            cure="compare ledgers of the same run",
        )
    agreed_count = 0
    disagreements: list[str] = []
    on_their_way: list[str] = []
    for sender, receiver in ((report_a, report_b), (report_b, report_a)):
        compared = _compare(sender, receiver)
        agreed_count += compared.agreed_count
        disagreements += compared.disagreements
        on_their_way += compared.on_their_way
    return Reconciliation(
        report_a.party,
        report_b.party,
        report_a.session,
        agreed_count,
        tuple(disagreements),
        tuple(report.party for report in (report_a, report_b) if not report.signed),
        tuple(on_their_way),
    )


@dataclass
class _Compared:
    agreed_count: int = 0
    disagreements: list[str] = field(default_factory=list)
    on_their_way: list[str] = field(default_factory=list)


def _compare(sender: AuditReport, receiver: AuditReport) -> _Compared:
    """What `sender` sent beside what `receiver` received."""
    failed = _not_handed_over(sender)
    sent = _by_step(sender, "sent", receiver.party)
    received = _by_step(receiver, "received", sender.party)
    compared = _Compared()
    unmatched: list[LedgerEntry] = []
    last_arrived = -1
    for step in dict.fromkeys([*sent, *received]):
        ours, theirs = [entry for entry in sent[step] if entry.index not in failed], received[step]
        where = _place(sender, receiver, step)
        for number, (a, b) in enumerate(zip(ours, theirs, strict=False), 1):
            last_arrived = max(last_arrived, a.index)
            if (a.kind, a.payload_sha256, a.payload_bytes) == (b.kind, b.payload_sha256, b.payload_bytes):
                compared.agreed_count += 1
                continue
            compared.disagreements.append(
                f"{where}, message {number}: sent {_describe(a)} (line {a.index + 1}), "
                f"received {_describe(b)} (line {b.index + 1})"
            )
        unmatched += ours[len(theirs) :]
        compared.disagreements += [
            f"{where}: received (line {b.index + 1}) and never sent" for b in theirs[len(ours) :]
        ]
    one_stopped = any(report.signed and report.reason.startswith(STOPPED) for report in (sender, receiver))
    for entry in unmatched:
        where = f"{_place(sender, receiver, entry.step)}: sent (line {entry.index + 1})"
        if one_stopped and entry.index > last_arrived:
            compared.on_their_way.append(where)
        else:
            compared.disagreements.append(f"{where} and never received")
    return compared


def _place(sender: AuditReport, receiver: AuditReport, step: str) -> str:
    return f"{sender.party} to {receiver.party}, step {step!r}"


def _not_handed_over(report: AuditReport) -> set[int]:
    """The lines of messages whose next line notes that they were not handed over."""
    return {
        entry.index
        for entry, following in zip(report.entries, report.entries[1:], strict=False)
        if entry.direction == "sent"
        and (following.direction, following.step) == ("note", entry.step)
        and any(f"to {entry.peer!r} {NOT_HANDED_OVER}" in record.name for record in following.fields)
    }


def _by_step(report: AuditReport, direction: str, peer: str) -> defaultdict[str, list[LedgerEntry]]:
    found: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in report.entries:
        if entry.direction == direction and entry.peer == peer:
            found[entry.step].append(entry)
    return found


def _describe(entry: LedgerEntry) -> str:
    return f"{entry.kind} of {entry.payload_bytes} bytes, digest {entry.payload_sha256[:16]}..."
