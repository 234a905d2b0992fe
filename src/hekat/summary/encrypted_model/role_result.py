"""What one role of a training on an encrypted model leaves behind besides its files: plain data for summaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hekat.summary.horizontal.table_facts import TableFacts
from hekat.summary.vertical.traffic import RoleTraffic

Measured = Literal["test data", "held-out rows", "training rows"]


@dataclass(frozen=True)
class TimedRound:
    """A round as this role saw it; `seconds` since the last one ended, or training began."""

    number: int
    seconds: float


@dataclass(frozen=True)
class OpenedModel:
    """A model that the owner was given on the way, after `rounds_done` rounds: its metrics on the owner's rows."""

    rounds_done: int
    metrics: dict[str, float]


@dataclass(frozen=True)
class OwnedModel:
    """What the owner ended with. `opened` are the models on the way, `metrics` of the last one.

    `rows` counts the training rows of all hosts. `measured` are the rows that metrics are of, and `measured_on` says
    which rows these are; None where the owner has no rows, or rows with other columns, as `unmeasured` says.
    `largest_weight` is of a classification on standardised columns, None for any other.
    """

    rounds_done: int
    columns: int
    parameter_count: int
    rows: int
    metrics: dict[str, float] = field(default_factory=dict)
    opened: tuple[OpenedModel, ...] = ()
    measured: TableFacts | None = None
    measured_on: Measured | None = None
    unmeasured: str = ""
    largest_weight: float | None = None


@dataclass(frozen=True)
class EncryptedModelResult:
    """One role's end. `seconds` are of its whole session by its clock, `seconds_by_step` of its own work.

    `table` and `columns` are a host's. `resumed_after` is the round after which the run was resumed, None where it
    began anew.
    """

    role: str
    seconds: float
    seconds_by_step: dict[str, float]
    traffic: RoleTraffic
    table: TableFacts | None = None
    columns: int | None = None
    rounds: tuple[TimedRound, ...] = ()
    owned: OwnedModel | None = None
    resumed_after: int | None = None
