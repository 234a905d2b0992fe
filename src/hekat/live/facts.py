"""What a run says while it goes on, one class for each kind: what the reducer takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hekat.live.state import LedgerLine, Machine, RoleWork


@dataclass(frozen=True)
class EventWritten:
    """A line of the run's event log."""

    event: Mapping[str, Any]


@dataclass(frozen=True)
class LedgerWritten:
    """A line of a role's ledger."""

    line: LedgerLine


@dataclass(frozen=True)
class PhaseBegun:
    """A phase of `total` rounds or epochs begins."""

    name: str
    total: int


@dataclass(frozen=True)
class PhaseAdvanced:
    """One round or epoch of the phase is done."""

    name: str


@dataclass(frozen=True)
class WorkReached:
    """How far a piece of work is."""

    name: str
    done: int
    total: int


@dataclass(frozen=True)
class PartyLost:
    """A party is lost."""

    party: str
    step: str
    reason: str


@dataclass(frozen=True)
class RoleRead:
    """The figures of a role, read just now."""

    work: RoleWork


@dataclass(frozen=True)
class MachineRead:
    """The figures of this process, read just now."""

    machine: Machine


@dataclass(frozen=True)
class TimePassed:
    """What time it is, UTC in ISO form."""

    now: str


@dataclass(frozen=True)
class RunEnded:
    """The run ended, by an error of the kind `stopped_by` if that is not empty."""

    stopped_by: str = ""


Fact = (
    EventWritten
    | LedgerWritten
    | PhaseBegun
    | PhaseAdvanced
    | WorkReached
    | PartyLost
    | RoleRead
    | MachineRead
    | TimePassed
    | RunEnded
)
