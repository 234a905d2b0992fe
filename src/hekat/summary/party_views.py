"""What each role's signed ledger says that it learned: the same in the summary of every protocol on one machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from hekat.channel import PartyPublicKey
from hekat.ledger import AuditReport, audit, condense
from hekat.protocol.role_session import LEDGER_FOLDER


class SeenRow(TypedDict):
    """One kind of thing that a role was sent, and from whom; `how` is the class of disclosure in the ledger."""

    how: str
    step: str
    peers: list[str]
    what: str


class NotedRow(TypedDict):
    """A fact that was no message, and how often the role noted it."""

    how: str
    step: str
    what: str
    times: int


class PartyView(TypedDict):
    """One role. `steps` is what a "…" in a step stands for."""

    party: str
    learned: list[SeenRow]
    noted: list[NotedRow]
    steps: list[str]


def view_of_party(report: AuditReport) -> PartyView:
    """What an audited ledger says, most telling things first."""
    condensed = condense(report.learned)
    return PartyView(
        party=report.party,
        learned=[
            SeenRow(how=row.disclosure_class, step=", ".join(row.steps), peers=sorted(row.peers), what=row.explanation)
            for row in condensed.rows
        ],
        noted=[
            NotedRow(
                how=note.disclosure_class,
                step=note.step,
                what=": ".join(part for part in (note.what, note.explanation) if part),
                times=note.count,
            )
            for note in report.notes
        ],
        steps=list(condensed.spread),
    )


def view_of_ledger(ledger: Path, key: PartyPublicKey) -> PartyView:
    """Read and verify one role's ledger. Raises LedgerError where it does not hold."""
    return view_of_party(audit(ledger, key))


def views_of_parties(run_folder: Path, keys: Mapping[str, PartyPublicKey]) -> list[PartyView]:
    """Read and verify the ledger of every role in `keys`. Raises LedgerError where one does not hold."""
    folder = run_folder / LEDGER_FOLDER
    return [view_of_ledger(folder / f"{name}.jsonl", key) for name, key in keys.items()]
