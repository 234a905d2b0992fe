"""What the caller of a loop is told of parties that left: who was lost, and why a run ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from hekat.errors import PartyLostError, PartyStoppedError, ProtocolError
from hekat.own_loop.costs import RoundRecord

_log = logging.getLogger("hekat.own_loop")
_HEKAT = Path(__file__).parent.parent


class Losses:
    """Says of parties that they were lost once the others have gone on without them.

    A mistake in the code of all parties is raised at each of them, one after the other: nobody goes on then, and what
    the first one raised says all.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_round = 0
        self._untold: list[tuple[int, str]] = []
        self.described: dict[str, str] = {}
        """The step and reason of each party that was lost."""

    def note_loss(self, error: PartyLostError) -> None:
        """Keep a loss until the next round stands."""
        text = f"{error.party} in step {error.step}: {error.reason}"
        with self._lock:
            self.described[error.party] = text
            # Where parties call for different things, the aggregator tells all of them, and the run ends.
            if not error.after_stop and not isinstance(error.__cause__, ProtocolError):
                self._untold.append((self._last_round, text))

    def note_round(self, record: RoundRecord) -> None:
        """Tell of the parties that were lost before a round that the others played."""
        with self._lock:
            self._last_round = max(self._last_round, record.round)
        self.tell(before=record.round)

    def tell(self, *, before: int | None = None) -> None:
        """Tell of all losses, or of those after which a round `before` was yet to come."""
        with self._lock:
            told = [text for number, text in self._untold if before is None or number < before]
            self._untold = [entry for entry in self._untold if entry[1] not in told]
        for text in told:
            _log.warning("LOST %s; the others go on while enough are left", text)


def root_cause(errors: Mapping[str, BaseException], ended: BaseException | None) -> BaseException:
    """What to raise for a run that ended: what the first party raised by itself, else the cause of `ended`.

    `errors` are what the parties raised, the first first. The traceback begins with the party's own code.
    """
    own = {
        party: error for party, error in errors.items() if not isinstance(error, (PartyStoppedError, PartyLostError))
    }
    if not own:
        found = ended or next(iter(errors.values()))
        return found.__cause__ or found
    party, error = next(iter(own.items()))
    if not isinstance(error, ProtocolError):
        alike = sum(type(other) is type(error) for other in own.values()) - 1
        others = f", and likewise at {alike} more" if alike else ""
        error.add_note(f"raised at party {party}{others}: without it the run could not go on")
    return error.with_traceback(_from_own_code(error.__traceback__))


def _from_own_code(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without Hekat's frames before the first of somebody else's; whole where all are Hekat's."""
    link = traceback
    while link is not None and _HEKAT in Path(link.tb_frame.f_code.co_filename).parents:
        link = link.tb_next
    return link or traceback
