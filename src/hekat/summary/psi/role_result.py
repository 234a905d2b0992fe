"""What one party of a set intersection leaves behind besides its rows: plain data for summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Learned = Literal["rows", "count", "nothing"]


@dataclass(frozen=True)
class IntersectionResult:
    """One party's end: `ids` of its own, described in `ids_note`; `common` is None where it did not learn the count.

    `seconds` are of its whole session, `seconds_by_step` of its own work; bytes are sealed, greetings and signatures
    included.
    """

    role: str
    seconds: float
    seconds_by_step: dict[str, float]
    sent_bytes: int
    received_bytes: int
    ids: int
    ids_note: str
    learned: Learned = "nothing"
    common: int | None = None
