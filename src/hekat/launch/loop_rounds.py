"""Rounds of a loop that an engine drives, as its events and whoever watches are told of them."""

from __future__ import annotations

from collections.abc import Callable

from hekat.own_loop.costs import RoundRecord
from hekat.run.progress import Progress
from hekat.state import EventLog

PHASE = "training"
SERVER_SAID = "what the server said for the round"
"""The name of what parties compare before they open a round's sum: a server that has the others train on nothing would
see one party's update alone in the mean."""


def tell_rounds(events: EventLog, progress: Progress, rounds: int) -> Callable[[RoundRecord], None]:
    """What to call after each of `rounds` rounds: writes a line of aggregates, and moves the display on."""
    progress.begin(PHASE, rounds)

    def tell(record: RoundRecord) -> None:
        events.write(
            "round",
            phase=PHASE,
            round=record.round,
            parties=record.party_count,
            values=record.value_count,
            clipped=record.clipped_count,
        )
        progress.advance(PHASE, "")

    return tell
