"""What the aggregator's ledger says of a run: what it was sent, and whose updates each round's sum includes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hekat.channel import PartyPublicKey
from hekat.ledger import AuditReport, audit, condense
from hekat.ledger.recorded_channel import EXPEL_STEP
from hekat.protocol.secure_sum.masked.messages import StatementMessage
from hekat.wire import kind_name

_SUM = r"(?:round-(?P<round>\d+)|tree-(?P<tree>\d+)/(?:level-\d+|leaves))"
_UPLOAD = re.compile(_SUM + r"/upload-(?P<number>\d+)/(?P<part>statement|included)")
_UPDATE = re.compile(_SUM + r"/update")
_GIVEN_UP = re.compile(r"gave up on '(?P<party>.*)'")


@dataclass(frozen=True)
class Included:
    """Whose updates are in the sums of the rounds `first` to `last`."""

    first: int
    last: int
    parties: tuple[str, ...]


@dataclass(frozen=True)
class AggregatorView:
    """`saw` holds a line for each kind of thing it was sent; `steps` is what a "…" in these lines stands for."""

    saw: tuple[str, ...]
    steps: tuple[str, ...]
    included: tuple[Included, ...]


def view_of_aggregator(ledger: Path, key: PartyPublicKey) -> AggregatorView:
    """Read and verify the ledger. Raises LedgerError where it does not hold."""
    report = audit(ledger, key)
    condensed = condense(report.learned)
    saw = tuple(
        f"{step}: {row.disclosure_class}{f' ({row.explanation})' if row.explanation else ''}, "
        f"from {', '.join(sorted(row.peers))}"
        for row in condensed.rows
        for step in row.steps
    )
    return AggregatorView(saw, condensed.spread, _merge(included_by_round(report)))


def included_by_round(report: AuditReport) -> dict[int, tuple[str, ...]]:
    """The included parties of each round: who sent an update; under `lattice` who stated an upload that was then kept,
    of the last upload."""
    kind = kind_name(StatementMessage)
    stated: dict[int, dict[str, None]] = {}
    included: dict[int, tuple[str, ...]] = {}
    upload = -1
    for entry in report.entries:
        found, update = _UPLOAD.fullmatch(entry.step), _UPDATE.fullmatch(entry.step)
        if entry.direction == "note" and entry.step == EXPEL_STEP:
            for party in (found[1] for record in entry.fields if (found := _GIVEN_UP.fullmatch(record.name))):
                stated.get(upload, {}).pop(party, None)
        elif found is not None and entry.direction == "received" and entry.kind == kind:
            upload = int(found["number"])
            stated.setdefault(upload, {})[entry.peer] = None
        elif update is not None and entry.direction == "received":
            number = int(update["round"] or update["tree"])
            # Of an iteration of trees every level has a sum.
            included[number] = tuple(dict.fromkeys((*included.get(number, ()), entry.peer)))
        elif found is not None and entry.direction == "sent" and found["part"] == "included":
            included[int(found["round"] or found["tree"])] = tuple(stated.get(int(found["number"]), {}))
    return included


def _merge(by_round: Mapping[int, tuple[str, ...]]) -> tuple[Included, ...]:
    """Rounds with the same parties in one entry."""
    merged: list[Included] = []
    for number, parties in sorted(by_round.items()):
        if merged and merged[-1].parties == parties and merged[-1].last == number - 1:
            merged[-1] = Included(merged[-1].first, number, parties)
        else:
            merged.append(Included(number, number, parties))
    return tuple(merged)
