"""metrics.jsonl of a party's run: what the engine's code measured at this site, once for each kind and round."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from hekat.state import EventLog

METRICS_FILE = "metrics.jsonl"


class MetricsFile:
    """Takes notes from `open` to `close`, from any thread, and drops all others: couriers come earlier and later."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self._state = Lock()
        self._log: EventLog | None = None
        self._noted: set[tuple[str, int]] = set()

    def open(self, folder: Path) -> None:
        """Begin the file in the run's folder. Raises StateError."""
        with self._state:
            self._log = EventLog(folder / METRICS_FILE)

    def note(self, kind: str, round_number: int, metrics: Mapping[str, float]) -> None:
        """Write the metrics, unless the kind and round have some: a server may have an app measure again and again.

        Raises StateError.
        """
        with self._state:
            if self._log is None or not 1 <= round_number <= self._rounds or (kind, round_number) in self._noted:
                return
            self._log.write(kind, round=round_number, metrics=dict(metrics))
            self._noted.add((kind, round_number))

    def close(self) -> None:
        """Make the file durable; what comes later is dropped. Raises StateError."""
        with self._state:
            log, self._log = self._log, None
        if log is not None:
            log.close()
