"""A party that was lost on the way, told to the run's log and to the terminal."""

from __future__ import annotations

from hekat.errors import PartyLostError
from hekat.run.progress import Progress
from hekat.state import EventLog


def note_dropout(events: EventLog, progress: Progress, error: PartyLostError) -> None:
    """Tell of the party that `error` names, while the others go on."""
    events.write("lost", party=error.party, step=error.step, reason=error.reason)
    progress.note_dropout(error.party, error.step, error.reason)
