"""What one role of a vertical regression leaves behind besides its files: plain data for summaries."""

from __future__ import annotations

from dataclasses import dataclass

from hekat.protocol.vertical_linear.party_run import EpochRecord
from hekat.summary.vertical.role_result import ColumnsResult


@dataclass(frozen=True)
class TimedEpoch:
    """An epoch as this party saw it; `seconds` since the last one ended, or training began."""

    record: EpochRecord
    seconds: float


@dataclass(frozen=True)
class VerticalResult(ColumnsResult):
    """One role's end, with the epochs that it saw."""

    epochs: tuple[TimedEpoch, ...] = ()
