"""When each round of a run in other processes ended, with the bytes and the processor time that it had cost by then."""

from __future__ import annotations

import itertools
import os
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from network.own_network import loopback_bytes

_LOOKS_EVERY_S = 0.01
_ROUND = '"event": "round"'
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class RoundEnd:
    """`at_s` by the wall clock; `passed_bytes` over the loopback; `processor_s` of all processes below this one."""

    at_s: float
    passed_bytes: int | None
    processor_s: float


@dataclass
class RoundWatch:
    """Notes an end for each line with `"event": "round"` in the newest file that `pattern` finds in `place`."""

    place: Path
    pattern: str
    ends: list[RoundEnd] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> RoundWatch:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(_LOOKS_EVERY_S):
            self.note(self._count())

    def note(self, count: int) -> None:
        """One more end where `count` rounds have ended; what ended between two looks counts as ended now."""
        while len(self.ends) < count:
            self.ends.append(RoundEnd(time.time(), loopback_bytes(), processor_seconds(os.getpid())))

    def _count(self) -> int:
        files = sorted(self.place.glob(self.pattern), key=lambda path: path.stat().st_mtime)
        return files[-1].read_text().count(_ROUND) if files else 0

    def told(self) -> list[dict[str, Any]]:
        return [asdict(end) for end in self.ends]


def round_medians(ends: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the rounds after the first, which sets up: seconds, bytes, processor seconds."""
    pairs = list(itertools.pairwise(ends))
    if not pairs:
        raise SystemExit(f"no round to measure: {len(ends)} ended")

    def median(of: Callable[[dict[str, Any]], float]) -> float:
        return statistics.median(of(after) - of(before) for before, after in pairs)

    is_counted = all(end["passed_bytes"] is not None for end in ends)
    return {
        "rounds": len(pairs),
        "round_s": median(lambda end: end["at_s"]),
        "processor_s": median(lambda end: end["processor_s"]),
        "passed_bytes": median(lambda end: end["passed_bytes"]) if is_counted else None,
    }


def processor_seconds(root: int) -> float:
    """Processor time so far of all processes that `root` started, and of theirs."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
            seconds[int(folder.name)] = (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND
    total = 0.0
    for pid in parents:
        ancestor = pid
        while ancestor in parents and ancestor != root:
            ancestor = parents[ancestor]
        total += seconds[pid] if ancestor == root and pid != root else 0.0
    return total
