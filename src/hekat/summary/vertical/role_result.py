"""What one role of a run on columns leaves behind besides its files: plain data for summaries."""

from __future__ import annotations

from dataclasses import dataclass, field

from hekat.summary.vertical.traffic import RoleTraffic


@dataclass(frozen=True)
class TableFacts:
    """A party's own tables in figures; `test_rows` is None without test data, `notes` are of loading the first one.

    `test_rows_trained_on` counts the common test rows that are common training rows too; at the guest alone.
    """

    rows: int
    columns: int
    test_rows: int | None = None
    notes: tuple[str, ...] = ()
    test_rows_trained_on: int = 0


@dataclass(frozen=True)
class Match:
    """How many rows all parties have, and how long it took this party to find them."""

    common: int
    seconds: float


@dataclass(frozen=True)
class ResumedPart:
    """What a resumed party went on from: the epochs of a regression or iterations of trees that it had done; `losses`
    are the guest's alone, `releases` of Hekat trained it."""

    epochs_done: int
    losses: tuple[float, ...]
    releases: tuple[str, ...]


@dataclass(frozen=True)
class ColumnsResult:
    """One role's end, whatever it trained. `seconds` are of its whole session, `seconds_by_step` of its own work,
    `seconds_by_phase` of the parts of the session, waiting included.

    `table` is None at a role without rows. `matches` are of the training rows, then of the test rows. `class_rows`
    counts the guest's common rows by class; `metrics` are measured on the test rows, at a guest that received their
    scores. `started_from` is the id of the run whose model training began with. `warnings` are lines of the
    training for its user.
    """

    role: str
    seconds: float
    seconds_by_step: dict[str, float]
    seconds_by_phase: dict[str, float]
    traffic: RoleTraffic
    table: TableFacts | None = None
    matches: tuple[Match, ...] = ()
    class_rows: dict[str, int] | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    resumed: ResumedPart | None = None
    started_from: str | None = None
    warnings: tuple[str, ...] = ()
