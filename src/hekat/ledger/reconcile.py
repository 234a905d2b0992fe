"""Compares two parties' ledgers: whatever one says it sent, the other must say it received, and the reverse."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from dataclasses import dataclass

from hekat.errors import LedgerError
from hekat.ledger.audit import AuditReport
from hekat.ledger.entry import LedgerEntry


@dataclass(frozen=True)
class Reconciliation:
    """How many messages both ledgers hold alike, and every point on which they do not agree."""

    party_a: str
    party_b: str
    session: str
    agreed_count: int
    disagreements: tuple[str, ...]
    unsigned: tuple[str, ...]

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
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """The same as one JSON object."""
        return json.dumps({**dataclasses.asdict(self), "agrees": self.agrees}, indent=2)


def reconcile(report_a: AuditReport, report_b: AuditReport) -> Reconciliation:
    """Match what each of two parties sent with what the other received, in order, by step, kind and digest.

    Raises:
        LedgerError: the ledgers are of one party, or of two sessions, so that there is nothing to compare.
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
    for sender, receiver in ((report_a, report_b), (report_b, report_a)):
        count, differing = _compare(sender, receiver)
        agreed_count += count
        disagreements += differing
    return Reconciliation(
        report_a.party,
        report_b.party,
        report_a.session,
        agreed_count,
        tuple(disagreements),
        tuple(report.party for report in (report_a, report_b) if not report.signed),
    )


def _compare(sender: AuditReport, receiver: AuditReport) -> tuple[int, list[str]]:
    sent = _by_step(sender, "sent", receiver.party)
    received = _by_step(receiver, "received", sender.party)
    agreed_count = 0
    disagreements: list[str] = []
    for step in dict.fromkeys([*sent, *received]):
        ours, theirs = sent[step], received[step]
        where = f"{sender.party} to {receiver.party}, step {step!r}"
        for number, (a, b) in enumerate(zip(ours, theirs, strict=False), 1):
            if (a.kind, a.payload_sha256, a.payload_bytes) == (b.kind, b.payload_sha256, b.payload_bytes):
                agreed_count += 1
                continue
            disagreements.append(
                f"{where}, message {number}: sent {_describe(a)} (line {a.index + 1}), "
                f"received {_describe(b)} (line {b.index + 1})"
            )
        disagreements += [f"{where}: sent (line {a.index + 1}) and never received" for a in ours[len(theirs) :]]
        disagreements += [f"{where}: received (line {b.index + 1}) and never sent" for b in theirs[len(ours) :]]
    return agreed_count, disagreements


def _by_step(report: AuditReport, direction: str, peer: str) -> defaultdict[str, list[LedgerEntry]]:
    found: defaultdict[str, list[LedgerEntry]] = defaultdict(list)
    for entry in report.entries:
        if entry.direction == direction and entry.peer == peer:
            found[entry.step].append(entry)
    return found


def _describe(entry: LedgerEntry) -> str:
    return f"{entry.kind} of {entry.payload_bytes} bytes, digest {entry.payload_sha256[:16]}..."
